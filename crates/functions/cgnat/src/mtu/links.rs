//! Packets of IPv4 that are longer than the links take by which they leave (RFC 4787 REQ-13, RFC
//! 1812 sections 4.2.2.7 and 5.3.5.2): they are cut, whatever way they came there, or their senders
//! are told what passes.
//!
//! Nothing of it is in the packets' way. With a limit every frame that is longer than one link
//! takes is kept as it came, but for padding, and those that are ready to leave are looked at once
//! more, before anybody is told of anything. An error quotes the packet as its sender sent it.
//! Pieces of subscribers' packets get an identification of the NAT's (RFC 6864 section 5.3).
use machine::clock::Ticks;
use packet::{Batch, Made, PortId, Slot, Verdict};
use stages::vlan;
use wire::bytes::u16_at;
use wire::{ethernet, icmp, ipv4};

use crate::cutting::{self, set_identification};
use crate::ds_lite::stage as softwires;
use crate::ds_lite::{Entry, decapsulate};
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::types::flow::SOFTWIRES;
use crate::types::sides::{INSIDE, is_inside};

impl Pipeline {
    /// Whether a packet that is ready to leave is too long and may not be cut: it is stopped.
    pub(crate) fn stops(&mut self, batch: &mut Batch, slot: Slot) -> bool {
        let Some(mtu) = self.longest_beyond(batch, slot) else { return false };
        let is_stopped = may_not_be_cut(batch.frame(slot));
        if is_stopped {
            self.stop(batch, slot, mtu);
        }
        is_stopped
    }

    /// Cuts the packets that are ready to leave and too long, and tells the senders of those that
    /// may not be cut.
    #[inline(never)]
    pub(crate) fn fit(&mut self, batch: &mut Batch, now: Ticks) {
        for slot in batch.slots() {
            if let Some(mtu) = self.longest_beyond(batch, slot)
                && !self.stops(batch, slot)
            {
                self.cut_for_link(batch, slot, mtu);
            }
        }
        while let Some((slot, mtu)) = self.long.stopped.pop() {
            self.tell_what_passes(batch, (slot, mtu), now);
        }
    }

    /// What the link takes by which an IPv4 packet is ready to leave, where that is less. A
    /// softwire cuts what is in it itself.
    fn longest_beyond(&self, batch: &Batch, slot: Slot) -> Option<u16> {
        let Verdict::Forward(to) = batch.verdict(slot) else { return None };
        let mtu = self.interfaces.mtu(to);
        let frame = batch.frame(slot);
        let is_long = batch.longest(slot) > ethernet::HEADER_LEN + usize::from(mtu);
        let is_tunnelled = is_inside(to) && self.scratch.realm[usize::from(slot)] >= SOFTWIRES;
        (is_long && !is_tunnelled && is_ipv4(frame)).then_some(mtu)
    }

    /// Drops a packet as it came in.
    fn stop(&mut self, batch: &mut Batch, slot: Slot, mtu: u16) {
        batch.set_verdict(slot, reasons::drop(reasons::TOO_BIG));
        if !self.long.restore(batch, slot) {
            return;
        }
        self.accept_virtual(batch, slot);
        let (port, index) = (batch.port(slot), usize::from(slot));
        if let Some(vrfs) = self.interfaces.vrfs.as_ref().filter(|_| port == INSIDE) {
            let station = self.interfaces.mac(port);
            self.scratch.realm[index] = vrfs.enter(batch, slot, station).unwrap_or(0);
        }
        if let Some(ds_lite) = self.interfaces.ds_lite.as_ref().filter(|_| is_inside(port))
            && softwires::is_ipv6(batch.frame(slot))
        {
            self.scratch.realm[index] = 0;
            if let Ok(Entry::Tunnelled(softwire, place)) =
                ds_lite.enter(batch.frame(slot), self.interfaces.station(port))
            {
                decapsulate(batch, slot, place);
                (self.scratch.realm[index], self.scratch.b4[index]) = (softwire.realm, softwire.b4);
            }
        }
        self.long.stopped.push((slot, mtu));
    }

    fn tell_what_passes(&mut self, batch: &mut Batch, (slot, mtu): (Slot, u16), now: Ticks) {
        let own = match is_ipv4(batch.frame(slot)) {
            true => self.own_ip(batch, slot).into(),
            false => self.interfaces.ipv6(batch.port(slot)).into(),
        };
        let message = match is_ipv4(batch.frame(slot)) {
            true => icmp::Fields {
                kind: icmp::v4::UNREACHABLE,
                code: icmp::v4::TOO_BIG,
                rest: mtu.into(),
            },
            false => {
                let rest = cutting::to_ipv6_mtu(mtu);
                icmp::Fields { kind: icmp::v6::TOO_BIG, code: 0, rest }
            }
        };
        let (interfaces, tallies) = (&self.interfaces, &mut self.state.tallies);
        self.icmp_host.tell((batch, slot, own), message, (interfaces, tallies), now);
    }

