//! The protocol against what zebra really writes, its limits, and faults of the connection.

mod support;

mod limits;

mod real;

mod resync;

mod simulated;
