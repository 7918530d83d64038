//! A batch's way through a chain: every function sees the packets that are its turn, as a batch.
use std::io;

use engine::{Drops, Event, Function, Names, Refusal, StageClock, StageTotals};
use std::sync::Arc;

use function_kit::erased::{Configured, Running};
use function_kit::{Companion, Neighbour, SetupError, Shard};
use machine::clock::{Clock, Ticks};
use packet::{BATCH_MAX, Batch, PortId, Reason, Room, Slot, Slots, Verdict};
use wire::ethernet;

use super::config::Config;
use super::control::Update;
use super::names::{self, OWN_REASONS, TOO_MANY_TURNS};
use super::ports::{self, Further, SIDES};

/// A running chain on one worker.
pub struct Pipeline {
    hops: Vec<Hop>,
    names: Names,
    tallies: Vec<u64>,
    /// Frames that a function has made, on their way through the others.
    made: Option<Batch>,
    /// The further ports, by their numbers in the chain less those of its ends.
    further: Vec<Further>,
    /// Whose made frames are next.
    turn: usize,
    /// For frames that are made: no stage is told of them.
    pending: StageTotals,
}

/// A function of the chain.
struct Hop {
    function: Box<dyn Running>,
    /// Reads its changes.
    configured: Arc<dyn Configured>,
    /// What goes into its stages is not told: the chain tells what each function costs as a whole.
    inner_stages: StageTotals,
    /// Where its reasons begin among the chain's; its first one is the chain's first one.
    reasons: u8,
    /// Where its punt reasons begin among the chain's.
    punts: u8,
    /// The number in the chain of its first further port.
    further: u8,
}

/// Which function has each packet, by slot.
type Turns = [u8; 256];

impl Function for Pipeline {
    type Update = Update;
    /// What a chain has depends on its functions: [`Function::names`] tells it.
    const STAGES: &'static [&'static str] = &[];
    const DROPS: Drops = Drops(&OWN_REASONS);
    const TALLIES: &'static [&'static str] = &[];

    fn names(&self) -> Names {
        self.names
    }

    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>) {
        let last = (self.hops.len() - 1) as u8;
        let (mut turns, mut came): (Turns, _) = ([DONE; 256], [DOWN; 256]);
        for slot in batch.slots() {
            let index = usize::from(slot);
            came[index] = batch.port(slot);
            turns[index] = match came[index] {
                DOWN => 0,
                UP => last,
                port => self.enter(batch, slot, port),
            };
        }
        self.walk(batch, &mut turns, now, stages);
        for slot in batch.slots() {
            batch.set_port(slot, came[usize::from(slot)]);
        }
        self.take_tallies();
    }

    fn apply(&mut self, update: Update, now: Ticks) -> Result<(), Refusal> {
        let Update::At { place, change } = update;
        let hop = place.checked_sub(1).and_then(|index| self.hops.get_mut(index));
        let hop = hop.ok_or(Refusal::NotFound)?;
        let change = hop.configured.update(&change).map_err(|_| Refusal::Invalid)?;
        let done = hop.function.apply(change, now);
        self.take_tallies();
        done
    }

    fn tallies(&self) -> &[u64] {
        &self.tallies
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        // It takes turns with the functions' own, which may leave room for tags.
        let longest = Room { frame: room.frame + 2 * ethernet::TAG_LEN, ..room };
        self.made = Some(Batch::new(BATCH_MAX, longest)?);
        self.hops.iter_mut().try_for_each(|hop| hop.function.make_room(room))
    }

    fn tick(&mut self, now: Ticks) {
        self.hops.iter_mut().for_each(|hop| hop.function.tick(now));
    }

    fn event(&mut self) -> Option<Event> {
        self.hops.iter_mut().find_map(|hop| hop.function.event())
    }

    /// Between two functions there is no link that could go down.
    fn link(&mut self, port: PortId, is_up: bool) {
        let last = (self.hops.len() - 1) as u8;
        let further = self.further.get(usize::from(port.0.wrapping_sub(SIDES)));
        let (place, port) = match (port, further) {
            (DOWN, _) => (0, DOWN),
            (UP, _) => (last, UP),
            (_, Some(further)) => (further.place, further.port),
            (_, None) => return,
        };
        self.hops[usize::from(place)].function.link(port, is_up);
    }

    /// The frames of one function a round, handed on as all others are.
    fn made(&mut self, now: Ticks) -> Option<&mut Batch> {
        let mut batch = self.made.take()?;
        let (first, count) = (self.turn, self.hops.len());
        let place = (0..count)
            .map(|step| (first + step) % count)
            .find(|&place| swap_made(&mut self.hops[place], &mut batch, now));
        if let Some(place) = place {
            self.turn = place + 1;
            let mut turns: Turns = [DONE; 256];
            for slot in batch.slots() {
                turns[usize::from(slot)] = self.hand_over(&mut batch, slot, place);
            }
            let mut totals = std::mem::take(&mut self.pending);
            self.walk(&mut batch, &mut turns, now, &mut totals.start(now));
            self.pending = totals;
            self.take_tallies();
        }
        self.made = Some(batch);
        self.made.as_mut().filter(|batch| !batch.is_empty())
    }

    fn state_bytes(&self) -> usize {
        self.hops.iter().map(|hop| hop.function.state_bytes()).sum()
    }
}

