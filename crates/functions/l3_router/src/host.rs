//! The router as a host: what becomes of packets that it does not forward.
//!
//! ```text
//!  for the router itself --> policer of the protocol --> answer (ping) | punt | nobody listens
//!  that cannot go on, or nobody listens for it --> drop, and within the limit of errors
//!      an error or a reset back to its sender (RFC 792, RFC 4443, RFC 9293 section 3.10.7.1)
//! ```
//! An answer reuses the buffer of its packet; an error is a frame made, so that its packet counts
//! for the reason for which it is dropped. Both go back by the interface and to the station from
//! which the packet came. Only packets out of the ordinary come here, one by one; how
//! many of each protocol is bounded by a policer of its own, so that a flood of one neither starves
//! forwarding nor the others. What a control plane of routing protocols would take is punted here.
use std::net::{IpAddr, Ipv4Addr};

use machine::clock::{Clock, Ticks};
use packet::{Batch, Made, PortId, Reason, Slot, Verdict};
use stages::icmp_host::{self, IcmpErrors, Told, is_ipv6};
use stages::icmpv4::Answer;
use stages::punt;
use tables::meter::{Meter, TeamMeter};
use wire::bytes::{array_at, u16_at};
use wire::{MacAddr, ethernet, icmp, ipv4, ipv6, protocol};

use super::config::{Config, PuntRates};
use super::interfaces::Interfaces;
use super::reasons::{self, Tallies, Tally};

/// What is configured, and how much of it is left at present, for all workers together.
pub(super) struct Host {
    errors: IcmpErrors,
    pings: bool,
    punts: bool,
    policers: [TeamMeter; Protocol::COUNT],
}

/// What a host sees around itself: by whom it can answer, what is counted, and the time.
pub(super) struct Around<'a> {
    pub interfaces: &'a Interfaces,
    pub tallies: &'a mut Tallies,
    /// Where errors are made.
    pub made: Option<&'a mut Made>,
    pub now: Ticks,
}

/// What packets for the router itself are told apart by, each with a policer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// ICMP and ICMPv6.
    Icmp,
    /// ARP.
    Arp,
    /// Neighbor Discovery.
    Nd,
    /// Fragments, whose protocol cannot be trusted.
    Fragments,
    /// Packets whose time to live ends here, wherever they go.
    TtlExpired,
    /// Everything else: routing protocols, management.
    Local,
}

/// Why a packet cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Its time to live ends here.
    TimeExceeded,
    /// There is no route.
    NoRoute,
    /// Nobody has the address, or the next hop is not there.
    NoNeighbour,
    /// It is longer than this MTU in bytes and must not be fragmented.
    TooBig(u16),
    /// An option at this place keeps it.
    BadOption(u16),
    /// Nobody listens at this port.
    NoPort,
    /// Nobody knows this protocol.
    NoProtocol,
}

impl Host {
    /// What the configuration asks for; none where it asks for nothing.
    pub fn new(config: &Config, clock: Clock) -> Option<Host> {
        let rates = config.punt_rates;
        if !config.is_host() {
            return None;
        }
        let meter = |rate: u32, burst: u32| match rate {
            0 => Meter::default(),
            _ => Meter::of_packets(rate, burst.max(1), clock.ticks_per_second()),
        };
        Some(Host {
            errors: IcmpErrors::new(config.icmp_errors_per_s, config.icmp_error_burst, &clock),
            pings: config.ping,
            punts: config.punt,
            policers: Protocol::ALL.map(|one| TeamMeter::new(meter(one.rate(&rates), rates.burst))),
        })
    }

    /// Has the rates of the first of some workers for its own.
    pub fn join(&mut self, first: &mut Host) {
        self.errors.join(&mut first.errors);
        for (own, first) in self.policers.iter_mut().zip(&mut first.policers) {
            own.join(first);
        }
    }

