//! What a frame is: the plain ones in a few comparisons, all others by every check in the order of
//! their headers.
//!
//! Plain are whole IPv4 packets of UDP and TCP without options. The two parts agree: a frame that
//! the first one takes gets the same answer from the other (a test compares them).

use packet::{PortId, Reason};
use wire::bytes::{array_at, u16_at, u32_at};
use wire::{MacAddr, Malformed, checksum, ethernet, icmp, ipv4, protocol, tcp, udp};

use crate::config::Family;
use crate::interfaces::Interfaces;
use crate::reasons;
use crate::types::class::{About, Class, NOT_WHOLE, Shape, flags_of_query, is_followed};
use crate::types::flow::{Far, Inside, Outside};
use crate::types::gre;
use crate::types::sides::{INSIDE, OUTSIDE, first_of_side, is_further, is_inside};

/// What plain frames look like at an interface of each side.
#[derive(Clone, Copy)]
pub struct Plain {
    /// The interfaces' Ethernet addresses.
    stations: [u64; 2],
    /// The interfaces' own IPv4 addresses; 0 where subscribers share it.
    own: [u32; 2],
}

impl Plain {
    /// At the two ports, to the MAC addresses to which most go.
    pub fn new(interfaces: &Interfaces) -> Plain {
        let ports = [INSIDE, OUTSIDE];
        Plain::at(ports, ports.map(|port| interfaces.usual_mac(port)), interfaces)
    }

    /// At the two ports, to their own MAC addresses.
    pub(crate) fn own(interfaces: &Interfaces) -> Plain {
        let ports = [INSIDE, OUTSIDE];
        Plain::at(ports, ports.map(|port| interfaces.mac(port)), interfaces)
    }

    /// At an interface of each side.
    ///
    /// No frame is plain where some of IPv4 are translated without sessions, or not at all.
    fn at(ports: [PortId; 2], macs: [MacAddr; 2], interfaces: &Interfaces) -> Plain {
        let mut stations = macs.map(|mac| {
            let [a, b, c, d, e, f] = mac.0;
            u64::from_be_bytes([0, 0, a, b, c, d, e, f])
        });
        if let Some(siit) = &interfaces.siit {
            stations[usize::from(siit.port(Family::Ipv4).0)] = u64::MAX;
        }
        if interfaces.bypass.is_some() {
            stations = [u64::MAX; 2];
        }
        let own = ports.map(|port| match interfaces.shares_ip(port) {
            true => 0,
            false => interfaces.ip(port).to_bits(),
        });
        Plain { stations, own }
    }

    /// The class of a plain frame at a further interface; none of all others.
    pub fn recognise_further(frame: &[u8], port: PortId, interfaces: &Interfaces) -> Option<Class> {
        let plain = is_further(port)
            .then(|| Plain::at([port; 2], [interfaces.mac(port); 2], interfaces))?;
        plain.recognise(frame, first_of_side(port))
    }

