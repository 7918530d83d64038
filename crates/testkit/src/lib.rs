//! Function laws, port conformance, golden folders.
