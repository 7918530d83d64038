//! A frame's way through a bridge of two ports without VLANs, from top to bottom; every batch takes
//! this one or that of a [switch](super::switch).
//!
//! The first stage reads the addresses of the whole batch and touches what they need; the second
//! learns and decides frame by frame, in their order, so that a frame sees what those before it
//! taught, whatever batches they come in.
use std::io;

use engine::{Drops, Function, Refusal, StageClock};
use function_kit::SetupError;
use machine::clock::{Clock, Ticks};
use packet::{Batch, Made, PortId, Reason, Room, Slot, Slots, Verdict};
use tables::mac::{Heard, MacTable, Place};
use wire::bytes::array_at;
use wire::ethernet;

use super::circuits::Taken;
use super::config::{Config, Mode, Port, Unknown, WhenFull};
use super::control::{self, Update};
use super::reasons::{self, TALLIES, Tallies, Tally};
use super::services::{Features, NOT_TAKEN};
use super::state::{Learning, State};

/// A running bridge on one worker.
pub struct Pipeline {
    pub(super) state: State,
    pub(super) features: Features,
    pub(super) way: Way,
    pub(super) tallies: Tallies,
}

/// The stages in the frame's order, as [`Function::STAGES`] names them.
#[derive(Clone, Copy)]
enum Stage {
    Check,
    Forward,
}

/// The frames of the current batch whose addresses are in order, and what is known of each, by
/// slot.
pub(super) struct Way {
    pub frames: Slots,
    /// Those of them that are to leave.
    pub leaving: Slots,
    pub destination: [u64; 256],
    pub source: [u64; 256],
    pub destination_place: [Place; 256],
    pub source_place: [Place; 256],
    /// The circuit of each, where those are looked for.
    pub taken: [Taken; 256],
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
        self.state.stations.advance(now);
        if self.features.are_needed() {
            self.classify(batch);
            stages.lap(Stage::Check as usize, batch.len());
            self.switch(batch, now);
            self.tally_stations();
            stages.lap(Stage::Forward as usize, batch.len());
            return;
        }
        match self.state.learning {
            Some(_) => self.check::<true>(batch),
            None => self.check::<false>(batch),
        }
        stages.lap(Stage::Check as usize, batch.len());
        match self.state.learning {
            Some(learning) => self.forward::<true>(batch, learning),
            None => self.forward::<false>(batch, LEARNS_NOTHING),
        }
        self.tally_stations();
        stages.lap(Stage::Forward as usize, batch.len());
    }

    fn apply(&mut self, update: Update, now: Ticks) -> Result<(), Refusal> {
        let applied = control::apply(&mut self.state, &mut self.features, &update, now);
        self.features.settle();
        applied
    }

    fn tallies(&self) -> &[u64] {
        &self.tallies
    }

    fn state_bytes(&self) -> usize {
        self.state.bytes() + self.features.acl.bytes() + self.features.egress.bytes()
    }

    /// Room for copies, and for the tags that copies of what leaves may have more.
    fn make_room(&mut self, room: Room) -> io::Result<()> {
        let room = Room { frame: room.frame + 2 * ethernet::TAG_LEN, ..room };
        self.features.made = Some(Made::new(room)?);
        Ok(())
    }

    fn made(&mut self, _: Ticks) -> Option<&mut Batch> {
        self.features.made.as_mut()?.lend()
    }
}

