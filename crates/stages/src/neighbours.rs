//! The neighbours on the links of a function: a table that asks by ARP (RFC 826) and Neighbor
//! Discovery (RFC 4861), and what waits for the answers.
//!
//! ```text
//!             packet                 answer                 lifetime over
//!  (nothing) -------> incomplete ---------------> reachable --------------> stale
//!                       |   |                       ^  ^                      | question
//!                       |   | another's question    |  | answer               v
//!                       |   +---------> stale       |  +------------------- probe
//!                       | three questions           |                         | three questions
//!                       v                           |                         v
//!                   (nothing)                       +-- answer            (nothing)
//! ```
//! Frames go to a neighbour that is reachable, stale or probed; a probe is a question to it alone.
//! Packets to an incomplete one wait, at most [`PENDING_EACH`] for each and a number in all, and
//! leave in their order. Only questions of the function's own and what its user tells add
//! neighbours, at most as many as there is room for; what nobody asked for changes those that are
//! there. One that the user has fixed is never asked, and hears of nothing else. Questions are
//! limited to [`QUESTIONS_PER_S`]; one that is too many is asked later.
//!
//! In a full table, one that has no number of the user's and is only asked for gives way to a new
//! one, the oldest first, if it had [`ANSWER_MS`] to answer and the new one may be asked at once.
//! So a scan of a network evicts nobody who has answered, and who is there is found meanwhile.
//!
//! The table knows no frames that it forwards and decides nothing: its user says where questions
//! leave, what becomes of packets, and which entry of its own belongs to a neighbour. Time is that
//! of the user's rounds. **Not supported:** redirects.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::IpAddr;

use machine::clock::{Clock, Ticks};
use packet::PortId;
use tables::meter::Meter;
use wire::MacAddr;

mod question;

mod leaving;

pub use self::question::{Asking, Question};

/// The table, and the packets that wait for it.
pub struct Neighbours {
    entries: Vec<Option<Entry>>,
    /// The numbers of no entry, of which the lowest is taken next.
    free: BinaryHeap<Reverse<u32>>,
    by_address: HashMap<(u16, IpAddr), u32>,
    /// Numbers in the order in which they were asked for first, each with the time of that. Some
    /// are others by now, or have answered.
    asked: VecDeque<(u32, Ticks)>,
    waiting: VecDeque<Waiting>,
    leaving: VecDeque<Waiting>,
    buffers: Vec<Vec<u8>>,
    questions: Meter,
    second: Ticks,
    lifetime: Ticks,
    /// Nothing is to be done before.
    due: Ticks,
    /// Where a round of looking for what is due goes on.
    next: usize,
}

/// How much room there is, and for how long an answer holds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most neighbours.
    pub capacity: usize,
    /// Most packets that wait.
    pub pending: usize,
    /// Seconds for which an answer holds.
    pub lifetime_s: u32,
}

/// A neighbour that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The link that it is on, by the user's number.
    pub link: u16,
    /// Its address.
    pub address: IpAddr,
    /// The user's number of it, if it has one.
    pub listed: Option<u32>,
    /// Its Ethernet address, once it is known.
    pub mac: Option<MacAddr>,
    state: State,
    /// When the state ends.
    at: Ticks,
    /// When it was asked for first, or told.
    since: Ticks,
}

/// What is known of a neighbour; [`Entry::mac`] tells incomplete ones from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Asked for so often.
    Incomplete { questions: u8 },
    /// It answered.
    Reachable,
    /// Its answer is old, or it was heard of by a question of its own.
    Stale,
    /// It alone was asked so often whether it is still there.
    Probe { questions: u8 },
    /// The user has said so.
    Fixed,
}

impl Entry {
    /// The name of its state.
    pub fn state(&self) -> &'static str {
        match self.state {
            State::Incomplete { .. } => "incomplete",
            State::Reachable => "reachable",
            State::Stale => "stale",
            State::Probe { .. } => "probe",
            State::Fixed => "fixed",
        }
    }
}

/// A packet that waits.
pub struct Waiting {
    entry: u32,
    /// The port by which it came in.
    pub port: PortId,
    /// The link by which it came in.
    pub came_by: u16,
    /// The packet as its user wants it back.
    pub frame: Vec<u8>,
}

/// Whom a packet is to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The link.
    pub link: u16,
    /// The address on it.
    pub address: IpAddr,
    /// The user's number of the neighbour, if it has one.
    pub listed: Option<u32>,
}

