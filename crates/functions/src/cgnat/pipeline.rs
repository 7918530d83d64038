//! A packet's way through a carrier-grade NAT, from top to bottom.
//!
//! ```text
//!  check --> find --------> translate --> out
//!              | no session     ^
//!              +--> open -------+                     sweep ends what is over
//! ```
//! `check` computes by what the session of each packet is looked up and asks for that line of an index;
//! `find` looks there and asks for the record; `translate` compares the record with the packet and rewrites.
//! So a batch waits for memory twice. Packets of no session go to `open` together, which does the same for
//! what it needs. Only they, ICMP errors and packets between subscribers are looked at one by one.

use std::io;
use std::net::TcpListener;

use engine::{Drops, Function, Refusal, StageClock};
use machine::clock::{Clock, Ticks};
use packet::{Batch, Made, PortId, Reason, Room, Slot, Verdict};
use wire::{ethernet, ipv6};

use super::config::{Config, Pcp};
use super::control::{self, Update};
use super::interfaces::{INSIDE, Interfaces, OUTSIDE};
use super::log::Journal as Log;
use super::parse::{Class, Plain};
use super::reasons::{self, TALLIES, Tally};
use super::replication::{Replication, Status};
use super::rewrite;
use super::session::{ARRIVES_OTHERWISE, LEAVES_OTHERWISE};
use super::sessions::{Elsewhere, Number};
use super::state::State;
use super::sweep::Sweep;
use super::times::Moment;
use super::way::Way;
use crate::stages;
use crate::unit::{SetupError, Shard};

mod bypass;
mod calls;
mod ds_lite;
mod errors;
mod fragments;
mod gateway;
mod hand_over;
mod host;
mod lengths;
mod links;
mod nat64;
mod open;
mod otherwise;
mod pcp;
mod stateless;
mod vrfs;

use fragments::Followed;
use host::Host;
use links::Long;

/// A running NAT on one worker.
pub struct Pipeline {
    state: State,
    interfaces: Interfaces,
    way: Box<Way>,
    sweep: Sweep,
    tcp_pick_up: bool,
    mss_clamp: u16,
    hairpinning: bool,
    host: Host,
    /// What holds for mappings that subscribers ask for; none where they cannot.
    pcp: Option<Pcp>,
    /// Counts packets that become IPv4, because they bear no identification.
    identification: u16,
    /// Counts packets that are cut on their way through a softwire.
    outer_identification: u32,
    /// None where fragments are dropped.
    followed: Option<Followed>,
    /// Where gateways write payloads.
    scratch: Box<[u8]>,
    /// What leaves beside the frames that came: fragments that had waited, pieces, messages of the log; none where there
    /// are none of them.
    made: Option<Made>,
    /// A packet that is cut.
    uncut: Vec<u8>,
    /// Whether links take no longer packets than frames can bear.
    limits_lengths: bool,
    long: Box<Long>,
    replication: Option<Box<Replication>>,
}

/// The stages in the packet's order, as [`Function::STAGES`] names them.
#[derive(Clone, Copy)]
enum Stage {
    Check,
    Find,
    Translate,
    Open,
    Sweep,
}

