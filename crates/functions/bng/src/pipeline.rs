//! A packet's way through a broadband network gateway, from top to bottom.
//!
//! Each stage is a function over the packets that are still on their way; a stage that looks
//! something up first touches what the whole batch needs, then uses it, so that a batch waits for
//! memory about once. Packets that leave the way have their verdict at that moment.
use std::io;

use engine::{Context, Drops, Event, Function, Refusal, StageClock};
use function_kit::{SetupError, Shard};
use machine::clock::{Clock, Ticks};
use packet::{Batch, Made, PortId, Room, Slot};
use stages::icmp_host::Trouble;
use tables::lpm::NONE;
use tables::policer::Colour;

use super::config::Config;
use super::control::Update;
use super::gateway::{ACCESS, CORE};
use super::limits::Host;
use super::line::Framing;
use super::mirror::Mirror;
use super::mtus::Lengths;
use super::neighbours::Neighbours;
use super::reasons::{self, TALLIES, Tallies, Tally};
use super::state::State;
use super::way::{Toward, Way};

/// A running gateway on one worker.
pub struct Pipeline {
    pub(super) state: State,
    pub(super) way: Way,
    pub(super) framing: Framing,
    pub(super) neighbours: Neighbours,
    pub(super) mirror: Mirror,
    pub(super) host: Host,
    pub(super) lengths: Lengths,
    pub(super) mss_clamp: u16,
    pub(super) first_packets: bool,
    /// Frames that are made; none before the worker told its room.
    pub(super) made: Option<Made>,
    /// A frame that is being cut, or is the subject of an error; and a piece of it.
    pub(super) uncut: Vec<u8>,
    pub(super) piece: Vec<u8>,
    pub(super) tallies: Tallies,
}

/// The stages in the packet's order, as [`Function::STAGES`] names them.
#[derive(Clone, Copy)]
enum Stage {
    Check,
    FindSession,
    Filter,
    Police,
    Route,
    Rewrite,
    Queue,
}

impl Function for Pipeline {
    type Update = Update;
    const STAGES: &'static [&'static str] =
        &["check", "find-session", "filter", "police", "route", "rewrite", "queue"];
    const DROPS: Drops = Drops(reasons::NAMES);
    const TALLIES: &'static [&'static str] = TALLIES;
    const PUNTS: &'static [&'static str] = reasons::PUNTS;

    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>) {
        self.check(batch, now);
        stages.lap(Stage::Check as usize, batch.len());
        self.find_up(batch);
        self.find_down();
        if self.mirror.is_at_work() {
            self.copy_mirrored(batch);
        }
        self.end_here(batch, now);
        stages.lap(Stage::FindSession as usize, batch.len());
        let Way { up, down, packets, list, .. } = &mut self.way;
        let list_of = |slot: Slot| list[usize::from(slot)];
        self.state.lists.filter(batch, up, packets, Toward::Internet, list_of);
        self.state.lists.filter(batch, down, packets, Toward::Subscriber, list_of);
        stages.lap(Stage::Filter as usize, batch.len());
        self.police(batch, now);
        stages.lap(Stage::Police as usize, self.way.up.len());
        self.route(batch, now);
        stages.lap(Stage::Route as usize, self.way.up.len());
        self.leave_up(batch, now);
        stages.lap(Stage::Rewrite as usize, self.way.up.len());
        self.leave_down(batch, now);
        stages.lap(Stage::Queue as usize, self.way.down.len());
    }

    fn context(&self, batch: &Batch, slot: Slot) -> Context {
        let line = self.way.packets[usize::from(slot)].line;
        let session = u64::from(self.way.session[usize::from(slot)]);
        Context { interface: batch.port(slot).0.into(), vlan: 0, session, source: line.into() }
    }

    fn apply(&mut self, update: Update, now: Ticks) -> Result<(), Refusal> {
        let gone = match &update {
            Update::SetMirror { number, erspan_session } => {
                return self.set_mirror(*number, Some(*erspan_session));
            }
            Update::ClearMirror { number } => return self.set_mirror(*number, None),
            Update::RemoveNextHop { address, vrf } => {
                let vrf = self.state.hops.vrf(*vrf);
                vrf.and_then(|vrf| self.state.hops.entry_of(vrf, *address))
            }
            _ => None,
        };
        self.state.apply(&update, now)?;
        if let Update::RemoveSession { number } = update {
            self.mirror.clear(number);
        }
        if let (Some(entry), Some(made)) = (gone, &mut self.made) {
            self.neighbours.forget(made, entry);
        }
        Ok(())
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        self.made = Some(Made::new(room)?);
        Ok(())
    }

    fn tick(&mut self, now: Ticks) {
        if let Some(made) = &mut self.made {
            self.neighbours.tick((&mut self.state.hops, made), now);
        }
        self.release(now);
    }

    fn event(&mut self) -> Option<Event> {
        self.state.usage.event()
    }

    fn made(&mut self, _: Ticks) -> Option<&mut Batch> {
        let made = self.made.as_mut()?;
        self.tallies[Tally::MadeFull as usize] = made.refused();
        made.lend()
    }

    fn tallies(&self) -> &[u64] {
        &self.tallies
    }

    fn state_bytes(&self) -> usize {
        self.state.bytes()
    }
}

