//! Interfaces beside those of the two ports: whose a frame is that comes in, which one a packet
//! leaves by, and how it looks there.
//!
//! All else takes a frame as one that came in by the first interface of its side; while it is
//! looked at, the addresses of its interface stand in place of that one's.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_cgnat::config::{Config, Side};
use model_kit::neighbours::Own;
use packet::PortId;

use super::packets::{address, word};
use super::vrfs::{with_tag, without_tag};
use super::{Expected, INSIDE, Model, OUTSIDE};

/// The interfaces beside the first two.
#[derive(Clone, Default)]
pub(super) struct Interfaces {
    all: Vec<One>,
    /// How many ports there are.
    ports: u8,
    /// The one at which the frame in hand came in.
    here: Option<usize>,
}

#[derive(Clone)]
struct One {
    port: PortId,
    vlan: u16,
    side: PortId,
    own: Own,
    mac_behind: Option<[u8; 6]>,
    networks: Vec<(IpAddr, u8)>,
}

impl Interfaces {
    pub fn new(config: &Config) -> Interfaces {
        let mut names = vec!["inside".to_owned(), "outside".to_owned()];
        let mut all = Vec::new();
        for one in &config.interfaces {
            let name = one.port.as_str().to_owned();
            if !names.contains(&name) {
                names.push(name.clone());
            }
            let port = names.iter().position(|known| *known == name).unwrap_or_default();
            let (side, mac, ipv6) = match one.side {
                Side::Inside => (INSIDE, config.inside_mac, config.inside_ipv6),
                Side::Outside => (OUTSIDE, config.outside_mac, config.outside_ipv6),
            };
            let ipv4 = one.networks.iter().map(|it| (it.address.into(), it.len));
            let ipv6_networks = one.networks_ipv6.iter().map(|it| (it.address.into(), it.len));
            all.push(One {
                port: PortId(port as u8),
                vlan: one.vlan,
                side,
                own: Own {
                    mac: one.mac.unwrap_or(mac).0.0,
                    ipv4: Some(one.ip),
                    ipv6: Some(one.ipv6.unwrap_or(ipv6)),
                },
                mac_behind: one.next_hop_mac.map(|mac| mac.0.0),
                networks: ipv4.chain(ipv6_networks).collect(),
            });
        }
        Interfaces { all, ports: names.len() as u8, here: None }
    }

    pub fn are_there(&self) -> bool {
        !self.all.is_empty()
    }

    /// The number of an interface in place of a port's.
    pub fn number(place: usize) -> PortId {
        PortId(NUMBERS + place as u8)
    }

    fn of(&self, port: PortId) -> Option<&One> {
        self.all.get(usize::from(port.0.checked_sub(NUMBERS)?))
    }

    /// Whose a frame is by port and tag: none of the first interfaces' and of other workers'.
    ///
    /// # Errors
    /// When it is nobody's.
    fn find(&self, port: PortId, frame: &[u8]) -> Result<Option<usize>, &'static str> {
        let is_tagged = frame.len() >= 14 && word(frame, 12) == 0x8100;
        let vlan = match (is_tagged, frame.len() >= 18) {
            (false, _) => Some(0),
            (true, true) => Some(word(frame, 14) % 4096),
            (true, false) => None,
        };
        let is_it = |one: &One| one.port == port && Some(one.vlan) == vlan;
        match self.all.iter().position(is_it) {
            Some(place) => Ok(Some(place)),
            None if port == INSIDE || port == OUTSIDE || port.0 >= self.ports => Ok(None),
            None => Err("unknown-vlan"),
        }
    }
}

