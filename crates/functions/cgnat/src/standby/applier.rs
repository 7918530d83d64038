//! What a standby was told, put into its tables by its worker, a bounded number of changes in each
//! round.
//!
//! The sequence number that is acknowledged is that of the last change behind which none is open.
//! One that cannot be applied yet, because what is in its way was not told to be gone, is tried
//! again for a while, and then refused and counted.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use machine::clock::{Clock, Ticks};
use machine::memory::HugeArray;
use protocol_replication::{Hearing, Link, Received, Status};
use rtrb::Consumer;

use crate::config::Prefixed;
use crate::control::{self, Update};
use crate::interfaces::Interfaces;
use crate::sessions::fields::Replica;
use crate::sessions::ports::Class;
use crate::sessions::table::Number;
use crate::sessions::times::Moment;
use crate::standby::change::{Change, Told};
use crate::standby::rules::Heard;
use crate::state::State;

/// The worker's part of a standby.
pub struct Applier {
    heard: Hearing<Change>,
    /// By the number at the active NAT the number here, plus one.
    theirs: HugeArray<u32>,
    /// Changes that could not be applied yet, each with the time at which it is given up.
    late: VecDeque<(Change, Ticks)>,
    /// How far `theirs` was emptied.
    forgetting: Option<usize>,
    refused: u64,
    /// Rules that are being told; none where none are, or they were too many.
    rules: Option<Heard>,
    patience: Ticks,
    /// Whether what it was not told of is dropped, once all was told.
    drops: bool,
    /// How far that was done.
    dropping: Option<Number>,
    dropped: u64,
    /// The connection on which all was told.
    whole: Option<u64>,
}