impl Pipeline {
    /// The gateway that the configuration describes at `now`; there is one worker.
    ///
    /// # Errors
    /// When its state does not fit.
    pub fn new(
        config: &Config,
        _: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        let state = State::new(config, clock, now)?;
        Ok(Pipeline {
            framing: Framing::new(config, &state.gateway),
            neighbours: Neighbours::new(config, &state.gateway, clock),
            mirror: Mirror::new(config.mirror),
            state,
            way: Way::new(),
            host: Host::new(config, &clock),
            lengths: Lengths::new(config),
            mss_clamp: config.mss_clamp,
            first_packets: config.first_packets,
            made: None,
            uncut: Vec::new(),
            piece: Vec::new(),
            tallies: [0; TALLIES.len()],
        })
    }

    /// Says what the links of a port take.
    pub(super) fn set_mtu(&mut self, port: PortId, mtu: u16) {
        self.lengths.set_mtu(port, mtu);
    }

    /// Which way does each packet go, and is it in order?
    fn check(&mut self, batch: &mut Batch, now: Ticks) {
        self.way.clear();
        for slot in batch.slots() {
            batch.look_ahead(slot);
            match batch.port(slot) {
                ACCESS => self.check_up(batch, slot),
                CORE => {
                    batch.look_in_front(slot);
                    self.check_down(batch, slot, now);
                }
                PortId::HOST => self.inject(batch, slot),
                _ => batch.set_verdict(slot, reasons::drop(reasons::OTHER_STATION)),
            }
        }
        self.way.order();
    }

    /// Policers of class, session and access node, one after the other.
    fn police(&mut self, batch: &mut Batch, now: Ticks) {
        let Pipeline { state, way, .. } = self;
        let State { sessions, profiles, services, class_of, .. } = state;
        let Way { up, packets, session, place, mark, .. } = way;
        for &slot in up.as_slice() {
            let index = usize::from(slot);
            let Some(record) = sessions.get(session[index]) else { continue };
            let class = class_of[usize::from(packets[index].dscp & 63)];
            let means = profiles.means(record.profile);
            let number = services.policer(session[index], record.node, means, class);
            services.policers.prefetch(number);
            place[index] = number;
        }
        up.retain(|slot| {
            let index = usize::from(slot);
            let Some(record) = sessions.get(session[index]) else { return false };
            let packet = &packets[index];
            let len = u32::from(packet.len);
            let colour = services.policers.mark(place[index], now, len, Colour::Green);
            if colour == Colour::Red {
                batch.set_verdict(slot, reasons::drop(reasons::RATE_EXCEEDED));
                return false;
            }
            let class = class_of[usize::from(packet.dscp & 63)];
            let marks = profiles.means(record.profile).marks[usize::from(class & 7)];
            mark[index] = marks[usize::from(colour == Colour::Yellow)];
            true
        });
    }

    /// Longest-prefix match of the destination in the VRF of the session.
    fn route(&mut self, batch: &mut Batch, now: Ticks) {
        let Pipeline { state, way, lengths, .. } = self;
        let Way { up, packets, place, long, lost, .. } = way;
        state.hops.look_up(up.as_slice(), packets, place);
        let most = lengths.core();
        up.retain(|slot| {
            let index = usize::from(slot);
            let (is_lost, is_long) = (place[index] == NONE, packets[index].len > most);
            lost.push_if(is_lost, slot);
            long.push_if(!is_lost & is_long, slot);
            !(is_lost | is_long)
        });
        for index in 0..self.way.lost.len() {
            let slot = self.way.lost.as_slice()[index];
            self.refuse_up(batch, slot, (Trouble::NoRoute, reasons::NO_ROUTE), now);
        }
        if !self.way.long.is_empty() {
            self.fit_up(batch, now);
        }
        self.way.lost.clear();
    }
}
