//! How packets leave: towards the Internet by their next hops, to subscribers through their queues.

use machine::clock::Ticks;
use packet::{Batch, Made, PortId, Slot, Verdict};
use stages::clamp::clamp;
use stages::remark::set_dscp;
use subscribers::Way as Toward;
use tables::scheduler::{Dropped, Offered};
use wire::bytes::{put_array, put_u16};
use wire::ethernet::{self, TAG_LEN};

use super::gateway::{ACCESS, CORE};
use super::line::replace_front;
use super::parse::Packet;
use super::pipeline::Pipeline;
use super::profiles::NO_MARK;
use super::reasons::{self, Tally};
use super::state::State;
use super::way::Way;

impl Pipeline {
    /// Towards the Internet: a hop, the Ethernet header of the next one, and out.
    pub(super) fn leave_up(&mut self, batch: &mut Batch, now: Ticks) {
        for index in 0..self.way.up.len() {
            let slot = self.way.up.as_slice()[index];
            let packet = self.way.packets[usize::from(slot)];
            let at = usize::from(packet.at);
            batch.truncate(slot, at + usize::from(packet.len));
            let mark = self.way.mark[usize::from(slot)];
            let before = at - ethernet::HEADER_LEN;
            if let Some(frame) = batch.frame_mut(slot).get_mut(before..) {
                self.rewrite(&packet, mark, frame);
            }
            let entry = self.way.place[usize::from(slot)];
            self.leave_by(batch, slot, at, entry);
            self.note_passed(batch, slot);
        }
        if self.state.hops.asked_for > 0 {
            for index in 0..self.way.up.len() {
                let slot = self.way.up.as_slice()[index];
                let entry = self.way.place[usize::from(slot)];
                self.wait_if_unresolved(batch, slot, entry, now);
            }
        }
    }

    /// A packet of a subscriber counts where it goes on, or waits for its next hop.
    #[inline(always)]
    pub(super) fn note_passed(&mut self, batch: &Batch, slot: Slot) {
        let verdict = batch.verdict(slot);
        if !matches!(verdict, Verdict::Forward(_)) && verdict != reasons::drop(reasons::AWAITING) {
            return;
        }
        let packet = &self.way.packets[usize::from(slot)];
        let number = self.way.session[usize::from(slot)];
        self.state.sessions.count(number, Toward::Up, packet.is_ipv6, packet.len.into());
    }

    /// A packet behind any 14 bytes makes its hop, gets its code point, and its connection a
    /// segment size that fits.
    #[inline(always)]
    pub(super) fn rewrite(&mut self, packet: &Packet, mark: u8, frame: &mut [u8]) {
        if mark != NO_MARK && mark != packet.dscp {
            set_dscp(frame, packet.is_ipv6, mark);
            self.tallies[Tally::Marked as usize] += 1;
        }
        let Some(bytes) = frame.get_mut(ethernet::HEADER_LEN..) else { return };
        packet.make_hop(bytes);
        if self.mss_clamp != 0 && clamp(bytes, packet.is_ipv6, self.mss_clamp) {
            self.tallies[Tally::MssClamped as usize] += 1;
        }
    }