    /// Whether one more packet of a protocol is within its rate.
    ///
    /// # Errors
    /// The reason for dropping it.
    pub fn police(&mut self, protocol: Protocol, now: Ticks) -> Result<(), Reason> {
        match self.policers[protocol as usize].conforms(now, 1) {
            true => Ok(()),
            false => Err(protocol.reason()),
        }
    }

    /// A packet, without tag and padding, that cannot go on: it is dropped for the reason, and its
    /// sender is told why where that may be.
    pub fn refuse(
        &mut self,
        (frame, port, at): (&[u8], PortId, u16),
        around: &mut Around<'_>,
        (trouble, reason): (Trouble, Reason),
    ) -> Verdict {
        if trouble == Trouble::TimeExceeded
            && let Err(reason) = self.police(Protocol::TtlExpired, around.now)
        {
            return reasons::drop(reason);
        }
        let interface = around.interfaces.get(at);
        let own = match is_ipv6(frame) {
            false => interface.ip.map(|own| own.address.into()),
            true => interface.ipv6.map(|own| own.address.into()),
        };
        if let Some(own) = own {
            self.tell((frame, port, at), own, around, trouble);
        }
        reasons::drop(reason)
    }

    /// Tells the sender of a packet by an error from an address.
    fn tell(
        &mut self,
        (frame, port, at): (&[u8], PortId, u16),
        own: IpAddr,
        around: &mut Around<'_>,
        trouble: Trouble,
    ) {
        let message = match own {
            IpAddr::V4(_) => trouble.message(),
            IpAddr::V6(_) => trouble.message_ipv6(),
        };
        let station = (around.interfaces.get(at).mac.0, own);
        let Some(made) = around.made.as_deref_mut() else { return };
        let told = self.errors.tell_apart((frame, port), made, station, message, around.now);
        send_back(told, (port, at), around, Tally::IcmpErrors);
    }

    /// Tells the sender of a packet for the router itself that nobody takes it: no port, no
    /// protocol, or no connection of TCP; of fragments and of ICMP nobody is told.
    fn refuse_service(&mut self, (frame, port, at): (&[u8], PortId, u16), around: &mut Around<'_>) {
        let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
        let Some(protocol) = whole_protocol(packet) else { return };
        match protocol {
            protocol::TCP => {
                let Some(made) = around.made.as_deref_mut() else { return };
                let told = self.errors.reset_apart((frame, port), made, around.now);
                send_back(told, (port, at), around, Tally::ResetsSent);
            }
            protocol::UDP | UDP_LITE => {
                self.tell((frame, port, at), destination_of(frame), around, Trouble::NoPort);
            }
            protocol::ICMP | protocol::ICMPV6 | protocol::IPV6_NO_NEXT_HEADER => {}
            _ => self.tell((frame, port, at), destination_of(frame), around, Trouble::NoProtocol),
        }
    }

    /// A packet, without tag, that is for the router itself.
    pub fn receive(
        &mut self,
        batch: &mut Batch,
        (slot, at): (Slot, u16),
        around: &mut Around<'_>,
    ) -> Verdict {
        let protocol = protocol_of(batch.frame(slot));
        if let Err(reason) = self.police(protocol, around.now) {
            return reasons::drop(reason);
        }
        let Around { interfaces, tallies, .. } = around;
        let own = interfaces.get(at);
        let of_virtual = interfaces.virtual_of(own.vrf, destination_of(batch.frame(slot)));
        if of_virtual.is_some_and(|one| !one.accept) {
            return reasons::drop(reasons::LOCAL);
        }
        if own.is_hosted && of_virtual.is_none() {
            // The host answers, and nobody else does; it knows its own Ethernet address alone.
            batch.frame_mut(slot)[..6].copy_from_slice(&own.mac.0.0);
            return Verdict::Punt(punt::reason_of(batch.frame(slot)));
        }
        if self.pings && protocol == Protocol::Icmp {
            // It answers as the station that was asked.
            let mac = MacAddr(array_at(batch.frame(slot), ethernet::offset::DESTINATION));
            let len = packet_len(batch.frame(slot));
            batch.truncate(slot, ethernet::HEADER_LEN + len);
            match icmp_host::answer(batch.frame_mut(slot), mac) {
                Answer::Malformed => return reasons::drop(reasons::ICMP_MALFORMED),
                Answer::Answered => {
                    tallies[Tally::PingsAnswered as usize] += 1;
                    let back = Verdict::Forward(batch.port(slot));
                    return interfaces.send(batch, slot, at, back);
                }
                Answer::NoQuestion => {}
            }
        }
        if of_virtual.is_some() {
            return reasons::drop(reasons::LOCAL);
        }
        let frame = batch.frame(slot);
        if self.punts {
            return Verdict::Punt(punt::reason_of(frame));
        }
        self.refuse_service((frame, batch.port(slot), at), around);
        reasons::drop(reasons::LOCAL)
    }
}

