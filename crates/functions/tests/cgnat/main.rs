//! The functional truth of the carrier-grade NAT: pipeline and oracle, frame by frame.

mod frames;

mod check;
mod differential;
mod dissection;
mod gateways;
mod golden;
mod laws;
mod log;
mod nat64;
mod readme;
mod replication;
mod tables;