    /// A packet that begins at an offset of its frame leaves to a next hop, by its entry.
    #[inline(always)]
    pub(super) fn leave_by(&mut self, batch: &mut Batch, slot: Slot, at: usize, entry: u32) {
        let Some(hop) = self.state.hops.get(entry) else {
            return batch.set_verdict(slot, reasons::drop(reasons::NO_ROUTE));
        };
        let is_ipv6 = batch.frame(slot).get(at).is_some_and(|first| first >> 4 == 6);
        let ether_type = if is_ipv6 { ethernet::TYPE_IPV6 } else { ethernet::TYPE_IPV4 };
        let is_put = match hop.vlan {
            0 => {
                let mut header = [0; ethernet::HEADER_LEN];
                put_array(&mut header, 0, hop.macs);
                put_u16(&mut header, ethernet::offset::TYPE, ether_type);
                replace_front((batch, slot), at, &header)
            }
            vlan => {
                let mut header = [0; ethernet::HEADER_LEN + TAG_LEN];
                put_array(&mut header, 0, hop.macs);
                put_u16(&mut header, ethernet::offset::TYPE, ethernet::TYPE_VLAN);
                put_u16(&mut header, ethernet::HEADER_LEN, vlan);
                put_u16(&mut header, ethernet::HEADER_LEN + 2, ether_type);
                replace_front((batch, slot), at, &header)
            }
        };
        let verdict = if is_put { hop.verdict } else { reasons::drop(reasons::TOO_LONG) };
        batch.set_verdict(slot, verdict);
    }

    /// A packet to a next hop whose MAC address is asked for waits for it.
    pub(super) fn wait_if_unresolved(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        entry: u32,
        now: Ticks,
    ) {
        if batch.verdict(slot) != reasons::drop(reasons::UNRESOLVED) {
            return;
        }
        let Some(mut made) = self.made.take() else { return };
        let packet = (batch.port(slot), batch.frame(slot));
        let verdict = self.wait(&mut made, packet, entry, now);
        batch.set_verdict(slot, verdict);
        self.made = Some(made);
        self.note_passed(batch, slot);
    }

    /// Lets a packet wait for its next hop.
    pub(super) fn wait(
        &mut self,
        made: &mut Made,
        packet: (PortId, &[u8]),
        entry: u32,
        now: Ticks,
    ) -> Verdict {
        self.neighbours.wait((&self.state.hops, made), packet, entry, now)
    }

    /// To subscribers: what is too long is cut, everything else goes into the frames of its session
    /// and its queue.
    pub(super) fn leave_down(&mut self, batch: &mut Batch, now: Ticks) {
        let Pipeline { state, way, lengths, .. } = self;
        let State { sessions, profiles, services, class_of, .. } = state;
        let Way { down, long, packets, session, place, mark, .. } = way;
        down.retain(|slot| {
            let index = usize::from(slot);
            let Some(record) = sessions.get(session[index]) else { return false };
            mark[index] = NO_MARK;
            let class = class_of[usize::from(packets[index].dscp & 63)];
            let queue = services.queue_of(session[index], profiles.means(record.profile), class);
            place[index] = queue.unwrap_or(NO_QUEUE);
            if let (Some(queue), Some(queues)) = (queue, &services.queues) {
                queues.prefetch(queue);
            }
            let is_long = packets[index].len > lengths.access(record.mru);
            long.push_if(is_long, slot);
            !is_long
        });
        if let Some(queues) = &services.queues {
            for &slot in down.as_slice() {
                queues.prefetch_above(place[usize::from(slot)]);
            }
        }
        for index in 0..self.way.down.len() {
            let slot = self.way.down.as_slice()[index];
            let packet = self.way.packets[usize::from(slot)];
            let before = usize::from(packet.at) - ethernet::HEADER_LEN;
            // What follows the packet is padding, and no part of a segment.
            let end = usize::from(packet.at) + usize::from(packet.len);
            if let Some(frame) = batch.frame_mut(slot).get_mut(before..end) {
                self.rewrite(&packet, NO_MARK, frame);
            }
            let number = self.way.session[usize::from(slot)];
            self.send((batch, slot), number, &packet, now);
        }
        if !self.way.long.is_empty() {
            self.fit_down(batch, now);
        }
    }

