//! Packets that are translated without a session: which these are, and what their addresses become
//! (RFC 7757 sections 3.3 and 4, RFC 6877).
//!
//! ```text
//!            inside                                  outside
//!  SIIT      IPv6 hosts, mapped or embedded          IPv4 hosts, embedded or mapped
//!  NAT46     IPv4 hosts, embedded or mapped          IPv6 hosts, mapped
//!  CLAT      IPv4 hosts, mapped                      all others, embedded (under the provider's prefix)
//! ```
//! Every address of either family is that of a host inside, of one outside, or has no counterpart.
//! Packets go from one side to the other; one that stays on its side, or comes from the other one,
//! would loop and is dropped, but for packets between two mapped hosts of IPv6 inside by their
//! embedded addresses, which turn around here (the intrinsic hairpinning of section 4.2.2).
//!
//! The source of an ICMPv6 error, a router mostly, may have no counterpart; it gets the IPv4
//! address of the port by which it leaves (RFC 6791 section 3.2).
//!
//! A packet that is too long for the next link is cut, or its sender told (`cutting/mod.rs`).
//! Here is judged which.
//!
//! It holds no state but the tables of the configuration. **Not supported:** IPv4 packets of NAT44
//! subscribers to hosts inside that are translated so; they leave by the outside port.

pub(crate) mod config;
pub mod eam;
mod stage;
pub(crate) mod validate;

use std::net::{Ipv4Addr, Ipv6Addr};

use function_kit::SetupError;
use packet::{PortId, Reason};
use stages::icmpv4::is_host;
use stages::nd::{self, Message};
use wire::bytes::array_at;
use wire::embedded::Prefix;
use wire::icmp::{v4, v6};
use wire::{MacAddr, ethernet, icmp, ipv4, ipv6, protocol};

use crate::config::{Config, Family, Prefixed};
use crate::nat64::{self, read_ipv6};
use crate::reasons;
use crate::siit::eam::Mappings;
use crate::translation::{Ends, Ipv6Packet, Port, Quote, Refusal, Rules};
use crate::types::class::{Becomes, Class, NOT_WHOLE};
use crate::types::networks::{holds, overlap};
use crate::types::sides::{INSIDE, OUTSIDE};
use export::Side;

/// What is configured of translation without sessions.
#[derive(Debug)]
pub struct Siit {
    inside_family: Family,
    mappings: Mappings,
    /// Where the hosts of each mapping are.
    sides: Vec<Side>,
    prefix: Option<Prefix>,
    embedded: Vec<Prefixed<Ipv4Addr>>,
    hairpinning: bool,
    /// How packets are translated.
    pub rules: Rules,
    macs: [MacAddr; 2],
    ips: [Ipv4Addr; 2],
    ipv6: [Ipv6Addr; 2],
}

/// The host of an address, by its address of the other family.
#[derive(Clone, Copy)]
struct Host<A> {
    address: A,
    side: Side,
}

impl Siit {
    /// That of a validated configuration; none where it has none.
    ///
    /// # Errors
    /// When the table cannot be made.
    pub fn new(config: &Config) -> Result<Option<Siit>, SetupError> {
        let Some(siit) = &config.siit else { return Ok(None) };
        let prefix = siit.prefix();
        let refused = |error: crate::siit::eam::MappingError| SetupError::Table {
            what: "address mappings",
            why: error.to_string(),
        };
        Ok(Some(Siit {
            inside_family: siit.inside_family,
            mappings: Mappings::new(&siit.table(), prefix).map_err(refused)?,
            sides: siit.mappings.iter().map(|mapping| mapping.side).collect(),
            prefix,
            embedded: siit.embedded.clone(),
            hairpinning: config.hairpinning,
            rules: Rules {
                ipv4_mtu: siit.ipv4_mtu,
                ipv6_mtu: siit.ipv6_mtu,
                keep_traffic_class: true,
                compute_udp_checksum: true,
            },
            macs: [config.inside_mac.0, config.outside_mac.0],
            ips: [config.inside_ip, config.outside_ip],
            ipv6: [config.inside_ipv6, config.outside_ipv6],
        }))
    }

    /// The port of a family.
    pub fn port(&self, family: Family) -> PortId {
        if family == self.inside_family { INSIDE } else { OUTSIDE }
    }

