//! Fragments that wait for others of their datagram, and what becomes of those behind the first:
//! the store of a user that has both, with limits for each sender.
//!
//! ```text
//!  take:   first fragment --> its user decides: settled, or given up
//!          another one    --> of a datagram that is settled: goes on at once
//!                         --> else it waits, until the first one comes or the time is over
//!  gather: any of them    --> waits, until its datagram is whole or the time is over
//! ```
//! Its size is fixed at the start, and no sender gets more than its part of it; what has no room is
//! refused, and nothing gives way. An entry ends with the last byte of its datagram, or a fixed
//! time after its beginning, so that the oldest entry is always the next to end. Whatever lies over
//! one another goes no further (RFC 5722, RFC 1858, RFC 3128).

use std::io;

use machine::clock::{Clock, Ticks};
use machine::hash::Keyed;

pub use super::senders::Sender;
use super::senders::{Held, Senders};
use super::{Datagrams, Key, Part, Place};

/// What is to be done with a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// It is the first one: its user decides about it, and then settles it or gives it up.
    First,
    /// The same becomes of it as of the first one.
    Follow(T),
}

/// Why a fragment does not go on now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It waits for others.
    Waits,
    /// Its sender has as many datagrams or waiting fragments as it may have.
    Limit,
    /// As many datagrams are known, or as many fragments wait, as there is room for.
    Full,
    /// It, or another one of its datagram, lies over others, or was seen before.
    Overlap,
    /// More gaps before it than are kept account of.
    Scattered,
}

/// How much is kept of fragments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Most datagrams at a time.
    pub datagrams: u32,
    /// Most of them of one sender.
    pub datagrams_per_sender: u32,
    /// Most fragments that wait.
    pub waiting: u32,
    /// Most of them of one sender.
    pub waiting_per_sender: u32,
    /// How long a datagram is known, in seconds.
    pub timeout_s: f64,
}

/// Datagrams of which fragments have come, each with what became of its first one.
pub struct Fragments<T> {
    limits: Limits,
    datagrams: Datagrams<Datagram<T>>,
    senders: Senders,
    /// Fragments that wait, each in a list of its datagram, and places for others.
    pieces: Vec<Piece>,
    free_piece: u32,
    waiting: usize,
    given_up: u64,
}

/// What is kept of a datagram: what became of its first fragment, and those that wait for it.
struct Datagram<T> {
    sender: Sender,
    first: Option<T>,
    first_piece: u32,
    last_piece: u32,
}

struct Piece {
    frame: Vec<u8>,
    next: u32,
}

impl<T: Copy> Fragments<T> {
    /// None known yet; its memory is taken here.
    ///
    /// # Errors
    /// When the kernel has no such memory.
    pub fn new(limits: Limits, clock: &Clock, secret: [u64; 2]) -> io::Result<Fragments<T>> {
        let count = limits.datagrams as usize;
        let waiting = limits.waiting;
        let piece = |number| Piece {
            frame: Vec::with_capacity(FRAME_LEN),
            next: if number + 1 < waiting { number + 1 } else { NONE },
        };
        let keyed = Keyed::new(secret);
        Ok(Fragments {
            limits,
            datagrams: Datagrams::new(count, limits.timeout_s, clock, keyed.clone())?,
            senders: Senders::new(count, keyed)?,
            pieces: (0..waiting).map(piece).collect(),
            free_piece: 0,
            waiting: 0,
            given_up: 0,
        })
    }

    /// What is to be done with a fragment of a sender that is sound in itself.
    ///
    /// # Errors
    /// Why it does not go on now; where it waits, `frame` was copied.
    pub fn take(
        &mut self,
        (part, sender): (&Part, Sender),
        frame: &[u8],
        now: Ticks,
    ) -> Result<Step<T>, Refused> {
        let Some(number) = self.find(&part.key, now) else {
            self.check_room(sender)?;
            if part.offset == 0 {
                return Ok(Step::First);
            }
            self.check_waiting(sender)?;
            let number = self.begin((part.key, sender), now).ok_or(Refused::Full)?;
            self.place(number, part)?;
            self.keep(number, frame);
            return Err(Refused::Waits);
        };
        if self.datagrams.parts(number).is_broken() {
            return Err(Refused::Overlap);
        }
        match (self.datagrams[number].first, part.offset) {
            (Some(first), _) => {
                if self.place(number, part)? {
                    self.forget(number);
                }
                Ok(Step::Follow(first))
            }
            (None, 0) => {
                self.place(number, part)?;
                Ok(Step::First)
            }
            (None, _) => {
                self.check_waiting(sender)?;
                self.place(number, part)?;
                self.keep(number, frame);
                Err(Refused::Waits)
            }
        }
    }

    /// Keeps `bytes` of a fragment that is sound in itself until its datagram is whole: with the
    /// last one `each` gets those of the others, in the order in which they came.
    ///
    /// # Errors
    /// Why it does not go on now.
    pub fn gather(
        &mut self,
        (part, sender): (&Part, Sender),
        bytes: &[u8],
        now: Ticks,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), Refused> {
        let known = self.find(&part.key, now);
        match known {
            Some(number) if self.datagrams.parts(number).is_broken() => {
                return Err(Refused::Overlap);
            }
            Some(_) => {}
            None => self.check_room(sender)?,
        }
        self.check_waiting(sender)?;
        let number = known.or_else(|| self.begin((part.key, sender), now)).ok_or(Refused::Full)?;
        if !self.place(number, part)? {
            self.keep(number, bytes);
            return Err(Refused::Waits);
        }
        while let Some(piece) = self.take_piece(number) {
            each(&self.pieces[piece as usize].frame);
        }
        self.forget(number);
        Ok(())
    }

