//! What a frame is, by every check in the order of its headers; and the plain frames in a few
//! comparisons.
//!
//! [`Plain`] takes IPv4 packets without options and IPv6 packets that may be forwarded; it joins
//! their checks without branches, because on the common path all of them hold. Everything else goes
//! through [`classify`], where the checks stand one by one, each with its reason. The two agree: a
//! frame that the fast path takes gets the same answer from the other (a test compares them).

use packet::{PortId, Reason};
use stages::virtuals::Virtuals;
use wire::bytes::{array_at, u16_at, u32_at};
use wire::{Malformed, checksum, ethernet, ipv4, ipv6, protocol};

use super::options::{Fault, check_hop_by_hop, check_ipv4};
use super::reasons;
use super::state::State;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// An IPv4 packet to be routed.
    V4 {
        /// Where it goes.
        destination: u32,
        /// Length of the frame without padding.
        len: u16,
    },
    /// An IPv6 packet to be routed.
    V6 {
        /// Where it goes.
        destination: u128,
        /// Length of the frame without padding.
        len: u16,
    },
    /// A question for the Ethernet address of the interface, or of a virtual address of it.
    Arp,
    /// Options that say that it may not go on, and where, if its sender is to be told.
    Options(Option<u16>),
    /// Nothing to do with it.
    Drop(Reason),
}

impl Class {
    fn of_fault(fault: Fault) -> Class {
        Class::Options(fault.is_told.then_some(fault.pointer))
    }
}

/// What plain frames look like to this router.
#[derive(Default)]
pub struct Plain {
    /// The ports' Ethernet addresses in the lower 48 bits, by port.
    stations: Vec<u64>,
}

impl Plain {
    /// For the router of this state.
    pub fn new(state: &State) -> Plain {
        let stations = (0..).zip(state.interfaces.ports()).map(|(number, _)| {
            let [a, b, c, d, e, f] = state.interfaces.get(number).mac.0.0;
            u64::from_be_bytes([0, 0, a, b, c, d, e, f])
        });
        Plain { stations: stations.collect() }
    }

    /// The class of a plain frame that came in at an interface of a port; none of all others.
    #[inline(always)]
    pub fn recognise(
        &self,
        frame: &[u8],
        (port, interface): (PortId, u16),
        virtuals: &Virtuals,
    ) -> Option<Class> {
        let head = frame.first_chunk::<IPV4_END>()?;
        let destination = u64::from_be_bytes(array_at(head, 0)) >> 16;
        if self.stations.get(usize::from(port.0)) != Some(&destination)
            && !virtuals.is_station(interface, destination)
        {
            return None;
        }
        let space = frame.len() - ethernet::HEADER_LEN;
        match u16_at(head, ethernet::offset::TYPE) {
            ethernet::TYPE_IPV4 => plain_ipv4(&array_at(head, ethernet::HEADER_LEN), space),
            ethernet::TYPE_IPV6 => plain_ipv6(frame, space),
            _ => None,
        }
    }
}

#[inline(always)]
fn plain_ipv4(ip: &[u8; ipv4::HEADER_LEN], space: usize) -> Option<Class> {
    let len = u16_at(ip, ipv4::offset::TOTAL_LEN);
    let fits = (usize::from(len) >= ipv4::HEADER_LEN) & (usize::from(len) <= space);
    let sound = (ip[0] == ipv4::VERSION_IHL) & fits & checksum::header_is_valid(ip);
    let usual = is_usual(ip[ipv4::offset::SOURCE]) & is_usual(ip[ipv4::offset::DESTINATION]);
    let lives = ip[ipv4::offset::TTL] > 1;
    (sound & usual & lives).then_some(Class::V4 {
        destination: u32_at(ip, ipv4::offset::DESTINATION),
        len: len.wrapping_add(ethernet::HEADER_LEN as u16),
    })
}

/// Global unicast (2000::/3) and unique local addresses (fc00::/7) are all that is usual.
#[inline(always)]
fn plain_ipv6(frame: &[u8], space: usize) -> Option<Class> {
    let ip: &[u8; ipv6::HEADER_LEN] = frame.get(ethernet::HEADER_LEN..)?.first_chunk()?;
    let len = usize::from(u16_at(ip, ipv6::offset::PAYLOAD_LEN)) + ipv6::HEADER_LEN;
    let sound = (ip[0] >> 4 == ipv6::VERSION) & (len <= space);
    let sound = sound & (ip[ipv6::offset::NEXT_HEADER] != protocol::IPV6_HOP_BY_HOP);
    let is_usual = |first: u8| (first & 0xe0 == 0x20) | (first & 0xfe == 0xfc);
    let usual = is_usual(ip[ipv6::offset::SOURCE]) & is_usual(ip[ipv6::offset::DESTINATION]);
    let lives = ip[ipv6::offset::HOP_LIMIT] > 1;
    (sound & usual & lives).then_some(Class::V6 {
        destination: u128::from_be_bytes(array_at(ip, ipv6::offset::DESTINATION)),
        len: (len + ethernet::HEADER_LEN) as u16,
    })
}

