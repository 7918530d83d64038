//! Interfaces beside those of the two ports, and whose a frame is that comes in.
use std::net::IpAddr;

use function_cgnat::config::{Config, Side};
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::neighbours::Own;
use packet::PortId;

use super::packets::word;

mod way;

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

/// Numbers of interfaces begin here, beyond those of ports.
const NUMBERS: u8 = 150;
