//! What can change while a router runs: routes, next hops and their groups, rules and policers,
//! virtual addresses, and what the host has: addresses and neighbours.

use std::net::IpAddr;

use engine::Refusal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stages::virtuals::Virtual;
use wire::MacAddr;

use super::config::{
    AclRule, BfdSession, List, Mac, Network, NextHop, Policer, PortName, Prefixed, ToHop,
};
use super::state::{State, host};

/// A change at run time, whose next hops are `H`: numbers, or what people say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Update")]
pub enum Update<H = u32> {
    /// A route appears, or leads elsewhere from now on.
    SetRoute {
        /// Network of the route.
        prefix: Prefixed<IpAddr>,
        /// Name or number of the next hop, or of a group: 1,000,000 and its place among the groups.
        next_hop: H,
        /// The VRF in whose table it stands.
        #[serde(default, skip_serializing_if = "is_main")]
        vrf: u16,
    },
    /// A route disappears.
    RemoveRoute {
        /// Network of the route.
        prefix: Prefixed<IpAddr>,
        /// The VRF in whose table it stands.
        #[serde(default, skip_serializing_if = "is_main")]
        vrf: u16,
    },
    /// A next hop appears, or is another from now on; packets to its own address follow.
    SetNextHop {
        /// Number of the next hop, or the name of one of the configuration.
        number: H,
        /// The neighbour.
        next_hop: NextHop,
    },
    /// A next hop disappears; what its routes lead to is dropped until it is set again.
    RemoveNextHop {
        /// Name or number of the next hop.
        number: H,
    },
    /// A next hop becomes a member of a group, or has another weight from now on. It may come
    /// later, and has its share while it is there.
    SetGroupMember {
        /// The group's place, from 0: those of the configuration's list first.
        group: u32,
        /// Name or number of the next hop.
        next_hop: H,
        /// Weight of the member: its share of the flows, relative to the other members, from 1.
        #[serde(default = "one")]
        weight: u16,
    },
    /// A next hop is no member of a group any more; only its flows move.
    RemoveGroupMember {
        /// The group's place.
        group: u32,
        /// Name or number of the next hop.
        next_hop: H,
    },
    /// A rule of an access list appears, or is another from now on.
    SetRule {
        /// Access list of the rule.
        list: List,
        /// Number of the rule: of the rules that match, the lowest number decides.
        number: u32,
        /// The rule.
        rule: AclRule,
    },
    /// A rule of an access list disappears.
    RemoveRule {
        /// Access list of the rule.
        list: List,
        /// Number of the rule.
        number: u32,
    },
    /// A policer appears, or is another from now on, its buckets full.
    SetPolicer {
        /// Number of the policer.
        number: u32,
        /// The policer.
        policer: Policer,
    },
    /// A policer disappears; its packets are not policed any more.
    RemovePolicer {
        /// Number of the policer.
        number: u32,
    },
    /// A session of BFD with a neighbour begins that belongs to no next hop, or is otherwise from
    /// now on; next hops at the neighbour follow it.
    SetBfd {
        /// The router's discriminator, which names the session; not zero.
        discriminator: u32,
        /// The session.
        session: BfdSession,
    },
    /// A session of BFD that was set ends.
    RemoveBfd {
        /// The router's discriminator of the session; none for all that were set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        discriminator: Option<u32>,
    },
    /// A virtual address (RFC 9568) becomes the router's own at an interface, or has another
    /// Ethernet address from now on.
    SetVirtual {
        /// Port of the interface.
        port: PortName,
        /// The VLAN of the interface; none for the port's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vlan: Option<u16>,
        /// The virtual Ethernet address.
        mac: Mac,
        /// The virtual address.
        address: IpAddr,
        /// Whether pings to it are answered, where the router answers any.
        accept: bool,
    },
    /// A virtual address is the router's no more.
    RemoveVirtual {
        /// Port of the interface.
        port: PortName,
        /// The VLAN of the interface; none for the port's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vlan: Option<u16>,
        /// The virtual address.
        address: IpAddr,
    },
    /// An address of the host becomes the router's own at an interface that both have, or has
    /// another prefix from now on.
    SetAddress {
        /// Port of the interface.
        port: PortName,
        /// The VLAN of the interface; none for the port's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vlan: Option<u16>,
        /// The address and the length of the link's prefix.
        address: Prefixed<IpAddr>,
    },
    /// An address is the router's no more.
    RemoveAddress {
        /// Port of the interface.
        port: PortName,
        /// The VLAN of the interface; none for the port's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vlan: Option<u16>,
        /// The address.
        address: IpAddr,
    },
    /// A neighbour has this Ethernet address, and is not asked for it, until it is removed.
    SetNeighbour {
        /// Port of the interface behind which it is.
        port: PortName,
        /// The VLAN of the interface; none for the port's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vlan: Option<u16>,
        /// The address of the neighbour.
        address: IpAddr,
        /// The Ethernet address of the neighbour.
        mac: Mac,
    },
    /// What was set of a neighbour does not hold any more.
    RemoveNeighbour {
        /// Port of the interface behind which it is.
        port: PortName,
        /// The VLAN of the interface; none for the port's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vlan: Option<u16>,
        /// The address of the neighbour.
        address: IpAddr,
    },
    /// A neighbour has answered the host: as good as an answer to the router.
    HearNeighbour {
        /// Port of the interface behind which it is.
        port: PortName,
        /// The VLAN of the interface; none for the port's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vlan: Option<u16>,
        /// The address of the neighbour.
        address: IpAddr,
        /// The Ethernet address of the neighbour.
        mac: Mac,
    },
    /// A controller is told by events from now on whether this route stands in the table, and at
    /// once: of the subject 2^33 and the number.
    WatchRoute {
        /// The number that the route has for whoever watches it.
        number: u32,
        /// Network of the route.
        prefix: Prefixed<IpAddr>,
        /// The VRF in whose table it is looked for.
        #[serde(default, skip_serializing_if = "is_main")]
        vrf: u16,
    },
    /// No route is watched any more.
    UnwatchRoutes {},
}