    /// The first fragment of a datagram has left so; the others are to follow. `release` gets those
    /// that waited, in their order.
    pub fn settle(
        &mut self,
        (part, sender, first): (&Part, Sender, T),
        now: Ticks,
        mut release: impl FnMut(&[u8]),
    ) {
        let number = match self.datagrams.find(&part.key) {
            Some(number) => number,
            None => {
                let Some(number) = self.begin((part.key, sender), now) else { return };
                // The first of a datagram fits.
                let _ = self.place(number, part);
                number
            }
        };
        self.datagrams[number].first = Some(first);
        while let Some(piece) = self.take_piece(number) {
            release(&self.pieces[piece as usize].frame);
        }
        if self.datagrams.parts(number).is_whole() {
            self.forget(number);
        }
    }

    /// The first fragment of a datagram was refused: nothing waits for it any longer.
    pub fn give_up(&mut self, key: &Key) {
        if let Some(number) = self.datagrams.find(key) {
            self.forget(number);
        }
    }

    /// Forgets datagrams whose time is over, many at a time at most.
    pub fn expire(&mut self, now: Ticks) {
        for _ in 0..EXPIRE_MAX {
            match self.datagrams.oldest() {
                Some(oldest) if self.datagrams.is_over(oldest, now) => self.forget(oldest),
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
        (self.datagrams.len(), self.waiting)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let senders = self.datagrams.capacity() * (size_of::<(Sender, Held)>() + INDEX_LEN);
        let pieces = self.pieces.len() * (size_of::<Piece>() + FRAME_LEN);
        self.datagrams.bytes() + senders + pieces
    }

    /// The entry of a datagram whose time is not over.
    fn find(&mut self, key: &Key, now: Ticks) -> Option<u32> {
        let number = self.datagrams.find(key)?;
        if !self.datagrams.is_over(number, now) {
            return Some(number);
        }
        self.forget(number);
        None
    }

    /// Whether one more datagram may be followed.
    fn check_room(&self, sender: Sender) -> Result<(), Refused> {
        let held = self.senders.held(sender);
        if held.datagrams >= self.limits.datagrams_per_sender {
            return Err(Refused::Limit);
        }
        match self.datagrams.len() < self.datagrams.capacity() {
            true => Ok(()),
            false => Err(Refused::Full),
        }
    }

    /// Whether one more fragment may wait.
    fn check_waiting(&self, sender: Sender) -> Result<(), Refused> {
        let held = self.senders.held(sender);
        if held.waiting >= self.limits.waiting_per_sender {
            return Err(Refused::Limit);
        }
        match self.free_piece != NONE {
            true => Ok(()),
            false => Err(Refused::Full),
        }
    }

    /// Takes note of a fragment; whether its datagram is whole now.
    fn place(&mut self, number: u32, part: &Part) -> Result<bool, Refused> {
        match self.datagrams.place(number, part) {
            Place::Fits => Ok(false),
            Place::Completes => Ok(true),
            Place::Repeats => Err(Refused::Overlap),
            Place::Scattered => Err(Refused::Scattered),
            Place::Contradicts => {
                self.drop_pieces(number);
                Err(Refused::Overlap)
            }
        }
    }

    /// An entry for a datagram, for which there is room; none where an index has no place for its
    /// hash after all.
    fn begin(&mut self, (key, sender): (Key, Sender), now: Ticks) -> Option<u32> {
        self.senders.enter(sender)?.datagrams += 1;
        let fresh = Datagram { sender, first: None, first_piece: NONE, last_piece: NONE };
        let number = self.datagrams.begin(key, fresh, now);
        if number.is_none() {
            self.senders.leave(sender);
        }
        number
    }

    /// Ends an entry; what waits for it is dropped.
    fn forget(&mut self, number: u32) {
        self.drop_pieces(number);
        self.senders.leave(self.datagrams[number].sender);
        self.datagrams.remove(number);
    }

    /// Has a frame wait, for which there is room.
    fn keep(&mut self, number: u32, frame: &[u8]) {
        let place = self.free_piece;
        let known = &mut self.datagrams[number];
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
        self.add_waiting(number, 1);
    }

    /// The next fragment that waits for a datagram; its bytes stay until another one waits.
    fn take_piece(&mut self, number: u32) -> Option<u32> {
        let known = &mut self.datagrams[number];
        let place = known.first_piece;
        let piece = self.pieces.get_mut(place as usize)?;
        known.first_piece = std::mem::replace(&mut piece.next, self.free_piece);
        if known.first_piece == NONE {
            known.last_piece = NONE;
        }
        self.free_piece = place;
        self.add_waiting(number, -1);
        Some(place)
    }

    /// So many more fragments of a datagram's sender wait.
    fn add_waiting(&mut self, number: u32, more: i32) {
        self.waiting = self.waiting.saturating_add_signed(more as isize);
        self.senders.wait(self.datagrams[number].sender, more);
    }

    fn drop_pieces(&mut self, number: u32) {
        while self.take_piece(number).is_some() {
            self.given_up += 1;
        }
    }
}

/// Bytes of the senders' index for an entry, about.
const INDEX_LEN: usize = 10;

/// No place.
const NONE: u32 = u32::MAX;

/// Datagrams that are forgotten in a round because their time is over.
const EXPIRE_MAX: usize = 256;

/// Room for a fragment that waits; a longer one gets more.
const FRAME_LEN: usize = 2048;
