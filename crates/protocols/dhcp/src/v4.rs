//! DHCPv4 (RFC 2131).

pub mod message;

pub mod writer;

mod clients;

pub mod server;

pub mod relay;

pub use message::Message;
pub use relay::{Mode, Relay};
pub use server::Server;
