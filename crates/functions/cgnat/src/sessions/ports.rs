//! Who has which outside port: a word for each port of each address and protocol.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | nobody ever had it |
//! | 1 to 2^31 - 1 | a session of the mapping that has it, plus one |
//! | from 2^31 on | it rests until this time (its lower 31 bits) |
//!
//! So a packet from outside finds its mapping, and a new mapping a free port, without a search.
//! Pages that no port lies on take no memory.

use std::io;
use std::ops::Range;

use machine::memory::{HugeArray, prefetch_at};
use wire::protocol;

use crate::sessions::table::Number;
use crate::sessions::times::Moment;

/// The words of all ports.
pub struct Ports {
    words: HugeArray<u32>,
    /// A bit for each page of words in which a port has ever rested.
    rested: Box<[u64]>,
}

/// Which of the tables of an address a protocol has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class(u8);

impl Class {
    /// UDP, TCP, ICMP, and one for all others.
    pub const COUNT: usize = 4;

    /// Every class.
    pub fn all() -> impl Iterator<Item = Class> {
        (0..Class::COUNT as u8).map(Class)
    }

    /// The class of a protocol.
    #[inline(always)]
    pub const fn of(protocol: u8) -> Class {
        Class(match protocol {
            protocol::UDP => 0,
            protocol::TCP => 1,
            protocol::ICMP => 2,
            _ => 3,
        })
    }

    /// Its number.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A port that rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resting {
    /// The number of its address.
    pub address: u32,
    /// Its class.
    pub class: Class,
    /// The port.
    pub port: u16,
    /// For how long yet.
    pub left: u32,
}

impl Ports {
    /// The ports of so many addresses, all free.
    ///
    /// # Errors
    /// When the kernel has no address space for them.
    pub fn new(addresses: u32) -> io::Result<Ports> {
        let words = addresses as usize * Class::COUNT * PORTS;
        let rested = vec![0; words.div_ceil(PAGE * 64)].into();
        Ok(Ports { words: HugeArray::reserve(words)?, rested })
    }

    /// Takes the memory for the ports of some addresses, a mebibyte each, so that no packet waits
    /// for the kernel.
    ///
    /// # Errors
    /// When there is not so much.
    pub fn populate(&mut self, addresses: Range<u32>) -> io::Result<()> {
        let place = |address| Self::place(address, Class(0), 0).min(self.words.len());
        let range = place(addresses.start)..place(addresses.end);
        self.words.populate(range)
    }

    /// The place of a port.
    #[inline(always)]
    fn place(address: u32, class: Class, port: u16) -> usize {
        (address as usize * Class::COUNT + class.index()) * PORTS + usize::from(port)
    }

    /// A session of the mapping that has a port.
    #[inline]
    pub fn owner(&self, address: u32, class: Class, port: u16) -> Option<Number> {
        let word = self.words.get(Self::place(address, class, port)).copied()?;
        (word != 0 && word < RESTING).then(|| word - 1)
    }

    /// Asks for the word of a port.
    #[inline]
    pub fn prefetch(&self, address: u32, class: Class, port: u16) {
        prefetch_at(&self.words, Self::place(address, class, port));
    }

    /// Whether nobody has a port and it does not rest.
    #[inline]
    pub fn is_free(&self, address: u32, class: Class, port: u16, now: Moment) -> bool {
        match self.words[Self::place(address, class, port)] {
            0 => true,
            word if word < RESTING => false,
            // Of 31 bits, the half behind the present is the past.
            word => (now & !RESTING).wrapping_sub(word & !RESTING) & !RESTING < RESTING / 2,
        }
    }

    /// Gives a port to the mapping of a session.
    #[inline]
    pub fn give(&mut self, address: u32, class: Class, port: u16, number: Number) {
        self.words[Self::place(address, class, port)] = number + 1;
    }