impl Function for Pipeline {
    type Update = Update;
    const STAGES: &'static [&'static str] = &["check", "find", "translate", "open", "sweep"];
    const DROPS: Drops = Drops(reasons::NAMES);
    const TALLIES: &'static [&'static str] = TALLIES;

    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>) {
        let moment = self.state.times.moment(now);
        self.state.tell_at(now);
        if let Some(mtu) = self.interfaces.shortest_mtu() {
            self.long.keep(batch, mtu);
        }
        self.check(batch, (now, moment));
        stages.lap(Stage::Check as usize, batch.len());
        self.find();
        stages.lap(Stage::Find as usize, batch.len());
        self.translate(batch, moment);
        stages.lap(Stage::Translate as usize, batch.len());
        self.open(batch, moment);
        if !self.way.calls.is_empty() {
            self.calls(batch, moment);
        }
        if !self.way.fragments.is_empty() {
            self.fragments(batch, (now, moment));
        }
        if self.limits_lengths {
            self.fit(batch, now);
        }
        if !self.way.untold.is_empty() {
            self.tell(batch, now);
        }
        if self.interfaces.has_realms() {
            self.tag(batch);
        }
        stages.lap(Stage::Open as usize, batch.len());
        self.sweep.round(&mut self.state, now);
        stages.lap(Stage::Sweep as usize, batch.len());
    }

    fn apply(&mut self, update: Update, now: Ticks) -> Result<(), Refusal> {
        self.state.tell_at(now);
        control::apply(&mut self.state, &mut self.interfaces, &update, now)?;
        if let Some(journal) = &mut self.state.journal {
            journal.note_settings();
        }
        Ok(())
    }

    fn tallies(&self) -> &[u64] {
        &self.state.tallies
    }

    fn state_bytes(&self) -> usize {
        let replication = self.replication.as_ref().map_or(0, |one| one.bytes());
        self.state.bytes() + self.followed.as_ref().map_or(0, Followed::bytes) + replication
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        let cuts = self.interfaces.rules().is_some() || self.interfaces.ds_lite.is_some();
        let cuts = cuts || self.limits_lengths;
        if self.followed.is_some() || cuts || self.state.log.is_some() {
            self.made = Some(Made::new(room)?);
        }
        Ok(())
    }

    /// Fragments that had waited, pieces, and messages of the log; a round in which no frame came still sweeps, and each
    /// replicates.
    fn made(&mut self, now: Ticks) -> Option<&mut Batch> {
        self.state.tell_at(now);
        self.sweep.round(&mut self.state, now);
        if let Some(replication) = &mut self.replication {
            replication.round(&mut self.state, &mut self.interfaces, now);
        }
        if self.followed.is_some() {
            self.forget_fragments(now);
        }
        let made = self.made.as_mut()?;
        self.state.tallies[Tally::MadeFull as usize] = made.refused();
        self.state.tell(now, made);
        made.lend()
    }
}

impl Pipeline {
    /// The NAT of a configuration without a session.
    ///
    /// # Errors
    /// When its state does not fit into memory.
    pub fn new(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        let mut pipeline = Pipeline::alone(config, shard, clock, now)?;
        pipeline.replication = Replication::new(config, shard, &mut pipeline.state, (clock, now))?;
        Ok(pipeline)
    }

    /// The same as a standby that listens here, whatever the configuration says of replication.
    ///
    /// # Errors
    /// When its state does not fit into memory.
    pub(super) fn standby(
        config: &Config,
        shard: Shard,
        listener: TcpListener,
        (clock, now): (Clock, Ticks),
    ) -> Result<Pipeline, SetupError> {
        let mut pipeline = Pipeline::alone(config, shard, clock, now)?;
        let replication = Replication::standby((config, shard, listener), &pipeline.state, clock)?;
        pipeline.replication = Some(Box::new(replication));
        Ok(pipeline)
    }

    fn alone(
        config: &Config,
        shard: Shard,
        clock: Clock,
        now: Ticks,
    ) -> Result<Pipeline, SetupError> {
        let log = Log::new(config, shard, clock, now);
        let mut state = State::new(config, shard, clock)?;
        state.log = log;
        if let Some(granted) = &mut state.granted {
            granted.begun = state.times.moment(now);
        }
        let follows = config.fragments.datagrams > 0;
        let followed = follows.then(|| {
            let [secret, _] = state.allocation.secret();
            Followed::new(config, shard, &clock, secret)
        });
        // Where nothing is cut, nothing is drawn: ports follow from what was.
        let begin = config.ds_lite.as_ref().map(|_| state.allocation.secret()[0] as u32);
        let outer_identification = begin.unwrap_or_default();
        let interfaces = Interfaces::new(config)?;
        Ok(Pipeline {
            limits_lengths: interfaces.shortest_mtu().is_some(),
            long: Long::new(),
            interfaces,
            way: Box::new(Way::new()),
            sweep: Sweep::new(&state, &clock, now),
            tcp_pick_up: config.tcp_pick_up,
            mss_clamp: config.mss_clamp,
            hairpinning: config.hairpinning,
            host: Host::new(config, &clock),
            pcp: config.pcp,
            identification: 0,
            outer_identification,
            followed,
            scratch: gateway::scratch(&state),
            made: None,
            uncut: Vec::with_capacity(UNCUT_LEN),
            replication: None,
            state,
        })
    }