impl Applier {
    /// For the sessions of a worker, what was received coming out of `ring`.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new(
        state: &State,
        ring: Consumer<Received<Change>>,
        link: Arc<Link>,
        clock: &Clock,
    ) -> io::Result<Applier> {
        Ok(Applier {
            heard: Hearing::new(ring, link),
            theirs: HugeArray::zeroed(state.sessions.capacity())?,
            late: VecDeque::with_capacity(LATE_MAX),
            forgetting: None,
            refused: 0,
            rules: None,
            patience: (clock.ticks_per_second() * PATIENCE_S) as Ticks,
            drops: false,
            dropping: None,
            dropped: 0,
            whole: None,
        })
    }

    /// One that has nothing but what it was told, once all was told.
    #[must_use]
    pub fn exact(self) -> Applier {
        Applier { drops: true, ..self }
    }

    /// Applies what was received, as much as a round may.
    pub fn round(&mut self, state: &mut State, interfaces: &mut Interfaces, now: Ticks) {
        self.forget();
        self.drop_untold(state, now);
        if self.forgetting.is_some() || (self.heard.is_empty() && self.late.is_empty()) {
            return;
        }
        for _ in 0..LATE_TRIED.min(self.late.len()) {
            let Some((change, until)) = self.late.pop_front() else { break };
            if self.apply(state, interfaces, (change, now)) {
                continue;
            }
            match (now.wrapping_sub(until) as i64) < 0 {
                true => self.late.push_back((change, until)),
                false => self.refused += 1,
            }
        }
        for _ in 0..ROUND_MAX {
            let Some(received) = self.heard.take() else { break };
            match received {
                Received::Change(change) => self.take(state, interfaces, (change, now)),
                Received::Afresh => {
                    self.late.clear();
                    self.rules = None;
                    self.forgetting = Some(0);
                    (self.dropping, self.whole) = (None, None);
                    break;
                }
            }
        }
        if self.late.is_empty() && self.forgetting.is_none() {
            self.link().refuses(self.refused);
            self.heard.done();
        }
    }

    /// Gives up what could not be applied yet, where it is told nothing more.
    pub fn stop(&mut self) {
        self.refused += self.late.len() as u64;
        self.link().refuses(self.refused);
        self.late.clear();
        self.rules = None;
        (self.forgetting, self.dropping, self.whole) = (None, None, None);
    }

    /// Whether nothing waits to be applied, but for what cannot be yet.
    pub fn has_applied(&self) -> bool {
        self.heard.is_empty() && self.forgetting.is_none()
    }

    /// Whether it has all that the NAT has that tells it now, and nothing else: what changed there
    /// while there was no connection is told on the next one, and then again that this was all.
    pub fn is_whole(&self) -> bool {
        let is_current = self.heard.is_current() && self.dropping.is_none();
        is_current && self.whole == Some(self.link().connection())
    }

    /// Sessions that it had, and the other one had not.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What it and its thread tell each other.
    pub fn link(&self) -> &Link {
        self.heard.link()
    }

    /// How replication stands.
    pub fn status(&self) -> Status {
        let waiting = self.late.len() as u64;
        Status { waiting, is_synchronised: self.is_whole(), ..self.link().status() }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.theirs.mapped_bytes() + self.heard.capacity() * size_of::<Received<Change>>()
    }

    /// Empties `theirs` by a piece, where it is to be.
    fn forget(&mut self) {
        let Some(first) = self.forgetting else { return };
        let end = (first + FORGET_MAX).min(self.theirs.len());
        self.theirs[first..end].fill(0);
        self.forgetting = (end < self.theirs.len()).then_some(end);
        if self.forgetting.is_none() {
            self.heard.done();
        }
    }

    /// Drops a few sessions that it was not told of, where it is to.
    fn drop_untold(&mut self, state: &mut State, now: Ticks) {
        let Some(first) = self.dropping else { return };
        let end = first.saturating_add(DROP_LOOK_MAX).min(state.sessions.used());
        let moment = state.times.moment(now);
        let mut left = DROP_MAX;
        for number in first..end {
            let session = &state.sessions.records[number as usize];
            if session.far.protocol() == 0 || self.is_told(session.replica, number) {
                continue;
            }
            if left == 0 {
                self.dropping = Some(number);
                return;
            }
            left -= 1;
            state.close(number, moment);
            self.dropped += 1;
        }
        self.dropping = (end < state.sessions.used()).then_some(end);
    }

    /// Whether a session here is one of the NAT that tells now.
    fn is_told(&self, replica: Replica, number: Number) -> bool {
        let theirs = replica.number().and_then(|theirs| self.theirs.get(theirs as usize));
        theirs == Some(&(number + 1))
    }

    /// Applies a change, or lays it aside.
    fn take(
        &mut self,
        state: &mut State,
        interfaces: &mut Interfaces,
        (change, now): (Change, Ticks),
    ) {
        // What is newer holds.
        self.late.retain(|(late, _)| !replaces(&change, late));
        if self.apply(state, interfaces, (change, now)) {
            return;
        }
        if self.late.len() == LATE_MAX {
            self.late.pop_front();
            self.refused += 1;
        }
        self.late.push_back((change, now.wrapping_add(self.patience)));
    }

    /// Applies a change; whether that was possible.
    fn apply(
        &mut self,
        state: &mut State,
        interfaces: &mut Interfaces,
        (change, now): (Change, Ticks),
    ) -> bool {
        let moment = state.times.moment(now);
        match change {
            Change::Session(told) => self.session(state, &told, moment),
            Change::Free { number } => {
                if let Some(own) = self.own(state, number) {
                    state.close(own, moment);
                }
                true
            }
            Change::Rest { outside, class, port, left_ms } => {
                rest(
                    state,
                    (outside, class, port),
                    moment.wrapping_add(state.times.units_of_ms(left_ms)),
                );
                true
            }
            Change::Pool { address, len, is_open } => {
                let pool = Prefixed { address: Ipv4Addr::from_bits(address), len };
                set_pool(state, interfaces, (pool, is_open), now)
            }
            Change::Limit { sessions } => {
                let update = Update::SetSessionLimit { sessions };
                control::apply(state, interfaces, &update, now).is_ok()
            }
            Change::Rules { is_end: false } => {
                self.rules = Some(Heard::default());
                true
            }
            Change::Rules { is_end: true } => {
                let is_done =
                    self.rules.as_ref().is_none_or(|rules| rules.rule(state, interfaces, now));
                self.rules = self.rules.take().filter(|_| !is_done);
                is_done
            }
            Change::Static { .. } | Change::Host { .. } | Change::Forward { .. } => {
                if self.rules.as_mut().is_some_and(|rules| !rules.take(&change)) {
                    (self.rules, self.refused) = (None, self.refused + 1);
                }
                true
            }
            Change::Kept { number, kept } => {
                self.own(state, number).is_some_and(|own| state.keep(own, &kept))
            }
            Change::Whole { connection } => {
                self.dropping = self.drops.then_some(0);
                self.whole = Some(connection);
                true
            }
            Change::Epoch { ms } => {
                let units = state.times.units_of_long_ms(ms);
                if let Some(granted) = &mut state.granted {
                    granted.begun = moment.wrapping_sub(units);
                }
                true
            }
        }
    }

    /// A session as it is at the active NAT.
    fn session(&mut self, state: &mut State, told: &Told, now: Moment) -> bool {
        if told.number as usize >= self.theirs.len() {
            return false;
        }
        if let Some(own) = self.own(state, told.number) {
            let known = &state.sessions.records[own as usize];
            if known.is_inside(&told.key)
                && (known.outside, known.outside_port) == (told.outside, told.outside_port)
            {
                state.renew(own, told, now);
                return true;
            }
            state.close(own, now);
        }
        let Ok(own) = state.adopt(told, now) else { return false };
        state.sessions.records[own as usize].replica = Replica::of(told.number);
        self.theirs[told.number as usize] = own + 1;
        true
    }

    /// The number here of a session of the active NAT, if it is still there.
    fn own(&self, state: &State, number: Number) -> Option<Number> {
        let own = self.theirs.get(number as usize)?.checked_sub(1)?;
        let session = state.sessions.records.get(own as usize)?;
        (session.far.protocol() != 0 && session.replica.is_of(number)).then_some(own)
    }
}

