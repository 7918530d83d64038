//! The host between real sockets: with itself, with the standard library, with the kernel, and with
//! FRR's daemons as the far end; and beside the simulated network.

mod bfd;

mod chat;

mod equivalence;

mod frr;

mod links;

mod machines;

mod misuse;

mod probe;

mod raw;

mod streams;
