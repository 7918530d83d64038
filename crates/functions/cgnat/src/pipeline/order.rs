//! A packet's way through a carrier-grade NAT, from top to bottom.
//!
//! ```text
//!  check --> find --------> translate --> out
//!              | no session     ^
//!              +--> open -------+                     sweep ends what is over
//! ```
//! `check` computes by what the session of each packet is looked up and asks for that line of an
//! index; `find` looks there and asks for the record; `translate` compares the record with the
//! packet and rewrites. So a batch waits for memory twice. Packets of no session go to `open`
//! together, which does the same for what it needs. Only they, ICMP errors and packets between
//! subscribers are looked at one by one.

use std::io;

use engine::plane::Context;
use engine::{Drops, Event, Function, Refusal, StageClock};
use machine::clock::Ticks;
use packet::{Batch, Made, PortId, Reason, Room, Slot, Verdict};
use stages::punt;
use wire::{ethernet, pcp};

use crate::control::{self, Update};
use crate::parse::Plain;
use crate::reasons::{self, TALLIES, Tally};
use crate::sessions::rewrite;
use crate::sessions::table::{Elsewhere, Number};
use crate::sessions::times::Moment;
use crate::standby::Rehearses;
use crate::types::class::Class;
use crate::types::sides::{INSIDE, OUTSIDE};

use super::Pipeline;
use crate::ds_lite::stage::is_ipv6;
use crate::fragments::followed::Followed;
use crate::icmp::answers::is_want;

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
    const PUNTS: &'static [&'static str] = punt::NAMES;

    fn process(&mut self, batch: &mut Batch, now: Ticks, stages: &mut StageClock<'_>) {
        let moment = self.state.times.moment(now);
        self.state.tell_at(now);
        let came = self.inject(batch);
        if let Some(further) = &self.interfaces.further {
            further.come_in(batch, came, &mut self.scratch.came);
        }
        if let Some(mtu) = self.interfaces.shortest_mtu() {
            self.long.keep(batch, mtu);
        }
        self.check(batch, came, (now, moment));
        stages.lap(Stage::Check as usize, batch.len());
        self.find();
        stages.lap(Stage::Find as usize, batch.len());
        self.translate(batch, moment);
        stages.lap(Stage::Translate as usize, batch.len());
        self.open(batch, moment);
        if !self.scratch.calls.is_empty() {
            self.calls(batch, moment);
        }
        if !self.scratch.fragments.is_empty() {
            self.fragments(batch, (now, moment));
        }
        if self.limits_lengths {
            self.fit(batch, now);
        }
        if !self.scratch.pending_errors.is_empty() {
            self.tell(batch, now);
        }
        if self.interfaces.has_realms() {
            self.tag(batch);
        }
        if self.neighbours.is_some() {
            self.depart(batch, now);
        }
        if let Some(further) = &self.interfaces.further {
            further.go_out(batch, &self.scratch.came);
        }
        stages.lap(Stage::Open as usize, batch.len());
        self.sweep.round(&mut self.state, now);
        stages.lap(Stage::Sweep as usize, batch.len());
    }

    fn apply(&mut self, update: Update, now: Ticks) -> Result<(), Refusal> {
        self.state.tell_at(now);
        control::apply(&mut self.state, &mut self.interfaces, &update, now)?;
        if let Some(journal) = &mut self.state.journal {
            journal.settings_changed = true;
        }
        Ok(())
    }

    fn context(&self, batch: &Batch, slot: Slot) -> Context {
        self.context_of(batch, slot)
    }

    fn tallies(&self) -> &[u64] {
        &self.state.tallies
    }

    fn state_bytes(&self) -> usize {
        let replication = self.replication.as_ref().map_or(0, |one| one.bytes());
        self.state.bytes() + self.followed.as_ref().map_or(0, Followed::bytes) + replication
    }

    fn reads_datagrams(&self) -> &'static [u16] {
        &[pcp::SERVER_PORT]
    }

    fn make_room(&mut self, room: Room) -> io::Result<()> {
        let cuts = self.adds_headers() || self.limits_lengths;
        let is_made = cuts || self.state.log.is_some() || self.neighbours.is_some();
        if self.followed.is_some() || is_made {
            self.made = Some(Made::new(room)?);
        }
        Ok(())
    }

    /// Fragments and packets that had waited, pieces, and messages of the log; a round in which no
    /// frame came still sweeps, and each replicates.
    fn tick(&mut self, now: Ticks) {
        self.state.tell_at(now);
        self.sweep.round(&mut self.state, now);
        if self.state.hastened.is_some() {
            self.state.hasten_some(now);
        }
        if self.state.allocation.is_unpublished {
            self.state.allocation.publish();
        }
        if self.state.turning.is_some() {
            self.state.turn_some(now);
        }
        if self.state.ending.is_some() {
            self.end_round(now);
        } else if let Some(replication) = &mut self.replication {
            replication.round(&mut self.state, &mut self.interfaces, now);
        }
        if let Some(beside) = &self.beside {
            beside.pass(now);
        }
        if self.followed.is_some() {
            self.forget_fragments(now);
        }
        if self.neighbours.is_some() {
            self.meet_neighbours(now);
        }
        self.conflicts.forget(now);
    }

    fn event(&mut self) -> Option<Event> {
        self.replication.as_mut()?.event()
    }

    fn made(&mut self, now: Ticks) -> Option<&mut Batch> {
        let made = self.made.as_mut()?;
        self.state.tallies[Tally::MadeFull as usize] = made.refused();
        self.state.tell(now, made);
        if let Some(further) = &self.interfaces.further {
            further.go_out_made(made.batch_mut());
        }
        made.lend()
    }
}

