//! DHCPv6 (RFC 8415).

pub mod message;

pub mod writer;

mod clients;

pub mod server;

pub mod relay;

pub use message::{Message, Relayed};
pub use relay::Relay;
pub use server::Server;
