//! Which of several workers has a packet: in both directions the one that owns its subscriber,
//! without a lock and without handing over.
//!
//! ```text
//!  from inside    by the subscriber's address; behind a softwire by the part of its B4 element's that names it
//!  from outside   to an address or port that a rule gives to one subscriber: by that one's inside address
//!                 to any other: by outside address and group of ports, of which each worker gives away its own
//!  fragments      from outside to an address that subscribers share: by datagram, as only the first bears ports;
//!                 that worker hands all of them over to the one that owns the port
//! ```
//! The identifier of an ICMP query and the number of a call stand for a port, and an ICMP error
//! goes where the packet goes that it quotes. All of it follows from the configuration, the rules
//! that are there, and a key ([`Config::steering`]), so that a card with the right filters can do
//! the same; [`Steering`] does it for ports that cannot. VRFs count for nothing: subscribers of the
//! same address in several of them have one worker.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use engine::steering::Steering as Keyed;
use packet::PortId;
use stages::vlan;
use wire::bytes::{array_at, u16_at};
use wire::{ethernet, icmp, ipv4, ipv6, protocol};

use crate::config::{Config, deterministic_plan};
use crate::deterministic::Plan;
use crate::ds_lite::DsLite;
use crate::further::Places;
use crate::sessions::addresses::Addresses;
use crate::sessions::allocation::Layout;
use crate::sessions::published::{Follower, Published};
use crate::sessions::steering::{Ends, of_address};
use crate::types::sides::is_inside;

/// What a configuration and its rules say of frames that are looked at by nothing else: how those
/// find their worker.
pub struct Steering {
    keyed: Keyed,
    addresses: Follower<Addresses>,
    plan: Plan,
    layout: Layout,
    ds_lite: Option<DsLite>,
    /// Whether fragments are followed.
    follows: bool,
    /// Which interfaces frames are of; none where each port is one.
    places: Option<Places>,
}

impl Steering {
    /// Of a validated configuration, with its rules.
    pub fn new(config: &Config) -> Steering {
        Steering::following(config, Arc::new(Published::new(Addresses::new(config))))
    }

    /// The same with the rules that there are at any time.
    pub fn following(config: &Config, addresses: Arc<Published<Addresses>>) -> Steering {
        Steering {
            keyed: config.steering(),
            addresses: Follower::new(addresses),
            plan: deterministic_plan(&config.deterministic).unwrap_or_default(),
            layout: Layout::new(config),
            ds_lite: DsLite::new(config),
            follows: config.fragments.datagrams > 0,
            places: Places::new(config),
        }
    }

    /// The bits of a frame that came in by the inside or the outside port; none of one that any
    /// worker may have, or that bears nothing by which its worker could be found: ARP, what is cut
    /// off, a later fragment to an address that subscribers share where none is followed.
    pub fn of_frame(&mut self, port: PortId, frame: &[u8]) -> Option<u32> {
        self.addresses.latest();
        let mut at = ethernet::offset::TYPE;
        let tag = vlan::read(frame).ok()?;
        if tag.is_some() {
            at += ethernet::TAG_LEN;
        }
        let port = self.places.as_ref().map_or(port, |places| places.entry(port, tag));
        let packet = frame.get(at + 2..)?;
        match (kind(frame, at)?, is_inside(port)) {
            (ethernet::TYPE_IPV4, true) => sender(packet).map(|sender| self.of_host(sender)),
            (ethernet::TYPE_IPV6, true) => {
                sender_ipv6(packet).map(|sender| self.of_subscriber(sender.into()))
            }
            (ethernet::TYPE_IPV4, false) => {
                let (protocol, address, port) = receiver(packet)?;
                let addresses = self.addresses.seen();
                let is_shared = || addresses.subscriber(address).is_none();
                if self.follows && is_fragment(packet) && is_shared() {
                    return Some(self.of_datagram(packet));
                }
                match port {
                    Some(port) => Some(self.of_end(protocol, (address, port))),
                    None => Some(self.of_host(addresses.subscriber(address)?)),
                }
            }
            _ => None,
        }
    }

    /// The bits of a packet from inside by its sender, as of a workload's.
    pub fn of_subscriber(&self, address: IpAddr) -> u32 {
        of_address(
            &self.keyed,
            match (address, &self.ds_lite) {
                (IpAddr::V6(b4), Some(ds_lite)) if ds_lite.softwire(b4).is_some() => {
                    Ipv6Addr::from_bits(b4.to_bits() & ds_lite.mask()).into()
                }
                _ => address,
            },
        )
    }

    /// The bits of a packet from outside by the protocol and the outside end to which it goes.
    pub fn of_end(&self, protocol: u8, end: (u32, u16)) -> u32 {
        let Steering { keyed, plan, layout, .. } = self;
        let addresses = self.addresses.seen();
        Ends { keyed, addresses, plan, layout: *layout }.steering(protocol, end)
    }

