//! What an active NAT has to tell, collected by its worker.
//!
//! ```text
//!  session opened, TCP state changed, ended --> dirty ---.
//!  new standby --> settings, all sessions, resting ports -+--> ring (bounded) --> thread --> TCP
//!  packets from inside: `used`, met by a slow walk -------'
//! ```
//! A packet of a known session does nothing for this. A round hands over a bounded number of
//! changes, each as things stand then. Where the ring is full nothing is lost: what is dirty stays
//! dirty, and a walk stays where it is. A walk over all records, a third of the shortest time long,
//! tells of a use where half of the time has passed since the one that the standby knows; where
//! there was none it marks the session, whose next packet is then told at once. So a session that
//! lives never ends at the standby; one that ends does so there at the same time, or later by as
//! much as a change was on its way.

use std::sync::Arc;

use machine::clock::{Clock, Ticks};
use machine::memory::prefetch_at;
use protocol_replication::{Link, Status};
use rtrb::Producer;

use crate::sessions::fields::{Marks, Replica};
use crate::sessions::journal::Journal;
use crate::sessions::ports::Ports;
use crate::sessions::session::{Life, Session};
use crate::sessions::table::Number;
use crate::sessions::times::{Moment, Times};
use crate::standby::change::{Change, Told};
use crate::standby::kept::KEPT_MAX;
use crate::standby::rules::Place;
use crate::state::State;

/// What tells a standby, from the journal of the state.
pub struct Teller {
    ring: Producer<Change>,
    link: Arc<Link>,
    /// Changes handed over so far.
    handed_over: u64,
    /// How often all was told, or begun to be.
    resynchronisations: u64,
    /// On which connection it told that this was all, or will.
    connection: u64,
    /// Whether it waits for somebody to tell everything to.
    is_new: bool,
    whole: Whole,
    walk: Walk,
    /// When a standby was told since when mappings that were asked for are known, and how often it
    /// is.
    epoch_told: Ticks,
    epoch_every: Ticks,
    ticks_per_s: f64,
}

/// How far everything was told; none where it was.
#[derive(Default)]
struct Whole {
    /// The next setting.
    setting: Option<usize>,
    /// The next of the rules.
    rules: Option<Place>,
    /// The next session.
    session: Option<Number>,
    /// The next port.
    port: Option<usize>,
    /// Since when mappings that subscribers asked for are known, told behind all of them: until
    /// then a standby does not say that it knows them (RFC 6887 section 8.5).
    epoch: bool,
    /// That this was all.
    end: bool,
}

/// The walk over sessions that packets have used.
struct Walk {
    hand: Number,
    last: Ticks,
    /// Records for each tick, times 2^32.
    per_tick: u64,
    /// Records that are due, times 2^32.
    owed: u64,
}

impl Teller {
    /// For the sessions of a worker, whose changes go into `ring`.
    pub fn new(
        state: &State,
        ring: Producer<Change>,
        link: Arc<Link>,
        (clock, now): (&Clock, Ticks),
    ) -> Teller {
        let ticks_per_s = clock.ticks_per_second();
        let per_tick = pace_of_walk(state, ticks_per_s);
        Teller {
            ring,
            link,
            handed_over: 0,
            resynchronisations: 0,
            connection: 0,
            is_new: true,
            whole: Whole::default(),
            walk: Walk { hand: 0, last: now, per_tick, owed: 0 },
            ticks_per_s,
            epoch_told: now,
            epoch_every: (clock.ticks_per_second() * EPOCH_EVERY_S) as Ticks,
        }
    }

