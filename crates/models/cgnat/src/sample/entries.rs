//! By which interface frames of the sample come in, and how they look there.
use function_cgnat::config::{Config, Mac};
use function_cgnat::types::sides::OUTSIDE;
use packet::PortId;
use wire::ethernet;

use super::build;

/// The interfaces at which frames of either side come in: by place in the configuration, or the
/// first of the side.
pub(super) type Here = [Option<usize>; 2];

/// The first interface of each side.
pub(super) const FIRST: Here = [None, None];

/// A frame as it comes in by an interface: the port, and the tag, 0 for none.
pub(super) fn entry(config: &Config, here: Here, port: PortId) -> (PortId, u16) {
    match here[usize::from(port == OUTSIDE)] {
        Some(place) => (number_of(config, place), config.interfaces[place].vlan),
        None => (port, 0),
    }
}

/// The configuration with the addresses of interfaces in place of the first ones'.
pub(super) fn dressed(first: &Config, here: Here) -> Config {
    let mut config = first.clone();
    let last = |mac: Mac, place: usize| {
        let mut octets = mac.0.0;
        octets[3] ^= 0x40 + place as u8;
        Mac(wire::MacAddr(octets))
    };
    if let [Some(place), _] = here {
        let one = &first.interfaces[place];
        config.inside_ip = one.ip;
        config.inside_mac = one.mac.unwrap_or(first.inside_mac);
        config.inside_ipv6 = one.ipv6.unwrap_or(first.inside_ipv6);
        let mac = last(first.inside_next_hop_mac, place);
        config.inside_next_hop_mac = one.next_hop_mac.unwrap_or(mac);
    }
    if let [_, Some(place)] = here {
        let one = &first.interfaces[place];
        config.outside_ip = one.ip;
        config.outside_mac = one.mac.unwrap_or(first.outside_mac);
        config.outside_ipv6 = one.ipv6.unwrap_or(first.outside_ipv6);
        let mac = last(first.outside_next_hop_mac, place);
        config.outside_next_hop_mac = one.next_hop_mac.unwrap_or(mac);
    }
    config
}

/// Whether frames can come in that are of no interface.
pub(super) fn has_ports(config: &Config) -> bool {
    (0..config.interfaces.len()).any(|place| number_of(config, place) > OUTSIDE)
}

/// The number of an interface's port.
pub(super) fn number_of(config: &Config, place: usize) -> PortId {
    let mut names = vec!["inside", "outside"];
    for one in &config.interfaces {
        if !names.contains(&one.port.as_str()) {
            names.push(one.port.as_str());
        }
    }
    let name = config.interfaces[place].port;
    let number = names.iter().position(|known| *known == name.as_str());
    PortId(number.unwrap_or_default() as u8)
}

/// A frame with the tag of its interface; what is cut off in its header stays as it is.
pub(super) fn tagged(frame: Vec<u8>, vlan: u16) -> Vec<u8> {
    match frame.len() < ethernet::HEADER_LEN {
        true => frame,
        false => build::tagged(frame, vlan),
    }
}
