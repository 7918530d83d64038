//! RADIUS against its laws: the standard's examples, servers that are driven, and a simulated
//! network.

mod accounting;

mod authorization;

mod client;

mod hostile;

mod mapping;

mod simulated;

mod support;

mod vectors;
