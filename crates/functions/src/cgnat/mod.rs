//! Carrier-grade NAT: subscribers with addresses of their own share the addresses of an operator.

pub mod config;
pub mod deterministic;

pub mod log;

pub use self::config::{Config, Traffic};
