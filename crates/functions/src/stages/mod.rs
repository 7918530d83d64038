//! Stages that more than one function is made of.

pub mod arp;
pub mod icmpv4;
pub mod icmpv6;
pub mod nd;
pub mod parts;
pub mod tunnel;
pub mod vlan;
