//! Router Discovery: solicitations as a router reads them, advertisements as it writes them (RFC
//! 4861 sections 4.1, 4.2 and 6.2; preferences and routes of RFC 4191, name servers of RFC 8106).
//!
//! When an advertisement leaves is its user's affair. **Not supported:** reading those of other
//! routers, domain search lists.

use std::net::Ipv6Addr;

use wire::bytes::{array_at, put_array, put_u16, put_u32, u16_at};
use wire::icmp::{self, v6};
use wire::ipv6::link_local;
use wire::{MacAddr, ethernet, ipv6, protocol};

use crate::nd;

/// A host on a link asks who is a router there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solicitation {
    /// Who asks; unspecified where he has no address yet.
    pub source: Ipv6Addr,
    /// His Ethernet address, if he says it.
    pub mac: Option<MacAddr>,
}

/// Whether a frame without tag is a router solicitation for a station of this Ethernet address or
/// for all routers, to an address that ends on the link; none of all others.
///
/// # Errors
/// When it is one that breaks the rules of section 6.1.1, or is for others.
pub fn solicitation(frame: &[u8], own: MacAddr) -> Option<Result<Solicitation, ()>> {
    let packet = frame.get(ethernet::HEADER_LEN..)?;
    if u16_at(frame, ethernet::offset::TYPE) != ethernet::TYPE_IPV6 {
        return None;
    }
    let view = ipv6::View::parse(packet).ok()?;
    let message = view.payload();
    let to = view.destination();
    let is_one = view.next_header() == protocol::ICMPV6
        && message.first() == Some(&v6::ROUTER_SOLICITATION)
        && (to.is_multicast() || to.is_unicast_link_local());
    is_one.then(|| understand(frame, &view, own).ok_or(()))
}

fn understand(frame: &[u8], view: &ipv6::View<'_>, own: MacAddr) -> Option<Solicitation> {
    let message = view.payload();
    let to = MacAddr(array_at(frame, ethernet::offset::DESTINATION));
    let is_mine = to == own || to == nd::mac_of(ALL_ROUTERS);
    let is_sound = view.hop_limit() == nd::HOP_LIMIT
        && message.len() >= icmp::HEADER_LEN
        && message[icmp::offset::CODE] == 0
        && icmp::verify_ipv6(view.source(), view.destination(), message);
    if !is_mine || !is_sound || view.source().is_multicast() {
        return None;
    }
    let mac = nd::address_in(&message[icmp::HEADER_LEN..], nd::SOURCE_ADDRESS)?;
    let source = view.source();
    let is_well = !(source.is_unspecified() && mac.is_some());
    is_well.then_some(Solicitation { source, mac })
}

/// What a router says of itself and of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The hop limit that hosts are to use; 0 says nothing of it.
    pub hop_limit: u8,
    /// Whether addresses come by DHCPv6.
    pub managed: bool,
    /// Whether other configuration does.
    pub other_config: bool,
    /// How this router is preferred to others.
    pub preference: Preference,
    /// Seconds for which it is a default router; 0 for not.
    pub lifetime_s: u16,
    /// The link's MTU in bytes; 0 says nothing of it.
    pub mtu: u32,
    /// The link's prefixes.
    pub prefixes: Vec<Prefix>,
    /// Routes by this router.
    pub routes: Vec<Route>,
    /// Name servers.
    pub servers: Vec<Ipv6Addr>,
    /// Seconds for which they may be asked.
    pub servers_s: u32,
}

/// How a router or a route is preferred to others (RFC 4191 section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// Before others.
    High,
    /// As others.
    Medium,
    /// Behind others.
    Low,
}

/// A prefix of the link (section 4.6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The prefix; bits behind its length are zero.
    pub address: Ipv6Addr,
    /// Its length in bits.
    pub len: u8,
    /// Whether its addresses are on the link.
    pub on_link: bool,
    /// Whether hosts make themselves addresses of it.
    pub autonomous: bool,
    /// Seconds for which it is valid; all ones for ever.
    pub valid_s: u32,
    /// Seconds for which such addresses are preferred.
    pub preferred_s: u32,
}

/// A route by the router (RFC 4191 section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where to; bits behind the length are zero.
    pub address: Ipv6Addr,
    /// The length of the prefix in bits.
    pub len: u8,
    /// How it is preferred to the same of other routers.
    pub preference: Preference,
    /// Seconds for which it is valid; all ones for ever.
    pub lifetime_s: u32,
}

