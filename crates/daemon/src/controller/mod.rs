//! The control planes of the function: controllers, each on a thread of its own, and what their
//! updates and alarms become.
//!
//! ```text
//!  sockets <--> thread of a controller --updates, alarms--> keeper --> workers, journal, alarms
//!                     ^                <--what became of them--'           |
//!                     '--- its box <--- board <--- thread `host` <--events-'
//! ```
//! No worker waits for a thread. It hands a list of updates to the keeper, which lets the workers
//! apply them and writes those that were applied to the journal, and hears what became of each. A
//! controller that panics is created again from what the function has of the updates that it
//! claims; forwarding goes on meanwhile. The files in reading order: [`order`] is what the two
//! threads tell each other, [`questions`] what operators ask and tell, [`thread`] is the
//! controller's, [`alarms`] and [`journal`] are the keeper's; what workers tell comes by the board
//! beside ([`crate::board`]).

pub mod order;

pub mod questions;

pub mod alarms;

pub mod journal;

pub mod thread;

pub use alarms::Alarms;
pub use journal::{Base, Journal, Replay};
pub use order::{Order, Settled};
pub use thread::ControllerThread;
