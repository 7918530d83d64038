//! Lists of rules: every rule in turn.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use function_bng::config::{Action, Config, Direction, List, Matched, Name, Part, Rule, Session};
use function_kit::sections::Ports;
use model_kit::headers::Headers;
use model_kit::host::word;

use super::packets::Packet;

/// Lists by their names.
pub(super) struct Lists {
    all: BTreeMap<Name, List>,
    config: Config,
}

impl Lists {
    pub fn new(config: &Config) -> Lists {
        Lists { all: BTreeMap::new(), config: config.clone() }
    }

    pub fn has(&self, name: Name) -> bool {
        self.all.contains_key(&name)
    }

    /// Adds a list; whether that is possible. One of rules that another one has takes no room.
    pub fn add(&mut self, list: &List) -> bool {
        let is_same =
            |other: &&List| (&other.rules, other.otherwise) == (&list.rules, list.otherwise);
        let mut differing: Vec<&List> = Vec::new();
        for one in self.all.values() {
            let content =
                |other: &&List| (&other.rules, other.otherwise) == (&one.rules, one.otherwise);
            if !differing.iter().any(content) {
                differing.push(one);
            }
        }
        let is_kept = differing.iter().any(is_same);
        let is_possible = !self.has(list.name)
            && self.all.len() < 16 * self.config.list_capacity as usize
            && list.rules.len() <= self.config.list_rules as usize
            && list.rules.iter().all(is_sound)
            && (is_kept || differing.len() < self.config.list_capacity as usize);
        if is_possible {
            self.all.insert(list.name, list.clone());
        }
        is_possible
    }

    /// Removes a list that nobody has; whether it was there.
    pub fn remove(&mut self, name: Name) -> bool {
        self.all.remove(&name).is_some()
    }

    /// What a list says of a session's packet.
    pub fn judge(
        &self,
        name: Name,
        way: Direction,
        session: &Session,
        packet: &Packet,
    ) -> Result<(), &'static str> {
        let Some(list) = self.all.get(&name) else { return Ok(()) };
        let seen = Seen::of(packet);
        let looks = |rule: &Rule| looks_behind(rule) && is_of(rule, packet.is_ipv4());
        if !seen.is_read && list.rules.iter().any(looks) {
            return Err("list-unreadable");
        }
        let first = list.rules.iter().find(|rule| seen.meets(rule, way, session, packet));
        match first.map_or(list.otherwise, |rule| rule.action) {
            Action::Permit => Ok(()),
            Action::Deny => Err("list-denied"),
        }
    }
}

fn networks(rule: &Rule) -> impl Iterator<Item = IpAddr> {
    let both = [rule.source, rule.destination].into_iter().flatten();
    both.filter_map(|one| match one {
        Matched::Network(net) => Some(net.address),
        Matched::Subscriber => None,
    })
}

/// Whether it is for packets of a version of IP.
fn is_of(rule: &Rule, is_ipv4: bool) -> bool {
    networks(rule).all(|address| address.is_ipv4() == is_ipv4)
}

fn looks_behind(rule: &Rule) -> bool {
    rule.protocol.is_some()
        || rule.fragment.is_some()
        || rule.source_ports.is_some()
        || rule.destination_ports.is_some()
}

fn is_sound(rule: &Rule) -> bool {
    let is_turned = |ports: Ports| ports.first > ports.last;
    let turned = [rule.source_ports, rule.destination_ports].into_iter().flatten().any(is_turned);
    let is_code_point = rule.dscp.is_none_or(|dscp| dscp <= 63);
    !turned && is_code_point && (is_of(rule, true) || is_of(rule, false))
}

/// What a list sees of a packet behind its addresses.
struct Seen {
    protocol: u8,
    ports: Option<(u16, u16)>,
    /// Whether it is a fragment, and whether it is not the first one.
    part: (bool, bool),
    is_read: bool,
}

impl Seen {
    fn of(packet: &Packet) -> Seen {
        let bytes = &packet.bytes;
        let headers = match packet.is_ipv4() {
            true => Headers::of_ipv4(bytes),
            false => Headers::of_ipv6(bytes, EXTENSION_HEADERS_MAX),
        };
        let is_part = match packet.is_ipv4() {
            true => word(bytes, 6) & 0x3fff != 0,
            false => {
                let mut chain = headers.chain.iter();
                chain.any(|&(kind, at)| kind == 44 && word(bytes, at + 2) & 0xfff9 != 0)
            }
        };
        Seen {
            protocol: headers.protocol,
            ports: headers.ports(bytes),
            part: (is_part, headers.behind.is_none()),
            is_read: headers.are_read,
        }
    }

    fn meets(&self, rule: &Rule, way: Direction, session: &Session, packet: &Packet) -> bool {
        let is_there = |wanted: Option<Matched>, address: IpAddr| match wanted {
            None => true,
            Some(Matched::Subscriber) => has(session, address),
            Some(Matched::Network(net)) => covers((net.address, net.len), address),
        };
        let within = |wanted: Option<Ports>, port: fn((u16, u16)) -> u16| {
            wanted.is_none_or(|wanted| {
                self.ports.is_some_and(|ports| (wanted.first..=wanted.last).contains(&port(ports)))
            })
        };
        rule.direction.is_none_or(|wanted| wanted == way)
            && is_there(rule.source, packet.source)
            && is_there(rule.destination, packet.destination)
            && rule.protocol.is_none_or(|protocol| protocol == self.protocol)
            && within(rule.source_ports, |ports| ports.0)
            && within(rule.destination_ports, |ports| ports.1)
            && rule.dscp.is_none_or(|dscp| dscp == packet.dscp())
            && rule.fragment.is_none_or(|part| match part {
                Part::None => !self.part.0,
                Part::Any => self.part.0,
                Part::Later => self.part.1,
            })
    }
}

/// Whether an address is a session's.
pub(super) fn has(session: &Session, address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => session.ipv4 == Some(address),
        IpAddr::V6(address) => {
            let of = |prefix: (Ipv6Addr, u8)| covers((prefix.0.into(), prefix.1), address.into());
            let slaac = session.slaac.map(|prefix| (prefix.address, prefix.len));
            let delegated = session.delegated.map(|prefix| (prefix.address, prefix.len));
            session.na == Some(address) || slaac.is_some_and(of) || delegated.is_some_and(of)
        }
    }
}

/// Whether an address is of a network.
pub(super) fn covers((network, len): (IpAddr, u8), address: IpAddr) -> bool {
    let whole = |address| model_kit::service::network(address, len);
    network.is_ipv4() == address.is_ipv4() && whole(network) == whole(address)
}

/// Extension headers that lists look behind.
const EXTENSION_HEADERS_MAX: usize = wire::ipv6::EXTENSION_HEADERS_MAX;
