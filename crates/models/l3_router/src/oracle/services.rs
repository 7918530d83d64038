//! The model of access lists, policers and remarking: every rule in turn, buckets in exact
//! arithmetic.
use crate::ports::Numbered;
use packet::PortId;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use function_l3_router::config::{
    AclRule, Action, Algorithm, Config, List, Part, PoliceBy, Policer, Prefixed, Resolved,
};
use function_l3_router::control::Update;
use model_kit::headers::Headers;
use model_kit::host::{internet_sum, word};
use tables::oracle::ExactPolicer;
use tables::policer::Colour;

use super::reassembly::Known;
use crate::catalogue;

/// Lists and policers.
pub(super) struct Services {
    config: Config,
    lists: BTreeMap<List, BTreeMap<u32, AclRule>>,
    policers: BTreeMap<u32, (Policer, ExactPolicer)>,
}

/// What a list sees of a packet.
struct Seen {
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    ports: Option<(u16, u16)>,
    /// ICMP's type and code.
    icmp: Option<(u8, u8)>,
    tcp_flags: Option<u8>,
    /// Whether it is a fragment, and whether it is not the first one.
    part: (bool, bool),
    /// Whether what is behind the headers of IP can be read.
    is_read: bool,
    dscp: u8,
    port: PortId,
    vlan: u16,
}

impl Services {
    pub fn new(config: &Config) -> Services {
        let lists = [List::Ingress, List::Egress];
        let lists = lists.map(|list| (list, config.all_rules(list).into_iter().collect()));
        let mut services =
            Services { config: config.clone(), lists: lists.into(), policers: BTreeMap::new() };
        if config.police_by != PoliceBy::None {
            for (number, policer) in config.all_policers() {
                services.set_policer(number, policer, Duration::ZERO);
            }
        }
        services
    }

    /// Whether a change that is of lists or policers is possible; none for others.
    pub fn apply(&mut self, update: &Update, now: Duration) -> Option<bool> {
        Some(match *update {
            Update::SetRule { list, number, rule } => self.set_rule(list, number, rule),
            Update::RemoveRule { list, number } => {
                self.lists.get_mut(&list).is_some_and(|rules| rules.remove(&number).is_some())
            }
            Update::SetPolicer { number, policer } => self.set_policer(number, policer, now),
            Update::RemovePolicer { number } => {
                !self.is_parent(number) && self.policers.remove(&number).is_some()
            }
            _ => return None,
        })
    }

