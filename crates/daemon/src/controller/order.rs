//! What a controller's thread asks of the keeper, and hears from it.

use std::sync::mpsc::SyncSender;

use controller_kit::Alarm;
use engine::Refusal;
use functions::AnyUpdate;
use machine::clock::Ticks;

/// Something that a controller's thread asks for.
pub enum Order {
    /// Updates of the function.
    Updates {
        /// The updates, in order.
        updates: Vec<AnyUpdate>,
        /// Whether the journal remembers them.
        is_kept: bool,
        /// The channel for what became of them.
        answer: SyncSender<Vec<Settled>>,
    },
    /// What the function has beyond its configuration, for a controller that begins again.
    State(SyncSender<Vec<AnyUpdate>>),
    /// An alarm is raised or cleared; its source begins with the controller's name.
    Alarm(Alarm),
    /// The controller of this name begins again, and raises its alarms anew.
    Forget(&'static str),
}

/// What became of updates in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// They took effect.
    Applied {
        /// Their number.
        count: u64,
        /// When the last of them did.
        at: Ticks,
    },
    /// One was refused.
    Refused(Refusal),
}
