//! A frame's way through a switch with domains, VLANs, limits, mirrors or access lists: one frame
//! after the other, in their order, behind a stage that finds circuits and touches addresses for
//! the whole batch, and before the list for what leaves.
//!
//! What floods or mirrors a frame makes copies ([`packet::Made`]), which leave behind the batch.

use machine::clock::Ticks;
use packet::{Batch, MADE_FULL, Made, Slot, Verdict};
use tables::mac::{BRIDGE_SHIFT, Heard};
use wire::bytes::{array_at, put_array, u16_at};
use wire::ethernet::TAG_LEN;

use super::acl::Acl;
use super::circuits::{Circuit, NotTaken, Taken};
use super::config::features::{Class, Direction};
use super::config::{Port, Unknown};
use super::mirror::Mirrors;
use super::pipeline::{Pipeline, Way, is_group, note};
use super::reasons::{self, TALLIES, Tallies, Tally};
use super::services::Features;
use super::state::State;
use super::storm::Storms;

impl Pipeline {
    /// Which circuits take the frames, and are their addresses in order? Those are touched.
    pub(super) fn classify(&mut self, batch: &mut Batch) {
        let (way, state) = (&mut self.way, &self.state);
        way.frames.clear();
        for slot in batch.slots() {
            batch.look_ahead(slot);
            batch.look_in_front(slot);
            let frame = batch.frame(slot);
            let taken = match state.circuits.take(batch.port(slot), frame) {
                Ok(taken) => taken,
                Err(why) => {
                    let reason = match why {
                        NotTaken::Truncated => reasons::TRUNCATED,
                        NotTaken::Unattached => reasons::UNATTACHED,
                    };
                    batch.set_verdict(slot, reasons::drop(reason));
                    continue;
                }
            };
            let destination = u64::from_be_bytes(array_at(frame, 0)) >> 16;
            let source = u64::from_be_bytes(array_at(frame, 6)) >> 16;
            if let Some(reason) = reasons::of_addresses(destination, source) {
                batch.set_verdict(slot, reasons::drop(reason));
                continue;
            }
            let circuit = &state.circuits.all[usize::from(taken.circuit)];
            let domain = u64::from(circuit.domain) << BRIDGE_SHIFT;
            way.note(slot, destination | domain, source | domain, &state.stations);
            way.taken[usize::from(slot)] = taken;
            way.frames.push(slot);
        }
        if !self.features.acl.is_empty() {
            self.features.acl.judge(batch, &way.frames);
        }
    }

    /// Mirrors, learns and decides, frame by frame.
    pub(super) fn switch(&mut self, batch: &mut Batch, now: Ticks) {
        let Pipeline { state, way, tallies, features } = self;
        let Features { storms, mirrors, egress, made: Some(made), .. } = features else { return };
        let mirrored = !mirrors.is_empty();
        mirrors.note_time(now);
        way.leaving.clear();
        let list = (!egress.is_empty()).then_some(&*egress);
        let mut bridge = Bridge { state, way, tallies, storms, mirrors, egress: list, made, now };
        for slot in batch.slots() {
            if mirrored {
                let place = (batch.port(slot), Direction::Receive);
                bridge.mirrors.copy(place, batch, slot, bridge.made);
            }
            if batch.verdict(slot) != Verdict::UNHANDLED {
                continue;
            }
            let verdict = bridge.decide(batch, slot);
            batch.set_verdict(slot, verdict);
            let Verdict::Forward(port) = verdict else { continue };
            if mirrored {
                // A mirror has what leaves alone, so that the list decides at once.
                let refused = bridge.egress.and_then(|list| list.refuses(port, batch.frame(slot)));
                if let Some(reason) = refused {
                    batch.set_verdict(slot, reasons::drop(reason));
                    continue;
                }
                let place = (port, Direction::Transmit);
                bridge.mirrors.copy(place, batch, slot, bridge.made);
            } else {
                bridge.way.leaving.push(slot);
            }
        }
        if !mirrored && !egress.is_empty() {
            egress.judge_leaving(batch, &way.leaving);
        }
        tallies[Tally::Mirrored as usize] = mirrors.copies;
        tallies[Tally::MadeFull as usize] = made.refused();
        debug_assert_eq!(TALLIES[Tally::MadeFull as usize], MADE_FULL);
    }
}

/// Everything that a frame's way needs.
struct Bridge<'a> {
    state: &'a mut State,
    way: &'a mut Way,
    tallies: &'a mut Tallies,
    storms: &'a mut Storms,
    mirrors: &'a mut Mirrors,
    egress: Option<&'a Acl>,
    made: &'a mut Made,
    now: Ticks,
}