/// Whether a change leaves nothing of another one: of a session nothing that was told of it before.
fn replaces(change: &Change, other: &Change) -> bool {
    let of = |other: &Change| match *other {
        Change::Session(Told { number, .. })
        | Change::Free { number }
        | Change::Kept { number, .. } => Some(number),
        Change::Rest { .. }
        | Change::Pool { .. }
        | Change::Limit { .. }
        | Change::Rules { .. }
        | Change::Static { .. }
        | Change::Host { .. }
        | Change::Forward { .. }
        | Change::Epoch { .. }
        | Change::Whole { .. } => None,
    };
    match (change, other) {
        (Change::Kept { kept, .. }, Change::Kept { kept: other_kept, .. }) => {
            of(change) == of(other) && kept.replaces(other_kept)
        }
        (Change::Kept { .. }, _) => false,
        (Change::Rules { .. }, Change::Rules { .. }) => true,
        _ => of(change).is_some() && of(change) == of(other),
    }
}

/// Lets a port rest that nobody has.
fn rest(state: &mut State, (outside, class, port): (u32, u8, u16), until: Moment) {
    let Some(address) = state.allocation.addresses.number(outside) else { return };
    let Some(class) = Class::all().find(|one| one.index() == usize::from(class)) else { return };
    let is_owned = state.allocation.ports.owner(address, class, port).is_some();
    if !is_owned && state.allocation.addresses.is_shared(address) {
        state.allocation.ports.rest(address, class, port, until);
    }
}

/// Makes a pool what it is at the active NAT.
fn set_pool(
    state: &mut State,
    interfaces: &mut Interfaces,
    (pool, is_open): (Prefixed<Ipv4Addr>, bool),
    now: Ticks,
) -> bool {
    let known = state.allocation.addresses.pool(pool);
    let is_as_told = known.is_some_and(|(first, _)| state.allocation.is_open(first) == is_open);
    if is_as_told {
        return true;
    }
    let added = control::apply(state, interfaces, &Update::AddPool { pool }, now);
    added.is_ok()
        && (is_open || control::apply(state, interfaces, &Update::DrainPool { pool }, now).is_ok())
}

/// Sessions that a round drops, and records that it looks at for those.
const DROP_MAX: usize = 256;
const DROP_LOOK_MAX: u32 = 16_384;

/// Changes that a round applies.
const ROUND_MAX: usize = 256;

/// Changes that may wait for what is in their way.
const LATE_MAX: usize = 1024;

/// How many of them a round tries.
const LATE_TRIED: usize = 16;

/// For how long they wait, in seconds.
const PATIENCE_S: f64 = 5.0;

/// Entries of `theirs` that a round empties.
const FORGET_MAX: usize = 16_384;
