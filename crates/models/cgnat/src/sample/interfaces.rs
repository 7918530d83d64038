//! Interfaces beside those of the two ports: all that subscribers and hosts do elsewhere, at each
//! of them, and frames that are of none.
use function_cgnat::config::{Config, Mac, Side};
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::check::Step;
use packet::PortId;
use wire::{arp, ethernet};

use super::build::datagram;
use super::{OF_ANY_REALM, Sample, refusals, vrfs};

/// The interfaces at which frames of either side come in: by place in the configuration, or the
/// first of the side.
pub(super) type Here = [Option<usize>; 2];

/// The first interface of each side.
pub(super) const FIRST: Here = [None, None];

/// All of it, where there are any.
pub(super) fn all(sample: &mut Sample) {
    for place in 0..sample.config.interfaces.len() {
        let side = sample.config.interfaces[place].side;
        let mut here = FIRST;
        here[usize::from(side == Side::Outside)] = Some(place);
        sample.at(here, |sample| {
            sample.forget();
            questions(sample, if side == Side::Inside { INSIDE } else { OUTSIDE });
            for part in OF_ANY_REALM {
                sample.forget();
                part(sample);
            }
        });
        strangers(sample, place);
    }
    // Hosts answer by another interface than the one by which they were asked.
    if let Some(place) = sample.config.interfaces.iter().position(|one| one.side == Side::Inside) {
        sample.forget();
        let ends = [(sample.visitor(0), 4000), (sample.server(0), 53)];
        let asked = datagram(ends[0], ends[1]);
        let sent = sample.inside("a subscriber of the first interface asks", &asked);
        sample.at([Some(place), None], |sample| sample.inside("and by another one", &asked));
        let answer = datagram(ends[1], ends[0]);
        sample.answer_to((OUTSIDE, sent), "both are answered where the address is", &answer);
    }
}

/// ARP at an interface.
fn questions(sample: &mut Sample, port: PortId) {
    let own = [sample.config.inside_ip, sample.config.outside_ip][usize::from(port == OUTSIDE)];
    for ip in [own, sample.first.inside_ip, sample.first.outside_ip, sample.places.pool] {
        for to_port in [true, false] {
            let asked = refusals::question(sample, (port, to_port), arp::OPERATION_REQUEST, ip);
            sample.frame(port, "ARP at a further interface", asked);
        }
    }
    let mut other = sample.framed(port, &datagram((own, 1), (own, 2)));
    other[5] ^= 0x40;
    sample.frame(port, "a frame for another station at a further interface", other);
}

/// Tags of nobody, and tags that are none, at the port of an interface.
fn strangers(sample: &mut Sample, place: usize) {
    let whole = sample.framed(INSIDE, &datagram((sample.visitor(0), 4000), (sample.server(0), 53)));
    let port = number_of(&sample.config, place);
    let about = "a frame of no interface, or of one with its tag";
    let taken = |vlan: u16| sample.config.interfaces.iter().any(|one| one.vlan == vlan);
    let unknown = (1..=4094).find(|vlan| !taken(*vlan)).unwrap_or(4094);
    let vlan = sample.config.interfaces[place].vlan;
    let mut frames = vec![whole.clone()];
    for tci in [unknown, vlan | 0xf000, 0xa000] {
        frames.push(vrfs::with_tag(whole.clone(), tci));
    }
    let tagged = vrfs::with_tag(whole, unknown);
    frames.extend([14, 15, 17, 18].map(|len| tagged[..len].to_vec()));
    frames.push(tagged[..13].to_vec());
    for frame in frames {
        sample.step(Step::Frame { port, frame, about });
        sample.count();
    }
}

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
fn number_of(config: &Config, place: usize) -> PortId {
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
        false => vrfs::tagged(frame, vlan),
    }
}
