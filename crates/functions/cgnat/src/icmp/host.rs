//! The NAT as a host: pings to it, and ICMP errors of its own (RFC 5508 REQ-8 and REQ-10, RFC 6888
//! REQ-11).
//!
//! A frame becomes the answer or the error and goes back by the port and to the station that it
//! came from. Who is told nothing: senders of errors, of fragments but the first, to or from
//! groups, and from outside all whose packets find no session or are for nobody. How many errors
//! leave is limited, those of both versions together.

use machine::clock::Ticks;
use packet::{Batch, PortId, Reason, Slot, Verdict};
use stages::icmpv4::{self, Answer, is_host};
use wire::{ethernet, icmp, ipv4, protocol};

use crate::config::TcpResets;
use crate::cutting;
use crate::ds_lite::stage::is_ipv6;
use crate::icmp::answers::is_want;
use crate::interfaces::Interfaces;
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::sessions::times::Moment;
use crate::translation::{self};
use crate::types::sides::{OUTSIDE, first_of_side, is_inside};

impl Pipeline {
    /// A packet for the NAT itself: an echo request is answered (RFC 5508 REQ-10b), by the host
    /// where it has the interface, and so is one of the Port Control Protocol.
    pub(crate) fn receive(&mut self, batch: &mut Batch, slot: Slot, now: Moment) {
        let port = batch.port(slot);
        if self.is_for_server(batch.frame(slot), port) {
            let verdict = self.serve(batch, slot, now);
            return batch.set_verdict(slot, verdict);
        }
        let of_virtual = self.virtual_of(batch.frame(slot), port);
        if of_virtual.is_some_and(|one| !one.accept) {
            return batch.set_verdict(slot, reasons::drop(reasons::LOCAL));
        }
        let is_of_link = self.scratch.realm[usize::from(slot)] == 0;
        if of_virtual.is_none() && is_of_link && self.interfaces.is_hosted(port) {
            return self.show_host(batch, slot);
        }
        let packet = batch.frame(slot).get(ethernet::HEADER_LEN..).unwrap_or_default();
        let asker = ipv4::View::parse_without_checksum(packet).ok().filter(|view| {
            let is_icmp = view.protocol() == protocol::ICMP && !view.is_fragment();
            is_icmp && is_host(view.source()) && view.source() != view.destination()
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
    pub(crate) fn refuse_and_tell(&mut self, batch: &mut Batch, slot: Slot, reason: Reason) {
        self.refuse(batch, slot, reason);
        self.scratch.pending_errors.push(slot);
    }

    /// Tells the senders of packets that were dropped as they came in, where there is something to
    /// tell.
    #[inline(never)]
    pub(crate) fn tell(&mut self, batch: &mut Batch, now: Ticks) {
        for &slot in self.scratch.pending_errors.as_slice() {
            let Verdict::Drop(reason) = batch.verdict(slot) else { continue };
            if matches!(reason, reasons::TCP_NO_SESSION | reasons::NO_MAPPING) {
                if self.resets(reason, batch.port(slot)) {
                    self.icmp_host.reset((batch, slot), &mut self.state.tallies, now);
                }
                continue;
            }
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
                self.icmp_host.tell((batch, slot, own), message, (interfaces, tallies), now);
            }
        }
    }

    /// Whether a segment that was refused is answered by a reset.
    fn resets(&self, reason: Reason, port: PortId) -> bool {
        let is_outside = first_of_side(port) == OUTSIDE;
        match self.tcp_resets {
            TcpResets::None => false,
            TcpResets::Inside => reason == reasons::TCP_NO_SESSION && !is_outside,
            TcpResets::Both => (reason == reasons::NO_MAPPING) == is_outside,
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
            (v4::UNREACHABLE, v4::TOO_BIG, cutting::ipv4_mtu(frame, interfaces.rules()?))
        }
        reasons::UNTRANSLATABLE => {
            return translation::answer_to_ipv4(&frame[ethernet::HEADER_LEN..]);
        }
        // RFC 7915 section 4.4.
        reasons::NO_COUNTERPART if is_inside(port) => (v4::UNREACHABLE, v4::PROHIBITED, 0),
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
        reasons::TOO_BIG => (v6::TOO_BIG, 0, cutting::ipv6_mtu(frame, port, interfaces)?),
        reasons::UNTRANSLATABLE => {
            return translation::answer_to_ipv6(&frame[ethernet::HEADER_LEN..]);
        }
        // RFC 7915 section 5.4.
        reasons::NO_COUNTERPART if is_inside(port) => (v6::UNREACHABLE, v6::PROHIBITED, 0),
        // RFC 6146 section 3.5.1.1.
        reason if is_want(reason) => (v6::UNREACHABLE, v6::ADDRESS, 0),
        _ => return None,
    };
    Some(icmp::Fields { kind, code, rest })
}
