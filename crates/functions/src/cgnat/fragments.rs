//! Fragmented datagrams on their way through a NAT: how the first fragment was translated, and fragments
//! that came before it.
//!
//! ```text
//!  first fragment --> translated as a packet --> followed: the others are translated as it was
//!  another one    --> of a datagram that is followed: goes on at once
//!                 --> else it waits, until the first one comes or the time is over
//! ```
//! Nothing is put together but outer packets of softwires, which nobody else could (RFC 6333 section 6.3): their
//! fragments wait for one another. Both directions, and those, have a store of their own, of a size fixed at the start,
//! of which no sender gets more than its part; what has no room is refused, and nothing gives way. A datagram
//! whose fragments lie over one another (RFC 5722 for IPv6, RFC 1858 and 3128) goes no further. An entry
//! ends with the last byte of its datagram, or a fixed time after its beginning, so that the oldest entry
//! is always the next to end.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use machine::clock::{Clock, Ticks};
use packet::{PortId, Reason};

use super::config;
use super::flow::Inside;
use super::reasons;
use super::translation::Ends;
use crate::stages::parts::{Parts, Place};

/// What the fragments of a datagram have in common (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// From whom, as [`Inside`](super::flow::Inside) has it.
    pub source: [u64; 2],
    /// The realm of a sender inside.
    pub realm: u16,
    /// To whom: in IPv6 the address that is embedded.
    pub destination: u32,
    /// The protocol.
    pub protocol: u8,
    /// The identification; 16 bits of it in IPv4.
    pub identification: u32,
}

/// Who sends, and of which realm.
type Sender = ([u64; 2], u16);

/// One fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its datagram.
    pub key: Key,
    /// Where it begins, in bytes behind the header.
    pub offset: u16,
    /// Its length, the same way.
    pub len: u16,
    /// Whether others follow.
    pub more: bool,
}

impl Part {
    /// Whether no datagram has such a fragment.
    pub fn is_malformed(&self) -> bool {
        let end = u32::from(self.offset) + u32::from(self.len);
        let is_cut = self.more && !self.len.is_multiple_of(8);
        self.len == 0 || is_cut || end > u32::from(u16::MAX)
    }
}

/// The new addresses, and with them the family, of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Those of IPv4.
    Ipv4(Ends<Ipv4Addr>),
    /// Those of IPv6.
    Ipv6(Ends<Ipv6Addr>),
}

/// What became of the first fragment of a datagram, and becomes of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The new source and destination.
    pub addresses: Addresses,
    /// The new identification.
    pub identification: u16,
    /// What is taken from the time to live, or the hop limit.
    pub hops: u8,
    /// Where it leaves.
    pub to: PortId,
    /// Towards which realm, if it leaves inside.
    pub realm: u16,
    /// To which B4 element, if that is behind a softwire.
    pub b4: Ipv6Addr,
}

/// What is to be done with a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is the first one: it is translated as a packet, and then settled or given up.
    First,
    /// It is translated as the first one was.
    Follow(Translation),
}

/// The datagrams of one direction.
pub struct Fragments {
    limits: config::Fragments,
    timeout: Ticks,
    /// The part of a source that names a sender.
    mask: [u64; 2],
    /// Places, those in use linked by age.
    datagrams: Vec<Datagram>,
    by_key: HashMap<Key, u32>,
    senders: HashMap<Sender, Held>,
    free: u32,
    oldest: u32,
    newest: u32,
    /// Fragments that wait, each in a list of its datagram, and places for others.
    pieces: Vec<Piece>,
    free_piece: u32,
    given_up: u64,
}

struct Datagram {
    key: Key,
    parts: Parts,
    translation: Option<Translation>,
    is_broken: bool,
    /// From when on it is forgotten.
    ends: Ticks,
    /// The next one of its age list, or of free places.
    newer: u32,
    older: u32,
    first_piece: u32,
    last_piece: u32,
}

struct Piece {
    frame: Vec<u8>,
    next: u32,
}

/// What one sender has.
#[derive(Clone, Copy, Default)]
struct Held {
    datagrams: u32,
    waiting: u32,
}

impl Fragments {
    /// None followed yet; its memory is taken here. Senders are told apart by the bits of `mask` of their addresses.
    pub fn new(limits: config::Fragments, clock: &Clock, mask: [u64; 2]) -> Fragments {
        let count = limits.datagrams as usize;
        let waiting = limits.waiting;
        let piece = |number| Piece {
            frame: Vec::with_capacity(FRAME_LEN),
            next: if number + 1 < waiting { number + 1 } else { NONE },
        };
        Fragments {
            limits,
            timeout: (limits.timeout_s * clock.ticks_per_second()) as Ticks,
            mask,
            datagrams: Vec::with_capacity(count),
            by_key: HashMap::with_capacity(count),
            senders: HashMap::with_capacity(count),
            free: NONE,
            oldest: NONE,
            newest: NONE,
            pieces: (0..waiting).map(piece).collect(),
            free_piece: 0,
            given_up: 0,
        }
    }