    /// Whether the outside port answers ARP for an address: that of a host inside.
    pub fn answers(&self, port: PortId, address: Ipv4Addr) -> bool {
        let is_there = port == OUTSIDE && self.port(Family::Ipv4) == OUTSIDE;
        is_there && self.of_ipv4(address).is_ok_and(|host| host.side == Side::Inside)
    }

    /// Whether some of these addresses are taken.
    pub fn overlaps(&self, pool: Prefixed<Ipv4Addr>) -> bool {
        let mut mapped = self
            .mappings
            .mappings()
            .iter()
            .map(|mapping| Prefixed { address: mapping.ipv4, len: mapping.ipv4_len });
        mapped.any(|network| overlap(network, pool))
            || self.embedded.iter().any(|network| overlap(*network, pool))
    }

    /// Whether an IPv4 packet is translated here, and not by sessions: from outside those to hosts
    /// inside, from inside those of or to mapped hosts.
    pub fn takes(&self, view: &ipv4::View<'_>, port: PortId) -> bool {
        let is_mapped = |address| self.mappings.mapped_ipv4(address).is_some();
        let destination = view.destination();
        if port != self.port(Family::Ipv4) {
            return false;
        }
        match port == INSIDE {
            true => is_mapped(destination) || is_mapped(view.source()),
            false => self.is_named(destination),
        }
    }

    fn is_named(&self, address: Ipv4Addr) -> bool {
        self.mappings.mapped_ipv4(address).is_some()
            || self.embedded.iter().any(|network| holds(*network, address.to_bits()))
    }

    /// The class of an IPv4 packet that is translated here.
    ///
    /// # Errors
    /// Why it is dropped.
    pub fn classify_ipv4(&self, view: &ipv4::View<'_>, port: PortId) -> Result<Class, Reason> {
        let source = source(self.of_ipv4(view.source()), port)?;
        let destination = destination(self.of_ipv4(view.destination()), port)?;
        if view.ttl() <= 1 {
            return Err(reasons::TTL_EXPIRED);
        }
        let body = view.payload();
        let is_icmp = view.protocol() == protocol::ICMP && !view.is_fragment();
        let is_error = is_icmp
            && body.first().is_some_and(|kind| {
                matches!(*kind, v4::UNREACHABLE | v4::TIME_EXCEEDED | v4::PARAMETER_PROBLEM)
            });
        let extension_len = if view.is_fragment() { ipv6::FRAGMENT_HEADER_LEN } else { 0 };
        let len = ipv6::HEADER_LEN + extension_len + body.len();
        if !is_error && view.dont_fragment() && len > usize::from(self.rules.ipv6_mtu) {
            return Err(reasons::TOO_BIG);
        }
        Ok(Class::Siit(Becomes::Ipv6(source, destination), is_error))
    }

    /// The class of an IPv6 frame.
    ///
    /// # Errors
    /// Why it is dropped.
    pub fn classify_ipv6(&self, frame: &[u8], port: PortId) -> Result<Class, Reason> {
        let index = usize::from(port.0 & 1);
        let mac = self.macs[index];
        match nd::read(frame, (mac, Some(self.asked(frame, port)))) {
            Some(Ok(Message::Solicitation { source, .. })) => {
                return Ok(Class::Solicitation(source));
            }
            Some(_) => return Err(reasons::ND_IGNORED),
            None if !frame.starts_with(&mac.0) => return Err(reasons::OTHER_STATION),
            None => {}
        }
        let packet = frame.get(ethernet::HEADER_LEN..).ok_or(reasons::TRUNCATED)?;
        let read = read_ipv6(packet)?;
        if read.destination() == self.ipv6[index] {
            return Err(reasons::LOCAL);
        }
        let is_error = is_error(&read);
        let source = match self.of_ipv6(read.source()) {
            Err(reasons::NO_COUNTERPART) if is_error => self.ips[1 - index],
            host => source(host, port)?,
        };
        let host = self.of_ipv6(read.destination());
        if port == INSIDE
            && let Some(destination) = self.turned(read.destination())
        {
            self.may_turn(source, read.hop_limit())?;
            let extension_len = if read.is_fragment() { ipv6::FRAGMENT_HEADER_LEN } else { 0 };
            let len = ipv6::HEADER_LEN + extension_len + read.body_len;
            if !is_error && len > usize::from(self.rules.ipv6_mtu) && !read.may_be_cut() {
                return Err(reasons::TOO_BIG);
            }
            return Ok(Class::Siit(Becomes::Ipv6Again(source, destination), is_error));
        }
        let destination = destination(host, port)?;
        if read.hop_limit() <= 1 {
            return Err(reasons::TTL_EXPIRED);
        }
        let len = ipv4::HEADER_LEN + read.body_len;
        if !is_error && len > usize::from(self.rules.ipv4_mtu) && !read.may_be_cut() {
            return Err(reasons::TOO_BIG);
        }
        Ok(Class::Siit(Becomes::Ipv4(source, destination), is_error))
    }