    fn cut_for_link(&mut self, batch: &mut Batch, slot: Slot, mtu: u16) {
        let Verdict::Forward(to) = batch.verdict(slot) else { return };
        if self.is_of_subscriber(batch, slot) {
            let number = self.draw_identification();
            set_identification(batch.frame_mut(slot), number);
        }
        self.uncut.clear();
        self.uncut.extend_from_slice(batch.frame(slot));
        let realm = if is_inside(to) { self.scratch.realm[usize::from(slot)] } else { 0 };
        let (made, from) = (&mut self.made, batch.port(slot));
        cutting::pieces(&self.uncut, (mtu, 0), |number, head, part| {
            match (number, made.as_mut()) {
                // Shorter than it was.
                (0, _) => drop(cutting::put(batch, slot, head, part)),
                (_, Some(made)) => add((made, realm), from, (head, part), to),
                (_, None) => {}
            }
        });
        self.state.tallies[Tally::PacketsCut as usize] += 1;
    }

    /// Whether a whole packet that is ready to leave has an address that subscribers share as its
    /// source.
    fn is_of_subscriber(&self, batch: &Batch, slot: Slot) -> bool {
        let packet = &batch.frame(slot)[ethernet::HEADER_LEN..];
        let Ok(view) = ipv4::View::parse_without_checksum(packet) else { return false };
        let bypass = self.interfaces.bypass.as_ref();
        let is_as_it_came = || bypass.is_some_and(|it| it.takes(&view, INSIDE) == Ok(true));
        is_inside(batch.port(slot))
            && !view.is_fragment()
            && view.source() != self.own_ip(batch, slot)
            && !is_as_it_came()
    }

    fn draw_identification(&mut self) -> u16 {
        if let Some(followed) = &mut self.followed {
            return followed.draw_identification();
        }
        self.identification = self.identification.wrapping_add(1);
        self.identification
    }
}

/// Cuts a fragment that waited and is ready to leave towards a realm, the last one that was made,
/// if it is too long; false of one that may not be cut, which does not leave.
pub(crate) fn fit_made(
    (made, place): (&mut Made, Slot),
    (from, to, realm): (PortId, PortId, u16),
    mtu: u16,
    uncut: &mut Vec<u8>,
) -> bool {
    let is_tagged = is_inside(to) && realm != 0;
    let tag_len = if is_tagged { ethernet::TAG_LEN } else { 0 };
    let len = ethernet::HEADER_LEN + tag_len + usize::from(mtu);
    if made.batch_mut().frame_len(place) <= len || is_tagged && realm >= SOFTWIRES {
        return true;
    }
    if is_tagged {
        vlan::take_off(made.batch_mut(), place);
    } else if !is_ipv4(made.batch_mut().frame(place)) {
        return true;
    }
    let frame = made.batch_mut().frame(place);
    if may_not_be_cut(frame) {
        made.take_back();
        return false;
    }
    uncut.clear();
    uncut.extend_from_slice(frame);
    let realm = if is_tagged { realm } else { 0 };
    cutting::pieces(uncut, (mtu, 0), |number, head, part| match number {
        0 => {
            cutting::put(made.batch_mut(), place, head, part);
            tag((made, realm), place);
        }
        _ => add((made, realm), from, (head, part), to),
    });
    true
}

/// Has a piece leave towards a realm.
fn add((made, realm): (&mut Made, u16), from: PortId, piece: (&[u8], &[u8]), to: PortId) {
    if let Some(place) = cutting::add_to(made, from, piece, to) {
        tag((made, realm), place);
    }
}

fn tag((made, realm): (&mut Made, u16), place: Slot) {
    // A worker's headroom is larger than a tag.
    if realm != 0 && !vlan::put_on(made.batch_mut(), place, realm) {
        made.take_back();
    }
}

/// Whether the packet of a frame bears "don't fragment".
fn may_not_be_cut(frame: &[u8]) -> bool {
    const PLACE: usize = ethernet::HEADER_LEN + ipv4::offset::FLAGS_FRAGMENT;
    u16_at(frame, PLACE) & ipv4::FLAG_DONT_FRAGMENT != 0
}

fn is_ipv4(frame: &[u8]) -> bool {
    u16_at(frame, ethernet::offset::TYPE) == ethernet::TYPE_IPV4
}
