//! The host between real sockets: with itself, and with FRR's daemons as the far end.

mod bfd;

mod frr;

mod probe;

mod raw;

mod streams;