/// Sends what was made to tell a packet's sender, if it was, by the interface of the packet.
fn send_back(
    told: Result<Slot, Told>,
    (port, at): (PortId, u16),
    around: &mut Around<'_>,
    tally: Tally,
) {
    let Around { interfaces, tallies, made: Some(made), .. } = around else { return };
    match told {
        Ok(slot) => {
            tallies[tally as usize] += 1;
            let batch = made.batch_mut();
            let verdict = interfaces.send(batch, slot, at, Verdict::Forward(port));
            batch.set_verdict(slot, verdict);
        }
        Err(Told::Limited) => tallies[Tally::IcmpErrorsLimited as usize] += 1,
        Err(_) => {}
    }
}

impl Trouble {
    /// What an error of ICMP says of it.
    fn message(self) -> icmp::Fields {
        let (kind, code, rest) = match self {
            Trouble::TimeExceeded => (icmp::v4::TIME_EXCEEDED, 0, 0),
            Trouble::NoRoute => (icmp::v4::UNREACHABLE, icmp::v4::NO_ROUTE, 0),
            Trouble::NoNeighbour => (icmp::v4::UNREACHABLE, icmp::v4::HOST, 0),
            Trouble::TooBig(mtu) => (icmp::v4::UNREACHABLE, icmp::v4::TOO_BIG, u32::from(mtu)),
            Trouble::BadOption(at) => {
                (icmp::v4::PARAMETER_PROBLEM, icmp::v4::POINTER, u32::from(at) << 24)
            }
            Trouble::NoPort => (icmp::v4::UNREACHABLE, icmp::v4::PORT, 0),
            Trouble::NoProtocol => (icmp::v4::UNREACHABLE, icmp::v4::PROTOCOL, 0),
        };
        icmp::Fields { kind, code, rest }
    }

    /// The same of ICMPv6.
    fn message_ipv6(self) -> icmp::Fields {
        let (kind, code, rest) = match self {
            Trouble::TimeExceeded => (icmp::v6::TIME_EXCEEDED, 0, 0),
            Trouble::NoRoute => (icmp::v6::UNREACHABLE, icmp::v6::NO_ROUTE, 0),
            Trouble::NoNeighbour => (icmp::v6::UNREACHABLE, icmp::v6::ADDRESS, 0),
            Trouble::TooBig(mtu) => (icmp::v6::TOO_BIG, 0, u32::from(mtu)),
            Trouble::BadOption(at) => {
                (icmp::v6::PARAMETER_PROBLEM, icmp::v6::BAD_OPTION, at.into())
            }
            Trouble::NoPort => (icmp::v6::UNREACHABLE, icmp::v6::PORT, 0),
            Trouble::NoProtocol => {
                let at = ipv6::offset::NEXT_HEADER as u32;
                (icmp::v6::PARAMETER_PROBLEM, icmp::v6::BAD_NEXT_HEADER, at)
            }
        };
        icmp::Fields { kind, code, rest }
    }
}

impl Protocol {
    const COUNT: usize = 6;