/// What a neighbour says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its Ethernet address.
    pub mac: MacAddr,
    /// Whether this takes the place of another one that is known.
    pub overrides: bool,
    /// Whether it answers: a question of its own does not prove that it hears us.
    pub answers: bool,
}

/// Why a packet cannot wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// As many neighbours are known or asked for as there is room for.
    Neighbours,
    /// As many packets wait as may, for this neighbour or in all.
    Pending,
}

impl Neighbours {
    /// An empty table.
    pub fn new(limits: Limits, clock: Clock) -> Neighbours {
        let Limits { capacity, pending, lifetime_s } = limits;
        let seconds = |count: f64| (count * clock.ticks_per_second()) as Ticks;
        let ticks_per_s = clock.ticks_per_second();
        Neighbours {
            entries: vec![None; capacity],
            free: (0..capacity as u32).map(Reverse).collect(),
            by_address: HashMap::with_capacity(capacity),
            asked: VecDeque::with_capacity(2 * capacity),
            waiting: VecDeque::with_capacity(pending),
            leaving: VecDeque::with_capacity(pending),
            buffers: (0..pending).map(|_| Vec::with_capacity(BUFFER_LEN)).collect(),
            questions: Meter::of_packets(QUESTIONS_PER_S, QUESTIONS_AT_ONCE, ticks_per_s),
            second: seconds(1.0),
            lifetime: seconds(lifetime_s.into()),
            due: Ticks::MAX,
            next: 0,
        }
    }

    /// The number and the Ethernet address of a neighbour to which frames can go.
    pub fn known(&self, link: u16, address: IpAddr) -> Option<(u32, Entry)> {
        let number = *self.by_address.get(&(link, address))?;
        let entry = self.entries[number as usize]?;
        entry.mac.map(|_| (number, entry))
    }

