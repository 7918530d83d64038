//! The control plane of the function: a controller on a thread of its own, and what its updates and
//! alarms become.
//!
//! ```text
//!  sockets <--> thread `controller` --updates, alarms--> keeper --> workers, journal, alarms
//!                                   <--what became of them--'
//! ```
//! No worker waits for the thread. It hands a list of updates to the keeper, which writes them to
//! the journal and lets the workers apply them, and hears what became of each. A controller that
//! panics is created again from what the function has; forwarding goes on meanwhile. The files in
//! reading order: [`order`] is what the two threads tell each other, [`thread`] the controller's,
//! [`alarms`] and [`journal`] are the keeper's.

pub mod order;

pub mod alarms;

pub mod journal;

pub mod thread;

pub use alarms::Alarms;
pub use journal::{Journal, journal_of};
pub use order::{Order, Settled};
pub use thread::ControllerThread;