    /// A packet with hops to go as it goes on behind the ingress list and its policer.
    pub fn admit(
        &mut self,
        at: &Resolved,
        (packet, known): (&[u8], Option<Known>),
        now: Duration,
    ) -> Result<Vec<u8>, &'static str> {
        let seen = Seen::of(&self.config, packet, known, at);
        if !self.reads(List::Ingress, &seen) {
            return Err("acl-unreadable");
        }
        let rule = self.first(List::Ingress, &seen);
        if self.denies(List::Ingress, rule) {
            return Err("acl-ingress");
        }
        let number = match self.config.police_by {
            PoliceBy::None => return Ok(packet.to_vec()),
            PoliceBy::Acl => rule.and_then(|rule| rule.policer),
            PoliceBy::Port => Some(at.port.0.into()),
            PoliceBy::Dscp => Some(seen.dscp.into()),
            PoliceBy::Source => Some(self.by_source(seen.from)),
        };
        let Some((policer, mut exact)) = number.and_then(|n| self.policers.get(&n).copied()) else {
            return Ok(packet.to_vec());
        };
        // RFC 2597: AF1 to AF4, of which the second is yellow and the third red.
        let before = match seen.dscp {
            12 | 20 | 28 | 36 => Colour::Yellow,
            14 | 22 | 30 | 38 => Colour::Red,
            _ => Colour::Green,
        };
        let (ticks, bits) = (now.as_nanos() as u64, 8 * packet.len() as u32);
        let colour = match policer.parent.and_then(|parent| self.policers.get_mut(&parent)) {
            None => exact.mark(ticks, bits, before),
            Some((_, parent)) => parent.mark_child(&mut exact, ticks, bits, before),
        };
        self.policers.insert(number.unwrap_or_default(), (policer, exact));
        let remark = self.config.remark;
        match (colour, [remark.green, remark.yellow, remark.red][colour as usize]) {
            (_, Some(dscp)) => Ok(with_dscp(packet, dscp)),
            (Colour::Red, None) => Err("policed"),
            (_, None) => Ok(packet.to_vec()),
        }
    }

    /// Takes over what is in the buckets of policers; each goes on by its own clock.
    pub fn charge_as(&mut self, other: &Services) {
        for (number, (_, exact)) in &mut self.policers {
            if let Some((_, other)) = other.policers.get(number) {
                exact.charge_as(other);
            }
        }
    }

    /// Whether the egress list lets a packet out by an interface.
    pub fn dismiss(
        &self,
        out: &Resolved,
        (packet, known): (&[u8], Option<Known>),
    ) -> Result<(), &'static str> {
        let seen = Seen::of(&self.config, packet, known, out);
        match self.denies(List::Egress, self.first(List::Egress, &seen)) {
            _ if !self.reads(List::Egress, &seen) => Err("acl-unreadable"),
            true => Err("acl-egress"),
            false => Ok(()),
        }
    }

    /// Whether a list can read a packet, or has no rule for its version that needs more than the
    /// header of IP.
    fn reads(&self, list: List, seen: &Seen) -> bool {
        let needs = |rule: &AclRule| {
            let network = rule.source.or(rule.destination);
            network.is_none_or(|network| network.address.is_ipv4() == seen.from.is_ipv4())
                && ((rule.protocol, rule.source_ports) != (None, None)
                    || (rule.destination_ports, rule.fragment) != (None, None))
        };
        seen.is_read || !self.lists[&list].values().any(needs)
    }

    fn first(&self, list: List, seen: &Seen) -> Option<AclRule> {
        self.lists[&list].values().find(|rule| seen.meets(&self.config, rule)).copied()
    }

    fn denies(&self, list: List, rule: Option<AclRule>) -> bool {
        !self.lists[&list].is_empty() && rule.is_none_or(|rule| rule.action == Action::Deny)
    }

    fn set_rule(&mut self, list: List, number: u32, rule: AclRule) -> bool {
        let needs_ipv6 = rule.versions() == (false, true);
        let Some(rules) = self.lists.get_mut(&list) else { return false };
        let has_room =
            rules.contains_key(&number) || rules.len() < self.config.rules_max(list) as usize;
        let has_port = rule.port.is_none_or(|port| self.config.port_names().contains(&port));
        let is_possible =
            rule.is_sound() && has_room && has_port && (self.config.ipv6 || !needs_ipv6);
        if is_possible {
            rules.insert(number, rule);
        }
        is_possible
    }

    fn set_policer(&mut self, number: u32, policer: Policer, now: Duration) -> bool {
        let is_parent_fit = |parent: u32| {
            parent != number
                && self.policers.get(&parent).is_some_and(|(above, _)| above.parent.is_none())
                && !self.is_parent(number)
        };
        if number >= self.config.policers_max() || !policer.parent.is_none_or(is_parent_fit) {
            return false;
        }
        let rfc = match policer.algorithm {
            Algorithm::Rfc2697 => 2697,
            Algorithm::Rfc2698 => 2698,
            Algorithm::Rfc4115 => 4115,
        };
        // Bits where the policer counts bytes; a nanosecond is a tick.
        let rates = [policer.committed_rate, policer.excess_rate];
        let bursts = [8 * policer.committed_burst, 8 * policer.excess_burst];
        let now = now.as_nanos() as u64;
        let exact = ExactPolicer::new(rfc, policer.colour_aware, rates, bursts, 1_000_000_000, now);
        self.policers.insert(number, (policer, exact));
        true
    }

    fn is_parent(&self, number: u32) -> bool {
        self.policers.contains_key(&number)
            && self.policers.values().any(|(policer, _)| policer.parent == Some(number))
    }

    /// The 32-bit words of the address, added without carry, times 2^32 divided by the golden
    /// ratio; of the product's lower 32 bits the part that the policers by source are of all
    /// numbers.
    fn by_source(&self, from: IpAddr) -> u32 {
        let folded = match from {
            IpAddr::V4(from) => from.to_bits(),
            IpAddr::V6(from) => {
                let part = |at: u32| (from.to_bits() >> (32 * at)) as u32;
                part(0) ^ part(1) ^ part(2) ^ part(3)
            }
        };
        let product = u64::from(folded) * 0x9e37_79b1 % (1 << 32);
        let among = self.config.policers_by_source.unwrap_or_default();
        let share = product * u64::from(among.count) / (1 << 32);
        among.first + share as u32
    }
}

