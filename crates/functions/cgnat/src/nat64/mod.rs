//! IPv6 packets of subscribers: what they are, and which IPv4 host they are for (RFC 6146 section
//! 3.4).
//!
//! A session of an IPv6 subscriber has the whole IPv6 address as its inside one and is like any
//! other otherwise, so that mappings, limits and times are those of NAT44. Only the way in and out
//! differs: headers are those of the other family (`translation/`). ICMPv6 echoes are sessions of
//! ICMP.

pub(crate) mod config;
mod stage;
pub(crate) mod validate;

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::Reason;
use stages::nd::{self, Message};
use wire::bytes::u16_at;
use wire::embedded::Prefix;
use wire::icmp::{self, v6};
use wire::{ethernet, protocol, tcp, udp};

use crate::config::{Config, Prefixed};
use crate::reasons;
use crate::sessions::session::Session;
use crate::translation::{self, Ends, Ipv6Packet, Port, Refusal, Rules};
use crate::types::class::{About, Class, Shape, flags_of_query};
use crate::types::flow::{Far, Inside, address_of, halves};
use crate::types::sides::Station;

/// What is configured of IPv6 subscribers.
#[derive(Clone, Debug)]
pub struct Nat64 {
    /// Under which IPv4 hosts have IPv6 addresses.
    pub prefix: Prefix,
    /// How packets are translated.
    pub rules: Rules,
    /// Networks of subscribers.
    networks: Vec<Prefixed<Ipv6Addr>>,
}

impl Nat64 {
    /// That of a validated configuration; none where it has none.
    pub fn new(config: &Config) -> Option<Nat64> {
        let nat64 = config.nat64.as_ref()?;
        let rules = Rules {
            ipv4_mtu: nat64.ipv4_mtu,
            ipv6_mtu: nat64.ipv6_mtu,
            keep_traffic_class: true,
            compute_udp_checksum: true,
        };
        Some(Nat64 {
            prefix: Prefix::new(nat64.prefix.address, nat64.prefix.len).ok()?,
            rules,
            networks: nat64.inside.clone(),
        })
    }

    /// Whether an address is a subscriber's: neither one that stands for an IPv4 host (RFC 6146
    /// section 3.5, which would be a loop) nor one whose first half is zero, as an IPv4 address has
    /// it here.
    pub fn is_subscriber(&self, address: [u64; 2]) -> bool {
        let address = address_of(address);
        let bits = address.to_bits();
        let mut networks = self.networks.iter();
        let holds = |network: &Prefixed<Ipv6Addr>| {
            let mask = u128::MAX.checked_shl(128 - u32::from(network.len)).unwrap_or(0);
            (network.address.to_bits() ^ bits) & mask == 0
        };
        bits >> 64 != 0 && !self.prefix.contains(address) && networks.any(holds)
    }

    /// The class of an IPv6 frame at the inside interface of a station.
    pub fn classify(&self, frame: &[u8], (mac, own): Station) -> Result<Class, Reason> {
        match nd::read(frame, (mac, Some(own))) {
            Some(Ok(Message::Solicitation { source, .. })) => {
                return Ok(Class::Solicitation(source));
            }
            Some(_) => return Err(reasons::ND_IGNORED),
            None if !frame.starts_with(&mac.0) => return Err(reasons::OTHER_STATION),
            None => {}
        }
        let packet = frame.get(ethernet::HEADER_LEN..).ok_or(reasons::TRUNCATED)?;
        let read = read_ipv6(packet)?;
        if read.destination() == own {
            return Err(reasons::LOCAL);
        }
        let far = self.prefix.extract(read.destination()).ok_or(reasons::NOT_EMBEDDED)?;
        if self.prefix.forbids(far) {
            return Err(reasons::MARTIAN);
        }
        if read.is_fragment() {
            return Ok(Class::Fragment);
        }
        let shape = Shape {
            transport: (ethernet::HEADER_LEN + read.header_len) as u16,
            len: (ethernet::HEADER_LEN + read.header_len + read.body_len) as u16,
            tcp_flags: 0,
        };
        let class = self.classify_transport(packet, &read, far, shape)?;
        if read.hop_limit() <= 1 {
            return Err(reasons::TTL_EXPIRED);
        }
        let (len, ipv4_mtu) = (wire::ipv4::HEADER_LEN + read.body_len, self.rules.ipv4_mtu.into());
        match class {
            // As it would be that of an IPv4 subscriber.
            Class::FromInside(Inside { address: [0, _], .. }, _) => Err(reasons::NOT_INSIDE),
            Class::FromInside(..) if len > ipv4_mtu && !read.may_be_cut() => Err(reasons::TOO_BIG),
            class => Ok(class),
        }
    }

