//! What the host has and the router has with it: addresses at the interfaces of both, and
//! neighbours behind them.
//!
//! The host answers for the addresses; the router hands over what comes for them. A neighbour is
//! known to both, whoever has learned it: what answers the host is shown to the router, and what
//! the host alone knows comes as a change.
use std::net::IpAddr;

use engine::Refusal;
use function_kit::sections::Prefixed;
use machine::clock::Ticks;
use wire::MacAddr;

use super::addresses::Addresses;
use super::config::{Config, Mac, Network, PortName, network};
use super::control::Update;
use super::neighbours::Neighbours;
use super::pipeline::Pipeline;
use super::state::{State, host};

impl Pipeline {
    /// Applies a change, if it is one of these.
    pub(super) fn apply_own(&mut self, update: &Update, now: Ticks) -> Option<Result<(), Refusal>> {
        let done = match *update {
            Update::SetAddress { port, vlan, address } => {
                set_address(&mut self.state, (port, vlan), address)
            }
            Update::RemoveAddress { port, vlan, address } => {
                remove_address(&mut self.state, (port, vlan), address)
            }
            Update::SetNeighbour { port, vlan, address, mac } => {
                self.tell_neighbour((port, vlan), (address, mac.0, true), now)
            }
            Update::HearNeighbour { port, vlan, address, mac } => {
                self.tell_neighbour((port, vlan), (address, mac.0, false), now)
            }
            Update::RemoveNeighbour { port, vlan, address } => {
                self.loosen_neighbour((port, vlan), address)
            }
            _ => return None,
        };
        if done.is_ok() {
            self.follow_address(update, now);
        }
        self.state.reach_tunnels();
        Some(done)
    }

    fn tell_neighbour(
        &mut self,
        (port, vlan): (PortName, Option<u16>),
        (address, mac, is_fixed): (IpAddr, MacAddr, bool),
        now: Ticks,
    ) -> Result<(), Refusal> {
        let Pipeline { state, neighbours, made, .. } = self;
        let link = state.interfaces.named(port, vlan).ok_or(Refusal::NotFound)?;
        let is_station = !mac.is_multicast() && mac != MacAddr::ZERO;
        if !is_station || address.is_multicast() || address.is_unspecified() {
            return Err(Refusal::Invalid);
        }
        let (Some(neighbours), Some(made)) = (neighbours, made) else {
            return Err(Refusal::Invalid);
        };
        neighbours.tell((state, made), (link, address), (mac, is_fixed), now).ok_or(Refusal::Full)
    }

    fn loosen_neighbour(
        &mut self,
        (port, vlan): (PortName, Option<u16>),
        address: IpAddr,
    ) -> Result<(), Refusal> {
        let Pipeline { state, neighbours, made, .. } = self;
        let link = state.interfaces.named(port, vlan).ok_or(Refusal::NotFound)?;
        let (Some(neighbours), Some(made)) = (neighbours, made) else {
            return Err(Refusal::NotFound);
        };
        match neighbours.loosen((state, made), (link, address)) {
            true => Ok(()),
            false => Err(Refusal::NotFound),
        }
    }
}

