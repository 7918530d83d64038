//! The vhost-user port: what every port must do, and beside QEMU and DPDK.

mod conformance;
mod qemu;
mod testpmd;

mod common;
mod hostile;