    /// How replication stands.
    pub fn replication(&self) -> Status {
        let replication = self.replication.as_ref();
        replication.map(|one| one.status(&self.state)).unwrap_or_default()
    }

    /// Whether it has its standby beside it.
    pub fn has_rehearsal(&self) -> bool {
        self.replication.as_ref().is_some_and(|one| one.has_rehearsal())
    }

    /// Ends its replication as it is, and gives the standby beside it.
    pub fn fail_over(&mut self) -> Option<Pipeline> {
        self.replication.as_mut()?.take_over()
    }

    /// What it knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Datagrams of which fragments are followed, and fragments that wait, by the port where they came in.
    pub fn fragment_sizes(&self, port: PortId) -> (usize, usize) {
        self.followed.as_ref().map_or((0, 0), |followed| followed.sizes(port))
    }

    /// What is each frame, and by what is its session looked up?
    fn check(&mut self, batch: &mut Batch, (now, moment): (Ticks, Moment)) {
        self.way.clear();
        if self.interfaces.has_realms() {
            self.way.realm.fill(0);
        }
        let plain = Plain::new(&self.interfaces);
        for slot in batch.slots() {
            let class = match plain.recognise(batch.frame(slot), batch.port(slot)) {
                Some(class) => class,
                None => self.classify(batch, slot, (&plain, now)),
            };
            let (way, sessions) = (&mut *self.way, &self.state.sessions);
            let index = usize::from(slot);
            match class {
                Class::FromInside(key, shape) => {
                    let hash = key.hash(sessions.keyed());
                    sessions.prefetch_inside(hash);
                    (way.inside[index], way.shape[index], way.hash[index]) = (key, shape, hash);
                    way.from_inside.push(slot);
                }
                Class::FromOutside(key, shape) => {
                    let hash = key.hash(sessions.keyed());
                    sessions.prefetch_outside(hash);
                    (way.outside[index], way.shape[index], way.hash[index]) = (key, shape, hash);
                    way.from_outside.push(slot);
                }
                other => self.out_of_the_ordinary(batch, slot, other, moment),
            }
        }
    }

    /// Which record is it, most likely?
    fn find(&mut self) {
        let (way, sessions) = (&mut *self.way, &self.state.sessions);
        way.elsewhere.clear();
        for &slot in way.from_inside.as_slice() {
            let index = usize::from(slot);
            match sessions.candidate_inside(way.hash[index]) {
                Ok(number) => way.number[index] = number,
                Err(Elsewhere) => way.elsewhere.push(slot),
            }
        }
        let inside = way.elsewhere.len();
        for &slot in way.from_outside.as_slice() {
            let index = usize::from(slot);
            match sessions.candidate_outside(way.hash[index]) {
                Ok(number) => way.number[index] = number,
                Err(Elsewhere) => way.elsewhere.push(slot),
            }
        }
        for (place, &slot) in way.elsewhere.as_slice().iter().enumerate() {
            let index = usize::from(slot);
            way.number[index] = match place < inside {
                true => sessions.elsewhere_inside(way.hash[index]),
                false => sessions.elsewhere_outside(way.hash[index]),
            };
        }
    }

    /// Packets of sessions get their addresses and ports; the others have to wait.
    fn translate(&mut self, batch: &mut Batch, now: Moment) {
        for place in 0..self.way.from_inside.len() {
            let slot = self.way.from_inside.as_slice()[place];
            let number = self.way.number[usize::from(slot)];
            if !self.leave(batch, slot, number, now) {
                self.way.new_inside.push(slot);
            }
        }
        for place in 0..self.way.from_outside.len() {
            let slot = self.way.from_outside.as_slice()[place];
            let number = self.way.number[usize::from(slot)];
            if !self.arrive(batch, slot, number, now) {
                self.way.new_outside.push(slot);
            }
        }
    }

