//! The bits by which a worker is found that has an address or an outside end.

use std::net::{IpAddr, Ipv4Addr};

use engine::steering::Steering as Keyed;

use crate::deterministic::{Owner, Plan};
use crate::sessions::addresses::Addresses;
use crate::sessions::allocation::Layout;

/// What the worker of an outside end follows from.
pub struct Ends<'a> {
    /// The hash.
    pub keyed: &'a Keyed,
    /// Outside addresses and whose they are.
    pub addresses: &'a Addresses,
    /// Deterministic rules.
    pub plan: &'a Plan,
    /// The layout of ports.
    pub layout: Layout,
}

impl Ends<'_> {
    /// The bits of a packet from outside by the protocol and the end to which it goes.
    pub fn steering(&self, protocol: u8, end: (u32, u16)) -> u32 {
        let Ends { keyed, addresses, plan, layout } = self;
        let by_rule =
            || addresses.subscriber(end.0).or_else(|| addresses.hosts().owner(protocol, end));
        let by_plan = || match plan.reverse(Ipv4Addr::from_bits(end.0), end.1)? {
            Owner::Subscriber { inside, .. } => Some(inside.to_bits()),
            Owner::Dynamic | Owner::Nobody => None,
        };
        match by_rule().or_else(by_plan) {
            Some(inside) => of_address(keyed, Ipv4Addr::from_bits(inside).into()),
            None => of_group(keyed, end.0, layout.group(end.1)),
        }
    }
}

/// The bits of a sender that is known by its whole address.
#[inline]
pub fn of_address(keyed: &Keyed, address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(address) => keyed.bits(address.to_bits().into(), 0),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            keyed.bits((bits >> 64) as u64, bits as u64)
        }
    }
}

/// The bits of an outside address and a group of its ports: another pair of words than that of any
/// IPv4 address.
pub fn of_group(keyed: &Keyed, address: u32, group: u16) -> u32 {
    keyed.bits(address.into(), u64::from(group) + 1)
}
