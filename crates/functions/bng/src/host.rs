//! The gateway as a host: errors to the senders of packets that go no further, within a limit, and
//! answers to pings.
//!
//! ```text
//!  packet from the Internet  --> error back to the station from which it came, with its tag
//!  packet of a subscriber    --> error into the frames of its session
//! ```
//! An error is a frame made, so that its packet counts for the reason for which it is dropped. Who
//! may be told is `stages::icmp_host`'s affair (RFC 1812 section 4.3.2.7, RFC 4443 section 2.4).
//! Nobody is told of a packet that its session may not send, or that exceeds a rate.

use std::net::IpAddr;

use machine::clock::Ticks;
use packet::{Batch, PortId, Reason, Slot, Verdict};
use stages::icmp_host::{self, Told, Trouble};
use stages::icmpv4::Answer;
use stages::vlan;
use wire::{MacAddr, ethernet, protocol};

use super::gateway::{ACCESS, CORE};
use super::line::replace_front;
use super::pipeline::Pipeline;
use super::reasons::{self, Tally};

impl Pipeline {
    /// Drops a packet of a subscriber, and tells the subscriber why.
    #[cold]
    pub(super) fn refuse_up(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (trouble, reason): (Trouble, Reason),
        now: Ticks,
    ) {
        batch.set_verdict(slot, reasons::drop(reason));
        let packet = self.way.packets[usize::from(slot)];
        let number = self.way.session[usize::from(slot)];
        let side = &self.state.gateway.access;
        let station = (side.mac, side.says_by(packet.is_ipv6));
        let Some(made) = self.tell(batch, slot, (ACCESS, station), trouble, now) else { return };
        let Some(record) = self.state.sessions.get(number) else { return };
        let Some(frames) = self.made.as_mut() else { return };
        let frames = frames.batch_mut();
        let len = frames.frame_len(made) - ethernet::HEADER_LEN;
        let place = (ethernet::HEADER_LEN, len);
        let is_put = self.framing.put((frames, made), place, record, packet.is_ipv6);
        let verdict = match is_put {
            true => Verdict::Forward(ACCESS),
            false => reasons::drop(reasons::TOO_LONG),
        };
        frames.set_verdict(made, verdict);
    }

    /// Drops a packet from the Internet, and tells its sender why.
    #[cold]
    pub(super) fn refuse_down(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (trouble, reason): (Trouble, Reason),
        now: Ticks,
    ) {
        batch.set_verdict(slot, reasons::drop(reason));
        let packet = self.way.packets[usize::from(slot)];
        let side = &self.state.gateway.core;
        let station = (side.mac, side.says_by(packet.is_ipv6));
        let tag = self.state.hops.vlan(packet.vrf);
        let Some(made) = self.tell(batch, slot, (CORE, station), trouble, now) else { return };
        let Some(frames) = self.made.as_mut() else { return };
        let frames = frames.batch_mut();
        let is_put = tag == 0 || vlan::put_on(frames, made, tag);
        let verdict = match is_put {
            true => Verdict::Forward(CORE),
            false => reasons::drop(reasons::TOO_LONG),
        };
        frames.set_verdict(made, verdict);
    }

    /// Makes an error about a packet, behind an Ethernet header.
    fn tell(
        &mut self,
        batch: &Batch,
        slot: Slot,
        (port, (mac, own)): (PortId, (MacAddr, Option<IpAddr>)),
        trouble: Trouble,
        now: Ticks,
    ) -> Option<Slot> {
        let packet = self.way.packets[usize::from(slot)];
        let own = own?;
        let frame = batch.frame(slot);
        let source = frame.get(ethernet::offset::SOURCE..ethernet::offset::TYPE)?;
        let begin = usize::from(packet.at);
        let bytes = frame.get(begin..begin + usize::from(packet.len))?;
        let ether_type = if packet.is_ipv6 { ethernet::TYPE_IPV6 } else { ethernet::TYPE_IPV4 };
        self.uncut.clear();
        self.uncut.extend_from_slice(&mac.0);
        self.uncut.extend_from_slice(source);
        self.uncut.extend_from_slice(&ether_type.to_be_bytes());
        self.uncut.extend_from_slice(bytes);
        let (made, message) = (self.made.as_mut()?, trouble.message(packet.is_ipv6));
        let subject = (&self.uncut[..], port);
        match self.host.errors.tell_apart(subject, made, (mac, own), message, now) {
            Ok(slot) => {
                self.tallies[Tally::IcmpErrors as usize] += 1;
                Some(slot)
            }
            Err(told) => {
                let is_limited = told == Told::Limited;
                self.tallies[Tally::IcmpErrorsLimited as usize] += u64::from(is_limited);
                None
            }
        }
    }

    /// A packet is behind an Ethernet header and nothing else: without tags, PPPoE and padding.
    pub(super) fn make_normal(&mut self, batch: &mut Batch, slot: Slot) {
        let packet = &mut self.way.packets[usize::from(slot)];
        let mut header = [0; ethernet::HEADER_LEN];
        if let Some(macs) = batch.frame(slot).first_chunk::<12>() {
            header[..12].copy_from_slice(macs);
        }
        let ether_type = if packet.is_ipv6 { ethernet::TYPE_IPV6 } else { ethernet::TYPE_IPV4 };
        header[12..].copy_from_slice(&ether_type.to_be_bytes());
        batch.truncate(slot, usize::from(packet.at) + usize::from(packet.len));
        // The header is not longer than what stands there.
        replace_front((batch, slot), packet.at.into(), &header);
        packet.at = ethernet::HEADER_LEN as u16;
    }

    /// A packet to the gateway itself: a ping is answered, within the limit.
    #[cold]
    pub(super) fn receive(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) {
        let packet = self.way.packets[usize::from(slot)];
        let is_icmp = match packet.is_ipv6 {
            false => packet.protocol == protocol::ICMP,
            true => packet.protocol == protocol::ICMPV6,
        };
        let Some(pings) = self.host.pings.as_mut().filter(|_| is_icmp) else {
            return batch.set_verdict(slot, reasons::drop(reasons::LOCAL));
        };
        if !pings.conforms(now, 1) {
            return batch.set_verdict(slot, reasons::drop(reasons::PING_LIMIT));
        }
        self.make_normal(batch, slot);
        let port = batch.port(slot);
        let mac = match port {
            ACCESS => self.state.gateway.access.mac,
            _ => self.state.gateway.core.mac,
        };
        match icmp_host::answer(batch.frame_mut(slot), mac) {
            Answer::Answered => {}
            Answer::NoQuestion => return batch.set_verdict(slot, reasons::drop(reasons::LOCAL)),
            Answer::Malformed => {
                return batch.set_verdict(slot, reasons::drop(reasons::ICMP_MALFORMED));
            }
        }
        let is_put = match port {
            ACCESS => {
                let number = self.way.session[usize::from(slot)];
                let place = (ethernet::HEADER_LEN, usize::from(packet.len));
                self.state.sessions.get(number).is_some_and(|record| {
                    self.framing.put((batch, slot), place, record, packet.is_ipv6)
                })
            }
            _ => {
                let tag = self.state.hops.vlan(packet.vrf);
                tag == 0 || vlan::put_on(batch, slot, tag)
            }
        };
        match is_put {
            true => {
                self.tallies[Tally::PingsAnswered as usize] += 1;
                batch.set_verdict(slot, Verdict::Forward(port));
            }
            false => batch.set_verdict(slot, reasons::drop(reasons::TOO_LONG)),
        }
    }
}