impl Advertisement {
    /// The frame, without a tag, by which a station tells all nodes of its link.
    pub fn frame(&self, mac: MacAddr) -> Vec<u8> {
        let mut frame = vec![0; MESSAGE + HEADER_LEN];
        self.append_options(mac, &mut frame);
        let message_len = frame.len() - MESSAGE;
        let (source, destination) = (link_local(mac), nd::ALL_NODES);
        let header = ethernet::Fields {
            destination: nd::mac_of(destination),
            source: mac,
            ether_type: ethernet::TYPE_IPV6,
        };
        let ip = ipv6::Fields {
            traffic_class: 0,
            flow_label: 0,
            payload_len: message_len as u16,
            next_header: protocol::ICMPV6,
            hop_limit: nd::HOP_LIMIT,
            source,
            destination,
        };
        frame.first_chunk_mut().into_iter().for_each(|place| header.emit(place));
        let packet = &mut frame[ethernet::HEADER_LEN..];
        packet.first_chunk_mut().into_iter().for_each(|place| ip.emit(place));
        let message = &mut frame[MESSAGE..];
        let flags = [(self.managed, MANAGED), (self.other_config, OTHER_CONFIG)];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set);
        message[icmp::offset::TYPE] = v6::ROUTER_ADVERTISEMENT;
        message[4] = self.hop_limit;
        message[5] = flags.fold(self.preference.bits(), |all, (_, flag)| all | flag);
        put_u16(message, 6, self.lifetime_s);
        let sum = icmp::checksum_ipv6(source, destination, message);
        put_u16(message, icmp::offset::CHECKSUM, sum);
        frame
    }

    fn append_options(&self, mac: MacAddr, frame: &mut Vec<u8>) {
        let mut append = |kind: u8, len: usize| {
            let from = frame.len();
            frame.resize(from + len, 0);
            (frame[from], frame[from + 1]) = (kind, (len / 8) as u8);
            from
        };
        let own = append(nd::SOURCE_ADDRESS, 8);
        let mtu = (self.mtu > 0).then(|| append(MTU, 8));
        let prefixes: Vec<usize> = self.prefixes.iter().map(|_| append(PREFIX, 32)).collect();
        let routes: Vec<usize> = self.routes.iter().map(|_| append(ROUTE, 24)).collect();
        let servers =
            (!self.servers.is_empty()).then(|| append(SERVERS, 8 + 16 * self.servers.len()));
        put_array(frame, own + 2, mac.0);
        mtu.into_iter().for_each(|at| put_u32(frame, at + 4, self.mtu));
        for (at, prefix) in prefixes.into_iter().zip(&self.prefixes) {
            let flags = [(prefix.on_link, ON_LINK), (prefix.autonomous, AUTONOMOUS)];
            let flags = flags.into_iter().filter(|(is_set, _)| *is_set);
            frame[at + 2] = prefix.len;
            frame[at + 3] = flags.fold(0, |all, (_, flag)| all | flag);
            put_u32(frame, at + 4, prefix.valid_s);
            put_u32(frame, at + 8, prefix.preferred_s);
            put_array(frame, at + 16, prefix.address.octets());
        }
        for (at, route) in routes.into_iter().zip(&self.routes) {
            frame[at + 2] = route.len;
            frame[at + 3] = route.preference.bits();
            put_u32(frame, at + 4, route.lifetime_s);
            put_array(frame, at + 8, route.address.octets());
        }
        if let Some(at) = servers {
            put_u32(frame, at + 4, self.servers_s);
            for (place, server) in (at + 8..).step_by(16).zip(&self.servers) {
                put_array(frame, place, server.octets());
            }
        }
    }
}

impl Preference {
    /// Two bits, in the place that they have in each message.
    fn bits(self) -> u8 {
        match self {
            Preference::High => 0b01 << 3,
            Preference::Medium => 0,
            Preference::Low => 0b11 << 3,
        }
    }
}

/// Most prefixes of an advertisement: with as many routes and [`SERVERS_MAX`] name servers it is
/// within what every link carries (RFC 8200 section 5).
pub const PREFIXES_MAX: usize = 16;

/// Most routes.
pub const ROUTES_MAX: usize = 16;

/// Most name servers.
pub const SERVERS_MAX: usize = 8;