    /// What it and its thread tell each other.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Hands over what is to be told, as much as a round may.
    pub fn round(&mut self, state: &mut State, now: Ticks) {
        // Before it asks what must be told on it.
        let connection = self.link.connection();
        let wanted = self.link.resynchronisations();
        if wanted != self.resynchronisations {
            self.resynchronisations = wanted;
            self.whole = Whole {
                setting: Some(0),
                rules: Some(Place::Begin),
                session: Some(0),
                port: Some(0),
                epoch: state.granted.is_some(),
                end: true,
            };
            self.is_new = false;
            if let Some(journal) = &mut state.journal {
                journal.ports_again = false;
            }
        }
        if self.is_new {
            // Nobody has listened yet; the first who does is told everything.
            return;
        }
        if std::mem::replace(&mut self.connection, connection) != connection {
            // What changed while there was none comes first.
            self.whole.end = true;
        }
        let moment = state.times.moment(now);
        self.tell_settings(state);
        self.tell_rules(state);
        // Sessions rest on them.
        if self.whole.setting.is_none() && self.whole.rules.is_none() {
            self.tell_dirty(state, moment);
            self.tell_sessions(state, moment);
            self.tell_ports(state, moment);
        }
        self.tell_epoch(state, (now, moment));
        if self.whole.end && self.has_told_all_but_end(state) {
            self.whole.end = !self.tell(Change::Whole { connection });
        }
        self.walk(state, (now, moment));
    }

    /// How replication stands.
    pub fn status(&self, state: &State) -> Status {
        let status = self.link.status();
        let waiting = state.journal.as_ref().map_or(0, |journal| journal.dirty.count());
        let unacknowledged = self.handed_over.saturating_sub(status.acknowledged);
        let is_all = self.has_told(state) && unacknowledged == 0;
        Status {
            unacknowledged,
            waiting: waiting as u64,
            is_synchronised: status.is_connected && is_all,
            ..status
        }
    }

    /// Begins to tell what came from others, to whoever listens.
    pub fn begin(&mut self, now: Ticks) {
        (self.is_new, self.whole) = (true, Whole::default());
        // It may have told nothing for a long time.
        (self.walk.last, self.walk.owed) = (now, 0);
    }

    /// Whether all that is to be told was handed over.
    pub fn has_told(&self, state: &State) -> bool {
        let is_current = self.link.connection() == self.connection
            && self.link.resynchronisations() == self.resynchronisations;
        is_current && !self.is_new && !self.whole.end && self.has_told_all_but_end(state)
    }

    fn has_told_all_but_end(&self, state: &State) -> bool {
        let Whole { setting, rules, session, port, epoch, .. } = self.whole;
        let is_again = |it: &Journal| {
            it.dirty.count() > 0 || it.ports_again || it.settings_changed || it.rules_changed
        };
        let is_known = setting.is_none() && rules.is_none();
        let is_whole = is_known && session.is_none() && port.is_none() && !epoch;
        is_whole && !state.journal.as_deref().is_some_and(is_again)
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.ring.buffer().capacity() * size_of::<Change>()
    }

    /// Hands a change over; there must be room.
    fn tell(&mut self, change: Change) -> bool {
        let is_told = self.ring.push(change).is_ok();
        self.handed_over += u64::from(is_told);
        is_told
    }

    /// Sessions for which there is room, with what is kept of them.
    fn room(&self) -> usize {
        self.ring.slots() / (1 + KEPT_MAX)
    }

    /// Hands over what is to be told of a number; there must be room.
    fn tell_session(&mut self, state: &mut State, number: Number, now: Moment) {
        let change = change_of(state, number, now);
        self.tell(change);
        if let Change::Session(told) = change
            && (told.is_kept || told.key.is_tunnelled())
        {
            for kept in state.kept(number).iter() {
                self.tell(Change::Kept { number, kept });
            }
        }
    }

    /// Pools and limits as they are now.
    fn tell_settings(&mut self, state: &mut State) {
        if let Some(journal) = &mut state.journal
            && std::mem::take(&mut journal.settings_changed)
        {
            self.whole.setting = Some(0);
            // Timeouts may be others.
            self.walk.per_tick = pace_of_walk(state, self.ticks_per_s);
        }
        while let Some(at) = self.whole.setting {
            let Some(setting) = setting(state, at) else {
                self.whole.setting = None;
                return;
            };
            if !self.tell(setting) {
                return;
            }
            self.whole.setting = Some(at + 1);
        }
    }

