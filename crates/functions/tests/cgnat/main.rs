//! The functional truth of the carrier-grade NAT: pipeline and oracle, frame by frame.

mod clients;
mod frames;

mod bypass;
mod calls;
mod check;
mod differential;
mod dissection;
mod ds_lite;
mod gateways;
mod golden;
mod laws;
mod lengths;
mod links;
mod log;
mod nat64;
mod one_to_many;
mod pcp;
mod queries;
mod readme;
mod replication;
mod stateless;
mod stateless_lengths;
mod tables;
mod vrfs;
mod workers;
