//! The gateway as a host: errors to the senders of packets that go no further, within a limit, and
//! answers to pings.
//!
//! ```text
//!  packet from the Internet --> error back to the station and by the port from which it came
//!  packet of a user         --> error into the user's tunnel
//! ```
//! An error is a frame made, so that its packet counts for the reason for which it is dropped. Who
//! may be told is `stages::icmp_host`'s affair (RFC 1812 section 4.3.2.7, RFC 4443 section 2.4).
//! Nobody is told of a packet that comes from another user than it says, or exceeds its rate.

use std::net::IpAddr;

use machine::clock::Ticks;
use packet::{Batch, PortId, Reason, Slot, Verdict};
use stages::icmp_host::{self, Told, Trouble, is_ipv6};
use stages::icmpv4::{Answer, is_host};
use wire::{ethernet, ipv4, ipv6};

use super::gateway::towards_worker;
use super::handed::PACKET;
use super::parse::{Inner, parse_packet};
use super::pipeline::Pipeline;
use super::reasons::{self, Tally};

impl Pipeline {
    /// Drops a packet from the Internet's side, and tells its sender why.
    #[cold]
    pub(super) fn refuse(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (trouble, reason): (Trouble, Reason),
        now: Ticks,
    ) {
        batch.set_verdict(slot, reasons::drop(reason));
        let (frame, port) = (batch.frame(slot), batch.port(slot));
        let own = self.own(is_ipv6(frame));
        let (Some(own), Some(made)) = (own, self.made.as_mut()) else { return };
        let station = (self.state.gateway.mac, own);
        let message = trouble.message(is_ipv6(frame));
        let told = self.host.errors.tell_apart((frame, port), made, station, message, now);
        if let Some(slot) = self.count(told) {
            self.made.iter_mut().for_each(|made| {
                made.batch_mut().set_verdict(slot, Verdict::Forward(port));
            });
        }
    }

    /// Drops a packet that a user sent, and tells the user why: through the tunnel, or by the
    /// worker that has the user.
    #[cold]
    pub(super) fn refuse_user(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (trouble, reason): (Trouble, Reason),
        now: Ticks,
    ) {
        batch.set_verdict(slot, reasons::drop(reason));
        let Inner { offset, len, .. } = self.way.inner[usize::from(slot)];
        let begin = usize::from(offset);
        let packet = batch.frame(slot).get(begin..begin + usize::from(len));
        self.tell_user(packet.unwrap_or_default(), batch.port(slot), trouble, now);
    }

    /// Tells the user of one of its packets.
    fn tell_user(&mut self, packet: &[u8], port: PortId, trouble: Trouble, now: Ticks) {
        let is_ipv6 = packet.first().is_some_and(|first| first >> 4 == ipv6::VERSION);
        let ether_type = if is_ipv6 { ethernet::TYPE_IPV6 } else { ethernet::TYPE_IPV4 };
        let (own, mac) = (self.own(is_ipv6), self.state.gateway.mac);
        let (Some(own), Some(made)) = (own, self.made.as_mut()) else { return };
        let mut header = [0; ethernet::HEADER_LEN];
        ethernet::Fields { destination: mac, source: mac, ether_type }.emit(&mut header);
        let frame = &mut self.uncut;
        frame.clear();
        frame.extend_from_slice(&header);
        frame.extend_from_slice(packet);
        let message = trouble.message(is_ipv6);
        let told = self.host.errors.tell_apart((frame, port), made, (mac, own), message, now);
        let Some(slot) = self.count(told) else { return };
        let Some(made) = self.made.as_mut() else { return };
        let frame = made.batch_mut().frame_mut(slot);
        let to = parse_packet(frame.get(ethernet::HEADER_LEN..).unwrap_or_default(), 0);
        let bearer = to.and_then(|to| self.bearer_towards(&to));
        let worker = to.and_then(|to| self.worker_towards(&to));
        match (bearer, worker, self.exit(now)) {
            (Some(bearer), _, Some(mut exit)) => exit.enter_tunnel(slot, bearer, is_ipv6),
            (None, Some(worker), Some(exit)) => {
                PACKET.mark(exit.made.batch_mut().frame_mut(slot));
                let verdict = Verdict::Forward(towards_worker(worker));
                exit.made.batch_mut().set_verdict(slot, verdict);
            }
            // The user has just gone.
            (_, _, Some(exit)) => {
                let verdict = reasons::drop(reasons::UNKNOWN_USER);
                exit.made.batch_mut().set_verdict(slot, verdict);
            }
            (_, _, None) => {}
        }
    }

