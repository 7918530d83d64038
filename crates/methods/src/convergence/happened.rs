//! An event with what it led to.

use measure::{Convergence, RoutingEvent};

/// An event that was let happen.
pub(super) struct Happened {
    pub(super) event: RoutingEvent,
    pub(super) convergence: Convergence,
}
