//! What became of a packet.

/// A port of a worker, counted from 0 in the order of the function's declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub u8);

impl PortId {
    /// Where frames of the host come in, which no port of a function is.
    pub const HOST: PortId = PortId(u8::MAX);
}

/// Why a packet is dropped, or punted: an index into the drop reasons, or the punt reasons, that
/// the function declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reason(pub u8);

/// Decision on a packet; a packet never causes an error instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Send it out of this port.
    Forward(PortId),
    /// Drop and count it.
    Drop(Reason),
    /// Pass it to the control plane, for this reason.
    Punt(Reason),
}

impl Verdict {
    /// Initial verdict of a packet: drop under the first declared reason, which by convention is
    /// `unhandled` and stays at zero.
    pub const UNHANDLED: Verdict = Verdict::Drop(Reason(0));
}
