//! A virtual router as the controller knows it.

use protocol_kit::{Interface, Time};
use protocol_vrrp::{Reason, State};

/// What is known of a virtual router.
#[derive(Default)]
pub(crate) struct Router {
    /// The kernel's interface with which the protocol has it; none while it does not.
    pub at: Option<Interface>,
    /// Its state, why it has that, and since when.
    pub state: State,
    pub reason: Option<Reason>,
    pub since: Time,
    /// How often it became active.
    pub activations: u64,
    /// When another one's mistake counts as mended.
    pub mended: Option<Time>,
    /// When it takes part again after the router has refused an address.
    pub retry: Option<Time>,
}
