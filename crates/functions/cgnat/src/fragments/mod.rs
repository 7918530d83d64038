//! Fragmented datagrams on their way through a NAT: how the first fragment was translated, and
//! fragments that came before it.
//!
//! ```text
//!  first fragment --> translated as a packet --> followed: the others are translated as it was
//!  another one    --> of a datagram that is followed: goes on at once
//!                 --> else it waits, until the first one comes or the time is over
//! ```
//! Nothing is put together but outer packets of softwires, which nobody else could (RFC 6333
//! section 6.3): their fragments wait for one another. Both directions, and those, have a store of
//! their own, of a size fixed at the start, of which no sender gets more than its part; what has no
//! room is refused, and nothing gives way. A datagram whose fragments lie over one another (RFC
//! 5722 for IPv6, RFC 1858 and 3128) goes no further. An entry ends with the last byte of its
//! datagram, or a fixed time after its beginning, so that the oldest entry is always the next to
//! end.

pub(crate) mod config;
pub(crate) mod followed;
mod senders;
mod stage;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use machine::clock::{Clock, Ticks};
use machine::hash::Keyed;
use packet::{PortId, Reason};
use stages::reassembly::{Datagrams, Key, Part, Place};

use self::senders::{Held, Sender, Senders};
use crate::reasons;
use crate::translation::Ends;
use crate::types::flow::Inside;

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
    /// The part of a source that names a sender.
    mask: [u64; 2],
    datagrams: Datagrams<Datagram>,
    senders: Senders,
    /// Fragments that wait, each in a list of its datagram, and places for others.
    pieces: Vec<Piece>,
    free_piece: u32,
    waiting: usize,
    given_up: u64,
}

/// What is kept of a datagram: how its first fragment was translated, and those that wait for it.
struct Datagram {
    translation: Option<Translation>,
    first_piece: u32,
    last_piece: u32,
}

struct Piece {
    frame: Vec<u8>,
    next: u32,
}

impl Fragments {
    /// None followed yet; its memory is taken here. Senders are told apart by the bits of `mask` of
    /// their addresses.
    ///
    /// # Errors
    /// When the kernel has no such memory.
    pub fn new(
        limits: config::Fragments,
        clock: &Clock,
        (mask, secret): ([u64; 2], [u64; 2]),
    ) -> io::Result<Fragments> {
        let count = limits.datagrams as usize;
        let waiting = limits.waiting;
        let piece = |number| Piece {
            frame: Vec::with_capacity(FRAME_LEN),
            next: if number + 1 < waiting { number + 1 } else { NONE },
        };
        let keyed = Keyed::new(secret);
        Ok(Fragments {
            limits,
            mask,
            datagrams: Datagrams::new(count, limits.timeout_s, clock, keyed.clone())?,
            senders: Senders::new(count, keyed)?,
            pieces: (0..waiting).map(piece).collect(),
            free_piece: 0,
            waiting: 0,
            given_up: 0,
        })
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
            let number = self.begin(part.key, now).ok_or(reasons::FRAGMENTS_FULL)?;
            self.place(number, part)?;
            self.keep(number, frame);
            return Err(reasons::FRAGMENT_WAITS);
        };
        if self.datagrams.parts(number).is_broken() {
            return Err(reasons::FRAGMENT_OVERLAP);
        }
        match (self.datagrams[number].translation, part.offset) {
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

    /// Keeps `bytes` of a fragment that is sound in itself until its datagram is whole: with the
    /// last one `each` gets those of the others, in the order in which they came.
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
            Some(number) if self.datagrams.parts(number).is_broken() => {
                return Err(reasons::FRAGMENT_OVERLAP);
            }
            Some(_) => {}
            None => self.check_room(sender)?,
        }
        self.check_waiting(sender)?;
        let number = known.or_else(|| self.begin(part.key, now)).ok_or(reasons::FRAGMENTS_FULL)?;
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

    /// The first fragment of a datagram has left so; the others are to follow. `release` gets those
    /// that waited, in their order.
    pub fn settle(
        &mut self,
        (part, translation): (&Part, Translation),
        now: Ticks,
        mut release: impl FnMut(&[u8]),
    ) {
        let number = match self.datagrams.find(&part.key) {
            Some(number) => number,
            None => {
                let Some(number) = self.begin(part.key, now) else { return };
                // The first of a datagram fits.
                let _ = self.place(number, part);
                number
            }
        };
        self.datagrams[number].translation = Some(translation);
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

    fn sender(&self, key: &Key) -> Sender {
        let address = [key.source[0] & self.mask[0], key.source[1] & self.mask[1]];
        let sender = Inside { address, near: key.realm.into(), ..Inside::default() };
        (sender.subscriber(), key.realm)
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
    fn check_room(&self, sender: Sender) -> Result<(), Reason> {
        let held = self.senders.held(sender);
        if held.datagrams >= self.limits.datagrams_per_sender {
            return Err(reasons::FRAGMENT_LIMIT);
        }
        match self.datagrams.len() < self.datagrams.capacity() {
            true => Ok(()),
            false => Err(reasons::FRAGMENTS_FULL),
        }
    }

    /// Whether one more fragment may wait.
    fn check_waiting(&self, sender: Sender) -> Result<(), Reason> {
        let held = self.senders.held(sender);
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
        match self.datagrams.place(number, part) {
            Place::Fits => Ok(false),
            Place::Completes => Ok(true),
            Place::Repeats => Err(reasons::FRAGMENT_OVERLAP),
            Place::Scattered => Err(reasons::FRAGMENT_SCATTERED),
            Place::Contradicts => {
                self.drop_pieces(number);
                Err(reasons::FRAGMENT_OVERLAP)
            }
        }
    }

    /// An entry for a datagram, for which there is room; none where an index has no place for its
    /// hash after all.
    fn begin(&mut self, key: Key, now: Ticks) -> Option<u32> {
        let sender = self.sender(&key);
        self.senders.enter(sender)?.datagrams += 1;
        let fresh = Datagram { translation: None, first_piece: NONE, last_piece: NONE };
        let number = self.datagrams.begin(key, fresh, now);
        if number.is_none() {
            self.senders.leave(sender);
        }
        number
    }

    /// Ends an entry; what waits for it is dropped.
    fn forget(&mut self, number: u32) {
        self.drop_pieces(number);
        self.senders.leave(self.sender(self.datagrams.key(number)));
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
        let sender = self.sender(self.datagrams.key(number));
        self.senders.wait(sender, more);
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