    /// The class of a plain frame; none of all others, and of those at further interfaces.
    #[inline(always)]
    pub fn recognise(&self, frame: &[u8], port: PortId) -> Option<Class> {
        let head = frame.first_chunk::<PLAIN_LEN_MIN>()?;
        let to_outside = port.0 == 0;
        let station = u64::from_be_bytes(array_at(head, 0)) >> 16;
        let ip: &[u8; ipv4::HEADER_LEN] = &array_at(head, ethernet::HEADER_LEN);
        let len = usize::from(u16_at(ip, ipv4::offset::TOTAL_LEN));
        let protocol = ip[ipv4::offset::PROTOCOL];
        let is_tcp = protocol == protocol::TCP;
        let header_len = if is_tcp { tcp::HEADER_LEN } else { udp::HEADER_LEN };
        let is_ours = station == self.stations[usize::from(!to_outside)];
        let is_ipv4 = u16_at(head, ethernet::offset::TYPE) == ethernet::TYPE_IPV4;
        let known = is_tcp | (protocol == protocol::UDP);
        let fits =
            (len >= ipv4::HEADER_LEN + header_len) & (len <= frame.len() - ethernet::HEADER_LEN);
        let whole = u16_at(ip, ipv4::offset::FLAGS_FRAGMENT) & NOT_WHOLE == 0;
        let lives = ip[ipv4::offset::TTL] > 1;
        let passes = u32_at(ip, ipv4::offset::DESTINATION) != self.own[usize::from(!to_outside)];
        let sound = (ip[0] == ipv4::VERSION_IHL) & checksum::header_is_valid(ip);
        let is_here = !is_further(port);
        if !(is_ours & is_here & is_ipv4 & known & fits & whole & lives & passes & sound) {
            return None;
        }
        let sound = match is_tcp {
            true => frame.get(TRANSPORT + tcp::offset::DATA_OFFSET).is_some_and(|offset| {
                let header = usize::from(offset >> 4) * 4;
                (header >= tcp::HEADER_LEN) & (ipv4::HEADER_LEN + header <= len)
            }),
            false => {
                usize::from(u16_at(head, TRANSPORT + udp::offset::LENGTH)) + ipv4::HEADER_LEN == len
            }
        };
        if !sound {
            return None;
        }
        let tcp_flags = if is_tcp { frame[TRANSPORT + tcp::offset::FLAGS] } else { 0 };
        let shape = Shape {
            transport: TRANSPORT as u16,
            len: (len + ethernet::HEADER_LEN) as u16,
            tcp_flags,
        };
        let ends = Ends::read(ip, u32_at(head, TRANSPORT));
        Some(ends.class(protocol, to_outside, shape))
    }
}

/// Addresses and ports of a packet.
#[derive(Clone, Copy)]
struct Ends {
    source: u32,
    destination: u32,
    source_port: u16,
    destination_port: u16,
}

impl Ends {
    #[inline(always)]
    fn read(ip: &[u8; ipv4::HEADER_LEN], ports: u32) -> Ends {
        Ends {
            source: u32_at(ip, ipv4::offset::SOURCE),
            destination: u32_at(ip, ipv4::offset::DESTINATION),
            source_port: (ports >> 16) as u16,
            destination_port: ports as u16,
        }
    }

    #[inline(always)]
    fn class(self, protocol: u8, to_outside: bool, shape: Shape) -> Class {
        match to_outside {
            true => Class::FromInside(self.inside(protocol), shape),
            false => Class::FromOutside(self.outside(protocol), shape),
        }
    }

    /// The session, where the subscriber is the source.
    #[inline(always)]
    fn inside(self, protocol: u8) -> Inside {
        let far = Far::new(protocol, self.destination, self.destination_port);
        Inside::ipv4(self.source, self.source_port, 0, far)
    }

    /// The session, where the outside address is the destination.
    #[inline(always)]
    fn outside(self, protocol: u8) -> Outside {
        let far = Far::new(protocol, self.source, self.source_port);
        Outside::new(self.destination, self.destination_port, far)
    }

