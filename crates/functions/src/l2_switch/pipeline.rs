//! A frame's way through a bridge, from top to bottom.
//!
//! The first stage reads the addresses of the whole batch and touches what they need; the second
//! learns and decides frame by frame, in their order, so that a frame sees what those before it
//! taught, whatever batches they come in.

use engine::{Drops, Function, Refusal, StageClock};
use machine::clock::{Clock, Ticks};
use packet::{Batch, PortId, Slots, Verdict};
use tables::index::Place;
use wire::bytes::array_at;
use wire::ethernet;

use super::config::{Config, Mode, Port, Unknown, WhenFull};
use super::control::{self, Update};
use super::reasons::{self, TALLIES, Tally};
use super::state::{Heard, State};
use crate::unit::SetupError;

/// A running bridge on one worker.
pub struct Pipeline {
    state: State,
    way: Way,
    tallies: [u64; TALLIES.len()],
}

/// The stages in the frame's order, as [`Function::STAGES`] names them.
#[derive(Clone, Copy)]
enum Stage {
    Check,
    Forward,
}

/// The frames of the current batch whose addresses are in order, and what is known of each, by slot.
struct Way {
    frames: Slots,
    destination: [u64; 256],
    source: [u64; 256],
    destination_place: [Place; 256],
    source_place: [Place; 256],
}

impl Function for Pipeline {
    type Update = Update;
    const STAGES: &'static [&'static str] = &["check", "forward"];
    const DROPS: Drops = Drops(reasons::NAMES);
    const TALLIES: &'static [&'static str] = TALLIES;

    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>) {
        if self.state.mode == Mode::Patch {
            self.patch(batch);
            stages.lap(Stage::Forward as usize, batch.len());
            return;
        }
        self.state.advance(now);
        match self.state.learning {
            Some(_) => self.check::<true>(batch),
            None => self.check::<false>(batch),
        }
        stages.lap(Stage::Check as usize, batch.len());
        match self.state.learning {
            Some(when_full) => self.forward::<true>(batch, when_full),
            None => self.forward::<false>(batch, WhenFull::Forward),
        }
        self.tallies[Tally::Aged as usize] = self.state.aged;
        stages.lap(Stage::Forward as usize, batch.len());
    }

    fn apply(&mut self, update: Update, now: Ticks) -> Result<(), Refusal> {
        control::apply(&mut self.state, &update, now)
    }

    fn tallies(&self) -> &[u64] {
        &self.tallies
    }

    fn state_bytes(&self) -> usize {
        self.state.bytes()
    }
}

impl Pipeline {
    /// The bridge that the configuration describes at `now`.
    ///
    /// # Errors
    /// When its state does not fit.
    pub fn new(config: &Config, clock: Clock, now: Ticks) -> Result<Pipeline, SetupError> {
        let way = Way {
            frames: Slots::new(),
            destination: [0; 256],
            source: [0; 256],
            destination_place: [Place::default(); 256],
            source_place: [Place::default(); 256],
        };
        Ok(Pipeline { state: State::new(config, clock, now)?, way, tallies: [0; TALLIES.len()] })
    }

    /// The state, to look at it.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Are the addresses in order? Those of a frame that goes on are touched.
    fn check<const LEARNING: bool>(&mut self, batch: &mut Batch) {
        let (way, stations) = (&mut self.way, &self.state.stations);
        way.frames.clear();
        for slot in batch.slots() {
            let Some(header) = batch.frame(slot).first_chunk::<{ ethernet::HEADER_LEN }>() else {
                batch.set_verdict(slot, reasons::drop(reasons::TRUNCATED));
                continue;
            };
            let destination = u64::from_be_bytes(array_at(header, 0)) >> 16;
            let source = u64::from_be_bytes(array_at(header, 6)) >> 16;
            if is_group(source) | (source == 0) {
                batch.set_verdict(slot, reasons::drop(reasons::INVALID_SOURCE));
                continue;
            }
            if destination & RESERVED_MASK == RESERVED {
                batch.set_verdict(slot, reasons::drop(reasons::RESERVED));
                continue;
            }
            let index = usize::from(slot);
            let place = stations.bucket(destination);
            stations.prefetch(place);
            way.destination[index] = destination;
            way.destination_place[index] = place;
            if LEARNING {
                let place = stations.bucket(source);
                stations.prefetch(place);
                way.source[index] = source;
                way.source_place[index] = place;
            }
            way.frames.push(slot);
        }
    }

    /// Who is heard of, and where does the frame go?
    fn forward<const LEARNING: bool>(&mut self, batch: &mut Batch, when_full: WhenFull) {
        let Pipeline { state, way, tallies } = self;
        for &slot in way.frames.as_slice() {
            let (index, port) = (usize::from(slot), Port::of(batch.port(slot)));
            if LEARNING {
                let heard = state.hear(way.source_place[index], way.source[index], port);
                if heard != Heard::Again && note(heard, tallies) && when_full == WhenFull::Drop {
                    batch.set_verdict(slot, reasons::drop(reasons::TABLE_FULL));
                    continue;
                }
            }
            let destination = way.destination[index];
            let verdict = match state.find(way.destination_place[index], destination) {
                Some(entry) if entry.port() == port => reasons::drop(reasons::SAME_PORT),
                Some(entry) => Verdict::Forward(entry.port().id()),
                None => everywhere(state, destination, port, tallies),
            };
            batch.set_verdict(slot, verdict);
        }
    }

    /// Every frame out of the other port.
    fn patch(&mut self, batch: &mut Batch) {
        let swaps = self.state.swaps;
        for slot in batch.slots() {
            let port = batch.port(slot);
            let Some(header) = batch.frame_mut(slot).first_chunk_mut::<{ ethernet::HEADER_LEN }>()
            else {
                batch.set_verdict(slot, reasons::drop(reasons::TRUNCATED));
                continue;
            };
            if let Some(mac) = swaps[usize::from(port.0 & 1)] {
                header[ethernet::offset::SOURCE..ethernet::offset::TYPE].copy_from_slice(&mac.0);
            }
            batch.set_verdict(slot, Verdict::Forward(PortId(1 - (port.0 & 1))));
        }
    }
}

/// Counts what was heard; whether there was no room for it.
#[inline(never)]
fn note(heard: Heard, tallies: &mut [u64; TALLIES.len()]) -> bool {
    let tally = match heard {
        Heard::Again => return false,
        Heard::New => Tally::Learned,
        Heard::Moved => Tally::Moved,
        Heard::NoRoom => Tally::NotLearned,
    };
    tallies[tally as usize] += 1;
    heard == Heard::NoRoom
}

/// What becomes of a frame for a group, or for a station that nobody knows.
#[inline(always)]
fn everywhere(
    state: &State,
    destination: u64,
    port: Port,
    tallies: &mut [u64; TALLIES.len()],
) -> Verdict {
    let is_group = is_group(destination);
    if !is_group && state.unknown == Unknown::Drop {
        return reasons::drop(reasons::UNKNOWN);
    }
    let tally = if is_group { Tally::Group } else { Tally::Flooded };
    tallies[tally as usize] += 1;
    Verdict::Forward(port.other().id())
}

/// Whether an address is a group's, broadcast among them.
#[inline(always)]
fn is_group(address: u64) -> bool {
    address & GROUP != 0
}

/// The first bit on the wire.
const GROUP: u64 = 1 << 40;

/// 01-80-c2-00-00-00 to -0f.
const RESERVED: u64 = 0x0180_c200_0000;
const RESERVED_MASK: u64 = !0xf;
