//! Function laws, port conformance, golden folders.

pub mod fuzz;