    /// The bits of all fragments of a datagram.
    fn of_datagram(&self, packet: &[u8]) -> u32 {
        let [source, destination] = [ipv4::offset::SOURCE, ipv4::offset::DESTINATION]
            .map(|at| u64::from(ipv4_address(packet, at)));
        let identification = u16_at(packet, ipv4::offset::IDENTIFICATION);
        let which = u64::from(packet[ipv4::offset::PROTOCOL]) << 16 | u64::from(identification);
        self.keyed.bits(source << 32 | destination, which)
    }

    fn of_host(&self, inside: u32) -> u32 {
        of_address(&self.keyed, Ipv4Addr::from_bits(inside).into())
    }
}

/// The type of a frame or behind a tag.
fn kind(frame: &[u8], at: usize) -> Option<u16> {
    (frame.len() >= at + 2).then(|| u16_at(frame, at))
}

/// The host inside whose packet it is: the sender, or whom the packet was for that an ICMP error
/// quotes.
fn sender(packet: &[u8]) -> Option<u32> {
    match quoted(packet)? {
        Some(quoted) => Some(ipv4_address(quoted, ipv4::offset::DESTINATION)),
        None => Some(ipv4_address(packet, ipv4::offset::SOURCE)),
    }
}

/// The same of IPv6; extension headers are not looked behind.
fn sender_ipv6(packet: &[u8]) -> Option<Ipv6Addr> {
    let header = packet.get(..ipv6::HEADER_LEN)?;
    let is_error = header[ipv6::offset::NEXT_HEADER] == protocol::ICMPV6
        && packet.get(ipv6::HEADER_LEN).is_some_and(|kind| *kind < icmp::v6::ECHO_REQUEST);
    match is_error {
        true => {
            let quoted = packet.get(ipv6::HEADER_LEN + icmp::HEADER_LEN..)?;
            let quoted = quoted.get(..ipv6::HEADER_LEN)?;
            Some(Ipv6Addr::from(array_at::<16>(quoted, ipv6::offset::DESTINATION)))
        }
        false => Some(Ipv6Addr::from(array_at::<16>(header, ipv6::offset::SOURCE))),
    }
}

/// The protocol and the outside end to which a packet goes, or from which that one came that an
/// ICMP error quotes; without a port of a later fragment.
fn receiver(packet: &[u8]) -> Option<(u8, u32, Option<u16>)> {
    let (one, is_quoted) = match quoted(packet)? {
        Some(quoted) => (quoted, true),
        None => (packet, false),
    };
    let field = if is_quoted { ipv4::offset::SOURCE } else { ipv4::offset::DESTINATION };
    let (protocol, address) = (one[ipv4::offset::PROTOCOL], ipv4_address(one, field));
    if is_later_fragment(one) {
        return Some((protocol, address, None));
    }
    let at = header_len(one)
        + match (protocol, is_quoted) {
            (protocol::ICMP, _) => icmp::offset::REST,
            // The number of a call (RFC 2637 section 4.1).
            (protocol::GRE, _) => 6,
            (_, true) => 0,
            (_, false) => 2,
        };
    let port = one.get(at..at + 2)?;
    Some((protocol, address, Some(u16_at(port, 0))))
}

/// The packet that an IPv4 packet quotes, if that is an ICMP error; nothing at all of what is no
/// IPv4 packet. What is malformed in it is for the worker to find.
fn quoted(packet: &[u8]) -> Option<Option<&[u8]>> {
    if packet.len() < ipv4::HEADER_LEN || packet[0] >> 4 != ipv4::VERSION {
        return None;
    }
    if packet[ipv4::offset::PROTOCOL] != protocol::ICMP || is_later_fragment(packet) {
        return Some(None);
    }
    let message = packet.get(header_len(packet)..).unwrap_or_default();
    let is_error = message.first().is_some_and(|kind| {
        matches!(
            *kind,
            icmp::v4::UNREACHABLE | icmp::v4::TIME_EXCEEDED | icmp::v4::PARAMETER_PROBLEM
        )
    });
    let quoted = message.get(icmp::HEADER_LEN..);
    Some(quoted.filter(|quoted| is_error && quoted.len() >= ipv4::HEADER_LEN))
}

fn is_fragment(packet: &[u8]) -> bool {
    let place = ipv4::FLAG_MORE_FRAGMENTS | ipv4::FRAGMENT_OFFSET_MASK;
    u16_at(packet, ipv4::offset::FLAGS_FRAGMENT) & place != 0
}

fn is_later_fragment(packet: &[u8]) -> bool {
    u16_at(packet, ipv4::offset::FLAGS_FRAGMENT) & ipv4::FRAGMENT_OFFSET_MASK != 0
}

fn header_len(packet: &[u8]) -> usize {
    usize::from(packet[0] & 0x0f) * 4
}

fn ipv4_address(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(packet, at))
}