    fn reversed(self) -> Ends {
        Ends {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }
}

/// The class of any frame.
pub fn classify(frame: &[u8], port: PortId, interfaces: &Interfaces) -> Class {
    if frame.len() < ethernet::HEADER_LEN {
        return Class::Drop(reasons::TRUNCATED);
    }
    let ether_type = u16_at(frame, ethernet::offset::TYPE);
    let payload = &frame[ethernet::HEADER_LEN..];
    if ether_type == ethernet::TYPE_IPV6
        && is_inside(port)
        && let Some(nat64) = &interfaces.nat64
    {
        return nat64.classify(frame, interfaces.station(port)).unwrap_or_else(Class::Drop);
    }
    if ether_type == ethernet::TYPE_IPV6
        && let Some(siit) = &interfaces.siit
        && siit.port(Family::Ipv6) == port
    {
        return siit.classify_ipv6(frame, port).unwrap_or_else(Class::Drop);
    }
    let is_for_all = frame.starts_with(&[0xff; 6]) && ether_type == ethernet::TYPE_ARP;
    if !frame.starts_with(&interfaces.mac(port).0) && !is_for_all {
        return Class::Drop(reasons::OTHER_STATION);
    }
    match ether_type {
        ethernet::TYPE_IPV4 => classify_ipv4(payload, port, interfaces).unwrap_or_else(Class::Drop),
        ethernet::TYPE_ARP => match interfaces.arp_answer(payload, port).is_some() {
            true => Class::Arp,
            false => Class::Drop(reasons::ARP_IGNORED),
        },
        _ => Class::Drop(reasons::ETHERTYPE),
    }
}

fn classify_ipv4(packet: &[u8], port: PortId, own: &Interfaces) -> Result<Class, Reason> {
    let view = ipv4::View::parse(packet).map_err(|malformed| match malformed {
        Malformed::BadChecksum => reasons::IP_CHECKSUM,
        _ => reasons::IP_MALFORMED,
    })?;
    let to = view.destination();
    if own.virtuals().get(port.0.into(), to.into()).is_some() {
        return Ok(Class::Local);
    }
    if own.ip(port) == to {
        return match own.shares_ip(port) {
            true => classify_shared(packet, &view, (port, own)),
            false => Ok(Class::Local),
        };
    }
    if let Some(siit) = &own.siit
        && siit.takes(&view, port)
    {
        return siit.classify_ipv4(&view, port);
    }
    if let Some(bypass) = &own.bypass
        && bypass.takes(&view, port)?
    {
        return Ok(Class::Bypassed);
    }
    classify_transit(packet, &view, (port, own))
}

/// A packet for the address that subscribers share with the NAT itself: queries are the NAT's, and
/// so is what no mapping can take, and what is for the next hop alone.
fn classify_shared(
    packet: &[u8],
    view: &ipv4::View<'_>,
    at: (PortId, &Interfaces),
) -> Result<Class, Reason> {
    match classify_transit(packet, view, at) {
        Ok(Class::FromOutside(_, shape)) if is_query(view, shape) => Ok(Class::Local),
        Err(reasons::PROTOCOL | reasons::TTL_EXPIRED | reasons::ICMP_NO_SESSION) => {
            Ok(Class::Local)
        }
        other => other,
    }
}

fn is_query(view: &ipv4::View<'_>, shape: Shape) -> bool {
    view.protocol() == protocol::ICMP && shape.tcp_flags == 0
}

fn classify_transit(
    packet: &[u8],
    view: &ipv4::View<'_>,
    (port, own): (PortId, &Interfaces),
) -> Result<Class, Reason> {
    let to_outside = is_inside(port);
    let Some(ip) = packet.first_chunk::<{ ipv4::HEADER_LEN }>() else {
        return Err(reasons::IP_MALFORMED);
    };
    if u16_at(ip, ipv4::offset::FLAGS_FRAGMENT) & NOT_WHOLE != 0 {
        return Ok(Class::Fragment);
    }
    let header_len = usize::from(ip[0] & 0x0f) * 4;
    let end = usize::from(view.total_len());
    let transport = packet.get(header_len..end).ok_or(reasons::IP_MALFORMED)?;
    let mut shape = Shape {
        transport: (ethernet::HEADER_LEN + header_len) as u16,
        len: (ethernet::HEADER_LEN + end) as u16,
        tcp_flags: 0,
    };
    let protocol = view.protocol();
    let class = match protocol {
        protocol::UDP => {
            let view = udp::View::parse(transport).map_err(|_| reasons::TRANSPORT_MALFORMED)?;
            if usize::from(view.length()) != transport.len() {
                return Err(reasons::TRANSPORT_MALFORMED);
            }
            Ends::read(ip, u32_at(transport, 0)).class(protocol, to_outside, shape)
        }
        protocol::TCP => {
            let view = tcp::View::parse(transport).map_err(|_| reasons::TRANSPORT_MALFORMED)?;
            shape.tcp_flags = view.flags();
            Ends::read(ip, u32_at(transport, 0)).class(protocol, to_outside, shape)
        }
        protocol::ICMP => classify_icmp(ip, transport, to_outside, shape)?,
        protocol::GRE if own.has_calls => classify_call(ip, transport, to_outside, shape)?,
        _ => return Err(reasons::PROTOCOL),
    };
    if view.ttl() <= 1 {
        return Err(reasons::TTL_EXPIRED);
    }
    Ok(class)
}

/// Packets of a call bear the identifier that their receiver has for it (RFC 2637 section 4.1).
fn classify_call(
    ip: &[u8; ipv4::HEADER_LEN],
    message: &[u8],
    to_outside: bool,
    shape: Shape,
) -> Result<Class, Reason> {
    let call = gre::call(message).ok_or(reasons::PROTOCOL)?;
    let ends = Ends { source_port: 0, destination_port: call, ..Ends::read(ip, 0) };
    Ok(match to_outside {
        true => Class::Call(ends.inside(protocol::GRE), shape),
        false => ends.class(protocol::GRE, to_outside, shape),
    })
}

/// Queries and their answers are sessions by the identifier that the subscriber knows, whoever asks
/// (RFC 5508 section 3, RFC 6146 section 3.5.3); errors are about others.
fn classify_icmp(
    ip: &[u8; ipv4::HEADER_LEN],
    message: &[u8],
    to_outside: bool,
    shape: Shape,
) -> Result<Class, Reason> {
    let view = icmp::View::parse(message).map_err(|_| reasons::TRANSPORT_MALFORMED)?;
    if !icmp::verify_ipv4(message) {
        return Err(reasons::TRANSPORT_MALFORMED);
    }
    let identifier = (view.rest() >> 16) as u16;
    let ends =
        |source_port, destination_port| Ends { source_port, destination_port, ..Ends::read(ip, 0) };
    let protocol = protocol::ICMP;
    match view.kind() {
        kind if is_followed(kind) => {
            let ends = if to_outside { ends(identifier, 0) } else { ends(0, identifier) };
            let shape = Shape { tcp_flags: flags_of_query(kind), ..shape };
            Ok(ends.class(protocol, to_outside, shape))
        }
        icmp::v4::UNREACHABLE | icmp::v4::TIME_EXCEEDED | PARAMETER_PROBLEM => {
            let to = u32_at(ip, ipv4::offset::DESTINATION);
            quoted((view.payload(), to), to_outside, shape).map(Class::Error)
        }
        _ => Err(reasons::PROTOCOL),
    }
}

/// The session of the packet that an ICMP error to an address quotes, which that one has sent (RFC
/// 1122 section 3.2.2).
fn quoted((packet, to): (&[u8], u32), to_outside: bool, shape: Shape) -> Result<About, Reason> {
    let cut = reasons::TRANSPORT_MALFORMED;
    let ip = packet.first_chunk::<{ ipv4::HEADER_LEN }>().ok_or(cut)?;
    let header_len = usize::from(ip[0] & 0x0f) * 4;
    if ip[0] >> 4 != ipv4::VERSION || header_len < ipv4::HEADER_LEN {
        return Err(cut);
    }
    if u16_at(ip, ipv4::offset::FLAGS_FRAGMENT) & ipv4::FRAGMENT_OFFSET_MASK != 0 {
        return Err(reasons::ICMP_NO_SESSION);
    }
    // RFC 792 has eight bytes of the quoted packet's payload, and nobody may count on more.
    let head = packet.get(header_len..header_len + QUOTED_LEN).ok_or(cut)?;
    let protocol = ip[ipv4::offset::PROTOCOL];
    let ends = match protocol {
        protocol::UDP | protocol::TCP => Ends::read(ip, u32_at(head, 0)),
        protocol::ICMP if is_followed(head[0]) => {
            let identifier = u16_at(head, icmp::offset::REST);
            match to_outside {
                false => Ends { source_port: identifier, ..Ends::read(ip, 0) },
                true => Ends { destination_port: identifier, ..Ends::read(ip, 0) },
            }
        }
        _ => return Err(reasons::ICMP_NO_SESSION),
    };
    if ends.source != to {
        return Err(reasons::ICMP_NO_SESSION);
    }
    // A packet that the NAT sent out has the outside address as its source; one that it sent in has
    // the subscriber as its destination.
    Ok(match to_outside {
        false => About::Outside(ends.reversed().outside(protocol), shape),
        true => About::Inside(ends.reversed().inside(protocol), shape),
    })
}

/// Where the transport header of a plain frame begins.
const TRANSPORT: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;

/// A plain frame has at least a UDP header.
const PLAIN_LEN_MIN: usize = TRANSPORT + udp::HEADER_LEN;

/// What an ICMP error quotes at least behind the IP header.
pub const QUOTED_LEN: usize = 8;

/// ICMP: parameter problem (RFC 792).
const PARAMETER_PROBLEM: u8 = 12;
