//! The slow model of an access list: one rule after the other, in the order of their priorities.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::sections::Prefixed;
use function_l2_switch::config::Port;
use function_l2_switch::config::acl::{Action, Ports, Rule};
use model_kit::headers::Headers as Behind;

/// Why the frame, which has a whole Ethernet header, is dropped by a list of which `denied` is the
/// reason: the first rule that matches denies it, or some rule asks for what cannot be read.
pub(super) fn refuses<'a>(
    rules: impl Iterator<Item = &'a Rule> + Clone,
    port: Port,
    frame: &[u8],
    denied: &'static str,
) -> Option<&'static str> {
    let headers = Headers::of(frame);
    if rules.clone().any(|rule| headers.hide_from(rule)) {
        return Some("acl-unreadable");
    }
    let mut matching: Vec<&Rule> = rules.filter(|rule| headers.match_rule(rule, port)).collect();
    matching.sort_by_key(|rule| rule.priority);
    matching.first().is_some_and(|rule| rule.action == Action::Deny).then_some(denied)
}

/// What a frame says.
struct Headers {
    macs: [Vec<u8>; 2],
    vlan: u16,
    kind: u16,
    addresses: Option<[IpAddr; 2]>,
    protocol: Option<u8>,
    ports: Option<[u16; 2]>,
    /// The type is not seen for all the tags.
    is_nested: bool,
    /// What is behind the header of IP is not seen.
    is_hidden: bool,
}

impl Headers {
    fn of(frame: &[u8]) -> Headers {
        let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let mut at = 12;
        let mut vlans = Vec::new();
        while [0x8100, 0x88a8].contains(&word(at)) && vlans.len() < 2 && frame.len() >= at + 6 {
            vlans.push(word(at + 2) & 0xfff);
            at += 4;
        }
        let mut headers = Headers {
            macs: [frame[6..12].to_vec(), frame[..6].to_vec()],
            vlan: vlans.first().copied().unwrap_or(0),
            kind: word(at),
            addresses: None,
            protocol: None,
            ports: None,
            is_nested: [0x8100, 0x88a8].contains(&word(at)),
            is_hidden: false,
        };
        match headers.kind {
            0x0800 => headers.add_ipv4(&frame[at + 2..]),
            0x86dd => headers.add_ipv6(&frame[at + 2..]),
            _ => {}
        }
        headers
    }

    fn add_ipv4(&mut self, packet: &[u8]) {
        let header_len = packet.first().map_or(0, |first| usize::from(first & 15) * 4);
        if packet.len() < 20 || packet[0] >> 4 != 4 || header_len < 20 || packet.len() < header_len
        {
            return;
        }
        let address = |at: usize| {
            IpAddr::V4(Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]))
        };
        self.addresses = Some([address(12), address(16)]);
        self.protocol = Some(packet[9]);
        let total_len = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        match total_len >= header_len && total_len <= packet.len() {
            true => self.add_behind(&packet[..total_len], Behind::of_ipv4(&packet[..total_len])),
            false => self.is_hidden = true,
        }
    }

    fn add_ipv6(&mut self, packet: &[u8]) {
        if packet.len() < 40 || packet[0] >> 4 != 6 {
            return;
        }
        let address = |at: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&packet[at..at + 16]);
            IpAddr::V6(Ipv6Addr::from(octets))
        };
        self.addresses = Some([address(8), address(24)]);
        self.protocol = Some(packet[6]);
        let len = 40 + usize::from(u16::from_be_bytes([packet[4], packet[5]]));
        match packet.get(..len) {
            Some(packet) => self.add_behind(packet, Behind::of_ipv6(packet, 8)),
            None => self.is_hidden = true,
        }
    }

    fn add_behind(&mut self, packet: &[u8], behind: Behind) {
        self.protocol = Some(behind.protocol);
        self.ports = behind.ports(packet).map(|(from, to)| [from, to]);
        self.is_hidden = !behind.are_read;
    }

    /// Whether a rule asks for what is hidden here.
    fn hide_from(&self, rule: &Rule) -> bool {
        let network = rule.source.or(rule.destination);
        let looks_behind =
            (rule.protocol, rule.source_ports, rule.destination_ports) != (None, None, None);
        let is_of_family = network.is_none_or(|network| {
            self.addresses.is_some_and(|own| own[0].is_ipv4() == network.address.is_ipv4())
        });
        self.is_nested && (looks_behind || network.is_some() || rule.ether_type.is_some())
            || self.is_hidden && looks_behind && is_of_family
    }

    fn match_rule(&self, rule: &Rule, port: Port) -> bool {
        let within = |index: usize, ports: Option<Ports>| match (ports, self.ports) {
            (None, _) => true,
            (Some(wanted), Some(ports)) => (wanted.first..=wanted.last).contains(&ports[index]),
            (Some(_), None) => false,
        };
        let is_in =
            |index: usize, network: Option<Prefixed<IpAddr>>| match (network, self.addresses) {
                (None, _) => true,
                (Some(network), Some(addresses)) => is_of(addresses[index], network),
                (Some(_), None) => false,
            };
        rule.port.is_none_or(|one| one == port)
            && rule.source_mac.is_none_or(|mac| mac.0.0[..] == self.macs[0])
            && rule.destination_mac.is_none_or(|mac| mac.0.0[..] == self.macs[1])
            && rule.vlan.is_none_or(|vlan| vlan == self.vlan)
            && rule.ether_type.is_none_or(|kind| kind == self.kind)
            && is_in(0, rule.source)
            && is_in(1, rule.destination)
            && rule.protocol.is_none_or(|protocol| self.protocol == Some(protocol))
            && within(0, rule.source_ports)
            && within(1, rule.destination_ports)
    }
}

/// Bit by bit.
fn is_of(address: IpAddr, network: Prefixed<IpAddr>) -> bool {
    let bits = |address: IpAddr| -> Vec<bool> {
        let octets = match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        octets.iter().flat_map(|octet| (0..8).map(move |bit| octet >> (7 - bit) & 1 == 1)).collect()
    };
    let (one, other, len) = (bits(address), bits(network.address), usize::from(network.len));
    one.len() == other.len() && one[..len] == other[..len]
}