    /// What is to be done with a fragment that is sound in itself.
    ///
    /// # Errors
    /// Why it does not go on now; where it waits, it was taken out of `frame`.
    pub fn take(&mut self, part: &Part, frame: &[u8], now: Ticks) -> Result<Step, Reason> {
        let Some(number) = self.find(&part.key, now) else {
            self.check_room(self.sender(&part.key))?;
            if part.offset == 0 {
                return Ok(Step::First);
            }
            self.check_waiting(self.sender(&part.key))?;
            let number = self.begin(part.key, now);
            self.place(number, part)?;
            self.keep(number, frame);
            return Err(reasons::FRAGMENT_WAITS);
        };
        let known = &self.datagrams[number as usize];
        if known.is_broken {
            return Err(reasons::FRAGMENT_OVERLAP);
        }
        match (known.translation, part.offset) {
            (Some(translation), _) => {
                if self.place(number, part)? {
                    self.forget(number);
                }
                Ok(Step::Follow(translation))
            }
            (None, 0) => {
                self.place(number, part)?;
                Ok(Step::First)
            }
            (None, _) => {
                self.check_waiting(self.sender(&part.key))?;
                self.place(number, part)?;
                self.keep(number, frame);
                Err(reasons::FRAGMENT_WAITS)
            }
        }
    }

    /// Keeps `bytes` of a fragment that is sound in itself until its datagram is whole: with the last one `each` gets
    /// those of the others, in the order in which they came.
    ///
    /// # Errors
    /// Why it does not go on now.
    pub fn gather(
        &mut self,
        part: &Part,
        bytes: &[u8],
        now: Ticks,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), Reason> {
        let sender = self.sender(&part.key);
        let known = self.find(&part.key, now);
        match known {
            Some(number) if self.datagrams[number as usize].is_broken => {
                return Err(reasons::FRAGMENT_OVERLAP);
            }
            Some(_) => {}
            None => self.check_room(sender)?,
        }
        self.check_waiting(sender)?;
        let number = known.unwrap_or_else(|| self.begin(part.key, now));
        if !self.place(number, part)? {
            self.keep(number, bytes);
            return Err(reasons::OUTER_FRAGMENT_WAITS);
        }
        while let Some(piece) = self.take_piece(number) {
            each(&self.pieces[piece as usize].frame);
        }
        self.forget(number);
        Ok(())
    }

    /// The first fragment of a datagram has left so; the others are to follow. `release` gets those that
    /// waited, in their order.
    pub fn settle(
        &mut self,
        (part, translation): (&Part, Translation),
        now: Ticks,
        mut release: impl FnMut(&[u8]),
    ) {
        let number = match self.by_key.get(&part.key) {
            Some(&number) => number,
            None => {
                let number = self.begin(part.key, now);
                // The first of a datagram fits.
                let _ = self.place(number, part);
                number
            }
        };
        self.datagrams[number as usize].translation = Some(translation);
        while let Some(piece) = self.take_piece(number) {
            release(&self.pieces[piece as usize].frame);
        }
        if self.datagrams[number as usize].parts.is_whole() {
            self.forget(number);
        }
    }

    /// The first fragment of a datagram was refused: nothing waits for it any longer.
    pub fn give_up(&mut self, key: &Key) {
        if let Some(&number) = self.by_key.get(key) {
            self.forget(number);
        }
    }

    /// Forgets datagrams whose time is over, many at a time at most.
    pub fn expire(&mut self, now: Ticks) {
        for _ in 0..EXPIRE_MAX {
            match self.datagrams.get(self.oldest as usize) {
                Some(oldest) if oldest.ends <= now => self.forget(self.oldest),
                _ => return,
            }
        }
    }

    /// Fragments that waited in vain since this was asked last.
    pub fn take_given_up(&mut self) -> u64 {
        std::mem::take(&mut self.given_up)
    }

    /// Datagrams that are followed or waited for, and fragments that wait.
    pub fn sizes(&self) -> (usize, usize) {
        (self.by_key.len(), self.senders.values().map(|held| held.waiting as usize).sum())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let entries = size_of::<Datagram>() + size_of::<(Key, u32)>() + size_of::<(Sender, Held)>();
        self.datagrams.capacity() * entries + self.pieces.len() * (size_of::<Piece>() + FRAME_LEN)
    }

    fn sender(&self, key: &Key) -> Sender {
        let address = [key.source[0] & self.mask[0], key.source[1] & self.mask[1]];
        let sender = Inside { address, near: key.realm.into(), ..Inside::default() };
        (sender.subscriber(), key.realm)
    }

    fn find(&mut self, key: &Key, now: Ticks) -> Option<u32> {
        let number = *self.by_key.get(key)?;
        if self.datagrams[number as usize].ends > now {
            return Some(number);
        }
        self.forget(number);
        None
    }

