//! The AF_XDP port: what every port must do, on veth pairs, and beside DPDK's driver.

mod conformance;
mod testpmd;
mod veth;
