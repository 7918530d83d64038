//! The NAT as a host: pings to it, and ICMP errors of its own (RFC 5508 REQ-8 and REQ-10, RFC 6888 REQ-11).
//!
//! A frame becomes the answer or the error and goes back by the port and to the station that it came from.
//! Who is told nothing: senders of errors, of fragments but the first, to or from groups, and from outside
//! all whose packets find no session or are for nobody. How many errors leave is limited, those of both versions together.

use std::net::IpAddr;

use machine::clock::{Clock, Ticks};
use packet::{Batch, PortId, Reason, Slot, Verdict};
use tables::meter::Meter;
use wire::bytes::{u16_at, u32_at};
use wire::{ethernet, icmp, ipv4, protocol};

use super::super::config::Config;
use super::super::interfaces::{INSIDE, Interfaces};
use super::super::reasons::{self, Tallies, Tally};
use super::super::times::Moment;
use super::super::translation::{self, Ipv6Packet};
use super::Pipeline;
use super::lengths;
use crate::stages::icmpv4::{self, Answer};
use crate::stages::icmpv6;

/// How many errors may leave.
pub(super) struct Host {
    /// None where none may.
    limit: Option<Meter>,
}

impl Host {
    /// As configured.
    pub fn new(config: &Config, clock: &Clock) -> Host {
        let meter = |rate: u32| {
            // Half an error less, so that exactly the burst passes at one moment.
            let burst = f64::from(config.icmp_error_burst.max(1)) - 0.5;
            Meter::new(rate.into(), burst, clock.ticks_per_second())
        };
        let rate = config.icmp_errors_per_s;
        Host { limit: (rate > 0).then(|| meter(rate)) }
    }

    /// Makes a dropped packet an error about it, if its sender may be told.
    pub(super) fn tell(
        &mut self,
        (batch, slot, own): (&mut Batch, Slot, IpAddr),
        message: icmp::Fields,
        (interfaces, tallies): (&Interfaces, &mut Tallies),
        now: Ticks,
    ) {
        let Some(limit) = &mut self.limit else { return };
        let port = batch.port(slot);
        let is_told = match own {
            IpAddr::V6(_) => may_be_told_ipv6(batch.frame(slot)),
            IpAddr::V4(_) => may_be_told_ipv4(batch.frame(slot)),
        };
        if !is_told {
            return;
        }
        if !limit.conforms(now, 1) {
            tallies[Tally::IcmpErrorsLimited as usize] += 1;
            return;
        }
        let mac = interfaces.mac(port);
        let is_written = match own {
            IpAddr::V6(own) => icmpv6::write_error(batch, slot, mac, own, message),
            IpAddr::V4(own) => icmpv4::write_error(batch, slot, mac, own, message),
        };
        if is_written {
            tallies[Tally::IcmpErrorsSent as usize] += 1;
            batch.set_verdict(slot, Verdict::Forward(port));
        }
    }
}

impl Pipeline {
    /// A packet for the NAT itself: an echo request is answered (RFC 5508 REQ-10b), and so is one of the Port
    /// Control Protocol.
    pub(super) fn receive(&mut self, batch: &mut Batch, slot: Slot, now: Moment) {
        let port = batch.port(slot);
        if self.is_for_server(batch.frame(slot), port) {
            let verdict = self.serve(batch, slot, now);
            return batch.set_verdict(slot, verdict);
        }
        let packet = batch.frame(slot).get(ethernet::HEADER_LEN..).unwrap_or_default();
        let asker = ipv4::View::parse_without_checksum(packet).ok().filter(|view| {
            let is_icmp = view.protocol() == protocol::ICMP && !view.is_fragment();
            is_icmp && is_host(view.source().to_bits()) && view.source() != view.destination()
        });
        let Some(len) = asker.map(|view| usize::from(view.total_len())) else {
            return batch.set_verdict(slot, reasons::drop(reasons::LOCAL));
        };
        batch.truncate(slot, ethernet::HEADER_LEN + len);
        let verdict = match icmpv4::answer(batch.frame_mut(slot), self.interfaces.mac(port)) {
            Answer::Answered => {
                self.state.tallies[Tally::PingsAnswered as usize] += 1;
                Verdict::Forward(port)
            }
            Answer::NoQuestion => reasons::drop(reasons::LOCAL),
            Answer::Malformed => reasons::drop(reasons::TRANSPORT_MALFORMED),
        };
        batch.set_verdict(slot, verdict);
    }

    /// Drops a packet as it came in, and keeps in mind that its sender may want to know.
    pub(super) fn refuse_and_tell(&mut self, batch: &mut Batch, slot: Slot, reason: Reason) {
        self.refuse(batch, slot, reason);
        self.way.untold.push(slot);
    }