impl Bridge<'_> {
    /// Learns from a frame whose addresses are in order, and says where it goes; it is then as it
    /// leaves.
    #[inline]
    fn decide(&mut self, batch: &mut Batch, slot: Slot) -> Verdict {
        let (index, way) = (usize::from(slot), &*self.way);
        let taken = way.taken[index];
        if let Some(learning) = self.state.learning {
            let place = way.source_place[index];
            let heard = self.state.stations.hear(place, way.source[index], taken.circuit);
            if heard != Heard::Again
                && let Some(reason) = note(heard, learning, self.tallies)
            {
                return reasons::drop(reason);
            }
        }
        let destination = way.destination[index];
        match self.state.stations.find(way.destination_place[index], destination) {
            Some(circuit) if circuit == taken.circuit => reasons::drop(reasons::SAME_PORT),
            Some(circuit) => {
                let circuit = &self.state.circuits.all[usize::from(circuit)];
                let priorities = take_tags(batch, slot, taken.tags);
                put_tags(batch, slot, circuit, priorities);
                Verdict::Forward(circuit.port)
            }
            None => self.flood(batch, slot, taken, destination),
        }
    }

    /// What becomes of a frame for a group, or for a station that nobody knows.
    fn flood(&mut self, batch: &mut Batch, slot: Slot, taken: Taken, destination: u64) -> Verdict {
        let class = class_of(destination);
        let circuits = &self.state.circuits;
        let number = circuits.all[usize::from(taken.circuit)].domain;
        let domain = &circuits.domains[usize::from(number)];
        if class == Class::Unknown && domain.unknown == Unknown::Drop {
            return reasons::drop(reasons::UNKNOWN);
        }
        let port = Port::of(batch.port(slot));
        let frames = (batch.segments(slot), batch.link_bytes(slot));
        if !self.storms.admits(port, class, frames, self.now) {
            return reasons::drop(match class {
                Class::Broadcast => reasons::STORM_BROADCAST,
                Class::Multicast => reasons::STORM_MULTICAST,
                Class::Unknown => reasons::STORM_UNKNOWN,
            });
        }
        if !self.storms.floods(number, frames.0, self.now) {
            return reasons::drop(reasons::FLOOD_LIMIT);
        }
        let others = domain.members.iter().filter(|&&member| member != taken.circuit);
        let mut others = others.map(|&member| &circuits.all[usize::from(member)]);
        let Some(first) = others.next() else { return reasons::drop(reasons::NO_MEMBER) };
        let tally = if class == Class::Unknown { Tally::Flooded } else { Tally::Group };
        self.tallies[tally as usize] += 1;
        let priorities = take_tags(batch, slot, taken.tags);
        for circuit in others {
            let Some(copy) = self.made.copy(batch, slot, circuit.port) else { continue };
            let copies = self.made.batch_mut();
            put_tags(copies, copy, circuit, priorities);
            let frame = copies.frame(copy);
            if self.egress.is_some_and(|list| list.refuses(circuit.port, frame).is_some()) {
                self.made.take_back();
                self.tallies[Tally::CopiesDenied as usize] += 1;
                continue;
            }
            self.tallies[Tally::Copied as usize] += 1;
            self.mirrors.copy_made(circuit.port, copy, self.made);
        }
        put_tags(batch, slot, first, priorities);
        Verdict::Forward(first.port)
    }
}

/// What storm control calls a destination that nobody is known at.
fn class_of(destination: u64) -> Class {
    match destination & ADDRESS {
        ADDRESS => Class::Broadcast,
        group if is_group(group) => Class::Multicast,
        _ => Class::Unknown,
    }
}

/// Takes tags off a frame; their priorities, outer one first, or what new tags get instead.
#[inline(always)]
fn take_tags(batch: &mut Batch, slot: Slot, count: u8) -> [u8; 2] {
    if count == 0 {
        return [0; 2];
    }
    let frame = batch.frame(slot);
    let priority = |tag: usize| (u16_at(frame, MACS_LEN + 2 + tag * TAG_LEN) >> 8) as u8 & PRIORITY;
    let outer = priority(0);
    let priorities = [outer, if count > 1 { priority(1) } else { outer }];
    let macs: [u8; MACS_LEN] = array_at(frame, 0);
    batch.pull_front(slot, usize::from(count) * TAG_LEN);
    put_array(batch.frame_mut(slot), 0, macs);
    priorities
}

/// Puts the tags of a circuit into a frame without any of its own.
#[inline(always)]
fn put_tags(batch: &mut Batch, slot: Slot, circuit: &Circuit, priorities: [u8; 2]) {
    let count = usize::from(circuit.tag_count);
    if count == 0 {
        return;
    }
    let macs: [u8; MACS_LEN] = array_at(batch.frame(slot), 0);
    // A worker's headroom is larger than two tags.
    let Some(frame) = batch.push_front(slot, count * TAG_LEN) else { return };
    put_array(frame, 0, macs);
    for (tag, priority) in (0..count).zip(priorities) {
        let mut bytes = circuit.tags[tag];
        bytes[2] |= priority;
        put_array(frame, MACS_LEN + tag * TAG_LEN, bytes);
    }
}

/// Both addresses of a frame.
const MACS_LEN: usize = 12;
/// Priority and drop eligibility in the upper byte of a tag (IEEE 802.1Q clause 9.6).
const PRIORITY: u8 = 0xf0;
/// An address without its domain; the broadcast address.
const ADDRESS: u64 = 0xffff_ffff_ffff;