    /// Ports that rest at present, with the time that is left, among `count` words from `place` on.
    pub fn resting(
        &self,
        place: usize,
        count: usize,
        now: Moment,
    ) -> impl Iterator<Item = (usize, Resting)> + '_ {
        let end = place.saturating_add(count).min(self.words.len());
        let words = self.words.get(place..end).unwrap_or_default();
        let resting = words.iter().enumerate().filter(|(_, word)| **word >= RESTING);
        resting.filter_map(move |(index, word)| {
            let place = place + index;
            let left = (word & !RESTING).wrapping_sub(now & !RESTING) & !RESTING;
            let class = Class((place / PORTS % Class::COUNT) as u8);
            let (address, port) = ((place / PORTS / Class::COUNT) as u32, (place % PORTS) as u16);
            let resting = Resting { address, class, port, left };
            (left != 0 && left < RESTING / 2).then_some((place, resting))
        })
    }

    /// Passes over pages in which no port has ever rested, as many as a moment is enough for: the
    /// place of a word from `place` on, before which none rests.
    pub fn first_rested(&self, place: usize) -> usize {
        let (first, bit) = (place / PAGE / 64, place / PAGE % 64);
        let mut words = self.rested.iter().enumerate().skip(first).take(RESTED_LOOK_MAX);
        let of_pages = |(at, word): (usize, &u64)| {
            let word = if at == first { word >> bit << bit } else { *word };
            (word != 0).then(|| at * 64 + word.trailing_zeros() as usize)
        };
        let page = words.find_map(of_pages).unwrap_or((first + RESTED_LOOK_MAX) * 64);
        place.max(page * PAGE).min(self.words.len())
    }

    /// Words of so many addresses.
    pub fn words(addresses: u32) -> usize {
        Self::place(addresses, Class(0), 0)
    }

    /// Lets a port rest until a time.
    #[inline]
    pub fn rest(&mut self, address: u32, class: Class, port: u16, until: Moment) {
        let place = Self::place(address, class, port);
        self.words[place] = until | RESTING;
        self.rested[place / PAGE / 64] |= 1 << (place / PAGE % 64);
    }
}

/// Ports of an address and protocol.
const PORTS: usize = 1 << 16;

/// Words of 64 pages each that are looked at for ports that have rested.
const RESTED_LOOK_MAX: usize = 4096;

/// Words of a page of 4 KiB.
const PAGE: usize = 1024;

/// What a word of a resting port has.
const RESTING: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_free_owned_resting_and_free_again() {
        let mut ports = Ports::new(2).expect("address space");
        let udp = Class::of(protocol::UDP);
        assert!(ports.is_free(1, udp, 65_535, 0));
        ports.give(1, udp, 65_535, 0);
        assert_eq!(ports.owner(1, udp, 65_535), Some(0));
        assert_eq!(ports.owner(1, Class::of(protocol::TCP), 65_535), None);
        assert!(!ports.is_free(1, udp, 65_535, 5));
        assert_eq!(ports.first_rested(0), Ports::words(2), "none has ever rested");
        for until in [0, 100, RESTING - 1, RESTING, u32::MAX] {
            ports.rest(1, udp, 65_535, until);
            assert_eq!(ports.owner(1, udp, 65_535), None);
            assert!(!ports.is_free(1, udp, 65_535, until.wrapping_sub(1)), "{until}");
            let resting = |now| ports.resting(0, Ports::words(2), now).collect::<Vec<_>>();
            let one = Resting { address: 1, class: udp, port: 65_535, left: 7 };
            let found = resting(until.wrapping_sub(7));
            assert_eq!(found, [(Ports::place(1, udp, 65_535), one)]);
            let page = Ports::place(1, udp, 65_535) / PAGE * PAGE;
            assert_eq!(
                [0, page, page + 1].map(|from| ports.first_rested(from)),
                [page, page, page + 1]
            );
            assert_eq!(ports.first_rested(page + PAGE), Ports::words(2));
            assert_eq!(resting(until), []);
            assert!(ports.is_free(1, udp, 65_535, until), "{until}");
            assert!(ports.is_free(1, udp, 65_535, until.wrapping_add(1000)), "{until}");
        }
    }
}
