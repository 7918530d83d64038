//! The NAT as a host: pings to it, and ICMP errors of its own (RFC 5508 REQ-8 and REQ-10, RFC 6888 REQ-11).
//!
//! A frame becomes the answer or the error and goes back by the port and to the station that it came from.
//! Who is told nothing: IPv6 subscribers, senders of errors, of fragments but the first, to or from groups, and from outside
//! all whose packets find no session. How many errors leave is limited.

use machine::clock::{Clock, Ticks};
use packet::{Batch, Reason, Slot, Verdict};
use tables::meter::Meter;
use wire::bytes::{u16_at, u32_at};
use wire::{ethernet, icmp, ipv4, protocol};

use super::super::config::Config;
use super::super::interfaces::Interfaces;
use super::super::reasons::{self, Tallies, Tally};
use super::Pipeline;
use crate::stages::icmpv4::{self, Answer};

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
    fn tell(
        &mut self,
        (batch, slot): (&mut Batch, Slot),
        message: icmp::Fields,
        (interfaces, tallies): (&Interfaces, &mut Tallies),
        now: Ticks,
    ) {
        let Some(limit) = &mut self.limit else { return };
        let port = batch.port(slot);
        let own = interfaces.ip(port);
        let frame = batch.frame(slot);
        if u16_at(frame, ethernet::offset::TYPE) != ethernet::TYPE_IPV4 {
            return;
        }
        let is_between_hosts = [ipv4::offset::SOURCE, ipv4::offset::DESTINATION]
            .into_iter()
            .all(|field| is_host(u32_at(frame, ethernet::HEADER_LEN + field)));
        if !is_between_hosts || !icmpv4::may_be_told(frame) {
            return;
        }
        if !limit.conforms(now, 1) {
            tallies[Tally::IcmpErrorsLimited as usize] += 1;
            return;
        }
        if icmpv4::write_error(batch, slot, interfaces.mac(port), own, message) {
            tallies[Tally::IcmpErrorsSent as usize] += 1;
            batch.set_verdict(slot, Verdict::Forward(port));
        }
    }
}

impl Pipeline {
    /// A packet for the NAT itself: an echo request is answered (RFC 5508 REQ-10b).
    pub(super) fn receive(&mut self, batch: &mut Batch, slot: Slot) {
        let port = batch.port(slot);
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
        let known = (&self.interfaces, &mut self.state.tallies);
        let (interfaces, tallies) = known;
        for &slot in self.way.untold.as_slice() {
            let Verdict::Drop(reason) = batch.verdict(slot) else { continue };
            let (kind, code) = match reason {
                reasons::TTL_EXPIRED => (icmp::v4::TIME_EXCEEDED, 0),
                reasons::HAIRPIN_OFF => (icmp::v4::UNREACHABLE, icmp::v4::PROHIBITED),
                // RFC 6888 REQ-11 prefers it to "prohibited", by which TCP would give up.
                reason if is_want(reason) => (icmp::v4::UNREACHABLE, icmp::v4::HOST),
                _ => continue,
            };
            let message = icmp::Fields { kind, code, rest: 0 };
            self.host.tell((batch, slot), message, (interfaces, &mut *tallies), now);
        }
    }
}

/// Whether a packet is dropped because something is used up.
pub(super) fn is_want(reason: Reason) -> bool {
    (reasons::SESSION_LIMIT.0..=reasons::SUBSCRIBERS_FULL.0).contains(&reason.0)
}

/// Whether an address can be a single host's (RFC 1122 section 3.2.1.3).
fn is_host(address: u32) -> bool {
    !matches!(address >> 24, 0 | 127 | 224..)
}
