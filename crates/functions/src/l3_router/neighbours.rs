//! Who has an address on a link: ARP (RFC 826) and Neighbor Discovery (RFC 4861).
//!
//! ```text
//!            packet                answer heard             lifetime over
//!  (nothing) ------> asking, tries ------------> known ----------------------> (nothing)
//!                      | three questions without answer
//!                      +--> (nothing): what waited is dropped, its senders are told
//! ```
//! Packets to a neighbour that is asked for wait, few for each and few in all; with the answer they
//! leave in their order as frames made. The cache has a fixed number of entries, and only questions of
//! the router's own fill it: what nobody asked for changes entries that are there and adds none. Time
//! is that of the worker's rounds.
//!
//! An address on a link gets an entry of its own behind those of the next hops; a next hop without an
//! Ethernet address gets its own entry filled in.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use machine::clock::{Clock, Ticks};
use packet::{Made, PortId, Verdict};
use wire::{MacAddr, arp, ethernet};

use super::config::Config;
use super::host::{Around, Host, Trouble};
use super::interfaces::Interfaces;
use super::pipeline::rewrite_one;
use super::reasons::{self, Tallies};
use super::state::{Hop, State};
use crate::stages::nd;

/// The cache, and the packets that wait for it.
pub(super) struct Neighbours {
    entries: Vec<Option<Entry>>,
    by_address: HashMap<(u16, IpAddr), u32>,
    waiting: VecDeque<Waiting>,
    leaving: VecDeque<Waiting>,
    buffers: Vec<Vec<u8>>,
    second: Ticks,
    lifetime: Ticks,
    /// Nothing is to be done before.
    due: Ticks,
}

/// A neighbour that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The interface behind which it is.
    pub interface: u16,
    /// Its address.
    pub address: IpAddr,
    /// Its place among the next hops.
    hop: u32,
    /// Its Ethernet address, once it is known.
    pub mac: Option<MacAddr>,
    /// Questions so far.
    tries: u8,
    /// When the next one is due, or when it is forgotten.
    at: Ticks,
}

/// A packet that waits, as it came in but without tag.
struct Waiting {
    entry: u32,
    port: PortId,
    interface: u16,
    frame: Vec<u8>,
}

/// Whom a packet is to reach: the interface, the address, and the next hop's place if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub interface: u16,
    pub address: IpAddr,
    pub hop: Option<u32>,
}

impl Neighbours {
    /// An empty cache, where the configuration asks for one.
    pub fn new(config: &Config, clock: Clock) -> Option<Neighbours> {
        if !config.resolve {
            return None;
        }
        let capacity = config.neighbour_capacity as usize;
        let pending = config.pending_capacity as usize;
        let seconds = |count: f64| (count * clock.ticks_per_second()) as Ticks;
        Some(Neighbours {
            entries: vec![None; capacity],
            by_address: HashMap::with_capacity(capacity),
            waiting: VecDeque::with_capacity(pending),
            leaving: VecDeque::with_capacity(pending),
            buffers: (0..pending).map(|_| Vec::with_capacity(BUFFER_LEN)).collect(),
            second: seconds(1.0),
            lifetime: seconds(config.neighbour_lifetime_s.into()),
            due: Ticks::MAX,
        })
    }

    /// The next hop's place of a neighbour that is known.
    pub fn known(&self, wanted: Wanted) -> Option<u32> {
        let number = *self.by_address.get(&(wanted.interface, wanted.address))?;
        let entry = self.entries[number as usize]?;
        entry.mac.map(|_| entry.hop)
    }