    /// Rules as they are now, all of them where one has changed.
    fn tell_rules(&mut self, state: &mut State) {
        if let Some(journal) = &mut state.journal
            && std::mem::take(&mut journal.rules_changed)
        {
            self.whole.rules = Some(Place::Begin);
        }
        while let Some(place) = self.whole.rules {
            let (change, next) = place.told(&state.allocation.addresses);
            if !self.tell(change) {
                return;
            }
            self.whole.rules = next;
        }
    }

    /// Sessions that changed.
    fn tell_dirty(&mut self, state: &mut State, now: Moment) {
        let Some(journal) = state.journal.as_mut().filter(|it| it.dirty.count() > 0) else {
            return;
        };
        let mut numbers = [0; DIRTY_MAX];
        let room = self.room().min(DIRTY_MAX);
        let count = journal.dirty.take(&mut numbers[..room]);
        for &number in &numbers[..count] {
            prefetch_at(&state.sessions.records, number as usize);
        }
        for &number in &numbers[..count] {
            self.tell_session(state, number, now);
        }
    }

    /// All sessions, one behind the other, to a standby that knows none.
    fn tell_sessions(&mut self, state: &mut State, now: Moment) {
        let Some(first) = self.whole.session else { return };
        let end = first.saturating_add(WHOLE_LOOK_MAX).min(state.sessions.used());
        let mut left = WHOLE_TELL_MAX.min(self.room());
        for number in first..end {
            let is_told = is_told(&state.sessions.records[number as usize]);
            // Those that changed are told anyway.
            let is_dirty = state.journal.as_ref().is_some_and(|it| it.dirty.contains(number));
            if !is_told || is_dirty {
                continue;
            }
            if left == 0 {
                self.whole.session = Some(number);
                return;
            }
            left -= 1;
            self.tell_session(state, number, now);
        }
        self.whole.session = (end < state.sessions.used()).then_some(end);
    }

    /// Ports that rest, behind the sessions.
    fn tell_ports(&mut self, state: &mut State, now: Moment) {
        if self.whole.session.is_some() {
            return;
        }
        if self.whole.port.is_none()
            && let Some(journal) = &mut state.journal
            && std::mem::take(&mut journal.ports_again)
        {
            self.whole.port = Some(0);
        }
        let Some(first) = self.whole.port else { return };
        let all = Ports::words(state.allocation.addresses.count());
        let first = state.allocation.ports.first_rested(first).min(all);
        let count = PORTS_LOOK_MAX.min(all.saturating_sub(first));
        let mut left = WHOLE_TELL_MAX.min(self.ring.slots());
        for (place, resting) in state.allocation.ports.resting(first, count, now) {
            if left == 0 {
                self.whole.port = Some(place);
                return;
            }
            left -= 1;
            self.tell(Change::Rest {
                outside: state.allocation.addresses.address(resting.address),
                class: resting.class.index() as u8,
                port: resting.port,
                left_ms: state.times.ms_of_units(resting.left),
            });
        }
        self.whole.port = Some(first + count).filter(|&next| next < all);
    }

    /// Since when mappings that subscribers asked for are known, and again from time to time,
    /// because two machines have two clocks.
    fn tell_epoch(&mut self, state: &State, (now, moment): (Ticks, Moment)) {
        let Some(granted) = &state.granted else { return };
        if now.wrapping_sub(self.epoch_told) > self.epoch_every {
            self.whole.epoch = true;
        }
        if !self.whole.epoch || self.whole.session.is_some() {
            return;
        }
        let ms = state.times.long_ms_of_units(moment.wrapping_sub(granted.begun));
        if self.tell(Change::Epoch { ms }) {
            (self.whole.epoch, self.epoch_told) = (false, now);
        }
    }