    /// The address whose owner a solicitation may be after: the port's, or outside that of a host
    /// inside, for which the port stands.
    fn asked(&self, frame: &[u8], port: PortId) -> Ipv6Addr {
        let own = self.ipv6[usize::from(port.0 & 1)];
        if port == INSIDE || !nd::is_one(frame) || frame.len() < SOLICITED + 16 {
            return own;
        }
        let target = Ipv6Addr::from(array_at::<16>(frame, SOLICITED));
        let is_inside = self.of_ipv6(target).is_ok_and(|host| host.side == Side::Inside);
        if is_inside { target } else { own }
    }

    /// Whether a packet to this address that came by `port` turns around.
    pub fn turns(&self, destination: Ipv6Addr, port: PortId) -> bool {
        port == INSIDE && self.turned(destination).is_some()
    }

    /// The mapped host inside of which an IPv6 address embeds the IPv4 address.
    fn turned(&self, destination: Ipv6Addr) -> Option<Ipv4Addr> {
        if !self.mappings.is_hairpin(destination) {
            return None;
        }
        let prefix = self.prefix?;
        let address = prefix.extract(destination).filter(|address| !prefix.forbids(*address))?;
        let host = self.of_ipv4(address).ok()?;
        (host.side == Side::Inside).then_some(address)
    }

    /// Whether a packet to such a host may turn around.
    fn may_turn(&self, source: Ipv4Addr, hop_limit: u8) -> Result<(), Reason> {
        if !self.hairpinning {
            return Err(reasons::HAIRPIN_OFF);
        }
        if self.prefix.is_none_or(|prefix| prefix.forbids(source)) {
            return Err(reasons::MARTIAN);
        }
        // It makes two hops.
        if hop_limit <= 2 { Err(reasons::TTL_EXPIRED) } else { Ok(()) }
    }

    /// The host of an IPv4 address.
    fn of_ipv4(&self, address: Ipv4Addr) -> Result<Host<Ipv6Addr>, Reason> {
        if !is_host(address) {
            return Err(reasons::MARTIAN);
        }
        if let Some((number, address)) = self.mappings.mapped_ipv4(address) {
            return Ok(Host { address, side: self.sides[number] });
        }
        let prefix = self.prefix.ok_or(reasons::NO_COUNTERPART)?;
        match prefix.forbids(address) {
            true => Err(reasons::MARTIAN),
            false => Ok(Host { address: prefix.embed(address), side: self.side_of(address) }),
        }
    }

    /// The host of an IPv6 address.
    fn of_ipv6(&self, address: Ipv6Addr) -> Result<Host<Ipv4Addr>, Reason> {
        if let Some((number, address)) = self.mappings.mapped_ipv6(address) {
            let host = Host { address, side: self.sides[number] };
            return if is_host(address) { Ok(host) } else { Err(reasons::MARTIAN) };
        }
        let prefix = self.prefix.ok_or(reasons::NO_COUNTERPART)?;
        let address = prefix.extract(address).ok_or(reasons::NO_COUNTERPART)?;
        match prefix.forbids(address) || !is_host(address) {
            true => Err(reasons::MARTIAN),
            false => Ok(Host { address, side: self.side_of(address) }),
        }
    }

    /// Where the host of an embedded address is.
    fn side_of(&self, address: Ipv4Addr) -> Side {
        let is_inside = self.embedded.iter().any(|network| holds(*network, address.to_bits()));
        if is_inside { Side::Inside } else { Side::Outside }
    }

    /// What the ends become of a packet that an ICMPv6 error quotes.
    pub fn quoted_to_ipv4(&self, quote: &Quote<Ipv6Addr>) -> Option<Ends<Ipv4Addr>> {
        let source = self.of_ipv6(quote.source).ok()?.address;
        let destination = self.of_ipv6(quote.destination).ok()?.address;
        Some(Ends { source, destination, port: Port::Kept })
    }