/// Makes an address the router's own at an interface that the host has, too.
fn set_address(
    state: &mut State,
    (port, vlan): (PortName, Option<u16>),
    Prefixed { address, len }: Prefixed<IpAddr>,
) -> Result<(), Refusal> {
    let interface = state.interfaces.named(port, vlan).ok_or(Refusal::NotFound)?;
    let own = *state.interfaces.get(interface);
    let before = state.interfaces.addresses.len_of(interface, address);
    if before == Some(len) {
        return Ok(());
    }
    let has_family = address.is_ipv4() || state.routes.ipv6.limits().routes > 0;
    if !own.is_hosted || !has_family || !is_usable(address, len) {
        return Err(Refusal::Invalid);
    }
    let of_link = Network { vrf: own.vrf, address: network(address, len), len };
    let of_address = host(own.vrf, address);
    let is_new_link = len < of_address.len
        && !state.interfaces.addresses.has_link(interface, of_link.address, len);
    if before.is_none() {
        if state.interfaces.addresses.count(interface) >= ADDRESSES_MAX {
            return Err(Refusal::Full);
        }
        if state.get(of_address).is_some() {
            return Err(Refusal::Exists);
        }
    }
    if is_new_link {
        if state.get(of_link).is_some() {
            return Err(Refusal::Exists);
        }
        state.insert(of_link, state.entries.link + u32::from(interface))?;
    }
    if let Err(refusal) = state.insert(of_address, state.entries.local) {
        if is_new_link {
            state.remove(of_link);
        }
        return Err(refusal);
    }
    state.interfaces.addresses.set(interface, address, len);
    if let Some(len) = before {
        leave_link(state, interface, (address, len));
    }
    state.interfaces.choose_addresses(interface);
    Ok(())
}

fn remove_address(
    state: &mut State,
    (port, vlan): (PortName, Option<u16>),
    address: IpAddr,
) -> Result<(), Refusal> {
    let interface = state.interfaces.named(port, vlan).ok_or(Refusal::NotFound)?;
    let len = state.interfaces.addresses.remove(interface, address).ok_or(Refusal::NotFound)?;
    state.remove(host(state.interfaces.get(interface).vrf, address));
    leave_link(state, interface, (address, len));
    state.interfaces.choose_addresses(interface);
    Ok(())
}

/// The route to a link goes with the last address of it.
fn leave_link(state: &mut State, interface: u16, (address, len): (IpAddr, u8)) {
    let link = network(address, len);
    let is_left = !state.interfaces.addresses.has_link(interface, link, len);
    let is_one = len == host(0, address).len;
    if is_left && !is_one {
        state.remove(Network { vrf: state.interfaces.get(interface).vrf, address: link, len });
    }
}

/// Whether an interface can have an address with a route. Link-local ones end on their link.
fn is_usable(address: IpAddr, len: u8) -> bool {
    match address {
        IpAddr::V4(address) => {
            !matches!(address.octets()[0], 0 | 127 | 224..) && (1..=32).contains(&len)
        }
        IpAddr::V6(address) => {
            let is_nobodys = address.is_unspecified()
                || address.is_multicast()
                || address.is_loopback()
                || address.is_unicast_link_local();
            !is_nobodys && (1..=128).contains(&len)
        }
    }
}

/// What the router has beyond its configuration: addresses, and neighbours that were set.
pub(super) fn memory(config: &Config, router: &Pipeline) -> Vec<Update> {
    let interfaces = &router.state().interfaces;
    let place = |number: u16| {
        let one = interfaces.get(number);
        let port = interfaces.ports().get(usize::from(one.port.0)).copied()?;
        Some((port, (one.vlan > 0).then_some(one.vlan)))
    };
    let (before, now) = (Addresses::new(config.links()), &interfaces.addresses);
    let gone = before.iter().filter(|&(at, address, _)| now.len_of(at, address).is_none());
    let gone = gone.filter_map(|(number, address, _)| {
        let (port, vlan) = place(number)?;
        Some(Update::RemoveAddress { port, vlan, address })
    });
    let come = now.iter().filter(|&(at, address, len)| before.len_of(at, address) != Some(len));
    let come = come.filter_map(|(number, address, len)| {
        let (port, vlan) = place(number)?;
        Some(Update::SetAddress { port, vlan, address: Prefixed { address, len } })
    });
    let fixed = router.neighbours().into_iter().flat_map(Neighbours::entries);
    let fixed = fixed.filter(|entry| entry.is_fixed()).filter_map(|entry| {
        let (port, vlan) = place(entry.link)?;
        let (address, mac) = (entry.address, Mac(entry.mac?));
        Some(Update::SetNeighbour { port, vlan, address, mac })
    });
    gone.chain(come).chain(fixed).collect()
}

/// Most addresses of an interface.
const ADDRESSES_MAX: usize = 1024;
