//! Frames of softwires: without their outer header on the way through, in one again when they
//! leave.

use std::net::Ipv4Addr;

use machine::clock::Ticks;
use packet::{Batch, Made, PortId, Slot};
use wire::ethernet;

use crate::cutting;
use crate::ds_lite::{AFTR, DsLite, Entry, decapsulate, is_for_aftr};
use crate::nat64::Nat64;
use crate::parse::{Plain, classify};
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::sessions::fields::Marks;
use crate::sessions::session::Session;
use crate::sessions::table::Number;
use crate::types::class::Class;
use crate::types::flow::{Inside, SOFTWIRES};
use crate::types::sides::{INSIDE, is_inside};

impl Pipeline {
    /// The class of an IPv6 frame at the inside port where there are softwires: of one, that of its
    /// inner packet.
    #[inline(never)]
    pub(crate) fn classify_ipv6(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (plain, now): (&Plain, Ticks),
    ) -> Class {
        let (port, ds_lite) = (batch.port(slot), self.interfaces.ds_lite.as_ref());
        let entered = ds_lite.map_or(Ok(Entry::Other), |it| {
            it.enter(batch.frame(slot), self.interfaces.station(port))
        });
        let (softwire, place) = match entered {
            Ok(Entry::Tunnelled(softwire, place)) => (softwire, place),
            Ok(Entry::Fragment(part, at)) => {
                return match self.put_together(batch, slot, (&part, at), now) {
                    // It is whole now, and so no fragment.
                    Ok(()) => self.classify_ipv6(batch, slot, (plain, now)),
                    Err(reason) => Class::Drop(reason),
                };
            }
            Ok(Entry::Solicitation(source)) => return Class::Solicitation(source),
            Ok(Entry::Other) => return self.classify_other(batch.frame(slot), port),
            Err(reason) => return Class::Drop(reason),
        };
        decapsulate(batch, slot, place);
        let index = usize::from(slot);
        (self.scratch.realm[index], self.scratch.b4[index]) = (softwire.realm, softwire.b4);
        let frame = batch.frame(slot);
        if is_for_aftr(frame) {
            return Class::Local;
        }
        let class = plain.recognise(frame, port);
        let class = class.unwrap_or_else(|| classify(frame, port, &self.interfaces));
        class.with_inside(|key| Inside {
            address: softwire.beside(key.address),
            near: key.near | u32::from(softwire.realm),
            ..key
        })
    }

    /// IPv6 that is for no softwire.
    fn classify_other(&self, frame: &[u8], port: PortId) -> Class {
        let station = self.interfaces.station(port);
        let classify = |nat64: &Nat64| nat64.classify(frame, station).unwrap_or_else(Class::Drop);
        self.interfaces.nat64.as_ref().map_or(Class::Drop(reasons::NOT_EMBEDDED), classify)
    }

    /// Notes where a packet of a session came from, of which a standby is to hear where that is
    /// news.
    #[inline]
    pub(crate) fn note_b4(&mut self, slot: Slot, (number, session): (Number, &Session)) {
        let b4 = self.scratch.b4[usize::from(slot)];
        let softwires = self.state.softwires.as_mut();
        if softwires.is_some_and(|softwires| softwires.note(session.subscriber, b4)) {
            self.state.note(number);
        }
    }

    /// Says towards whom a packet of a session leaves, if it leaves inside.
    #[inline]
    pub(crate) fn head_for(&mut self, slot: Slot, session: &Session) {
        let index = usize::from(slot);
        self.scratch.realm[index] = session.realm();
        if session.marks.has(Marks::SOFTWIRE)
            && let Some(softwires) = &self.state.softwires
        {
            self.scratch.b4[index] = softwires.b4_of(session);
        }
    }

    /// Sends a packet through the softwire of its slot, in pieces if it is too long.
    #[inline(never)]
    pub(crate) fn through_softwire(&mut self, batch: &mut Batch, slot: Slot) {
        let Some(ds_lite) = &self.interfaces.ds_lite else { return };
        let has_room = ds_lite.encapsulate(batch, slot, self.scratch.b4[usize::from(slot)]);
        if !has_room {
            return batch.set_verdict(slot, reasons::drop(reasons::TOO_BIG));
        }
        if !is_too_long(batch.frame(slot), ds_lite) {
            return;
        }
        self.uncut.clear();
        self.uncut.extend_from_slice(batch.frame(slot));
        self.outer_identification = self.outer_identification.wrapping_add(1);
        let (made, from) = (&mut self.made, batch.port(slot));
        let mut has_room = true;
        let how = (ds_lite.ipv6_mtu, self.outer_identification);
        cutting::pieces(&self.uncut, how, |number, head, part| match number {
            0 => has_room = cutting::put(batch, slot, head, part),
            _ => cutting::add(made.as_mut(), from, (head, part), INSIDE),
        });
        self.state.tallies[Tally::PacketsCut as usize] += 1;
        if !has_room {
            batch.set_verdict(slot, reasons::drop(reasons::TOO_BIG));
        }
    }

    /// The address of the NAT itself for who sent a packet at a port.
    pub(crate) fn own_ip(&self, batch: &Batch, slot: Slot) -> Ipv4Addr {
        let (port, realm) = (batch.port(slot), self.scratch.realm[usize::from(slot)]);
        match is_inside(port) && realm >= SOFTWIRES {
            true => AFTR,
            false => self.interfaces.ip(port),
        }
    }
}

/// Cuts a frame that waited and is through its softwire, if it is too long; whether it was.
pub(crate) fn cut_made(
    (made, place): (&mut Made, Slot),
    from: PortId,
    (ds_lite, identification): (&DsLite, &mut u32),
    uncut: &mut Vec<u8>,
) -> bool {
    let frame = made.batch_mut().frame(place);
    if !is_too_long(frame, ds_lite) {
        return false;
    }
    uncut.clear();
    uncut.extend_from_slice(frame);
    *identification = identification.wrapping_add(1);
    cutting::pieces(
        uncut,
        (ds_lite.ipv6_mtu, *identification),
        |number, head, part| match number {
            0 => drop(cutting::put(made.batch_mut(), place, head, part)),
            _ => cutting::add(Some(made), from, (head, part), INSIDE),
        },
    );
    true
}

/// Whether the links inside do not take a frame.
fn is_too_long(frame: &[u8], ds_lite: &DsLite) -> bool {
    frame.len() > ethernet::HEADER_LEN + usize::from(ds_lite.ipv6_mtu)
}

/// Whether a frame bears IPv6.
pub(crate) fn is_ipv6(frame: &[u8]) -> bool {
    frame.get(ethernet::offset::TYPE..).is_some_and(|rest| rest.starts_with(&TYPE_IPV6))
}

/// What an Ethernet header says before IPv6.
const TYPE_IPV6: [u8; 2] = ethernet::TYPE_IPV6.to_be_bytes();
