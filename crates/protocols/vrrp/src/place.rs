//! Where a machine has a virtual router, by the controller's number.

use protocol_kit::Time;

use crate::router::{Reason, Router};

/// Room for a virtual router.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The virtual router, if there is one.
    pub router: Option<Router>,
    /// Whether the controller has shut it down.
    pub is_shut: bool,
    /// Whether it wants something now.
    pub is_ready: bool,
    /// Why it takes no part itself, whatever its group does.
    pub barred: Option<Reason>,
    /// The time that the wheel has.
    pub timed: Option<Time>,
}
