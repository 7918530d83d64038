//! Interfaces beside the two ports' own (key `interfaces`): which frames are of which one, and
//! which packets leave by it.
//!
//! ```text
//!  ports, VLANs -> come in: a number of an interface -> all else -> go out: a port and a VLAN
//! ```
//! A frame loses its tag and gets the number of its interface ([`sides`](crate::types::sides)) in
//! place of a port first of all, and which interface a packet leaves by follows from its
//! destination, last of all. Answers to the frame in hand leave by the interface at which that came
//! in. Where there are none, no frame is looked at.
//!
//! **Not supported:** several next hops for one network, VRFs on further interfaces, an MTU for
//! each interface of a side.

pub(crate) mod config;
mod stage;
pub(crate) mod validate;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::PortName;
use packet::PortId;
use tables::lpm::{Limits, Lpm};
use wire::MacAddr;

use crate::config::{Config, Interface, Prefixed, Side};
use crate::types::networks::first_bits;
use crate::types::sides::{
    FIRST_WORKER, FURTHER_INSIDE, FURTHER_OUTSIDE, NOWHERE, is_further, side,
};

/// All further interfaces.
#[derive(Debug)]
pub(crate) struct Further {
    places: Places,
    /// Those of each side in the order of their numbers, the inside ones first.
    all: [Vec<Own>; 2],
    routes: [Routes; 2],
}

/// What is configured of an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    pub mac: MacAddr,
    pub ip: Ipv4Addr,
    pub ipv6: Ipv6Addr,
    port: PortId,
    vlan: u16,
}

/// The numbers of interfaces by what leads out of a side.
#[derive(Debug)]
struct Routes {
    ipv4: Lpm<u32>,
    ipv6: Lpm<u128>,
}

impl Further {
    /// Those of a validated configuration; none where it has none.
    ///
    /// # Errors
    /// When there is no memory for their routes.
    pub fn new(config: &Config) -> io::Result<Option<Further>> {
        let Some(places) = Places::new(config) else { return Ok(None) };
        let of = |wanted: Side| {
            let is_of = move |(_, one): &(PortId, &Interface)| one.side == wanted;
            numbered(config).filter(is_of)
        };
        let own = |(_, one): (PortId, &Interface)| {
            let (mac, ipv6) = match one.side {
                Side::Inside => (config.inside_mac, config.inside_ipv6),
                Side::Outside => (config.outside_mac, config.outside_ipv6),
            };
            Own {
                mac: one.mac.unwrap_or(mac).0,
                ip: one.ip,
                ipv6: one.ipv6.unwrap_or(ipv6),
                port: number_of(config, one.port),
                vlan: one.vlan,
            }
        };
        let sides = [Side::Inside, Side::Outside];
        let [inside, outside] = sides.map(|side| Routes::new(of(side)));
        Ok(Some(Further {
            places,
            all: sides.map(|side| of(side).map(own).collect()),
            routes: [inside?, outside?],
        }))
    }

    /// What is configured of an interface; none of those that are no further ones.
    #[inline(always)]
    pub fn own(&self, port: PortId) -> Option<&Own> {
        is_further(port).then(|| self.all[side(port)].get(ordinal(port)))?
    }

    /// The interface by which a packet leaves a side, if that is a further one.
    pub fn way_out(&self, port: PortId, destination: IpAddr) -> Option<PortId> {
        let routes = &self.routes[side(port)];
        let found = match destination {
            IpAddr::V4(address) => routes.ipv4.lookup(address.to_bits()),
            IpAddr::V6(address) => routes.ipv6.lookup(address.to_bits()),
        };
        found.map(|number| PortId(number as u8))
    }

    /// The interface of a frame that came in by a port with a tag, or without one.
    pub fn entry(&self, port: PortId, tag: Option<u16>) -> PortId {
        self.places.entry(port, tag)
    }

