//! The protocol against what bfdd really writes, its limits, and faults of the connection.

mod support;

mod connection;

mod real;

mod simulated;

mod told;
