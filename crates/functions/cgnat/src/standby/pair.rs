//! One of two NATs of which either may tell the other: which one does follows what control says,
//! and sessions open only at the one that tells.
//!
//! What a NAT knows when it begins to tell it tells anew, under its own numbers. Until the other
//! one has all of that it keeps what it had, so that it can take over at any time; then it drops
//! what it was not told of.

use engine::{Event, EventKind};
use machine::clock::Ticks;
use protocol_replication::{Part, Roles, Standing, Status};

use crate::interfaces::Interfaces;
use crate::reasons::Tally;
use crate::sessions::journal::Journal;
use crate::sessions::table::Number;
use crate::standby::applier::Applier;
use crate::standby::teller::Teller;
use crate::state::State;

/// The worker's part of one of two.
pub struct Pair {
    roles: Roles,
    teller: Teller,
    applier: Applier,
    /// Where changes are noted; the state has it while it tells.
    journal: Option<Box<Journal>>,
    /// The next session that is taken for used, after it took over.
    young: Option<Number>,
    /// What control was told last of [`Pair::note_readiness`]; nothing at first.
    is_ready: Option<bool>,
    event: Option<Event>,
}

impl Pair {
    /// One that is told at first, and opens no session.
    pub fn new(
        state: &mut State,
        roles: Roles,
        (teller, applier): (Teller, Applier),
        journal: Journal,
    ) -> Pair {
        (state.is_active, state.opens) = (false, false);
        let journal = Some(Box::new(journal));
        Pair { roles, teller, applier, journal, young: None, is_ready: None, event: None }
    }

    /// Tells or applies changes, as much as a round may, and takes the part that control wants.
    pub fn round(&mut self, state: &mut State, interfaces: &mut Interfaces, now: Ticks) {
        let before = self.roles.part();
        let is_told = self.applier.link().is_connected();
        match before {
            Part::Told | Part::Waiting => self.applier.round(state, interfaces, now),
            Part::Telling | Part::Leaving => self.teller.round(state, now),
        }
        let standing = Standing {
            is_told,
            has_applied: self.applier.has_applied(),
            has_told: self.teller.has_told(state),
        };
        if self.roles.turn(state.is_active, now, standing) {
            self.turned(state, before, now);
        }
        if self.young.is_some() {
            let from = self.young.take().unwrap_or(0);
            self.young = state.take_for_used(from, now);
        }
        self.note_readiness(now);
        state.tallies[Tally::ReplicationTells as usize] =
            u64::from(self.roles.part() == Part::Telling);
        state.tallies[Tally::ReplicationDropped as usize] = self.applier.dropped();
    }

    /// Returns what control is to know, and does not yet.
    pub fn event(&mut self) -> Option<Event> {
        self.event.take()
    }

    /// What it does, in a word.
    pub fn role(&self) -> &'static str {
        match self.roles.part() {
            Part::Told => "standby",
            Part::Waiting => "taking-over",
            Part::Telling => "active",
            Part::Leaving => "handing-over",
        }
    }

    /// Whether it tells the other one.
    pub fn tells(&self) -> bool {
        matches!(self.roles.part(), Part::Telling | Part::Leaving)
    }

    /// How it stands.
    pub fn status(&self, state: &State) -> Status {
        match self.roles.part() {
            Part::Told | Part::Waiting => self.applier.status(),
            Part::Telling | Part::Leaving => self.teller.status(state),
        }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        let journal = self.journal.as_ref().map_or(0, |journal| journal.bytes());
        self.teller.bytes() + self.applier.bytes() + journal
    }

    fn turned(&mut self, state: &mut State, before: Part, now: Ticks) {
        let part = self.roles.part();
        state.opens = part == Part::Telling;
        match (before, part) {
            (Part::Waiting, Part::Telling) => {
                self.applier.stop();
                state.journal = self.journal.take();
                self.teller.begin(now);
                self.young = Some(0);
            }
            (Part::Leaving, Part::Told) => {
                self.journal = state.journal.take();
                self.young = None;
            }
            _ => {}
        }
    }

    /// Whether it knows all sessions, so that it may become active without harm; one that leaves
    /// does not know what the other one has opened since.
    fn note_readiness(&mut self, now: Ticks) {
        let is_ready = match self.roles.part() {
            Part::Told | Part::Waiting => self.applier.is_whole(),
            Part::Telling => true,
            Part::Leaving => false,
        };
        if self.is_ready.replace(is_ready) != Some(is_ready) {
            let kind = if is_ready { EventKind::Synchronised } else { EventKind::Unsynchronised };
            self.event = Some(Event { kind, subject: 0, at: now, detail: [0; 5] });
        }
    }
}