/// Whether the first octet is of an address that may be forwarded from and to.
#[inline(always)]
fn is_usual(first: u8) -> bool {
    (first != 0) & (first != 127) & (first < 224)
}

/// The class of any frame.
pub fn classify(frame: &[u8], interface: u16, state: &State) -> Class {
    if frame.len() < ethernet::HEADER_LEN {
        return Class::Drop(reasons::TRUNCATED);
    }
    let own = state.interfaces.get(interface);
    let ether_type = u16_at(frame, ethernet::offset::TYPE);
    let payload = &frame[ethernet::HEADER_LEN..];
    let is_for_all = frame.starts_with(&[0xff; 6]) && ether_type == ethernet::TYPE_ARP;
    let virtuals = state.interfaces.virtuals();
    if !frame.starts_with(&own.mac.0.0) && !is_for_all && !virtuals.is_for(frame, interface) {
        return Class::Drop(reasons::OTHER_STATION);
    }
    match ether_type {
        ethernet::TYPE_IPV4 => classify_ipv4(payload, own.vrf, state).unwrap_or_else(Class::Drop),
        ethernet::TYPE_IPV6 => classify_ipv6(payload, own.vrf, state).unwrap_or_else(Class::Drop),
        ethernet::TYPE_ARP
            if own.ip.is_some_and(|ip| stages::arp::is_request_for(payload, ip.address))
                || virtuals.asked_by_arp(frame, interface).is_some() =>
        {
            Class::Arp
        }
        ethernet::TYPE_ARP => Class::Drop(reasons::ARP_IGNORED),
        _ => Class::Drop(reasons::ETHERTYPE),
    }
}

fn classify_ipv4(packet: &[u8], vrf: u16, state: &State) -> Result<Class, Reason> {
    let view = ipv4::View::parse(packet).map_err(|malformed| match malformed {
        Malformed::BadChecksum => reasons::IP_CHECKSUM,
        _ => reasons::IP_MALFORMED,
    })?;
    let [from, to] = [view.source(), view.destination()].map(|address| address.octets()[0]);
    if matches!(from, 0 | 127 | 224..) || matches!(to, 0 | 127 | 240..) {
        return Err(reasons::MARTIAN);
    }
    if to >= 224 {
        return Err(reasons::MULTICAST);
    }
    if view.has_options()
        && let Err(fault) =
            check_ipv4(packet.get(..usize::from(packet[0] & 0x0f) * 4).unwrap_or(&[]))
    {
        return Ok(Class::of_fault(fault));
    }
    if view.ttl() <= 1 && !state.is_own_ipv4(vrf, view.destination().to_bits()) {
        return Err(reasons::TTL_EXPIRED);
    }
    Ok(Class::V4 {
        destination: view.destination().to_bits(),
        len: view.total_len() + ethernet::HEADER_LEN as u16,
    })
}

fn classify_ipv6(packet: &[u8], vrf: u16, state: &State) -> Result<Class, Reason> {
    let view = ipv6::View::parse(packet).map_err(|_| reasons::IP_MALFORMED)?;
    let (from, to) = (view.source(), view.destination());
    let on_no_way = |address: std::net::Ipv6Addr| {
        address.is_unspecified() || address.is_loopback() || address.is_unicast_link_local()
    };
    if on_no_way(from) || from.is_multicast() || on_no_way(to) {
        return Err(reasons::MARTIAN);
    }
    if to.is_multicast() {
        return Err(reasons::MULTICAST);
    }
    if view.next_header() == protocol::IPV6_HOP_BY_HOP
        && let Some(packet) = packet.get(..ipv6::HEADER_LEN + usize::from(view.payload_len()))
        && let Err(fault) = check_hop_by_hop(packet, ipv6::HEADER_LEN)
    {
        return Ok(Class::of_fault(fault));
    }
    if view.hop_limit() <= 1 && !state.is_own_ipv6(vrf, to.to_bits()) {
        return Err(reasons::TTL_EXPIRED);
    }
    let len = ethernet::HEADER_LEN + ipv6::HEADER_LEN + usize::from(view.payload_len());
    Ok(Class::V6 { destination: to.to_bits(), len: len as u16 })
}

/// Where an IPv4 header without options ends.
const IPV4_END: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;