    /// Sends a packet of a subscriber out, if `number` is its session.
    #[inline(always)]
    fn leave(&mut self, batch: &mut Batch, slot: Slot, number: Number, now: Moment) -> bool {
        let index = usize::from(slot);
        let (key, shape) = (&self.way.inside[index], self.way.shape[index]);
        let times = &self.state.times;
        let Some(session) = self.state.sessions.inside_at(number, key, (now, times)) else {
            return false;
        };
        session.used = now;
        if shape.says() | session.tcp.is_reset() | (session.flags & LEAVES_OTHERWISE != 0) {
            self.leave_otherwise(batch, slot, number, now);
            return true;
        }
        batch.truncate(slot, usize::from(shape.len));
        rewrite::to_outside(batch.frame_mut(slot), session, shape);
        self.send(batch, slot, OUTSIDE);
        true
    }

    /// Sends a packet from outside to its subscriber, if `number` is its session.
    #[inline(always)]
    fn arrive(&mut self, batch: &mut Batch, slot: Slot, number: Number, now: Moment) -> bool {
        let index = usize::from(slot);
        let (key, shape) = (&self.way.outside[index], self.way.shape[index]);
        let times = &self.state.times;
        let Some(session) = self.state.sessions.outside_at(number, key, (now, times)) else {
            return false;
        };
        if shape.says() | (session.flags & ARRIVES_OTHERWISE != 0) {
            self.arrive_otherwise(batch, slot, number, now);
            return true;
        }
        batch.truncate(slot, usize::from(shape.len));
        rewrite::to_inside(batch.frame_mut(slot), session, shape);
        self.send(batch, slot, INSIDE);
        true
    }

    /// Gives a frame its Ethernet addresses and its verdict.
    #[inline(always)]
    fn send(&self, batch: &mut Batch, slot: Slot, port: PortId) {
        if let Some(header) = batch.frame_mut(slot).first_chunk_mut::<12>() {
            *header = self.interfaces.header(port);
        }
        batch.set_verdict(slot, Verdict::Forward(port));
    }

    #[inline(never)]
    fn out_of_the_ordinary(&mut self, batch: &mut Batch, slot: Slot, class: Class, now: Moment) {
        match class {
            Class::Error(about) => self.error(batch, slot, about, now),
            Class::Call(key, shape) => {
                let index = usize::from(slot);
                (self.way.inside[index], self.way.shape[index]) = (key, shape);
                self.way.calls.push(slot);
            }
            Class::Arp => {
                self.state.tallies[Tally::ArpAnswered as usize] += 1;
                let port = batch.port(slot);
                batch.truncate(slot, stages::arp::REPLY_LEN);
                stages::arp::answer(batch.frame_mut(slot), self.interfaces.mac(port));
                batch.set_verdict(slot, Verdict::Forward(port));
            }
            Class::Fragment if self.followed.is_some() => self.way.fragments.push(slot),
            Class::Fragment => self.refuse(batch, slot, reasons::FRAGMENT),
            Class::Local => self.receive(batch, slot, now),
            Class::Solicitation(source) => self.answer_solicitation(batch, slot, source),
            Class::Stateless(becomes, is_error) => {
                self.translate_statelessly(batch, slot, becomes, is_error);
            }
            Class::Bypassed => self.forward_untranslated(batch, slot),
            Class::Drop(reason) => self.refuse_and_tell(batch, slot, reason),
            Class::FromInside(..) | Class::FromOutside(..) => {}
        }
    }

    /// A packet that cannot have a session.
    #[inline(never)]
    fn refuse(&mut self, batch: &mut Batch, slot: Slot, reason: Reason) {
        if host::is_want(reason) {
            self.state.tallies[Tally::Refused as usize] += 1;
        }
        batch.set_verdict(slot, reasons::drop(reason));
    }
}

/// The time to live or the hop limit of a packet.
fn hops_left(frame: &[u8]) -> u8 {
    match frame[ethernet::HEADER_LEN] >> 4 {
        ipv6::VERSION => frame[ethernet::HEADER_LEN + ipv6::offset::HOP_LIMIT],
        _ => frame[TTL],
    }
}

/// Room for a packet that is cut; a longer one gets more.
const UNCUT_LEN: usize = 2048;

/// Where the time to live stands in a frame.
const TTL: usize = ethernet::HEADER_LEN + wire::ipv4::offset::TTL;
