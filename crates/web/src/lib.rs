//! HTTP/1.1 on this machine: connections, heads and times are bounded, and nothing but reading is
//! asked.
//!
//! What is answered is its user's matter. There is no password and no encryption.

mod guard;
mod open;
mod server;

pub use guard::{Refused, check, refuse};
pub use server::{Answer, ServeError, Server};