impl Seen {
    fn of(config: &Config, packet: &[u8], known: Option<Known>, place: &Resolved) -> Seen {
        let is_ipv4 = packet[0] >> 4 == 4;
        let headers = if is_ipv4 {
            Headers::of_ipv4(packet)
        } else {
            Headers::of_ipv6(packet, config.extension_headers_max.into())
        };
        let (protocol, ports) = known.unwrap_or((headers.protocol, headers.ports(packet)));
        let (from, to) = addresses(packet, is_ipv4);
        let class = if is_ipv4 { packet[1] } else { (word(packet, 0) >> 4) as u8 };
        let byte = |at: usize| packet.get(headers.behind? + at).copied();
        let is_part = if is_ipv4 {
            word(packet, 6) & 0x3fff != 0
        } else {
            let mut chain = headers.chain.iter();
            chain.any(|&(kind, at)| kind == 44 && word(packet, at + 2) & 0xfff9 != 0)
        };
        Seen {
            from,
            to,
            protocol,
            ports,
            icmp: byte(0).zip(byte(1)).filter(|_| [1, 58].contains(&headers.protocol)),
            tcp_flags: byte(13).filter(|_| headers.protocol == 6),
            part: (is_part, headers.behind.is_none()),
            is_read: headers.are_read,
            dscp: class >> 2,
            port: place.port,
            vlan: place.vlan,
        }
    }

    fn meets(&self, config: &Config, rule: &AclRule) -> bool {
        let covers = |prefix: Option<Prefixed<IpAddr>>, address: IpAddr| {
            prefix.is_none_or(|prefix| {
                let whole = |address| catalogue::network(address, prefix.len);
                address.is_ipv4() == prefix.address.is_ipv4()
                    && whole(address) == whole(prefix.address)
            })
        };
        let within = |wanted: Option<function_l3_router::config::Ports>,
                      port: fn((u16, u16)) -> u16| {
            wanted.is_none_or(|wanted| {
                self.ports.is_some_and(|ports| (wanted.first..=wanted.last).contains(&port(ports)))
            })
        };
        covers(rule.source, self.from)
            && covers(rule.destination, self.to)
            && rule.protocol.is_none_or(|protocol| protocol == self.protocol)
            && within(rule.source_ports, |ports| ports.0)
            && within(rule.destination_ports, |ports| ports.1)
            && rule.icmp_type.is_none_or(|kind| self.icmp.is_some_and(|icmp| icmp.0 == kind))
            && rule.icmp_code.is_none_or(|code| self.icmp.is_some_and(|icmp| icmp.1 == code))
            && rule.tcp_flags.is_none_or(|wanted| {
                let all = wanted.set | wanted.clear;
                self.tcp_flags.is_some_and(|flags| flags & all == wanted.set)
            })
            && rule.fragment.is_none_or(|part| match part {
                Part::None => !self.part.0,
                Part::Any => self.part.0,
                Part::First => self.part == (true, false),
                Part::Later => self.part == (true, true),
            })
            && rule.dscp.is_none_or(|dscp| dscp == self.dscp)
            && rule.port.is_none_or(|port| config.number_of(port) == self.port)
            && rule.vlan.is_none_or(|vlan| vlan == self.vlan)
    }
}

fn addresses(packet: &[u8], is_ipv4: bool) -> (IpAddr, IpAddr) {
    let four = |at: usize| IpAddr::from([0, 1, 2, 3].map(|part| packet[at + part]));
    let sixteen = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&packet[at..at + 16]);
        IpAddr::from(octets)
    };
    if is_ipv4 { (four(12), four(16)) } else { (sixteen(8), sixteen(24)) }
}

/// RFC 2474: the upper six bits of IPv4's second octet and of IPv6's traffic class.
fn with_dscp(packet: &[u8], dscp: u8) -> Vec<u8> {
    let mut packet = packet.to_vec();
    if packet[0] >> 4 == 4 {
        packet[1] = packet[1] & 3 | dscp << 2;
        packet[10..12].fill(0);
        let sum = !internet_sum(&packet[..4 * usize::from(packet[0] & 15)]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        packet[0] = 0x60 | dscp >> 2;
        packet[1] = packet[1] & 0x3f | dscp << 6;
    }
    packet
}
