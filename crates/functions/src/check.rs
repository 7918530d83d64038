//! The functional check: the same steps for the device and for the oracle.

use std::time::Duration;

use packet::PortId;

/// The slow, readable model of a function. It shares no code with the pipeline but names and the
/// constants of the standards, and keeps its state in the standard library's collections.
pub trait Oracle {
    /// A change at run time.
    type Update;

    /// What must become of a frame that comes in at `port` at time `now`, counted from the moment
    /// the function was set up.
    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected;

    /// Applies a change; whether it is possible.
    fn apply(&mut self, update: &Self::Update, now: Duration) -> bool;
}

/// What must become of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It leaves by this port as exactly these bytes.
    Forward {
        /// Where.
        port: PortId,
        /// What.
        frame: Vec<u8>,
    },
    /// It is dropped for the reason of this name.
    Drop(&'static str),
    /// It goes to the control plane.
    Punt,
}

/// One step of the functional check.
#[derive(Clone, Debug)]
pub enum Step<U> {
    /// A frame comes in.
    Frame {
        /// Where.
        port: PortId,
        /// What.
        frame: Vec<u8>,
        /// Why it is in the sample: `uplink with a sequence number` …
        about: &'static str,
    },
    /// The configuration changes.
    Update(U),
    /// Time passes.
    Wait(Duration),
}