impl Pipeline {
    /// The chain that a validated configuration describes, at `now`.
    ///
    /// # Errors
    /// When the state of a function does not fit.
    pub(super) fn new(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        let (mut reasons, mut punts) = (OWN_REASONS.len() as u8, 0);
        let mut hops = Vec::new();
        let mut next = SIDES;
        for member in config.members() {
            let function = member.function(shard, clock, now)?;
            let (configured, inner_stages) = (Arc::clone(member), StageTotals::default());
            hops.push(Hop { function, configured, inner_stages, reasons, punts, further: next });
            next += member.ports().len() as u8 - SIDES;
            reasons += member.names().drops.0.len() as u8 - 1;
            punts += member.names().punts.len() as u8;
        }
        let names = names::of(config.members());
        let tallies = vec![0; names.tallies.len()];
        let (made, turn, pending) = (None, 0, StageTotals::default());
        let further = ports::further(config.members());
        let mut pipeline = Pipeline { hops, names, tallies, made, further, turn, pending };
        pipeline.take_tallies();
        Ok(pipeline)
    }

    /// The neighbours of all functions.
    pub(super) fn neighbours(&self, limit: usize) -> Vec<Neighbour> {
        let all = self.hops.iter().flat_map(|hop| hop.function.neighbours(limit));
        all.take(limit).collect()
    }

    /// Each function takes the rates of that of the first of some workers for its own.
    pub(super) fn join(&mut self, first: &mut Pipeline, workers: usize) {
        for (own, first) in self.hops.iter_mut().zip(&mut first.hops) {
            own.function.join(&mut *first.function, workers);
        }
    }

    /// The machines beside the functions.
    pub(super) fn machines(&mut self) -> Vec<Companion> {
        self.hops.iter_mut().flat_map(|hop| hop.function.machines()).collect()
    }

    /// What the functions remember, as changes of the chain.
    pub(super) fn memory(&self, config: &Config, shard: Shard, now: Ticks) -> Vec<Update> {
        let mut updates = Vec::new();
        for (place, (member, hop)) in config.members().iter().zip(&self.hops).enumerate() {
            let changes = member.memory(shard, &*hop.function, now);
            updates.extend(changes.iter().map(|change| Update::of(place, change)));
        }
        updates
    }

