//! What every network function provides, and what their configurations share.
//!
//! [`mod@unit`] has the trait that a function implements, [`erased`] the same without its types,
//! `update` a change without its type, [`port_name`] what a function calls its ports,
//! [`host_interface`] what it shows the host, [`sections`] the types of keys that several
//! configurations have, [`counts`] the declaration of what a function counts, [`shown`] what
//! operators are shown beside that. Nothing here knows a function, a port, or the bench.

pub mod shown;

pub mod unit;

mod update;

mod running;

mod sought;

pub mod erased;

pub mod port_name;

pub mod host_interface;

pub mod sections;

pub mod counts;

pub use host_interface::{HostInterface, HostPlace};
pub use keys::Invalid;
pub use port_name::PortName;
pub use protocol_kit::{Companion, Neighbour};
pub use shown::{Condition, Measured, Severity, Spoken, Sum, Summed, When, station};
pub use sought::Sought;
pub use unit::{
    FrameSteering, NetworkFunction, SetupError, Shard, Standby, Steer, TablePage, TableSize,
};
