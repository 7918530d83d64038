//! Logs of a carrier-grade NAT: messages beside a slow collector, and read by other programs.

mod messages;

mod golden;

mod dissection;
mod nfcapd;

mod volume;
