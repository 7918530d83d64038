//! Packets of IPv6 subscribers on their way in and out, and those that turn around.
use std::net::{Ipv4Addr, Ipv6Addr};

use packet::{Batch, Reason, Slot, Verdict};
use stages::nd;
use wire::bytes::{array_at, u16_at, u32_at};
use wire::{MacAddr, ethernet, icmp, ipv4, ipv6, tcp};

use crate::nat64::{Nat64, reason_of};
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::sessions::fields::Marks;
use crate::sessions::rewrite;
use crate::sessions::session::Session;
use crate::translation::{self, Ends};
use crate::types::class::Shape;
use crate::types::fragment::is_fragment;
use crate::types::sides::{INSIDE, is_inside};

impl Pipeline {
    /// Makes a packet from inside one that comes from the session's outside address and port.
    ///
    /// # Errors
    /// Why it is dropped.
    pub(crate) fn get_outside_ends(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        session: &Session,
    ) -> Result<(), Reason> {
        let mut shape = self.scratch.shape[usize::from(slot)];
        if !session.marks.has(Marks::IPV6) {
            batch.truncate(slot, usize::from(shape.len));
            rewrite::to_outside(batch.frame_mut(slot), session, shape);
        } else {
            self.become_ipv4(batch, slot, &Nat64::to_outside(session), session)?;
            shape = Shape {
                transport: (ethernet::HEADER_LEN + ipv4::HEADER_LEN) as u16,
                len: batch.frame_len(slot) as u16,
                ..shape
            };
            self.scratch.shape[usize::from(slot)] = shape;
        }
        self.clamp_of(batch, slot, shape, session);
        Ok(())
    }

    /// Sends a packet in to an IPv6 subscriber.
    #[inline(never)]
    pub(crate) fn arrive_ipv6(&mut self, batch: &mut Batch, slot: Slot, session: &Session) {
        let shape = self.scratch.shape[usize::from(slot)];
        let Some(nat64) = &self.interfaces.nat64 else { return };
        if !self.fits_ipv6(batch.frame(slot), shape) {
            return self.refuse_and_tell(batch, slot, reasons::TOO_BIG);
        }
        const NUMBER: usize = ethernet::HEADER_LEN + ipv4::offset::IDENTIFICATION;
        let identification = u16_at(batch.frame(slot), NUMBER);
        let ends = nat64.to_inside(session);
        if let Err(refusal) = translation::to_ipv6(batch, slot, &ends, &nat64.rules, |_| None) {
            let reason = reason_of(refusal);
            // One that turns around is not as its sender sent it.
            return match is_inside(batch.port(slot)) {
                true => self.refuse(batch, slot, reason),
                false => self.refuse_and_tell(batch, slot, reason),
            };
        }
        let extension = if is_fragment(batch.frame(slot)) { ipv6::FRAGMENT_HEADER_LEN } else { 0 };
        let transport = (ethernet::HEADER_LEN + ipv6::HEADER_LEN + extension) as u16;
        self.clamp_of(batch, slot, Shape { transport, ..shape }, session);
        self.send(batch, slot, INSIDE);
        self.cut_whole(batch, slot, INSIDE, identification);
    }

    /// Lowers the maximum segment size of a SYN, if that is asked for. An IPv6 header is 20 bytes
    /// longer, so that segments between the families have that much less.
    pub(crate) fn clamp_of(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        shape: Shape,
        session: &Session,
    ) {
        const GROWTH: u16 = (ipv6::HEADER_LEN - ipv4::HEADER_LEN) as u16;
        if self.mss_clamp == 0 || shape.tcp_flags & tcp::FLAG_SYN == 0 {
            return;
        }
        let less = if !session.marks.has(Marks::IPV6) { 0 } else { GROWTH };
        self.clamp(batch, slot, shape, self.mss_clamp - less);
    }

    /// Makes a packet of a session, or an error that quotes one, IPv4.
    fn become_ipv4(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        ends: &Ends<Ipv4Addr>,
        session: &Session,
    ) -> Result<(), Reason> {
        let Some(nat64) = &self.interfaces.nat64 else { return Err(reasons::UNTRANSLATABLE) };
        self.identification = self.identification.wrapping_add(1);
        let quoted = |_: &_| Some(Nat64::quoted_to_outside(session));
        let (number, rules) = (self.identification, &nat64.rules);
        translation::to_ipv4(batch, slot, ends, number, rules, quoted).map_err(reason_of)
    }

    /// Makes an ICMP error that came from an IPv6 subscriber, about a packet of its session, IPv4:
    /// as if it came from the session's outside address, like errors of other subscribers.
    ///
    /// # Errors
    /// Why it is dropped.
    pub(crate) fn error_become_ipv4(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        session: &Session,
    ) -> Result<(), Reason> {
        const DESTINATION: usize = ethernet::HEADER_LEN + ipv6::offset::DESTINATION;
        let Some(nat64) = &self.interfaces.nat64 else { return Err(reasons::UNTRANSLATABLE) };
        let destination = Ipv6Addr::from(array_at::<16>(batch.frame(slot), DESTINATION));
        let destination = nat64.prefix.extract(destination).ok_or(reasons::NOT_EMBEDDED)?;
        let ends = Ends { destination, ..Nat64::to_outside(session) };
        self.become_ipv4(batch, slot, &ends, session)
    }

    /// Makes an ICMP error about a packet of an IPv6 subscriber's session IPv6.
    ///
    /// # Errors
    /// Why it is dropped.
    pub(crate) fn error_become_ipv6(
        &self,
        batch: &mut Batch,
        slot: Slot,
        session: &Session,
    ) -> Result<(), Reason> {
        const SOURCE: usize = ethernet::HEADER_LEN + ipv4::offset::SOURCE;
        let Some(nat64) = &self.interfaces.nat64 else { return Err(reasons::UNTRANSLATABLE) };
        let source = Ipv4Addr::from_bits(u32_at(batch.frame(slot), SOURCE));
        if nat64.prefix.forbids(source) {
            return Err(reasons::MARTIAN);
        }
        let ends = Ends { source: nat64.prefix.embed(source), ..nat64.to_inside(session) };
        let quoted = |_: &_| Some(nat64.quoted_to_inside(session));
        translation::to_ipv6(batch, slot, &ends, &nat64.rules, quoted).map_err(reason_of)
    }

    /// Tells who asks for the Ethernet address of a port (RFC 4861 section 7.2.4).
    #[inline(never)]
    pub(crate) fn answer_solicitation(&mut self, batch: &mut Batch, slot: Slot, source: Ipv6Addr) {
        const TARGET: usize = ethernet::HEADER_LEN + ipv6::HEADER_LEN + icmp::HEADER_LEN;
        let (port, frame) = (batch.port(slot), batch.frame(slot));
        let station = MacAddr(array_at(frame, ethernet::offset::SOURCE));
        let own = Ipv6Addr::from(array_at::<16>(frame, TARGET));
        let Some(mac) = self.interfaces.answer(port, own.into()) else {
            return batch.set_verdict(slot, reasons::drop(reasons::ND_IGNORED));
        };
        let answer = nd::advertise((source, station), mac, own);
        if !batch.set_frame_len(slot, answer.len()) {
            return batch.set_verdict(slot, reasons::drop(reasons::ND_IGNORED));
        }
        batch.frame_mut(slot).copy_from_slice(&answer);
        self.state.tallies[Tally::NdAnswered as usize] += 1;
        batch.set_verdict(slot, Verdict::Forward(port));
    }
}