    /// The entries, to look at them.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> + '_ {
        self.entries.iter().flatten()
    }

    /// How many entries it can have.
    pub fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// A packet waits for its neighbour, who is asked for if that was not done yet.
    pub fn wait(
        &mut self,
        (state, made): (&State, &mut Made),
        (port, at, packet): (PortId, u16, &[u8]),
        wanted: Wanted,
        now: Ticks,
    ) -> Verdict {
        let key = (wanted.interface, wanted.address);
        let number = match self.by_address.get(&key) {
            Some(&number) => number,
            None => {
                let free = self.entries.iter().position(Option::is_none);
                let Some(number) = free else { return reasons::drop(reasons::NEIGHBOURS_FULL) };
                let hop = wanted.hop.unwrap_or(state.first_dynamic() + number as u32);
                let Wanted { interface, address, .. } = wanted;
                let at = now.saturating_add(self.second);
                let entry = Entry { interface, address, hop, mac: None, tries: 1, at };
                self.entries[number] = Some(entry);
                self.by_address.insert(key, number as u32);
                self.due = self.due.min(at);
                ask(&state.interfaces, made, &entry);
                number as u32
            }
        };
        let of_it = self.waiting.iter().filter(|waiting| waiting.entry == number).count();
        let buffer = if of_it < PENDING_EACH { self.buffers.pop() } else { None };
        let Some(mut frame) = buffer else { return reasons::drop(reasons::PENDING_FULL) };
        frame.clear();
        frame.extend_from_slice(packet);
        self.waiting.push_back(Waiting { entry: number, port, interface: at, frame });
        reasons::drop(reasons::AWAITING)
    }

    /// Somebody says that an address is his. Whether that was of any use: only a neighbour that was
    /// asked for is taken note of, and one that is known changes only where `overrides`.
    pub fn heard(
        &mut self,
        (state, made): (&mut State, &mut Made),
        (interface, address): (u16, IpAddr),
        (mac, overrides): (MacAddr, bool),
        now: Ticks,
    ) -> bool {
        let Some(&number) = self.by_address.get(&(interface, address)) else { return false };
        let Some(entry) = &mut self.entries[number as usize] else { return false };
        if mac.is_multicast() || mac == MacAddr::ZERO {
            return false;
        }
        let is_other = entry.mac.is_some_and(|known| known != mac);
        if is_other && !overrides {
            return false;
        }
        entry.mac = Some(mac);
        entry.at = now.saturating_add(self.lifetime);
        self.due = self.due.min(entry.at);
        let own = state.interfaces.get(interface);
        let source = state.source_of(entry.hop, own.mac.0);
        let hop = Hop::to(mac, source, own.port, interface);
        state.hops[entry.hop as usize] = hop;
        state.reach_tunnels();
        self.collect(number);
        while let Some(waiting) = self.leaving.pop_front() {
            if let Some(slot) = made.push(waiting.port, &waiting.frame, hop.verdict) {
                rewrite_one(made.batch_mut(), slot, &hop);
                let batch = made.batch_mut();
                let verdict = state.interfaces.send(batch, slot, interface, hop.verdict);
                batch.set_verdict(slot, verdict);
            }
            self.buffers.push(waiting.frame);
        }
        true
    }

    /// Asks once more, gives up, forgets: whatever is due.
    pub fn tick(
        &mut self,
        (state, made): (&mut State, &mut Made),
        host: &mut Host,
        tallies: &mut Tallies,
        now: Ticks,
    ) {
        if now < self.due {
            return;
        }
        self.due = Ticks::MAX;
        for number in 0..self.entries.len() {
            let Some(entry) = &mut self.entries[number] else { continue };
            if entry.at <= now && (entry.mac.is_some() || entry.tries >= TRIES) {
                self.remove(number, state);
                while let Some(waiting) = self.leaving.pop_front() {
                    let unhandled = Verdict::UNHANDLED;
                    if let Some(slot) = made.push(waiting.port, &waiting.frame, unhandled) {
                        let around = &mut Around { interfaces: &state.interfaces, tallies, now };
                        let why = (Trouble::NoNeighbour, reasons::UNRESOLVED);
                        let at = (slot, waiting.interface);
                        let verdict = host.refuse(made.batch_mut(), at, around, why);
                        made.batch_mut().set_verdict(slot, verdict);
                    }
                    self.buffers.push(waiting.frame);
                }
                continue;
            }
            if entry.at <= now {
                entry.tries += 1;
                entry.at = now.saturating_add(self.second);
                ask(&state.interfaces, made, entry);
            }
            self.due = self.due.min(entry.at);
        }
    }

    /// A next hop is another now: what was known of it is not, and what waited for it is dropped.
    pub fn forget_hop(&mut self, (state, made): (&mut State, &mut Made), hop: u32) {
        let is_its = |entry: &Option<Entry>| entry.is_some_and(|entry| entry.hop == hop);
        let Some(number) = self.entries.iter().position(is_its) else { return };
        let kept = state.hops[hop as usize];
        self.remove(number, state);
        state.hops[hop as usize] = kept;
        while let Some(waiting) = self.leaving.pop_front() {
            made.push(waiting.port, &waiting.frame, reasons::drop(reasons::UNRESOLVED));
            self.buffers.push(waiting.frame);
        }
    }

    /// Removes an entry; what waits for it leaves.
    fn remove(&mut self, number: usize, state: &mut State) {
        if let Some(entry) = self.entries[number].take() {
            self.by_address.remove(&(entry.interface, entry.address));
            let is_listed = entry.hop < state.first_dynamic();
            let reason = if is_listed { reasons::UNRESOLVED } else { reasons::NO_NEXT_HOP };
            state.hops[entry.hop as usize] = Hop::absent(reason, entry.interface);
            state.reach_tunnels();
        }
        self.collect(number as u32);
    }

    /// Moves the packets that wait for an entry, in their order, to those that leave.
    fn collect(&mut self, number: u32) {
        for _ in 0..self.waiting.len() {
            let Some(waiting) = self.waiting.pop_front() else { return };
            match waiting.entry == number {
                true => self.leaving.push_back(waiting),
                false => self.waiting.push_back(waiting),
            }
        }
    }
}