/// The group of all routers of a link (RFC 4291 section 2.7.1).
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

const MESSAGE: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN;
const HEADER_LEN: usize = 16;
const MANAGED: u8 = 0x80;
const OTHER_CONFIG: u8 = 0x40;
const ON_LINK: u8 = 0x80;
const AUTONOMOUS: u8 = 0x40;
const PREFIX: u8 = 3;
const MTU: u8 = 5;
const ROUTE: u8 = 24;
const SERVERS: u8 = 25;

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    /// A solicitation whose message ends with these options.
    fn question(source: Ipv6Addr, options: &[u8]) -> Vec<u8> {
        let mut message = vec![v6::ROUTER_SOLICITATION, 0, 0, 0, 0, 0, 0, 0];
        message.extend(options);
        let sum = icmp::checksum_ipv6(source, ALL_ROUTERS, &message);
        put_u16(&mut message, icmp::offset::CHECKSUM, sum);
        let mut frame = vec![0; MESSAGE];
        let ip = ipv6::Fields {
            traffic_class: 0,
            flow_label: 0,
            payload_len: message.len() as u16,
            next_header: protocol::ICMPV6,
            hop_limit: 255,
            source,
            destination: ALL_ROUTERS,
        };
        let header = ethernet::Fields {
            destination: MacAddr([0x33, 0x33, 0, 0, 0, 2]),
            source: HOST,
            ether_type: ethernet::TYPE_IPV6,
        };
        header.emit(frame.first_chunk_mut().expect("room"));
        ip.emit(frame[ethernet::HEADER_LEN..].first_chunk_mut().expect("room"));
        frame.extend(message);
        frame
    }

    #[test]
    fn only_sound_solicitations_are_read() {
        let source = link_local(HOST);
        let said = [&[1, 1][..], &HOST.0].concat();
        let sound = question(source, &said);
        let expected = Solicitation { source, mac: Some(HOST) };
        assert_eq!(solicitation(&sound, OWN), Some(Ok(expected)));
        let nobody = Solicitation { source: Ipv6Addr::UNSPECIFIED, mac: None };
        let from_nobody = question(Ipv6Addr::UNSPECIFIED, &[]);
        assert_eq!(solicitation(&from_nobody, OWN), Some(Ok(nobody)));

        let unsound = [
            ("an address of nobody", question(Ipv6Addr::UNSPECIFIED, &said)),
            ("an option without length", question(source, &[7, 0, 0, 0, 0, 0, 0, 0])),
            ("an option beyond the end", question(source, &[7, 2, 0, 0, 0, 0, 0, 0])),
            ("from a group", question(ALL_ROUTERS, &[])),
        ];
        for (what, frame) in unsound {
            assert_eq!(solicitation(&frame, OWN), Some(Err(())), "{what}");
        }
        for (what, at) in [("for another", 5), ("from afar", 21), ("a code", 55), ("a sum", 56)] {
            let mut frame = sound.clone();
            frame[at] ^= 1;
            assert_eq!(solicitation(&frame, OWN), Some(Err(())), "{what}");
        }
        for len in 0..sound.len() {
            assert_eq!(solicitation(&sound[..len], OWN), None, "{len} bytes");
        }
    }

    #[test]
    fn the_largest_advertisement_fits_every_link() {
        let (address, preference) = (Ipv6Addr::UNSPECIFIED, Preference::Low);
        let prefix = Prefix {
            address,
            len: 64,
            on_link: true,
            autonomous: true,
            valid_s: 2,
            preferred_s: 1,
        };
        let largest = Advertisement {
            hop_limit: 64,
            managed: true,
            other_config: true,
            preference,
            lifetime_s: 1800,
            mtu: 1280,
            prefixes: vec![prefix; PREFIXES_MAX],
            routes: vec![Route { address, len: 0, preference, lifetime_s: 1 }; ROUTES_MAX],
            servers: vec![address; SERVERS_MAX],
            servers_s: 1800,
        };
        let frame = largest.frame(OWN);
        assert!(frame.len() <= ethernet::HEADER_LEN + 1280);
        let view = ipv6::View::parse(&frame[ethernet::HEADER_LEN..]).expect("a packet");
        assert!(icmp::verify_ipv6(view.source(), view.destination(), view.payload()));
        assert_eq!(frame[MESSAGE + 5], 0xd8, "both flags, low preference");
    }
}