    /// A packet that has made its hop goes into a frame of a session, and its queue.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        (batch, slot): (&mut Batch, Slot),
        number: u32,
        packet: &Packet,
        now: Ticks,
    ) {
        let State { sessions, profiles, services, class_of, .. } = &mut self.state;
        let Some(record) = sessions.get(number) else {
            return batch.set_verdict(slot, reasons::drop(reasons::UNKNOWN_SUBSCRIBER));
        };
        let place = (usize::from(packet.at), usize::from(packet.len));
        if !self.framing.put((batch, slot), place, record, packet.is_ipv6) {
            return batch.set_verdict(slot, reasons::drop(reasons::TOO_LONG));
        }
        let class = class_of[usize::from(packet.dscp & 63)];
        let queue = services.queue_of(number, profiles.means(record.profile), class);
        let offered = match (queue, &mut services.queues) {
            (Some(queue), Some(queues)) => {
                let front_len = batch.frame_len(slot) - usize::from(packet.len);
                let note = Note { session: number, front_len, is_ipv6: packet.is_ipv6 };
                queues.offer(queue, batch.frame(slot), note.packed(), now)
            }
            _ => Offered::Passes,
        };
        let verdict = match offered {
            Offered::Passes => {
                sessions.count(number, Toward::Down, packet.is_ipv6, packet.len.into());
                Verdict::Forward(ACCESS)
            }
            Offered::Waits => reasons::drop(reasons::QUEUED),
            Offered::Dropped(dropped) => reasons::drop(reason_of(dropped)),
        };
        batch.set_verdict(slot, verdict);
    }

    /// What waits and may leave now leaves.
    pub(super) fn release(&mut self, now: Ticks) {
        let Pipeline { state, made, tallies, .. } = self;
        let State { sessions, services, .. } = state;
        let (Some(queues), Some(made)) = (&mut services.queues, made) else { return };
        let most = made.batch_mut().remaining();
        // Also where nothing waits: whoever was out of credit comes back here.
        queues.take(0, now, most, |leaving| {
            let batch = made.batch_mut();
            let Some(room) = batch.append(CORE, leaving.len) else { return made.refuse() };
            leaving.copy_to(room);
            let slot = (batch.len() - 1) as Slot;
            batch.set_verdict(slot, Verdict::Forward(ACCESS));
            let Note { session, front_len, is_ipv6 } = Note::unpacked(leaving.note);
            let bytes = leaving.len.saturating_sub(front_len) as u32;
            sessions.count(session, Toward::Down, is_ipv6, bytes);
        });
        let counts = queues.counts();
        tallies[Tally::QueuedLeft as usize] = counts.left;
        tallies[Tally::QueuedDelay as usize] = counts.dropped[Dropped::Delay as usize];
        tallies[Tally::QueuedCleared as usize] = counts.dropped[Dropped::Cleared as usize];
        tallies[Tally::QueuedNow as usize] = counts.waiting;
    }
}

/// What is noted of a packet while it waits; its session may be on another line when it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Note {
    session: u32,
    /// Bytes in front of the packet: Ethernet, and 4 for each tag, 8 for PPPoE.
    front_len: usize,
    is_ipv6: bool,
}

impl Note {
    fn packed(self) -> u32 {
        let words = self.front_len.saturating_sub(ethernet::HEADER_LEN) / TAG_LEN;
        self.session << 4 | (words as u32 & 7) << 1 | u32::from(self.is_ipv6)
    }

    fn unpacked(note: u32) -> Note {
        Note {
            session: note >> 4,
            front_len: ethernet::HEADER_LEN + (note >> 1 & 7) as usize * TAG_LEN,
            is_ipv6: note & 1 != 0,
        }
    }
}

/// Why a frame is dropped that is offered to a queue.
fn reason_of(dropped: Dropped) -> packet::Reason {
    match dropped {
        Dropped::Depth => reasons::QUEUE_FULL,
        Dropped::Share => reasons::QUEUE_SHARE,
        Dropped::Cells => reasons::BUFFERS_FULL,
        // What is offered is never dropped for the other two.
        Dropped::Long | Dropped::Delay | Dropped::Cleared => reasons::QUEUE_TOO_LONG,
    }
}

/// No queue.
const NO_QUEUE: u32 = u32::MAX;
