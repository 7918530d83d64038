//! The slow, obviously right model of a router: routes in a map, found by trying every length from
//! the longest on, and headers read and built byte by byte.
//!
//! It shares no code with the pipeline but the catalogue, names and the constants of the standards.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use packet::PortId;
use wire::{ethernet, ipv4, ipv6};

use super::catalogue;
use super::config::{Config, NextHop, Port};
use super::control::Update;
use super::state::passing_side;
use crate::check::{Expected, Oracle};

/// The model.
pub struct Model {
    config: Config,
    /// Where a route leads, by length and network.
    routes: BTreeMap<(u8, IpAddr), To>,
    next_hops: BTreeMap<u32, NextHop>,
}

/// Where a route leads.
#[derive(Clone, Copy, PartialEq)]
enum To {
    /// To the router itself.
    Itself,
    /// To a link, where nobody has the address.
    Link,
    /// To a next hop.
    NextHop(u32),
}

/// Why a packet is dropped, or how it leaves.
type Judgement = Result<Expected, &'static str>;

impl Oracle for Model {
    type Update = Update;

    fn expect(&mut self, port: PortId, frame: &[u8], _: Duration) -> Expected {
        self.judge(Port::of(port), frame).unwrap_or_else(Expected::Drop)
    }

    fn apply(&mut self, update: &Update, _: Duration) -> bool {
        match *update {
            Update::SetRoute { prefix, next_hop } => {
                self.set_route(prefix.address, prefix.len, next_hop)
            }
            Update::RemoveRoute { prefix } => {
                let key = (prefix.len, prefix.address);
                !self.is_connected(key) && self.routes.remove(&key).is_some()
            }
            Update::SetNextHop { number, next_hop } => self.set_next_hop(number, next_hop),
            Update::RemoveNextHop { number } => match self.next_hops.remove(&number) {
                None => false,
                Some(old) => {
                    for address in addresses(old) {
                        self.routes.remove(&(bits(address), address));
                    }
                    true
                }
            },
        }
    }
}

impl Model {
    /// The router as configured.
    pub fn new(config: &Config) -> Model {
        let (routes, next_hops) = (BTreeMap::new(), BTreeMap::new());
        let mut model = Model { config: config.clone(), routes, next_hops };
        for (address, len) in config.links() {
            model.routes.insert((len, catalogue::network(address, len)), To::Link);
            model.routes.insert((bits(address), address), To::Itself);
        }
        for (number, hop) in config.all_next_hops() {
            model.next_hops.insert(number, hop);
            for address in addresses(hop) {
                model.routes.insert((bits(address), address), To::NextHop(number));
            }
        }
        for (address, len, hop) in config.all_routes() {
            model.routes.insert((len, address), To::NextHop(hop));
        }
        for number in 0..config.passing_hops() {
            let network = catalogue::passing_hop_route_ipv4(passing_side(number), number);
            let hop = catalogue::passing_hop_number(number);
            model.routes.insert((catalogue::IPV4_LEN, network.into()), To::NextHop(hop));
        }
        model
    }

    /// A frame for the port's own address of a type that the router knows.
    fn judge(&self, port: Port, frame: &[u8]) -> Judgement {
        if frame.len() < ethernet::HEADER_LEN {
            return Err("truncated");
        }
        let (header, packet) = frame.split_at(ethernet::HEADER_LEN);
        let ether_type = word(header, 12);
        let is_arp_for_all = ether_type == ethernet::TYPE_ARP && header[..6] == [0xff; 6];
        if header[..6] != self.config.mac(port).0 && !is_arp_for_all {
            return Err("other-station");
        }
        match ether_type {
            ethernet::TYPE_IPV4 => self.judge_ipv4(port, header, packet),
            ethernet::TYPE_IPV6 => self.judge_ipv6(port, header, packet),
            ethernet::TYPE_ARP => self.judge_arp(port, header, packet),
            _ => Err("unknown-ethertype"),
        }
    }