    /// Looks at as many sessions as are due, and tells of those that packets have used.
    fn walk(&mut self, state: &mut State, (now, moment): (Ticks, Moment)) {
        let walk = &mut self.walk;
        let passed = now.wrapping_sub(walk.last).min(PASSED_MAX);
        walk.last = now;
        let owed = walk.owed.saturating_add(passed.saturating_mul(walk.per_tick));
        walk.owed = owed.min(WALK_MAX << 32);
        let (count, used) = ((walk.owed >> 32) as u32, state.sessions.used());
        if count == 0 || used == 0 || self.whole.session.is_some() {
            return;
        }
        let mut left = WHOLE_TELL_MAX.min(self.room());
        for _ in 0..count.min(used) {
            let number = if self.walk.hand < used { self.walk.hand } else { 0 };
            let session = &mut state.sessions.records[number as usize];
            let is_dirty = || state.journal.as_ref().is_some_and(|it| it.dirty.contains(number));
            if is_old(session, &state.times, moment) && !is_dirty() {
                if session.used == session.replica.as_told() {
                    // Written once only: most that are walked over do not change.
                    if !session.marks.has(Marks::WATCHED) {
                        session.marks.set(Marks::WATCHED);
                    }
                } else if left == 0 {
                    return;
                } else {
                    left -= 1;
                    self.tell_session(state, number, moment);
                }
            }
            self.walk.hand = number + 1;
            self.walk.owed -= 1 << 32;
        }
    }
}

/// Whether a record is a session.
fn is_told(session: &Session) -> bool {
    session.far.protocol() != 0
}

/// Whether half of a session's time has passed since the use of which the standby knows; no packet
/// is a use of a mapping that was asked for.
fn is_old(session: &Session, times: &Times, now: Moment) -> bool {
    let is_used = is_told(session) && !session.far.is_granted();
    is_used && now.wrapping_sub(session.replica.as_told()) > times.timeout(session) / 2
}

/// What is to be told of a number.
fn change_of(state: &mut State, number: Number, now: Moment) -> Change {
    let session = &mut state.sessions.records[number as usize];
    if !is_told(session) {
        return Change::Free { number };
    }
    session.replica = Replica::told(session.used);
    Change::Session(Told {
        number,
        key: session.inside_key(),
        outside: session.outside,
        outside_port: session.outside_port,
        tcp: session.tcp,
        is_kept: session.beside.is_some(),
        idle_ms: state.times.ms_of_units(match session.life() {
            Life::Until(_) => state.times.left(session, now).unwrap_or(0),
            Life::Since(used) => now.wrapping_sub(used),
        }),
    })
}

/// The limit, then one pool after the other.
fn setting(state: &State, at: usize) -> Option<Change> {
    let Some(at) = at.checked_sub(1) else {
        return Some(Change::Limit { sessions: state.session_limit });
    };
    let addresses = &state.allocation.addresses;
    let pools = addresses.networks().filter_map(|pool| Some((pool, addresses.pool(pool)?)));
    let (pool, (first, _)) = { pools }.nth(at)?;
    let (address, len) = (pool.address.to_bits(), pool.len);
    Some(Change::Pool { address, len, is_open: state.allocation.is_open(first) })
}

/// Records for each tick, times 2^32: each is looked at in every third of the shortest time, so
/// that none has passed by more than five sixths when it is told.
fn pace_of_walk(state: &State, ticks_per_s: f64) -> u64 {
    let shortest_s = f64::from(state.times.ms_of_units(state.times.shortest())) / 1000.0;
    let records = state.sessions.capacity() as f64 * 3.0 / shortest_s;
    (records / ticks_per_s * (1u64 << 32) as f64) as u64 + 1
}

/// Changed sessions that a round hands over.
const DIRTY_MAX: usize = 128;

/// Changes that a round hands over of all there is, or of what a walk finds.
const WHOLE_TELL_MAX: usize = 32;

/// Records that a round looks at for those.
const WHOLE_LOOK_MAX: u32 = 256;

/// How often a standby is told since when mappings that were asked for are known, in seconds.
const EPOCH_EVERY_S: f64 = 3600.0;

/// Words of ports that it looks at.
const PORTS_LOOK_MAX: usize = 4096;

/// Records that a round walks over at most, as after a pause.
const WALK_MAX: u64 = 16_384;

/// A longer time between two rounds is not made good for.
const PASSED_MAX: Ticks = 1 << 32;
