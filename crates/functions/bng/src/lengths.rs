//! Packets that the link by which they leave does not take whole.
//!
//! What may be cut leaves in pieces, each a packet of its own; of what may not be cut the sender is
//! told what passes (RFC 1191, RFC 8201). Nothing of it is in the way of packets that are short
//! enough.

use machine::clock::Ticks;
use packet::{Batch, Slot, Verdict};
use stages::fragment;
use stages::icmp_host::Trouble;
use wire::bytes::u16_at;
use wire::{ethernet, ipv4};

use super::parse::Packet;
use super::pipeline::Pipeline;
use super::reasons::{self, Tally};

impl Pipeline {
    /// Packets of subscribers that are too long.
    #[inline(never)]
    pub(super) fn fit_up(&mut self, batch: &mut Batch, now: Ticks) {
        for index in 0..self.way.long.len() {
            let slot = self.way.long.as_slice()[index];
            let most = self.lengths.core();
            let packet = self.way.packets[usize::from(slot)];
            if !may_be_cut(batch.frame(slot), &packet, most) {
                let why = (Trouble::TooBig(most), reasons::TOO_BIG);
                self.refuse_up(batch, slot, why, now);
                continue;
            }
            self.prepare(batch, slot);
            let entry = self.way.place[usize::from(slot)];
            self.cut((batch, slot), most, Leave::Up { entry }, now);
        }
        self.way.long.clear();
    }

    /// Packets for subscribers that are too long.
    #[inline(never)]
    pub(super) fn fit_down(&mut self, batch: &mut Batch, now: Ticks) {
        for index in 0..self.way.long.len() {
            let slot = self.way.long.as_slice()[index];
            let packet = self.way.packets[usize::from(slot)];
            let number = self.way.session[usize::from(slot)];
            let mru = self.state.sessions.get(number).map_or(0, |record| record.mru);
            let most = self.lengths.access(mru);
            if !may_be_cut(batch.frame(slot), &packet, most) {
                let why = (Trouble::TooBig(most), reasons::TOO_BIG);
                self.refuse_down(batch, slot, why, now);
                continue;
            }
            self.prepare(batch, slot);
            self.cut((batch, slot), most, Leave::Down { number, packet }, now);
        }
        self.way.long.clear();
    }

    /// A packet makes its hop, and is behind an Ethernet header and nothing else.
    fn prepare(&mut self, batch: &mut Batch, slot: Slot) {
        self.make_normal(batch, slot);
        let packet = self.way.packets[usize::from(slot)];
        let mark = self.way.mark[usize::from(slot)];
        let frame = batch.frame_mut(slot);
        self.rewrite(&packet, mark, frame);
    }

    /// Cuts the packet of a frame behind an Ethernet header: the first piece stays in its place,
    /// the others are frames made.
    fn cut(&mut self, (batch, slot): (&mut Batch, Slot), most: u16, leave: Leave, now: Ticks) {
        let Some(mut made) = self.made.take() else {
            return batch.set_verdict(slot, reasons::drop(reasons::TOO_BIG));
        };
        let mut uncut = std::mem::take(&mut self.uncut);
        let mut piece = std::mem::take(&mut self.piece);
        uncut.clear();
        uncut.extend_from_slice(batch.frame(slot));
        let (from, first) = (batch.port(slot), made.batch_mut().len());
        let was_cut = fragment::pieces(&uncut, most, &mut piece, |number, piece| match number {
            0 => {
                // A piece is shorter than the whole.
                batch.truncate(slot, piece.len());
                batch.frame_mut(slot).copy_from_slice(piece);
            }
            _ => drop(made.push(from, piece, Verdict::UNHANDLED)),
        });
        if was_cut {
            self.tallies[Tally::PacketsCut as usize] += 1;
            self.leave_cut((batch, slot), leave, now);
            for slot in first..made.batch_mut().len() {
                let slot = slot as Slot;
                self.leave_cut((made.batch_mut(), slot), leave, now);
                if let Leave::Up { entry } = leave
                    && made.batch_mut().verdict(slot) == reasons::drop(reasons::UNRESOLVED)
                {
                    piece.clear();
                    piece.extend_from_slice(made.batch_mut().frame(slot));
                    let verdict = self.wait(&mut made, (from, &piece), entry, now);
                    made.batch_mut().set_verdict(slot, verdict);
                }
            }
        } else {
            batch.set_verdict(slot, reasons::drop(reasons::TOO_BIG));
        }
        (self.uncut, self.piece, self.made) = (uncut, piece, Some(made));
        if let Leave::Up { entry } = leave {
            self.note_passed(batch, slot);
            self.wait_if_unresolved(batch, slot, entry, now);
        }
    }

    /// A piece behind an Ethernet header leaves.
    fn leave_cut(&mut self, (batch, slot): (&mut Batch, Slot), leave: Leave, now: Ticks) {
        match leave {
            Leave::Up { entry } => self.leave_by(batch, slot, ethernet::HEADER_LEN, entry),
            Leave::Down { number, packet } => {
                let len = (batch.frame_len(slot) - ethernet::HEADER_LEN) as u16;
                let piece = Packet { at: ethernet::HEADER_LEN as u16, len, ..packet };
                self.send((batch, slot), number, &piece, now);
            }
        }
    }
}

/// Whereto pieces leave.
#[derive(Clone, Copy)]
enum Leave {
    /// To a next hop, by its entry.
    Up { entry: u32 },
    /// To the host of a session, by its number.
    Down { number: u32, packet: Packet },
}

/// Whether a packet may be cut for a link by whoever forwards it.
fn may_be_cut(frame: &[u8], packet: &Packet, most: u16) -> bool {
    let header = frame.get(usize::from(packet.at)..).unwrap_or_default();
    !packet.is_ipv6
        && most >= IPV4_MTU_MIN
        && header.len() >= ipv4::HEADER_LEN
        && u16_at(header, ipv4::offset::FLAGS_FRAGMENT) & ipv4::FLAG_DONT_FRAGMENT == 0
}

/// What every link of IPv4 takes, in bytes (RFC 791 section 3.2).
const IPV4_MTU_MIN: u16 = 68;