    /// The neighbours, to look at them.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> + '_ {
        self.entries.iter().flatten()
    }

    /// Most neighbours.
    pub fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// Lets a packet wait for its neighbour, which is asked for if that was not done yet. What
    /// waited for another one that gives way to it leaves by [`Neighbours::next_leaving`].
    ///
    /// # Errors
    /// When there is no room.
    pub fn wait(
        &mut self,
        (port, came_by, packet): (PortId, u16, &[u8]),
        wanted: Wanted,
        now: Ticks,
        ask: impl FnOnce(Question),
    ) -> Result<(), Full> {
        let number = match self.by_address.get(&(wanted.link, wanted.address)) {
            Some(&number) => number,
            None => self.add(wanted, now, ask)?,
        };
        let of_it = self.waiting.iter().filter(|waiting| waiting.entry == number).count();
        let buffer = if of_it < PENDING_EACH { self.buffers.pop() } else { None };
        let mut frame = buffer.ok_or(Full::Pending)?;
        frame.clear();
        frame.extend_from_slice(packet);
        self.waiting.push_back(Waiting { entry: number, port, came_by, frame });
        Ok(())
    }

    /// Asks for a neighbour before a packet comes for it, where there is room. What waited for
    /// another one leaves as with [`Neighbours::wait`].
    pub fn look_for(&mut self, wanted: Wanted, now: Ticks, ask: impl FnOnce(Question)) {
        if !self.by_address.contains_key(&(wanted.link, wanted.address)) {
            // Without room it is asked for when a packet comes.
            self.add(wanted, now, ask).ok();
        }
    }

    fn add(&mut self, wanted: Wanted, now: Ticks, ask: impl FnOnce(Question)) -> Result<u32, Full> {
        let Wanted { link, address, listed } = wanted;
        let (number, may_ask) = match self.free.pop() {
            Some(Reverse(number)) => (number, self.questions.conforms(now, 1)),
            None => (self.make_way(now).ok_or(Full::Neighbours)?, true),
        };
        let (questions, after) = if may_ask { (1, self.second) } else { (0, self.later()) };
        let at = now.saturating_add(after);
        let state = State::Incomplete { questions };
        let entry = Entry { link, address, listed, mac: None, state, at, since: now };
        self.entries[number as usize] = Some(entry);
        self.note_asked(number, now);
        self.by_address.insert((link, address), number);
        self.due = self.due.min(at);
        if may_ask {
            ask(Question { link, address, to: None });
        }
        Ok(number)
    }

    fn note_asked(&mut self, number: u32, now: Ticks) {
        if self.asked.len() >= 2 * self.entries.len() {
            let entries = &self.entries;
            self.asked.retain(|asked| gives_way(entries, *asked));
        }
        self.asked.push_back((number, now));
    }

    /// The number of the one that gives way to a new one, for which a question is taken.
    fn make_way(&mut self, now: Ticks) -> Option<u32> {
        while self.asked.front().is_some_and(|asked| !gives_way(&self.entries, *asked)) {
            self.asked.pop_front();
        }
        let (number, since) = *self.asked.front()?;
        let had_time = now.saturating_sub(since) >= self.second / 1000 * ANSWER_MS;
        if !had_time || !self.questions.conforms(now, 1) {
            return None;
        }
        self.asked.pop_front();
        self.remove(number);
        self.free.pop().map(|Reverse(number)| number)
    }

    /// Takes note of what the user knows of a neighbour: for ever, or as if it had answered, which
    /// also holds for one that was fixed before. Returns its number, as [`Neighbours::heard`] does;
    /// `None` if it is not known and there is no room.
    pub fn tell(
        &mut self,
        wanted: Wanted,
        mac: MacAddr,
        is_fixed: bool,
        now: Ticks,
    ) -> Option<u32> {
        let Wanted { link, address, listed } = wanted;
        let number = match self.by_address.get(&(link, address)) {
            Some(&number) => number,
            None => {
                let Reverse(number) = self.free.pop()?;
                let state = State::Stale;
                let (mac, at) = (None, Ticks::MAX);
                let entry = Entry { link, address, listed, mac, state, at, since: now };
                self.entries[number as usize] = Some(entry);
                self.by_address.insert((link, address), number);
                number
            }
        };
        let entry = self.entries[number as usize].as_mut()?;
        let (state, at) = match is_fixed {
            true => (State::Fixed, Ticks::MAX),
            false => (State::Reachable, now.saturating_add(self.lifetime)),
        };
        (entry.mac, entry.state, entry.at) = (Some(mac), state, at);
        self.due = self.due.min(at);
        self.collect(number);
        Some(number)
    }

    /// Whether the user has fixed a neighbour.
    pub fn is_fixed(&self, link: u16, address: IpAddr) -> bool {
        let number = self.by_address.get(&(link, address));
        number.and_then(|&number| self.get(number)).is_some_and(Entry::is_fixed)
    }

    /// Forgets a neighbour that was fixed. What waited for it leaves by
    /// [`Neighbours::next_leaving`].
    pub fn loosen(&mut self, link: u16, address: IpAddr) -> Option<(u32, Entry)> {
        let number = *self.by_address.get(&(link, address))?;
        let entry = if self.is_fixed(link, address) { self.remove(number) } else { None };
        entry.map(|entry| (number, entry))
    }

    /// Takes note of what a neighbour says of itself. Returns its number if that was of any use:
    /// the user then forwards by the address of [`Neighbours::get`], and takes what waited for it
    /// from [`Neighbours::next_leaving`].
    pub fn heard(&mut self, link: u16, address: IpAddr, said: Said, now: Ticks) -> Option<u32> {
        let number = *self.by_address.get(&(link, address))?;
        let entry = self.entries[number as usize].as_mut()?;
        if entry.state == State::Fixed {
            return None;
        }
        let is_other = entry.mac != Some(said.mac);
        let is_station = !said.mac.is_multicast() && said.mac != MacAddr::ZERO;
        if !is_station || entry.mac.is_some() && is_other && !said.overrides {
            return None;
        }
        if said.answers || is_other {
            let (state, at) = match said.answers {
                true => (State::Reachable, now.saturating_add(self.lifetime)),
                false => (State::Stale, now),
            };
            (entry.mac, entry.state, entry.at) = (Some(said.mac), state, at);
            self.due = self.due.min(at);
        }
        self.collect(number);
        Some(number)
    }

    /// A neighbour by its number.
    pub fn get(&self, number: u32) -> Option<&Entry> {
        self.entries.get(number as usize)?.as_ref()
    }

    /// Asks whatever is to be asked now. Returns a neighbour that has not answered three questions
    /// and is forgotten: the user takes what waited for it from [`Neighbours::next_leaving`], and
    /// calls again until nothing is returned.
    pub fn tick(&mut self, now: Ticks, mut ask: impl FnMut(Question)) -> Option<(u32, Entry)> {
        if now < self.due {
            return None;
        }
        while self.next < self.entries.len() {
            let number = self.next;
            self.next += 1;
            if self.is_due(number, now) && self.is_silent(number, now, &mut ask) {
                return self.remove(number as u32).map(|entry| (number as u32, entry));
            }
        }
        let times = self.entries().map(|entry| entry.at);
        self.due = times.min().unwrap_or(Ticks::MAX);
        self.next = 0;
        None
    }

    fn is_due(&self, number: usize, now: Ticks) -> bool {
        self.entries[number].is_some_and(|entry| entry.at <= now)
    }

    /// Asks a neighbour whose state has ended, or tells that it was asked often enough.
    fn is_silent(&mut self, number: usize, now: Ticks, ask: &mut impl FnMut(Question)) -> bool {
        let (second, later) = (self.second, self.later());
        let Some(entry) = &mut self.entries[number] else { return false };
        let questions = match entry.state {
            State::Incomplete { questions } | State::Probe { questions } => questions,
            State::Reachable | State::Stale => 0,
            State::Fixed => return false,
        };
        if questions >= QUESTIONS {
            return true;
        }
        if !self.questions.conforms(now, 1) {
            entry.at = now.saturating_add(later);
            if entry.state == State::Reachable {
                entry.state = State::Stale;
            }
            return false;
        }
        let questions = questions + 1;
        entry.state = match entry.mac {
            None => State::Incomplete { questions },
            Some(_) => State::Probe { questions },
        };
        entry.at = now.saturating_add(second);
        ask(Question { link: entry.link, address: entry.address, to: entry.mac });
        false
    }

    /// Forgets the neighbour that has a number of the user's, because it is another one now. What
    /// waited for it leaves by [`Neighbours::next_leaving`].
    pub fn forget(&mut self, listed: u32) -> Option<Entry> {
        let is_its = |entry: &Option<Entry>| entry.is_some_and(|one| one.listed == Some(listed));
        let number = self.entries.iter().position(is_its)?;
        self.remove(number as u32)
    }

    /// A neighbour that is there, known or asked for, has a number of the user's from now on.
    /// Returns its own number.
    pub fn enlist(&mut self, link: u16, address: IpAddr, listed: u32) -> Option<u32> {
        let number = *self.by_address.get(&(link, address))?;
        self.entries[number as usize].as_mut()?.listed = Some(listed);
        Some(number)
    }

    /// A packet that waited for the neighbour that was heard, gone or forgotten. Its user gives it
    /// back.
    pub fn next_leaving(&mut self) -> Option<Waiting> {
        self.leaving.pop_front()
    }

    /// Takes the room of a packet that waited back.
    pub fn give_back(&mut self, waiting: Waiting) {
        self.buffers.push(waiting.frame);
    }

    fn remove(&mut self, number: u32) -> Option<Entry> {
        let entry = self.entries[number as usize].take()?;
        self.by_address.remove(&(entry.link, entry.address));
        self.free.push(Reverse(number));
        self.collect(number);
        Some(entry)
    }

    /// Moves the packets that wait for a neighbour, in their order, to those that leave.
    fn collect(&mut self, number: u32) {
        for _ in 0..self.waiting.len() {
            let Some(waiting) = self.waiting.pop_front() else { return };
            match waiting.entry == number {
                true => self.leaving.push_back(waiting),
                false => self.waiting.push_back(waiting),
            }
        }
    }

    /// After how long a question is asked again that was one too many.
    fn later(&self) -> Ticks {
        self.second / 10
    }
}

impl Entry {
    /// Whether the user has fixed it.
    pub fn is_fixed(&self) -> bool {
        self.state == State::Fixed
    }
}

/// Whether a number is that of a neighbour which was asked for first at a time, has not answered
/// and has no number of the user's.
fn gives_way(entries: &[Option<Entry>], (number, since): (u32, Ticks)) -> bool {
    let entry = entries.get(number as usize).copied().flatten();
    entry.is_some_and(|one| one.since == since && one.mac.is_none() && one.listed.is_none())
}

/// Questions before a neighbour is given up, a second apart (RFC 4861 section 10).
pub const QUESTIONS: u8 = 3;

/// Milliseconds that a neighbour has to answer before it may give way to another one.
pub const ANSWER_MS: Ticks = 100;

/// Questions a second of all neighbours together.
pub const QUESTIONS_PER_S: u32 = 1000;

/// How many more questions at once after a pause.
pub const QUESTIONS_AT_ONCE: u32 = 256;

/// Packets that wait for one neighbour at most.
pub const PENDING_EACH: usize = 8;

/// Room for a packet that waits; a longer one gets more.
const BUFFER_LEN: usize = 2048;

#[cfg(test)]
mod tests;
