//! Mappings that subscribers ask for by the Port Control Protocol (RFC 6887).

pub(crate) mod config;
mod grant;
pub mod granted;
mod stage;
pub(crate) mod validate;