    /// Tells the senders of packets that were dropped as they came in, where there is something to tell.
    #[inline(never)]
    pub(super) fn tell(&mut self, batch: &mut Batch, now: Ticks) {
        for &slot in self.way.untold.as_slice() {
            let Verdict::Drop(reason) = batch.verdict(slot) else { continue };
            let (frame, port) = (batch.frame(slot), batch.port(slot));
            let interfaces = &self.interfaces;
            let (own, message) = match interfaces.rules().is_some() && is_ipv6(frame) {
                true => {
                    (interfaces.ipv6(port).into(), message_ipv6(reason, (frame, port), interfaces))
                }
                false => {
                    let message = message_ipv4(reason, (frame, port), interfaces);
                    (self.own_ip(batch, slot).into(), message)
                }
            };
            let tallies = &mut self.state.tallies;
            if let Some(message) = message {
                self.host.tell((batch, slot, own), message, (interfaces, tallies), now);
            }
        }
    }
}

/// What the sender of an IPv4 packet is told; none where that is nothing.
fn message_ipv4(
    reason: Reason,
    (frame, port): (&[u8], PortId),
    interfaces: &Interfaces,
) -> Option<icmp::Fields> {
    use icmp::v4;
    let (kind, code, rest) = match reason {
        reasons::TTL_EXPIRED => (v4::TIME_EXCEEDED, 0, 0),
        reasons::HAIRPIN_OFF => (v4::UNREACHABLE, v4::PROHIBITED, 0),
        reasons::TOO_BIG => {
            (v4::UNREACHABLE, v4::TOO_BIG, lengths::ipv4_mtu(frame, interfaces.rules()?))
        }
        reasons::UNTRANSLATABLE => {
            return translation::answer_to_ipv4(&frame[ethernet::HEADER_LEN..]);
        }
        // RFC 7915 section 4.4.
        reasons::NO_COUNTERPART if port == INSIDE => (v4::UNREACHABLE, v4::PROHIBITED, 0),
        // RFC 6888 REQ-11 prefers it to "prohibited", by which TCP would give up.
        reason if is_want(reason) => (v4::UNREACHABLE, v4::HOST, 0),
        _ => return None,
    };
    Some(icmp::Fields { kind, code, rest })
}

/// The same of an IPv6 packet.
fn message_ipv6(
    reason: Reason,
    (frame, port): (&[u8], PortId),
    interfaces: &Interfaces,
) -> Option<icmp::Fields> {
    use icmp::v6;
    let (kind, code, rest) = match reason {
        reasons::TTL_EXPIRED => (v6::TIME_EXCEEDED, 0, 0),
        reasons::HAIRPIN_OFF => (v6::UNREACHABLE, v6::PROHIBITED, 0),
        reasons::TOO_BIG => (v6::TOO_BIG, 0, lengths::ipv6_mtu(frame, port, interfaces)?),
        reasons::UNTRANSLATABLE => {
            return translation::answer_to_ipv6(&frame[ethernet::HEADER_LEN..]);
        }
        // RFC 7915 section 5.4.
        reasons::NO_COUNTERPART if port == INSIDE => (v6::UNREACHABLE, v6::PROHIBITED, 0),
        // RFC 6146 section 3.5.1.1.
        reason if is_want(reason) => (v6::UNREACHABLE, v6::ADDRESS, 0),
        _ => return None,
    };
    Some(icmp::Fields { kind, code, rest })
}

/// Whether the sender of an IPv4 packet may be told about it.
fn may_be_told_ipv4(frame: &[u8]) -> bool {
    let mut fields = [ipv4::offset::SOURCE, ipv4::offset::DESTINATION].into_iter();
    u16_at(frame, ethernet::offset::TYPE) == ethernet::TYPE_IPV4
        && fields.all(|field| is_host(u32_at(frame, ethernet::HEADER_LEN + field)))
        && icmpv4::may_be_told(frame)
}

/// The same of an IPv6 packet (RFC 4443 section 2.4). It may have segments left.
fn may_be_told_ipv6(frame: &[u8]) -> bool {
    let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
    let Ok(packet) = Ipv6Packet::quoted(packet) else { return false };
    let (source, destination) = (packet.source(), packet.destination());
    let kind = packet.body.first().copied();
    let is_of_no_host = source.is_unspecified() || source.is_multicast() || source.is_loopback();
    let is_for_group = destination.is_multicast();
    !(is_of_no_host || is_for_group)
        && frame[ethernet::offset::SOURCE] & 1 == 0
        && packet.has_transport()
        && (packet.protocol != protocol::ICMPV6 || kind.is_some_and(icmp::v6::is_query))
}

/// Whether a frame bears IPv6.
fn is_ipv6(frame: &[u8]) -> bool {
    frame.get(ethernet::offset::TYPE..).is_some_and(|rest| rest.starts_with(&TYPE_IPV6))
}

/// Whether a packet is dropped because something is used up.
pub(super) fn is_want(reason: Reason) -> bool {
    (reasons::SESSION_LIMIT.0..=reasons::SUBSCRIBERS_FULL.0).contains(&reason.0)
}

/// Whether an address can be a single host's (RFC 1122 section 3.2.1.3).
pub(super) fn is_host(address: u32) -> bool {
    !matches!(address >> 24, 0 | 127 | 224..)
}

/// What an Ethernet header says before IPv6.
const TYPE_IPV6: [u8; 2] = ethernet::TYPE_IPV6.to_be_bytes();