/// Asks for a neighbour: the first time and each time again by a frame to all, or to the group of those
/// whose addresses end like his.
fn ask(interfaces: &Interfaces, made: &mut Made, entry: &Entry) {
    let own = interfaces.get(entry.interface);
    let (port, mac) = (own.port.id(), own.mac.0);
    let mut frame = [0; nd::FRAME_LEN];
    let len = match (entry.address, own.ip, own.ipv6) {
        (IpAddr::V4(target_ip), Some(ip), _) => {
            let header = ethernet::Fields {
                destination: MacAddr::BROADCAST,
                source: mac,
                ether_type: ethernet::TYPE_ARP,
            };
            let question = arp::Fields {
                operation: arp::OPERATION_REQUEST,
                sender_mac: mac,
                sender_ip: ip.address,
                target_mac: MacAddr::ZERO,
                target_ip,
            };
            frame.first_chunk_mut().into_iter().for_each(|place| header.emit(place));
            let rest = &mut frame[ethernet::HEADER_LEN..];
            rest.first_chunk_mut().into_iter().for_each(|place| question.emit(place));
            ethernet::HEADER_LEN + arp::HEADER_LEN
        }
        (IpAddr::V6(target), _, Some(ip)) => {
            nd::solicit(&mut frame, mac, ip.address, target);
            nd::FRAME_LEN
        }
        // An interface without an address of this version cannot ask.
        _ => return,
    };
    if let Some(slot) = made.push(port, &frame[..len], Verdict::Forward(port)) {
        let verdict = Verdict::Forward(port);
        let verdict = interfaces.send(made.batch_mut(), slot, entry.interface, verdict);
        made.batch_mut().set_verdict(slot, verdict);
    }
}

/// Questions before a neighbour is given up, a second apart (RFC 4861 section 10).
const TRIES: u8 = 3;

/// Packets that wait for one neighbour at most.
const PENDING_EACH: usize = 8;

/// Room for a packet that waits; a longer one gets more.
const BUFFER_LEN: usize = 2048;