    /// All, in the order of their numbers.
    pub const ALL: [Protocol; Protocol::COUNT] = [
        Protocol::Icmp,
        Protocol::Arp,
        Protocol::Nd,
        Protocol::Fragments,
        Protocol::TtlExpired,
        Protocol::Local,
    ];

    fn rate(self, rates: &PuntRates) -> u32 {
        match self {
            Protocol::Icmp => rates.icmp,
            Protocol::Arp => rates.arp,
            Protocol::Nd => rates.nd,
            Protocol::Fragments => rates.fragments,
            Protocol::TtlExpired => rates.ttl_expired,
            Protocol::Local => rates.local,
        }
    }

    fn reason(self) -> Reason {
        match self {
            Protocol::Icmp => reasons::POLICED_ICMP,
            Protocol::Arp => reasons::POLICED_ARP,
            Protocol::Nd => reasons::POLICED_ND,
            Protocol::Fragments => reasons::POLICED_FRAGMENTS,
            Protocol::TtlExpired => reasons::POLICED_TTL_EXPIRED,
            Protocol::Local => reasons::POLICED_LOCAL,
        }
    }
}

/// What a packet for the router itself is policed as.
fn protocol_of(frame: &[u8]) -> Protocol {
    let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
    if !is_ipv6(frame) {
        return match ipv4::View::parse_without_checksum(packet) {
            Ok(view) if view.is_fragment() => Protocol::Fragments,
            Ok(view) if view.protocol() == protocol::ICMP => Protocol::Icmp,
            _ => Protocol::Local,
        };
    }
    let upper = ipv6::View::parse(packet).and_then(|view| view.upper_layer());
    match upper {
        Ok(upper) if upper.fragment.is_some() => Protocol::Fragments,
        Ok(upper) if upper.protocol == protocol::ICMPV6 => {
            let kind = upper.payload.first().copied().unwrap_or(0);
            let is_nd = (icmp::v6::ROUTER_SOLICITATION..=icmp::v6::REDIRECT).contains(&kind);
            if is_nd { Protocol::Nd } else { Protocol::Icmp }
        }
        _ => Protocol::Local,
    }
}

/// What a packet bears that is no fragment; of IPv6 right behind its header, or UDP behind others.
fn whole_protocol(packet: &[u8]) -> Option<u8> {
    if packet.first()? >> 4 != ipv6::VERSION {
        let view = ipv4::View::parse_without_checksum(packet).ok()?;
        return (!view.is_fragment()).then_some(view.protocol());
    }
    let view = ipv6::View::parse(packet).ok()?;
    let upper = view.upper_layer().ok()?;
    let is_seen =
        upper.protocol == view.next_header() || [protocol::UDP, UDP_LITE].contains(&upper.protocol);
    (upper.fragment.is_none() && is_seen).then_some(upper.protocol)
}

/// What a frame is policed as that the host sees beside those.
pub(super) fn seen_as(frame: &[u8]) -> Protocol {
    match u16_at(frame, ethernet::offset::TYPE) {
        ethernet::TYPE_ARP => Protocol::Arp,
        ..ethernet::TYPE_MIN => Protocol::Local,
        _ => protocol_of(frame),
    }
}

/// Where a packet goes that the check has let pass.
fn destination_of(frame: &[u8]) -> IpAddr {
    let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
    match is_ipv6(frame) {
        false => ipv4::View::parse_without_checksum(packet).map(|view| view.destination().into()),
        true => ipv6::View::parse(packet).map(|view| view.destination().into()),
    }
    .unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

/// Length of the packet in a frame without padding; of a malformed one, all of it.
pub(super) fn packet_len(frame: &[u8]) -> usize {
    let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
    let len = match is_ipv6(frame) {
        false => ipv4::View::parse_without_checksum(packet).map(|view| view.total_len().into()),
        true => {
            ipv6::View::parse(packet).map(|view| ipv6::HEADER_LEN + usize::from(view.payload_len()))
        }
    };
    len.unwrap_or(packet.len())
}

/// Lightweight UDP (RFC 3828).
const UDP_LITE: u8 = 136;