impl Way {
    /// Notes both keys of a frame, and touches what is known of them.
    #[inline(always)]
    pub fn note(&mut self, slot: Slot, destination: u64, source: u64, stations: &MacTable) {
        let index = usize::from(slot);
        let places = [destination, source].map(|key| stations.bucket(key));
        places.iter().for_each(|place| stations.prefetch(*place));
        [self.destination[index], self.source[index]] = [destination, source];
        [self.destination_place[index], self.source_place[index]] = places;
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
            leaving: Slots::new(),
            destination: [0; 256],
            source: [0; 256],
            destination_place: [Place::default(); 256],
            source_place: [Place::default(); 256],
            taken: [NOT_TAKEN; 256],
        };
        let state = State::new(config, clock, now)?;
        let features = Features::new(config, &state, clock, now)
            .map_err(|source| SetupError::Memory { what: "an access list", source })?;
        Ok(Pipeline { state, features, way, tallies: [0; TALLIES.len()] })
    }

    /// The state, to look at it.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Takes the limits of the first of some workers for its own.
    pub fn join(&mut self, first: &mut Pipeline) {
        self.features.storms.join(&mut first.features.storms);
    }

    /// What a switch has beside stations, to look at it.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Are the addresses in order? Those of a frame that goes on are touched.
    fn check<const LEARNING: bool>(&mut self, batch: &mut Batch) {
        let (way, stations) = (&mut self.way, &self.state.stations);
        way.frames.clear();
        for slot in batch.slots() {
            batch.look_ahead(slot);
            let Some(header) = batch.frame(slot).first_chunk::<{ ethernet::HEADER_LEN }>() else {
                batch.set_verdict(slot, reasons::drop(reasons::TRUNCATED));
                continue;
            };
            let destination = u64::from_be_bytes(array_at(header, 0)) >> 16;
            let source = u64::from_be_bytes(array_at(header, 6)) >> 16;
            if let Some(reason) = reasons::of_addresses(destination, source) {
                batch.set_verdict(slot, reasons::drop(reason));
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
    fn forward<const LEARNING: bool>(&mut self, batch: &mut Batch, learning: Learning) {
        let Pipeline { state, way, tallies, .. } = self;
        for &slot in way.frames.as_slice() {
            let (index, port) = (usize::from(slot), Port::of(batch.port(slot)));
            if LEARNING {
                let circuit = u16::from(port.id().0);
                let (place, source) = (way.source_place[index], way.source[index]);
                let heard = state.stations.hear(place, source, circuit);
                if heard != Heard::Again
                    && let Some(reason) = note(heard, learning, tallies)
                {
                    batch.set_verdict(slot, reasons::drop(reason));
                    continue;
                }
            }
            let destination = way.destination[index];
            let place = way.destination_place[index];
            let verdict = match state.stations.find(place, destination) {
                // Without attachments, a circuit has the number of its port.
                Some(circuit) if circuit == u16::from(port.id().0) => {
                    reasons::drop(reasons::SAME_PORT)
                }
                Some(circuit) => Verdict::Forward(PortId(circuit as u8)),
                None => everywhere(state, destination, port, tallies),
            };
            batch.set_verdict(slot, verdict);
        }
    }

    /// Takes over what the table counts.
    fn tally_stations(&mut self) {
        let stations = &self.state.stations;
        self.tallies[Tally::Aged as usize] = stations.aged();
        self.tallies[Tally::Flapping as usize] = stations.flapped();
        self.tallies[Tally::MovesUncounted as usize] = stations.uncounted_moves();
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

/// Counts what was heard; why the frame is dropped for it.
#[inline(never)]
pub(super) fn note(heard: Heard, learning: Learning, tallies: &mut Tallies) -> Option<Reason> {
    let (tally, reason) = match heard {
        Heard::Again => return None,
        Heard::New => (Tally::Learned, None),
        Heard::Moved => (Tally::Moved, None),
        Heard::NoRoom if learning.when_full == WhenFull::Drop => {
            (Tally::NotLearned, Some(reasons::TABLE_FULL))
        }
        Heard::NoRoom => (Tally::NotLearned, None),
        Heard::Refused => {
            (Tally::MovesRefused, learning.drops_refused.then_some(reasons::FLAPPING))
        }
    };
    tallies[tally as usize] += 1;
    reason
}

/// What a bridge that does not learn does with what it cannot learn.
const LEARNS_NOTHING: Learning = Learning { when_full: WhenFull::Forward, drops_refused: false };

/// What becomes of a frame for a group, or for a station that nobody knows.
#[inline(always)]
fn everywhere(state: &State, destination: u64, port: Port, tallies: &mut Tallies) -> Verdict {
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
pub(super) fn is_group(address: u64) -> bool {
    address & reasons::GROUP != 0
}
