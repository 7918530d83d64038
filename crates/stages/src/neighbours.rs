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
//! The table knows no frames that it forwards and decides nothing: its user says where questions
//! leave, what becomes of packets, and which entry of its own belongs to a neighbour. Time is that
//! of the user's rounds. **Not supported:** router advertisements and redirects.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use machine::clock::{Clock, Ticks};
use packet::PortId;
use tables::meter::Meter;
use wire::{MacAddr, arp, ethernet};

use crate::nd;

/// The table, and the packets that wait for it.
pub struct Neighbours {
    entries: Vec<Option<Entry>>,
    /// The numbers of no entry, of which the lowest is taken next.
    free: BinaryHeap<Reverse<u32>>,
    by_address: HashMap<(u16, IpAddr), u32>,
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

/// A question that is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// By which link.
    pub link: u16,
    /// Who has this address.
    pub address: IpAddr,
    /// The station that is asked; none for all of them.
    pub to: Option<MacAddr>,
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

    /// Lets a packet wait for its neighbour, which is asked for if that was not done yet.
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

    /// Asks for a neighbour before a packet comes for it, where there is room.
    pub fn look_for(&mut self, wanted: Wanted, now: Ticks, ask: impl FnOnce(Question)) {
        if !self.by_address.contains_key(&(wanted.link, wanted.address)) {
            // Without room it is asked for when a packet comes.
            self.add(wanted, now, ask).ok();
        }
    }

    fn add(&mut self, wanted: Wanted, now: Ticks, ask: impl FnOnce(Question)) -> Result<u32, Full> {
        let Wanted { link, address, listed } = wanted;
        let Reverse(number) = self.free.pop().ok_or(Full::Neighbours)?;
        let may_ask = self.questions.conforms(now, 1);
        let (questions, after) = if may_ask { (1, self.second) } else { (0, self.later()) };
        let at = now.saturating_add(after);
        let state = State::Incomplete { questions };
        self.entries[number as usize] = Some(Entry { link, address, listed, mac: None, state, at });
        self.by_address.insert((link, address), number);
        self.due = self.due.min(at);
        if may_ask {
            ask(Question { link, address, to: None });
        }
        Ok(number)
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
                let entry = Entry { link, address, listed, mac: None, state, at: Ticks::MAX };
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

/// The addresses with which a question is asked.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    /// The Ethernet address of the link.
    pub mac: MacAddr,
    /// The IPv4 address on it.
    pub ipv4: Option<Ipv4Addr>,
    /// The IPv6 address on it.
    pub ipv6: Option<Ipv6Addr>,
}

impl Question {
    /// Writes the question as a frame without a tag; its length, or none where the link has no
    /// address of this version to ask with.
    pub fn write(&self, own: Asking, frame: &mut [u8; nd::FRAME_LEN]) -> Option<usize> {
        match self.address {
            IpAddr::V4(target_ip) => {
                let header = ethernet::Fields {
                    destination: self.to.unwrap_or(MacAddr::BROADCAST),
                    source: own.mac,
                    ether_type: ethernet::TYPE_ARP,
                };
                let question = arp::Fields {
                    operation: arp::OPERATION_REQUEST,
                    sender_mac: own.mac,
                    sender_ip: own.ipv4?,
                    target_mac: MacAddr::ZERO,
                    target_ip,
                };
                frame.first_chunk_mut().into_iter().for_each(|place| header.emit(place));
                let rest = &mut frame[ethernet::HEADER_LEN..];
                rest.first_chunk_mut().into_iter().for_each(|place| question.emit(place));
                Some(ethernet::HEADER_LEN + arp::HEADER_LEN)
            }
            IpAddr::V6(target) => {
                nd::solicit(frame, (own.mac, own.ipv6?), target, self.to);
                Some(nd::FRAME_LEN)
            }
        }
    }
}

/// Questions before a neighbour is given up, a second apart (RFC 4861 section 10).
pub const QUESTIONS: u8 = 3;

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