impl Pipeline {
    /// Whether some packets leave with a longer header.
    fn adds_headers(&self) -> bool {
        self.interfaces.rules().is_some() || self.interfaces.ds_lite.is_some()
    }

    /// What is each frame, and by what is its session looked up?
    fn check(&mut self, batch: &mut Batch, came: usize, (now, moment): (Ticks, Moment)) {
        self.scratch.clear();
        if self.interfaces.has_realms() {
            self.scratch.realm.fill(0);
        }
        let plain = Plain::new(&self.interfaces);
        let adds_headers = self.adds_headers();
        for slot in batch.slots().take(came) {
            batch.look_ahead(slot);
            if adds_headers {
                batch.look_in_front(slot);
            }
            let class = match plain.recognise(batch.frame(slot), batch.port(slot)) {
                Some(class) => class,
                None => self.classify(batch, slot, (&plain, now)),
            };
            let (scratch, sessions) = (&mut *self.scratch, &self.state.sessions);
            let index = usize::from(slot);
            match class {
                Class::FromInside(key, shape) => {
                    let hash = key.hash(sessions.keyed());
                    sessions.prefetch_inside(hash);
                    (scratch.inside[index], scratch.shape[index], scratch.hash[index]) =
                        (key, shape, hash);
                    scratch.from_inside.push(slot);
                }
                Class::FromOutside(key, shape) => {
                    let hash = key.hash(sessions.keyed());
                    sessions.prefetch_outside(hash);
                    (scratch.outside[index], scratch.shape[index], scratch.hash[index]) =
                        (key, shape, hash);
                    scratch.from_outside.push(slot);
                }
                other => self.out_of_the_ordinary(batch, slot, other, moment),
            }
        }
    }

    /// Which record is it, most likely?
    fn find(&mut self) {
        let (scratch, sessions) = (&mut *self.scratch, &self.state.sessions);
        scratch.elsewhere.clear();
        for &slot in scratch.from_inside.as_slice() {
            let index = usize::from(slot);
            match sessions.candidate_inside(scratch.hash[index]) {
                Ok(number) => scratch.number[index] = number,
                Err(Elsewhere) => scratch.elsewhere.push(slot),
            }
        }
        let inside = scratch.elsewhere.len();
        for &slot in scratch.from_outside.as_slice() {
            let index = usize::from(slot);
            match sessions.candidate_outside(scratch.hash[index]) {
                Ok(number) => scratch.number[index] = number,
                Err(Elsewhere) => scratch.elsewhere.push(slot),
            }
        }
        for (place, &slot) in scratch.elsewhere.as_slice().iter().enumerate() {
            let index = usize::from(slot);
            scratch.number[index] = match place < inside {
                true => sessions.elsewhere_inside(scratch.hash[index]),
                false => sessions.elsewhere_outside(scratch.hash[index]),
            };
        }
    }

    /// Packets of sessions get their addresses and ports; the others have to wait. Apart from the
    /// other stages, the compiler keeps what its loops need in registers.
    #[inline(never)]
    fn translate(&mut self, batch: &mut Batch, now: Moment) {
        for place in 0..self.scratch.from_inside.len() {
            let slot = self.scratch.from_inside.as_slice()[place];
            let number = self.scratch.number[usize::from(slot)];
            if !self.leave(batch, slot, number, now) {
                self.scratch.new_inside.push(slot);
            }
        }
        for place in 0..self.scratch.from_outside.len() {
            let slot = self.scratch.from_outside.as_slice()[place];
            let number = self.scratch.number[usize::from(slot)];
            if !self.arrive(batch, slot, number, now) {
                self.scratch.new_outside.push(slot);
            }
        }
    }