    fn classify_transport(
        &self,
        packet: &[u8],
        read: &Ipv6Packet<'_>,
        far: Ipv4Addr,
        mut shape: Shape,
    ) -> Result<Class, Reason> {
        let malformed = reasons::TRANSPORT_MALFORMED;
        let (source, body) = (halves(read.source()), read.body);
        let class = |protocol, ports: (u16, u16), shape| {
            let far = Far::new(protocol, far.to_bits(), ports.1);
            Class::FromInside(
                Inside { address: source, far, near: u32::from(ports.0) << 16 },
                shape,
            )
        };
        match read.protocol {
            protocol::UDP => {
                let view = udp::View::parse(body).map_err(|_| malformed)?;
                if usize::from(view.length()) != body.len() {
                    return Err(malformed);
                }
                let ports = (view.source_port(), view.destination_port());
                Ok(class(protocol::UDP, ports, shape))
            }
            protocol::TCP => {
                let view = tcp::View::parse(body).map_err(|_| malformed)?;
                shape.tcp_flags = view.flags();
                let ports = (view.source_port(), view.destination_port());
                Ok(class(protocol::TCP, ports, shape))
            }
            protocol::ICMPV6 => {
                let view = icmp::View::parse(body).map_err(|_| malformed)?;
                if !icmp::verify_ipv6(read.source(), read.destination(), body) {
                    return Err(malformed);
                }
                match view.kind() {
                    kind @ (v6::ECHO_REQUEST | v6::ECHO_REPLY) => {
                        let identifier = u16_at(body, icmp::offset::REST);
                        shape.tcp_flags = flags_of_query(kind);
                        Ok(class(protocol::ICMP, (identifier, 0), shape))
                    }
                    v6::UNREACHABLE | v6::TOO_BIG | v6::TIME_EXCEEDED | v6::PARAMETER_PROBLEM => {
                        let key = self.quoted(packet)?;
                        match key.far.address() == far.to_bits() {
                            true => Ok(Class::Error(About::Inside(key, shape))),
                            false => Err(reasons::ICMP_NO_SESSION),
                        }
                    }
                    _ => Err(reasons::PROTOCOL),
                }
            }
            _ => Err(reasons::PROTOCOL),
        }
    }

    /// The session of the packet that an ICMPv6 error quotes, which was sent to the subscriber.
    fn quoted(&self, packet: &[u8]) -> Result<Inside, Reason> {
        let quote = translation::quoted_by_ipv6(packet).ok_or(reasons::TRANSPORT_MALFORMED)?;
        let far = self.prefix.extract(quote.source).ok_or(reasons::ICMP_NO_SESSION)?;
        let (far_port, port) = quote.ports.ok_or(reasons::ICMP_NO_SESSION)?;
        let address = halves(quote.destination);
        if address[0] == 0 {
            return Err(reasons::ICMP_NO_SESSION);
        }
        let far = match quote.protocol {
            protocol::ICMPV6 => Far::new(protocol::ICMP, far.to_bits(), 0),
            protocol => Far::new(protocol, far.to_bits(), far_port),
        };
        Ok(Inside { address, far, near: u32::from(port) << 16 })
    }

    /// What the ends of a packet of a session become on its way out.
    pub fn to_outside(session: &Session) -> Ends<Ipv4Addr> {
        Ends {
            source: Ipv4Addr::from_bits(session.outside),
            destination: Ipv4Addr::from_bits(session.far.address()),
            port: Port::Source(session.outside_port),
        }
    }

    /// The same on its way in.
    pub fn to_inside(&self, session: &Session) -> Ends<Ipv6Addr> {
        Ends {
            source: self.prefix.embed(Ipv4Addr::from_bits(session.far.address())),
            destination: address_of(session.inside),
            port: Port::Destination(session.inside_port()),
        }
    }

    /// The same of a packet of the session that an error from inside quotes, which went in.
    pub fn quoted_to_outside(session: &Session) -> Ends<Ipv4Addr> {
        let Ends { source, destination, .. } = Self::to_outside(session);
        let port = Port::Destination(session.outside_port);
        Ends { source: destination, destination: source, port }
    }

    /// The same of one that an error from outside quotes, which went out.
    pub fn quoted_to_inside(&self, session: &Session) -> Ends<Ipv6Addr> {
        let Ends { source, destination, .. } = self.to_inside(session);
        let port = Port::Source(session.inside_port());
        Ends { source: destination, destination: source, port }
    }
}

/// Reads an IPv6 packet.
///
/// # Errors
/// Why it is dropped where it is broken, or has headers that no IPv4 packet has.
pub fn read_ipv6(packet: &[u8]) -> Result<Ipv6Packet<'_>, Reason> {
    Ipv6Packet::whole(packet).map_err(|refusal| match refusal {
        Refusal::Malformed => reasons::IP_MALFORMED,
        other => reason_of(other),
    })
}

/// The reason for which a packet is dropped that cannot be translated.
pub fn reason_of(refusal: Refusal) -> Reason {
    match refusal {
        Refusal::Malformed | Refusal::Quote | Refusal::IcmpChecksum => reasons::TRANSPORT_MALFORMED,
        Refusal::Expired => reasons::TTL_EXPIRED,
        Refusal::SourceRoute
        | Refusal::SegmentsLeft { .. }
        | Refusal::Protocol
        | Refusal::IcmpType
        | Refusal::UdpChecksum => reasons::UNTRANSLATABLE,
        Refusal::IcmpFragment | Refusal::FragmentedExtension => reasons::FRAGMENT,
        Refusal::QuoteEnds => reasons::ICMP_NO_SESSION,
        Refusal::TooLong => reasons::TOO_BIG,
    }
}