    /// ICMP of either version to the gateway itself: a ping is answered, within the limit.
    #[cold]
    pub(super) fn receive_icmp(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) {
        let frame = batch.frame(slot);
        let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
        let (is_from_host, len) = asker(packet);
        let is_answered =
            is_from_host && frame.get(ethernet::offset::SOURCE).is_some_and(|first| first & 1 == 0);
        if !is_answered {
            return batch.set_verdict(slot, reasons::drop(reasons::NOT_TUNNEL));
        }
        if self.host.pings.is_there() && !self.host.pings.admits(now) {
            return batch.set_verdict(slot, reasons::drop(reasons::PING_LIMIT));
        }
        let port = batch.port(slot);
        batch.truncate(slot, ethernet::HEADER_LEN + len);
        let answer = match self.host.pings.is_there() {
            true => icmp_host::answer(batch.frame_mut(slot), self.state.gateway.mac),
            false => Answer::NoQuestion,
        };
        match answer {
            Answer::Answered => {
                batch.set_verdict(slot, Verdict::Forward(port));
                let leaves = self.fit_answer(batch, slot, now);
                self.tallies[Tally::PingsAnswered as usize] += u64::from(leaves);
            }
            Answer::NoQuestion => batch.set_verdict(slot, reasons::drop(reasons::NOT_TUNNEL)),
            Answer::Malformed => batch.set_verdict(slot, reasons::drop(reasons::ICMP_MALFORMED)),
        }
    }

    /// Senders of packets that match nothing are told.
    #[inline(always)]
    pub(super) fn tell_refused(&mut self, batch: &mut Batch, now: Ticks) {
        if !self.way.refused.is_empty() {
            self.tell_all_refused(batch, now);
        }
    }

    #[cold]
    fn tell_all_refused(&mut self, batch: &mut Batch, now: Ticks) {
        for index in 0..self.way.refused.len() {
            let slot = self.way.refused.as_slice()[index];
            match batch.verdict(slot) {
                Verdict::Drop(reasons::UNKNOWN_TEID) => self.report_unknown(batch, slot, now),
                Verdict::Drop(reason @ reasons::UNKNOWN_USER) => {
                    self.refuse(batch, slot, (Trouble::NoHost, reason), now);
                }
                Verdict::Drop(reason @ reasons::NO_ROUTE) => {
                    // It is out of its tunnel.
                    self.way.inner[usize::from(slot)].offset = ethernet::HEADER_LEN as u16;
                    self.refuse_user(batch, slot, (Trouble::NoRoute, reason), now);
                }
                _ => {}
            }
        }
        self.way.refused.clear();
    }

    /// Counts an error; where it was made, if it was.
    fn count(&mut self, told: Result<Slot, Told>) -> Option<Slot> {
        let tally = match told {
            Ok(_) => Tally::IcmpErrors,
            Err(Told::Limited) => Tally::IcmpErrorsLimited,
            Err(_) => return None,
        };
        self.tallies[tally as usize] += 1;
        told.ok()
    }

    /// The address by which the gateway speaks.
    fn own(&self, is_ipv6: bool) -> Option<IpAddr> {
        match is_ipv6 {
            false => Some(self.state.gateway.ip.into()),
            true => self.state.gateway.ipv6.map(IpAddr::from),
        }
    }
}

/// Whether a packet comes from the address of a host, and how long it is, in bytes.
fn asker(packet: &[u8]) -> (bool, usize) {
    if packet.first().is_some_and(|first| first >> 4 == ipv6::VERSION) {
        return ipv6::View::parse(packet).map_or((false, 0), |view| {
            let from = view.source();
            let is_host = !(from.is_unspecified() || from.is_multicast() || from.is_loopback());
            (is_host, ipv6::HEADER_LEN + usize::from(view.payload_len()))
        });
    }
    let view = ipv4::View::parse_without_checksum(packet);
    view.map_or((false, 0), |view| (is_host(view.source()), usize::from(view.total_len())))
}