    /// Sends a packet of a subscriber out, if `number` is its session.
    #[inline(always)]
    pub(crate) fn leave(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        number: Number,
        now: Moment,
    ) -> bool {
        let index = usize::from(slot);
        let (key, shape) = (&self.scratch.inside[index], self.scratch.shape[index]);
        let times = &self.state.times;
        let Some(session) = self.state.sessions.inside_at(number, key, (now, times)) else {
            return false;
        };
        session.used = now;
        if shape.says() | session.tcp.is_reset() | session.marks.leaves_slowly() {
            self.leave_slowly(batch, slot, number, now);
            return true;
        }
        batch.truncate(slot, usize::from(shape.len));
        rewrite::to_outside(batch.frame_mut(slot), session, shape);
        self.send(batch, slot, OUTSIDE);
        true
    }

    /// Sends a packet from outside to its subscriber, if `number` is its session.
    #[inline(always)]
    pub(crate) fn arrive(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        number: Number,
        now: Moment,
    ) -> bool {
        let index = usize::from(slot);
        let (key, shape) = (&self.scratch.outside[index], self.scratch.shape[index]);
        let times = &self.state.times;
        let Some(session) = self.state.sessions.outside_at(number, key, (now, times)) else {
            return false;
        };
        if shape.says() | session.marks.arrives_slowly() {
            self.arrive_slowly(batch, slot, number, now);
            return true;
        }
        batch.truncate(slot, usize::from(shape.len));
        rewrite::to_inside(batch.frame_mut(slot), session, shape);
        self.send(batch, slot, INSIDE);
        true
    }

    /// Gives a frame its Ethernet addresses and its verdict.
    #[inline(always)]
    pub(crate) fn send(&self, batch: &mut Batch, slot: Slot, port: PortId) {
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
                (self.scratch.inside[index], self.scratch.shape[index]) = (key, shape);
                self.scratch.calls.push(slot);
            }
            Class::Arp => {
                self.state.tallies[Tally::ArpAnswered as usize] += 1;
                let port = batch.port(slot);
                let packet = batch.frame(slot).get(ethernet::HEADER_LEN..).unwrap_or_default();
                let answer = self.interfaces.arp_answer(packet, port);
                let mac = answer.map_or(self.interfaces.mac(port), |(_, mac)| mac);
                batch.truncate(slot, stages::arp::REPLY_LEN);
                stages::arp::answer(batch.frame_mut(slot), mac);
                batch.set_verdict(slot, Verdict::Forward(port));
            }
            Class::Fragment if self.followed.is_some() => self.scratch.fragments.push(slot),
            Class::Fragment => self.refuse(batch, slot, reasons::FRAGMENT),
            Class::Local => self.receive(batch, slot, now),
            Class::Solicitation(source) => self.answer_solicitation(batch, slot, source),
            Class::Siit(becomes, is_error) => {
                self.translate_siit(batch, slot, becomes, is_error);
            }
            Class::Bypassed => self.forward_untranslated(batch, slot),
            Class::Hosted => self.show_host(batch, slot),
            Class::Drop(reasons::LOCAL)
                if self.interfaces.is_hosted(batch.port(slot)) && is_ipv6(batch.frame(slot)) =>
            {
                self.show_host(batch, slot);
            }
            Class::Drop(reason) => self.refuse_and_tell(batch, slot, reason),
            Class::FromInside(..) | Class::FromOutside(..) => {}
        }
    }

    /// A packet that cannot have a session.
    #[inline(never)]
    pub(crate) fn refuse(&mut self, batch: &mut Batch, slot: Slot, reason: Reason) {
        if is_want(reason) {
            let tallies = &mut self.state.tallies;
            tallies[Tally::Refused as usize] += 1;
            match reason {
                reasons::POOL_EXHAUSTED | reasons::PORTS_EXHAUSTED => {
                    tallies[Tally::RefusedPorts as usize] += 1;
                }
                reasons::SESSIONS_FULL | reasons::MAPPINGS_FULL => {
                    tallies[Tally::RefusedSessions as usize] += 1;
                }
                reasons::SUBSCRIBERS_FULL => tallies[Tally::RefusedSubscribers as usize] += 1,
                _ => {}
            }
        }
        batch.set_verdict(slot, reasons::drop(reason));
    }
}

impl Rehearses for Pipeline {
    fn round(&mut self, now: Ticks) -> bool {
        let before = self.replication().acknowledged;
        self.tick(now);
        self.replication().acknowledged != before
    }
}
