//! Addresses and names that pass from one next hop to another between two states of a router:
//! whoever loses one gives it up before the other gets it.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use wire::MacAddr;

use super::config::{HopName, NextHop};
use super::control::Update;

/// Who has what in the state that is wanted: the number of a next hop, or none of several, which
/// are behind several interfaces.
pub(super) struct Taken(HashMap<Own, Option<u32>>);

/// What one next hop has and no other beside it.
#[derive(PartialEq, Eq, Hash)]
enum Own {
    Address(IpAddr),
    Name(HopName),
}

impl Taken {
    /// By the next hops of the state that is wanted.
    pub fn by(wanted: &BTreeMap<u32, NextHop>) -> Taken {
        let mut taken = HashMap::new();
        for (number, hop) in wanted {
            for own in all(hop) {
                taken.entry(own).and_modify(|whose| *whose = None).or_insert(Some(*number));
            }
        }
        Taken(taken)
    }

    /// What a next hop that is another from now on, or none, has to give up before; nothing where
    /// nobody else gets any of it.
    pub fn giving_way(&self, number: u32, old: &NextHop, new: Option<&NextHop>) -> Option<Update> {
        let is_anothers = |own| self.0.get(&own).is_some_and(|whose| *whose != Some(number));
        if new == Some(old) || !all(old).any(is_anothers) {
            return None;
        }
        let bare = NextHop { ip: None, ipv6: None, name: None, ..*old };
        // One that is asked for its Ethernet address is none without an address.
        Some(match new.is_some() && old.mac.0 != MacAddr::ZERO {
            true => Update::SetNextHop { number, next_hop: bare },
            false => Update::RemoveNextHop { number },
        })
    }
}

/// What a next hop has for itself.
fn all(hop: &NextHop) -> impl Iterator<Item = Own> {
    let addresses = [hop.ip.map(IpAddr::from), hop.ipv6.map(IpAddr::from)];
    addresses.into_iter().flatten().map(Own::Address).chain(hop.name.map(Own::Name))
}
