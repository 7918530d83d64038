//! What became of a packet.

/// A port of a worker, counted from 0 in the order of the function's declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub u8);

/// Why a packet was dropped: an index into the reasons that the function declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reason(pub u8);

/// A packet never yields an error: it gets one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Send it out of this port.
    Forward(PortId),
    /// Drop and count it.
    Drop(Reason),
    /// Hand it to the control plane.
    Punt,
}

impl Verdict {
    /// What a packet has before any function spoke: dropping it under the first declared reason,
    /// which by convention is `unhandled` and stays at zero.
    pub const UNHANDLED: Verdict = Verdict::Drop(Reason(0));
}