/// A change at run time as people say it, with names of next hops that the router has when it comes
/// to the change.
pub type Said = Update<ToHop>;

mod said;

pub(super) use self::said::advice;

/// Applies a change between two batches: packets see it wholly or not at all.
///
/// # Errors
/// When the change is impossible; nothing has changed then.
pub fn apply(state: &mut State, update: &Update) -> Result<(), Refusal> {
    match *update {
        Update::SetRoute { prefix, next_hop, vrf } => {
            state.set_route(Network::of(vrf, prefix), next_hop)
        }
        Update::RemoveRoute { prefix, vrf } => state.remove_route(Network::of(vrf, prefix)),
        Update::SetNextHop { number, next_hop } => state.set_next_hop(number, next_hop),
        Update::RemoveNextHop { number } => state.remove_next_hop(number),
        Update::SetGroupMember { group, next_hop, weight } => {
            state.set_member(group, next_hop, weight)
        }
        Update::RemoveGroupMember { group, next_hop } => state.remove_member(group, next_hop),
        Update::SetVirtual { port, vlan, mac, address, accept } => {
            set_virtual(state, (port, vlan), address, Virtual { mac: mac.0, accept })
        }
        Update::RemoveVirtual { port, vlan, address } => {
            remove_virtual(state, (port, vlan), address)
        }
        // The host's own, the sessions', what is watched, and the services' (see there).
        Update::SetAddress { .. }
        | Update::RemoveAddress { .. }
        | Update::SetBfd { .. }
        | Update::RemoveBfd { .. }
        | Update::SetNeighbour { .. }
        | Update::RemoveNeighbour { .. }
        | Update::HearNeighbour { .. }
        | Update::WatchRoute { .. }
        | Update::UnwatchRoutes {}
        | Update::SetRule { .. }
        | Update::RemoveRule { .. }
        | Update::SetPolicer { .. }
        | Update::RemovePolicer { .. } => Err(Refusal::Invalid),
    }
}

/// Makes a virtual address the router's own at an interface. There is no route to a link-local one,
/// which ends on the link.
fn set_virtual(
    state: &mut State,
    (port, vlan): (PortName, Option<u16>),
    address: IpAddr,
    one: Virtual,
) -> Result<(), Refusal> {
    let interface = state.interfaces.named(port, vlan).ok_or(Refusal::NotFound)?;
    let own = state.interfaces.get(interface);
    let has_family = if address.is_ipv4() { own.ip.is_some() } else { own.ipv6.is_some() };
    let is_station = !one.mac.is_multicast() && ![MacAddr::ZERO, own.mac.0].contains(&one.mac);
    if !has_family || !is_station || address.is_unspecified() || address.is_multicast() {
        return Err(Refusal::Invalid);
    }
    let route = host(own.vrf, address);
    if state.interfaces.virtuals.get(interface, address).is_none() {
        if state.interfaces.is_full_of_virtuals(interface) {
            return Err(Refusal::Full);
        }
        if has_route(address) {
            if state.get(route).is_some() {
                return Err(Refusal::Exists);
            }
            state.insert(route, state.entries.local)?;
        }
    }
    state.interfaces.virtuals.set(interface, address, one);
    Ok(())
}

fn remove_virtual(
    state: &mut State,
    (port, vlan): (PortName, Option<u16>),
    address: IpAddr,
) -> Result<(), Refusal> {
    let interface = state.interfaces.named(port, vlan).ok_or(Refusal::NotFound)?;
    if !state.interfaces.virtuals.remove(interface, address) {
        return Err(Refusal::NotFound);
    }
    if has_route(address) {
        state.remove(host(state.interfaces.get(interface).vrf, address));
    }
    Ok(())
}

/// Whether packets to an address are routed; link-local ones end on their link.
fn has_route(address: IpAddr) -> bool {
    !matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

fn one() -> u16 {
    1
}

fn is_main(vrf: &u16) -> bool {
    *vrf == 0
}
