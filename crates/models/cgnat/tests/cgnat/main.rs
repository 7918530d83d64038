//! The functional truth of the carrier-grade NAT: pipeline and oracle, frame by frame.

mod clients;
mod frames;

mod algs;
mod bypass;
mod calls;
mod check;
mod defaults;
mod differential;
mod dissection;
mod ds_lite;
mod golden;
mod laws;
mod lengths;
mod links;
mod log;
mod logging;
mod masquerade;
mod nat64;
mod neighbours;
mod pcp;
mod port_forwarding;
mod queries;
mod readme;
mod refused;
mod reload;
mod replication;
mod resets;
mod siit;
mod siit_lengths;
mod tables;
mod translation;
mod twins;
mod validation;
mod vrfs;
mod workers;
