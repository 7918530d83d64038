//! The memif port against itself, against DPDK's driver, and against peers that break the rules.

mod conformance;
mod dpdk;
mod hostile;
mod itself;
mod kit;