    /// Whether one more datagram may be followed.
    fn check_room(&self, sender: Sender) -> Result<(), Reason> {
        let held = self.senders.get(&sender).copied().unwrap_or_default();
        if held.datagrams >= self.limits.datagrams_per_sender {
            return Err(reasons::FRAGMENT_LIMIT);
        }
        match self.by_key.len() < self.limits.datagrams as usize {
            true => Ok(()),
            false => Err(reasons::FRAGMENTS_FULL),
        }
    }

    /// Whether one more fragment may wait.
    fn check_waiting(&self, sender: Sender) -> Result<(), Reason> {
        let held = self.senders.get(&sender).copied().unwrap_or_default();
        if held.waiting >= self.limits.waiting_per_sender {
            return Err(reasons::FRAGMENT_LIMIT);
        }
        match self.free_piece != NONE {
            true => Ok(()),
            false => Err(reasons::FRAGMENTS_FULL),
        }
    }

    /// Takes note of a fragment; whether its datagram is whole now.
    fn place(&mut self, number: u32, part: &Part) -> Result<bool, Reason> {
        let known = &mut self.datagrams[number as usize];
        match known.parts.place(part.offset, part.len, part.more) {
            Place::Fits => Ok(false),
            Place::Completes => Ok(true),
            Place::Repeats => Err(reasons::FRAGMENT_OVERLAP),
            Place::Scattered => Err(reasons::FRAGMENT_SCATTERED),
            Place::Contradicts => {
                known.is_broken = true;
                self.drop_pieces(number);
                Err(reasons::FRAGMENT_OVERLAP)
            }
        }
    }

    /// An entry for a datagram, for which there is room.
    fn begin(&mut self, key: Key, now: Ticks) -> u32 {
        let fresh = Datagram {
            key,
            parts: Parts::default(),
            translation: None,
            is_broken: false,
            ends: now.saturating_add(self.timeout),
            newer: NONE,
            older: self.newest,
            first_piece: NONE,
            last_piece: NONE,
        };
        let number = match self.datagrams.get_mut(self.free as usize) {
            Some(place) => {
                let number = self.free;
                self.free = place.newer;
                *place = fresh;
                number
            }
            None => {
                self.datagrams.push(fresh);
                self.datagrams.len() as u32 - 1
            }
        };
        match self.datagrams.get_mut(self.newest as usize) {
            Some(newest) => newest.newer = number,
            None => self.oldest = number,
        }
        self.newest = number;
        self.by_key.insert(key, number);
        self.senders.entry(self.sender(&key)).or_default().datagrams += 1;
        number
    }

    /// Ends an entry; what waits for it is dropped.
    fn forget(&mut self, number: u32) {
        self.drop_pieces(number);
        let Datagram { key, newer, older, .. } = self.datagrams[number as usize];
        match self.datagrams.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
        match self.datagrams.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        self.datagrams[number as usize].newer = self.free;
        self.free = number;
        self.by_key.remove(&key);
        let sender = self.sender(&key);
        if let Some(held) = self.senders.get_mut(&sender) {
            held.datagrams -= 1;
            if held.datagrams == 0 {
                self.senders.remove(&sender);
            }
        }
    }

    /// Has a frame wait, for which there is room.
    fn keep(&mut self, number: u32, frame: &[u8]) {
        let place = self.free_piece;
        let known = &mut self.datagrams[number as usize];
        let before = std::mem::replace(&mut known.last_piece, place);
        if before == NONE {
            known.first_piece = place;
        } else {
            self.pieces[before as usize].next = place;
        }
        let piece = &mut self.pieces[place as usize];
        self.free_piece = std::mem::replace(&mut piece.next, NONE);
        piece.frame.clear();
        piece.frame.extend_from_slice(frame);
        let key = known.key;
        self.senders.entry(self.sender(&key)).or_default().waiting += 1;
    }

    /// The next fragment that waits for a datagram; its bytes stay until another one waits.
    fn take_piece(&mut self, number: u32) -> Option<u32> {
        let known = &mut self.datagrams[number as usize];
        let place = known.first_piece;
        let piece = self.pieces.get_mut(place as usize)?;
        known.first_piece = std::mem::replace(&mut piece.next, self.free_piece);
        if known.first_piece == NONE {
            known.last_piece = NONE;
        }
        self.free_piece = place;
        let key = known.key;
        let sender = self.sender(&key);
        if let Some(held) = self.senders.get_mut(&sender) {
            held.waiting -= 1;
        }
        Some(place)
    }

    fn drop_pieces(&mut self, number: u32) {
        while self.take_piece(number).is_some() {
            self.given_up += 1;
        }
    }
}

/// No place.
const NONE: u32 = u32::MAX;

/// Datagrams that are forgotten in a round because their time is over.
const EXPIRE_MAX: usize = 256;

/// Room for a fragment that waits; a longer one gets more.
const FRAME_LEN: usize = 2048;