    /// Lets each function in turn decide over the packets that have come to it, up the chain and
    /// down again, until none is between two functions. Traffic one way takes one turn, both ways
    /// two.
    fn walk(
        &mut self,
        batch: &mut Batch,
        turns: &mut Turns,
        now: Ticks,
        stages: &mut StageClock<'_>,
    ) {
        let mut waiting = Slots::new();
        for turn in 0..TURNS_MAX {
            for step in 0..self.hops.len() {
                let place = if turn % 2 == 0 { step } else { self.hops.len() - 1 - step };
                waiting.clear();
                for slot in batch.slots() {
                    waiting.push_if(usize::from(turns[usize::from(slot)]) == place, slot);
                }
                if waiting.is_empty() {
                    continue;
                }
                let Hop { function, inner_stages, .. } = &mut self.hops[place];
                batch.with_only(waiting.as_slice(), |part| {
                    function.process(part, now, &mut inner_stages.start(now));
                });
                for &slot in waiting.as_slice() {
                    turns[usize::from(slot)] = self.hand_over(batch, slot, place);
                }
                stages.lap(place, waiting.len());
            }
            if batch.slots().all(|slot| turns[usize::from(slot)] == DONE) {
                return;
            }
        }
        for slot in batch.slots().filter(|slot| turns[usize::from(*slot)] != DONE) {
            batch.set_verdict(slot, Verdict::Drop(Reason(TOO_MANY_TURNS)));
        }
    }

    /// Whose turn a packet is that came in by a further port, which becomes the function's own.
    fn enter(&self, batch: &mut Batch, slot: Slot, port: PortId) -> u8 {
        let number = usize::from(port.0.wrapping_sub(SIDES));
        let Some(&Further { place, port }) = self.further.get(number) else { return DONE };
        batch.set_port(slot, port);
        place
    }

    /// Whose turn a packet is after the function at `place` has decided over it.
    #[inline]
    fn hand_over(&self, batch: &mut Batch, slot: Slot, place: usize) -> u8 {
        let (next, enters) = match batch.verdict(slot) {
            Verdict::Forward(UP) if place + 1 < self.hops.len() => (place + 1, DOWN),
            Verdict::Forward(DOWN) if place > 0 => (place - 1, UP),
            Verdict::Drop(Reason(reason)) => {
                // The first one says of all functions that they did not decide.
                let of_chain = if reason == 0 { 0 } else { self.hops[place].reasons + reason - 1 };
                batch.set_verdict(slot, Verdict::Drop(Reason(of_chain)));
                return DONE;
            }
            Verdict::Forward(port) if port.0 >= SIDES => {
                let of_chain = PortId(self.hops[place].further + (port.0 - SIDES));
                batch.set_verdict(slot, Verdict::Forward(of_chain));
                return DONE;
            }
            Verdict::Punt(Reason(reason)) => {
                batch.set_verdict(slot, Verdict::Punt(Reason(self.hops[place].punts + reason)));
                return DONE;
            }
            Verdict::Forward(_) => return DONE,
        };
        batch.set_port(slot, enters);
        batch.set_verdict(slot, Verdict::UNHANDLED);
        next as u8
    }

    fn take_tallies(&mut self) {
        let all = self.hops.iter().flat_map(|hop| hop.function.tallies());
        self.tallies.iter_mut().zip(all).for_each(|(own, count)| *own = *count);
    }
}

/// Takes the frames that a function has made, and leaves it an empty batch; whether it had any.
fn swap_made(hop: &mut Hop, batch: &mut Batch, now: Ticks) -> bool {
    let Some(made) = hop.function.made(now).filter(|made| !made.is_empty()) else { return false };
    batch.clear();
    std::mem::swap(made, batch);
    true
}

/// The two sides of a function.
const DOWN: PortId = PortId(0);
const UP: PortId = PortId(1);

/// The packet has left the chain.
const DONE: u8 = u8::MAX;

/// Turns through the chain before what is still between functions is dropped: enough for a packet
/// that comes back from the far end twice.
pub(super) const TURNS_MAX: usize = 6;
