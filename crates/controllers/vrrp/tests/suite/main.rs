//! The controller with a router, without I/O: what other routers say becomes addresses.

mod keys;
mod nat;
mod states;
mod support;
