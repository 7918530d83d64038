//! Next hops that the NAT asks for their Ethernet address, and what waits for them.
use std::net::IpAddr;

use function_cgnat::config::Config;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::check::Expected;
use model_kit::neighbours;
use packet::PortId;

use super::interfaces::Interfaces;
use super::packets::word;

mod way;

/// A port, and the VLAN on it.
type Link = (PortId, u16);

/// The next hops that are asked for, and what waits for each: the port by which it leaves, and the
/// frame.
#[derive(Clone)]
pub(super) struct Neighbours {
    list: neighbours::Neighbours<Link, Vec<u8>>,
    hops: Vec<(Link, IpAddr)>,
    made: Vec<Expected>,
    has_asked: bool,
}

impl Neighbours {
    pub fn new(config: &Config) -> Neighbours {
        let ipv4 = config.inside_next_hop;
        let of_ports = [
            ((INSIDE, 0), ipv4.map(IpAddr::V4)),
            ((INSIDE, 0), config.inside_next_hop_ipv6.map(IpAddr::V6)),
            ((OUTSIDE, 0), config.outside_next_hop.map(IpAddr::V4)),
            ((OUTSIDE, 0), config.outside_next_hop_ipv6.map(IpAddr::V6)),
        ];
        let of_vrfs = config.vrfs.iter().map(|vrf| {
            let address = vrf.next_hop.or(ipv4).map(IpAddr::V4);
            ((INSIDE, vrf.vlan), address)
        });
        let of_interfaces = config.interfaces.iter().enumerate().flat_map(|(place, one)| {
            let link = (Interfaces::number(place), 0);
            let hops = [one.next_hop.map(IpAddr::V4), one.next_hop_ipv6.map(IpAddr::V6)];
            hops.map(|hop| (link, hop))
        });
        let all = of_ports.into_iter().chain(of_vrfs).chain(of_interfaces);
        let hops: Vec<_> = all.filter_map(|(link, hop)| Some((link, hop?))).collect();
        let count = hops.len() as u32;
        let list = neighbours::Neighbours::new(count, (8 * count).min(512), 1200);
        Neighbours { list, hops, made: Vec::new(), has_asked: false }
    }

    /// Whether a next hop behind a port is asked for.
    pub fn are_asked(&self, port: PortId) -> bool {
        self.hops.iter().any(|((of, _), _)| *of == port)
    }

    fn hop(&self, link: Link, is_ipv6: bool) -> Option<IpAddr> {
        let is_it = |hop: &&(Link, IpAddr)| hop.0 == link && hop.1.is_ipv6() == is_ipv6;
        self.hops.iter().find(is_it).map(|hop| hop.1)
    }

    fn number(&self, link: Link, address: IpAddr) -> Option<usize> {
        self.list.find(|entry| entry.key == link && entry.address == address)
    }
}

/// Whether the next hop of a frame that leaves is yet to be found.
pub(super) fn is_unaddressed(frame: &[u8]) -> bool {
    frame[..6] == NEXT_HOP
}

/// Whether a frame asks for an Ethernet address.
pub(super) fn is_question(frame: &[u8]) -> bool {
    let at = if frame.len() > 17 && word(frame, 12) == 0x8100 { 16 } else { 12 };
    match frame.len() > at + 43 && word(frame, at) == 0x86dd {
        true => frame[at + 8] == 58 && frame[at + 42] == 135,
        false => frame.len() > at + 9 && word(frame, at) == 0x0806 && word(frame, at + 8) == 1,
    }
}

/// Where a frame goes whose next hop is yet to be found: to no station's address.
const NEXT_HOP: [u8; 6] = [3, 0, 0, 0, 0, 0];
