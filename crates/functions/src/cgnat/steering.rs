//! Which of several workers has a packet: in both directions the one that owns its subscriber, without a lock and
//! without handing over.
//!
//! ```text
//!  from inside    by the subscriber's address; behind a softwire by the part of its B4 element's that names it
//!  from outside   to an address or port that a rule gives to one subscriber: by that one's inside address
//!                 to any other: by outside address and group of ports, of which each worker gives away its own
//! ```
//! The identifier of an ICMP query and the number of a call stand for a port, and an ICMP error goes where the packet
//! goes that it quotes. All of it follows from the configuration, so that a card with the right filters can do the
//! same. VRFs count for nothing: subscribers of the same address in several of them have one worker.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use traffic::Random;

use super::addresses::Addresses;
use super::allocation::Layout;
use super::config::Config;
use super::deterministic::{Owner, Plan};
use super::ds_lite::DsLite;

/// The bits of a packet from inside by its sender, as [`traffic::Workload::steering`].
pub fn of_subscriber(config: &Config, address: IpAddr) -> u32 {
    match (address, DsLite::new(config)) {
        (IpAddr::V6(b4), Some(ds_lite)) if ds_lite.softwire(b4).is_some() => {
            of_address(Ipv6Addr::from_bits(b4.to_bits() & ds_lite.mask()).into())
        }
        _ => of_address(address),
    }
}

/// The same of a sender that is known by its whole address.
#[inline]
pub fn of_address(address: IpAddr) -> u32 {
    let bits = match address {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            Random::rehash((bits >> 64) as u64) ^ bits as u64
        }
    };
    (Random::rehash(bits) >> 32) as u32
}

/// The bits of a packet from outside by the protocol and the outside end to which it goes.
pub fn of_end(
    (addresses, plan, layout): (&Addresses, &Plan, Layout),
    protocol: u8,
    end: (u32, u16),
) -> u32 {
    let by_rule = || addresses.subscriber(end.0).or_else(|| addresses.hosts.owner(protocol, end));
    let by_plan = || match plan.reverse(Ipv4Addr::from_bits(end.0), end.1)? {
        Owner::Subscriber { inside, .. } => Some(inside.to_bits()),
        Owner::Dynamic | Owner::Nobody => None,
    };
    match by_rule().or_else(by_plan) {
        Some(inside) => of_address(Ipv4Addr::from_bits(inside).into()),
        None => of_group(end.0, layout.group(end.1)),
    }
}

/// The bits of an outside address and a group of its ports.
pub fn of_group(address: u32, group: u16) -> u32 {
    Random::rehash(u64::from(address) << 16 | u64::from(group)) as u32
}
