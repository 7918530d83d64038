//! The link by which a standby learns the state of an active function, so that nothing is lost when
//! it takes over.
//!
//! ```text
//!  active                                        standby
//!  worker --ring--> thread ======== TCP ========> thread --ring--> worker
//!                   window <=== last applied ==== done <-----------'
//! ```
//! What is told is the state of a thing, not an event: whatever is lost, late or told twice, the
//! last word holds. A function says what its changes are by the trait [`Change`]; this crate knows
//! none of them. A change is acknowledged when it is in the standby's tables.
//!
//! The files in the order of that way: what changed and is not told yet ([`Dirty`]), a message as
//! bytes ([`message`]), a connection (`wire`), the two threads (`sender`, `receiver`), and what a
//! worker and its thread tell each other (`link`).
//!
//! **Not supported:** more than one standby, a secret or encryption, and a change of roles while
//! they run. Which of both gets the packets is for the network.

mod change;
mod config;
mod dirty;
mod link;
pub mod message;
mod receiver;
mod rehearsal;
mod sender;
mod threads;
mod wire;

pub use self::change::{Change, Malformed, number, take};
pub use self::config::{Replication, Role};
pub use self::dirty::Dirty;
pub use self::link::{Link, Status};
pub use self::message::Hello;
pub use self::receiver::Received;
pub use self::rehearsal::{Rehearsal, Rehearses};
pub use self::threads::{RING, Thread, active, listen, standby};
