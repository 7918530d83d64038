//! What every controller provides: the control plane of a function, as a machine without I/O.
//!
//! ```text
//!  sockets, clock --Arrival--> +------------+ --Departure--> sockets
//!  workers --------Event-----> | controller | --Action-----> workers: typed updates, in bulk
//!  operators ------Asked-----> +------------+ --Page-------> operators: tables, alarms, lines
//! ```
//! A controller is a machine as a protocol is ([`protocol_kit::Machine`]): what it hears beside
//! arrivals are events, what it says are actions. It holds the machines of its protocols and turns
//! what they report into updates of its function. A driver gives it a thread that no worker waits
//! for. A function may have several: each claims the kinds of updates that are its own, and of what
//! the function has beyond its configuration it is told these alone ([`Controller::claims`]).
//!
//! The files in reading order: [`event`] goes in, [`action`] comes out, [`mod@unit`] is what a
//! controller's folder provides, [`keys`] is what the keys of several have in common, [`table`] is
//! what operators ask for, [`command`] what they tell it, [`erased`] is a controller without its
//! types, as lists have it.

pub mod event;

pub mod action;

pub mod unit;

pub mod keys;

pub mod table;

pub mod command;

pub mod erased;

pub use engine::{Context, EventKind, Refusal};
pub use function_kit::Severity;

pub use action::{Action, Alarm, Injection, Level, Line};
pub use command::{Command, NoKeys, keys_of};
pub use event::{Event, Happening, Link, Punt};
pub use table::{Asked, Metric, Page, Table, Unanswered};
pub use unit::{Controller, Setup};