    /// RFC 826: Ethernet, IPv4, lengths 6 and 4, a request, for the port's own address.
    fn judge_arp(&self, port: Port, header: &[u8], packet: &[u8]) -> Judgement {
        let own = self.config.ip(port).address.octets();
        let is_question =
            packet.len() >= 28 && packet[..8] == [0, 1, 8, 0, 6, 4, 0, 1] && packet[24..28] == own;
        if !is_question {
            return Err("arp-ignored");
        }
        let mac = self.config.mac(port).0;
        let (asking, at) = (&packet[8..14], &packet[14..18]);
        let reply = [0, 1, 8, 0, 6, 4, 0, 2];
        let (to, ether_type) = (&header[6..12], &header[12..]);
        let frame = [to, &mac, ether_type, &reply, &mac, &own, asking, at].concat();
        Ok(Expected::Forward { port: port.id(), frame })
    }

    /// RFC 1812 sections 5.2.2 (the header), 5.3.7 (martians) and 5.3.1 (the time to live).
    fn judge_ipv4(&self, port: Port, header: &[u8], packet: &[u8]) -> Judgement {
        if packet.len() < ipv4::HEADER_LEN || packet[0] >> 4 != ipv4::VERSION {
            return Err("ip-malformed");
        }
        let header_len = usize::from(packet[0] & 0x0f) * 4;
        let total_len = usize::from(word(packet, 2));
        if header_len < ipv4::HEADER_LEN || total_len < header_len || packet.len() < total_len {
            return Err("ip-malformed");
        }
        if internet_sum(&packet[..header_len]) != 0xffff {
            return Err("ip-checksum");
        }
        let address =
            |at: usize| Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]);
        let (from, to) = (address(12), address(16));
        let is_nobodys = |first: u8| first == 0 || first == 127 || first >= 240;
        if is_nobodys(from.octets()[0]) || from.is_multicast() || is_nobodys(to.octets()[0]) {
            return Err("martian");
        }
        if to.is_multicast() {
            return Err("multicast");
        }
        let route = self.longest(to.into());
        if route == Some(To::Itself) {
            return Err("local-address");
        }
        if packet[8] <= 1 {
            return Err("ttl-expired");
        }
        let mut sent = packet[..total_len].to_vec();
        sent[8] -= 1;
        sent[10..12].fill(0);
        let sum = !internet_sum(&sent[..header_len]);
        sent[10..12].copy_from_slice(&sum.to_be_bytes());
        self.send(port, route, header, &packet[..total_len], &sent)
    }

    /// RFC 8200 section 3; RFC 4291 sections 2.5.2, 2.5.3, 2.5.6 and 2.7 for the addresses.
    fn judge_ipv6(&self, port: Port, header: &[u8], packet: &[u8]) -> Judgement {
        if packet.len() < ipv6::HEADER_LEN || packet[0] >> 4 != ipv6::VERSION {
            return Err("ip-malformed");
        }
        let len = ipv6::HEADER_LEN + usize::from(word(packet, 4));
        let packet = packet.get(..len).ok_or("ip-malformed")?;
        let address = |from: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&packet[from..from + 16]);
            Ipv6Addr::from(octets)
        };
        let (from, to) = (address(8), address(24));
        let is_near = |a: Ipv6Addr| {
            let segments = a.segments();
            segments[..7] == [0; 7] && segments[7] <= 1 || segments[0] & 0xffc0 == 0xfe80
        };
        if is_near(from) || from.octets()[0] == 0xff || is_near(to) {
            return Err("martian");
        }
        if to.octets()[0] == 0xff {
            return Err("multicast");
        }
        let route = self.longest(to.into());
        if route == Some(To::Itself) {
            return Err("local-address");
        }
        if packet[7] <= 1 {
            return Err("ttl-expired");
        }
        let mut sent = packet.to_vec();
        sent[7] -= 1;
        self.send(port, route, header, packet, &sent)
    }

    /// To the next hop of the route; without a route, out of the other port as it came or nowhere.
    fn send(
        &self,
        port: Port,
        route: Option<To>,
        header: &[u8],
        came: &[u8],
        sent: &[u8],
    ) -> Judgement {
        let number = match route {
            Some(To::NextHop(number)) => number,
            Some(To::Itself) => return Err("local-address"),
            Some(To::Link) => return Err("no-next-hop"),
            None if self.config.fakedrop => {
                let frame = [header, came].concat();
                return Ok(Expected::Forward { port: port.other().id(), frame });
            }
            None => return Err("no-route"),
        };
        let hop = self.next_hops.get(&number).ok_or("no-next-hop")?;
        let source = hop.source.map_or(self.config.mac(hop.port), |mac| mac.0);
        let frame = [&hop.mac.0.0, &source.0, &header[12..], sent].concat();
        Ok(Expected::Forward { port: hop.port.id(), frame })
    }

    /// The route with the longest prefix that covers an address.
    fn longest(&self, address: IpAddr) -> Option<To> {
        (0..=bits(address))
            .rev()
            .find_map(|len| self.routes.get(&(len, catalogue::network(address, len))).copied())
    }

    fn set_route(&mut self, address: IpAddr, len: u8, next_hop: u32) -> bool {
        let is_network = len <= bits(address) && catalogue::network(address, len) == address;
        let is_possible = is_network
            && (address.is_ipv4() || self.config.ipv6)
            && self.next_hops.contains_key(&next_hop)
            && !self.is_connected((len, address))
            && self.has_room((len, address));
        if is_possible {
            self.routes.insert((len, address), To::NextHop(next_hop));
        }
        is_possible
    }

    fn set_next_hop(&mut self, number: u32, hop: NextHop) -> bool {
        if number >= catalogue::HOPS || hop.mac.0.is_multicast() {
            return false;
        }
        let old: Vec<IpAddr> =
            self.next_hops.get(&number).into_iter().flat_map(|hop| addresses(*hop)).collect();
        let new: Vec<IpAddr> = addresses(hop).collect();
        for address in new.iter().filter(|address| !old.contains(address)) {
            let key = (bits(*address), *address);
            let is_possible = (address.is_ipv4() || self.config.ipv6)
                && !self.routes.contains_key(&key)
                && self.has_room(key);
            if !is_possible {
                return false;
            }
        }
        for address in old.iter().filter(|address| !new.contains(address)) {
            self.routes.remove(&(bits(*address), *address));
        }
        for address in new {
            self.routes.insert((bits(address), address), To::NextHop(number));
        }
        self.next_hops.insert(number, hop);
        true
    }

    /// Whether a route is of a link, of the router itself or of a neighbour's own address.
    fn is_connected(&self, (len, address): (u8, IpAddr)) -> bool {
        match self.routes.get(&(len, address)) {
            Some(To::NextHop(number)) if len == bits(address) => {
                self.next_hops.get(number).is_some_and(|hop| addresses(*hop).any(|a| a == address))
            }
            Some(To::Itself | To::Link) => true,
            Some(To::NextHop(_)) | None => false,
        }
    }

    fn has_room(&self, key: (u8, IpAddr)) -> bool {
        let of_its_version = |other: &&(u8, IpAddr)| other.1.is_ipv4() == key.1.is_ipv4();
        self.routes.contains_key(&key)
            || self.routes.keys().filter(of_its_version).count() < self.config.capacity()
    }
}

fn addresses(hop: NextHop) -> impl Iterator<Item = IpAddr> {
    hop.ip.map(IpAddr::from).into_iter().chain(hop.ipv6.map(IpAddr::from))
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The 16-bit number at an offset.
fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// RFC 1071: the ones'-complement sum of all words of a header.
fn internet_sum(header: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in header.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(pair[1]);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