    /// The port by which frames of an interface leave, and their VLAN, 0 for no tag.
    pub fn exit(&self, port: PortId) -> (PortId, u16) {
        match self.own(port) {
            Some(own) => (own.port, own.vlan),
            None if port < FIRST_WORKER => (port, 0),
            None => (PortId(port.0 - FIRST_WORKER.0 + self.places.ports), 0),
        }
    }
}

impl Routes {
    fn new<'a>(all: impl Iterator<Item = (PortId, &'a Interface)> + Clone) -> io::Result<Routes> {
        let ipv4 = all.clone().map(|(_, one)| one.networks.len()).sum();
        let ipv6 = all.clone().map(|(_, one)| one.networks_ipv6.len()).sum();
        let mut routes = Routes {
            ipv4: Lpm::new(Limits::for_any::<u32>(ipv4))?,
            ipv6: Lpm::new(Limits::for_any::<u128>(ipv6))?,
        };
        for (number, one) in all {
            let value = number.0.into();
            for &Prefixed { address, len } in &one.networks {
                let prefix = (first_bits(address.into(), len) >> 96) as u32;
                routes.ipv4.insert(prefix, len, value).map_err(io::Error::other)?;
            }
            for &Prefixed { address, len } in &one.networks_ipv6 {
                let prefix = first_bits(address.into(), len);
                routes.ipv6.insert(prefix, len, value).map_err(io::Error::other)?;
            }
        }
        Ok(routes)
    }
}

/// The numbers of interfaces by the ports and VLANs of their frames.
#[derive(Debug)]
pub(crate) struct Places {
    /// By port and VLAN.
    numbers: Box<[PortId]>,
    /// Ports of the NAT; behind them are those towards other workers.
    ports: u8,
}

impl Places {
    /// Those of a validated configuration; none where it has no further interfaces.
    pub fn new(config: &Config) -> Option<Places> {
        let ports = port_names(config).len();
        let mut numbers = vec![NOWHERE; ports * VLANS].into_boxed_slice();
        for (number, one) in numbered(config) {
            let place = VLANS * usize::from(number_of(config, one.port).0) + usize::from(one.vlan);
            *numbers.get_mut(place)? = number;
        }
        (!config.interfaces.is_empty()).then_some(Places { numbers, ports: ports as u8 })
    }

    /// The interface of a frame that came in by a port with a tag, or without one. Frames with
    /// tags of no further interface are those of the two ports themselves there.
    #[inline]
    pub fn entry(&self, port: PortId, tag: Option<u16>) -> PortId {
        if port.0 >= self.ports {
            return PortId(port.0 - self.ports + FIRST_WORKER.0);
        }
        let place = VLANS * usize::from(port.0) + usize::from(tag.unwrap_or(0));
        let number = self.numbers.get(place).copied().unwrap_or(NOWHERE);
        if number == NOWHERE && port < FIRST_WORKER { port } else { number }
    }
}

/// The names of the ports of a configuration, in the order of their numbers.
pub(crate) fn port_names(config: &Config) -> Vec<PortName> {
    let mut names = ["inside", "outside"].map(PortName::new).to_vec();
    for one in &config.interfaces {
        if !names.contains(&one.port) {
            names.push(one.port);
        }
    }
    names
}

/// All further interfaces with their numbers.
pub(crate) fn numbered(config: &Config) -> impl Iterator<Item = (PortId, &Interface)> + Clone {
    let mut next = [FURTHER_INSIDE, FURTHER_OUTSIDE];
    config.interfaces.iter().map(move |one| {
        let next = &mut next[usize::from(one.side == Side::Outside)];
        let number = *next;
        next.0 += 1;
        (number, one)
    })
}

/// The place of a further interface among those of its side.
pub(crate) fn ordinal(port: PortId) -> usize {
    usize::from(port.0 - [FURTHER_INSIDE, FURTHER_OUTSIDE][side(port)].0)
}

fn number_of(config: &Config, name: PortName) -> PortId {
    let place = port_names(config).iter().position(|one| *one == name);
    PortId(place.unwrap_or_default() as u8)
}

/// Tags that there can be.
const VLANS: usize = 4096;
