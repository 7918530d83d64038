//! Stages that more than one function is made of.

pub mod arp;
pub mod clamp;
pub mod datagram;
pub mod duplicates;
pub mod fragment;
pub mod hearsay;
pub mod hosted;
pub mod icmp_host;
pub mod icmpv4;
pub mod icmpv6;
pub mod nd;
pub mod neighbours;
pub mod punt;
pub mod reassembly;
pub mod remark;
pub mod reset;
pub mod router_discovery;
pub mod transport;
pub mod tunnel;
pub mod virtuals;
pub mod vlan;