    /// The same of an ICMPv4 error.
    pub fn quoted_to_ipv6(&self, quote: &Quote<Ipv4Addr>) -> Option<Ends<Ipv6Addr>> {
        let source = self.of_ipv4(quote.source).ok()?.address;
        let destination = self.of_ipv4(quote.destination).ok()?.address;
        Some(Ends { source, destination, port: Port::Kept })
    }

    /// What the ends of a packet become that turns around: the other host sees the embedded address
    /// of the first, to which it can answer (section 4.2.2).
    pub fn turn(&self, (source, destination): (Ipv4Addr, Ipv4Addr)) -> Option<Ends<Ipv6Addr>> {
        let destination = self.of_ipv4(destination).ok()?.address;
        Some(Ends { source: self.prefix?.embed(source), destination, port: Port::Kept })
    }

    /// The same of one that an error which turns around quotes: it went the other way.
    pub fn turn_quoted(&self, quote: &Quote<Ipv4Addr>) -> Option<Ends<Ipv6Addr>> {
        let source = self.of_ipv4(quote.source).ok()?.address;
        let destination = self.mappings.to_ipv6_embedded(quote.destination)?;
        Some(Ends { source, destination, port: Port::Kept })
    }
}

/// The source of a packet that came by `port`, whose host must be on that side.
fn source<A>(host: Result<Host<A>, Reason>, port: PortId) -> Result<A, Reason> {
    match (host, port) {
        (Ok(Host { address, side: Side::Inside }), INSIDE)
        | (Ok(Host { address, side: Side::Outside }), OUTSIDE) => Ok(address),
        (Ok(_) | Err(reasons::NO_COUNTERPART), INSIDE) => Err(reasons::NOT_INSIDE),
        (Ok(_), _) => Err(reasons::LOOP),
        (Err(reason), _) => Err(reason),
    }
}

/// Its destination, whose host must be on the other side.
fn destination<A>(host: Result<Host<A>, Reason>, port: PortId) -> Result<A, Reason> {
    match (host, port) {
        (Ok(Host { address, side: Side::Outside }), INSIDE)
        | (Ok(Host { address, side: Side::Inside }), OUTSIDE) => Ok(address),
        (Ok(_), INSIDE) => Err(reasons::LOOP),
        (Ok(_) | Err(reasons::NO_COUNTERPART), OUTSIDE) => Err(reasons::NO_ADDRESS),
        (Ok(_), _) => Err(reasons::UNHANDLED),
        (Err(reason), _) => Err(reason),
    }
}

/// The reason for which a packet is dropped that cannot be translated.
pub fn reason_of(refusal: Refusal) -> Reason {
    match refusal {
        Refusal::QuoteEnds => reasons::NO_COUNTERPART,
        other => nat64::reason_of(other),
    }
}

/// Whether a packet is an ICMPv6 error that can be translated.
fn is_error(read: &Ipv6Packet<'_>) -> bool {
    let kind = read.body.first().filter(|_| read.protocol == protocol::ICMPV6);
    let is_one = |kind: &u8| {
        matches!(*kind, v6::UNREACHABLE | v6::TOO_BIG | v6::TIME_EXCEEDED | v6::PARAMETER_PROBLEM)
    };
    !read.is_fragment() && kind.is_some_and(is_one)
}

/// Where a TCP segment that may be a SYN begins in a frame that was translated: whole, behind plain
/// headers.
pub fn segment(frame: &[u8]) -> Option<usize> {
    const NEXT_HEADER: usize = ethernet::HEADER_LEN + ipv6::offset::NEXT_HEADER;
    const PROTOCOL: usize = ethernet::HEADER_LEN + ipv4::offset::PROTOCOL;
    const PLACE: usize = ethernet::HEADER_LEN + ipv4::offset::FLAGS_FRAGMENT;
    let is_ipv6 = frame.get(ethernet::HEADER_LEN)? >> 4 == ipv6::VERSION;
    let (next, header_len) = match is_ipv6 {
        true => (frame.get(NEXT_HEADER)?, ipv6::HEADER_LEN),
        false => (frame.get(PROTOCOL)?, ipv4::HEADER_LEN),
    };
    let place = frame
        .get(PLACE..PLACE + 2)
        .filter(|_| !is_ipv6)
        .map_or(0, |place| u16::from_be_bytes([place[0], place[1]]));
    let is_whole = place & NOT_WHOLE == 0;
    (*next == protocol::TCP && is_whole).then_some(ethernet::HEADER_LEN + header_len)
}

/// Where the address stands in a frame that a solicitation asks for.
const SOLICITED: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN + icmp::HEADER_LEN;