impl Model {
    /// The side of a frame that comes in, and the frame without the tag of its interface.
    ///
    /// # Errors
    /// When it is of no interface.
    pub(super) fn come_in(
        &mut self,
        port: PortId,
        frame: &[u8],
    ) -> Result<(PortId, Vec<u8>), &'static str> {
        self.interfaces.here = None;
        if !self.interfaces.are_there() {
            return Ok((port, frame.to_vec()));
        }
        self.interfaces.here = self.interfaces.find(port, frame)?;
        match self.interfaces.here {
            Some(place) => Ok((self.interfaces.all[place].side, untagged(frame))),
            None => Ok((self.without_ports(port), frame.to_vec())),
        }
    }

    /// What left, as if it had left by the first interface of its side.
    pub(super) fn as_of_side(&self, (port, frame): (PortId, &[u8])) -> (PortId, Vec<u8>) {
        if !self.interfaces.are_there() {
            return (port, frame.to_vec());
        }
        match self.interfaces.find(port, frame) {
            Ok(Some(place)) => (self.interfaces.all[place].side, untagged(frame)),
            _ => (self.without_ports(port), frame.to_vec()),
        }
    }

    /// Nothing is in hand.
    pub(super) fn nothing_in_hand(&mut self) {
        self.interfaces.here = None;
    }

    /// A frame that is ready to leave by its side, as it leaves by a port.
    pub(super) fn go_out(&self, whole: Expected) -> Expected {
        let Expected::Forward { port, frame } = whole else { return whole };
        match self.interfaces.of(port) {
            Some(one) => Expected::Forward { port: one.port, frame: with_tag(one.vlan, frame) },
            None if port == INSIDE || port == OUTSIDE || !self.interfaces.are_there() => {
                Expected::Forward { port, frame }
            }
            None => Expected::Forward { port: PortId(port.0 - 2 + self.interfaces.ports), frame },
        }
    }

    /// An answer to the frame in hand leaves where that came in.
    pub(super) fn in_place(&self, whole: Expected) -> Expected {
        match (whole, self.interfaces.here) {
            (Expected::Forward { port, frame }, Some(place))
                if port == self.interfaces.all[place].side
                    && !super::host::is_unaddressed(&frame) =>
            {
                Expected::Forward { port: Interfaces::number(place), frame }
            }
            (other, _) => other,
        }
    }

    /// The interface by which a packet leaves that leaves by a side.
    pub(super) fn way_out(&self, side: PortId, frame: &[u8]) -> PortId {
        let destination = match word(frame, 12) {
            0x0800 => IpAddr::V4(address(frame, 30)),
            0x86dd => {
                let octets: [u8; 16] = frame[38..54].try_into().unwrap_or_default();
                IpAddr::V6(octets.into())
            }
            _ => return side,
        };
        let mut best = None;
        for (place, one) in self.interfaces.all.iter().enumerate() {
            for (network, len) in &one.networks {
                let holds = one.side == side && covers(*network, *len, destination);
                if holds && best.is_none_or(|(longest, _)| *len >= longest) {
                    best = Some((*len, place));
                }
            }
        }
        best.map_or(side, |(_, place)| Interfaces::number(place))
    }

    /// The configured Ethernet address behind an interface; none where that is asked for, and of
    /// the first ones.
    pub(super) fn mac_behind(&self, port: PortId) -> Option<[u8; 6]> {
        self.interfaces.of(port)?.mac_behind
    }

    /// The addresses of a side's interface: the one at which the frame in hand came in, or the
    /// first.
    pub(super) fn here(&self, port: PortId) -> Own {
        let here = self.interfaces.here.map(|place| &self.interfaces.all[place]);
        here.filter(|one| one.side == port).map_or_else(|| self.own_at(port), |one| one.own)
    }

    /// The addresses of an interface by its number.
    pub(super) fn own_at(&self, port: PortId) -> Own {
        let config = &self.config;
        let (mac, ipv4, ipv6) = match port {
            INSIDE => (config.inside_mac, config.inside_ip, config.inside_ipv6),
            _ => (config.outside_mac, config.outside_ip, config.outside_ipv6),
        };
        let first = Own { mac: mac.0.0, ipv4: Some(ipv4), ipv6: Some(ipv6) };
        self.interfaces.of(port).map_or(first, |one| one.own)
    }

    /// The link at which the frame in hand came in.
    pub(super) fn link_here(&self, port: PortId, realm: u16) -> (PortId, u16) {
        self.interfaces.here.map_or((port, realm), |place| (Interfaces::number(place), 0))
    }

    fn without_ports(&self, port: PortId) -> PortId {
        match port.0.checked_sub(self.interfaces.ports) {
            Some(worker) => PortId(2 + worker),
            None => port,
        }
    }
}

/// By what number workers tell each other of a further interface: 96 and on outside, 128 and on
/// inside, each side's in the order of the configuration.
pub(super) fn interface_number(config: &Config, port: PortId) -> Option<u8> {
    let numbers = (0..config.interfaces.len()).map(Interfaces::number);
    let place = numbers.into_iter().position(|number| number == port)?;
    let side = config.interfaces[place].side;
    let before = config.interfaces[..place].iter().filter(|one| one.side == side).count();
    Some(before as u8 + if side == Side::Inside { 128 } else { 96 })
}

/// The interface of such a number.
pub(super) fn shared_interface(config: &Config, number: u8) -> PortId {
    let mut all = (0..config.interfaces.len()).map(Interfaces::number);
    let found = all.find(|port| interface_number(config, *port) == Some(number));
    found.unwrap_or(PortId(u8::MAX))
}

/// Whether a network has an address.
fn covers(network: IpAddr, len: u8, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (32, u128::from(Ipv4Addr::to_bits(address))),
        IpAddr::V6(address) => (128, Ipv6Addr::to_bits(address)),
    };
    let ((width, one), (other_width, other)) = (bits(network), bits(address));
    let behind = width - u32::from(len);
    width == other_width && one.checked_shr(behind) == other.checked_shr(behind)
}

fn untagged(frame: &[u8]) -> Vec<u8> {
    match frame.len() >= 18 && word(frame, 12) == 0x8100 {
        true => without_tag(frame).1,
        false => frame.to_vec(),
    }
}

/// Numbers of interfaces begin here, beyond those of ports.
const NUMBERS: u8 = 150;
