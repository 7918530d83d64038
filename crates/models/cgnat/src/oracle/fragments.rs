//! Fragments: of every datagram a list of all bytes, seen or not, and how its first fragment left.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_cgnat::config::Config;
use model_kit::check::Expected;
use model_kit::slow::Pieces;
use packet::PortId;

use super::ds_lite;

mod way;

/// Datagrams of which fragments are followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Datagrams {
    all: Vec<Datagram>,
    /// Fragments that leave after they waited.
    pub made: Vec<Expected>,
}

#[derive(Clone, Debug)]
struct Datagram {
    key: Key,
    pieces: Pieces,
    first: Option<First>,
    waiting: Vec<Vec<u8>>,
    until: Duration,
}

/// On which side its fragments come in, from whom in which realm to whom, protocol, identification.
pub(super) type Key = (PortId, (IpAddr, u16), Ipv4Addr, u8, u32);

/// How the first fragment left.
#[derive(Clone, Debug)]
struct First {
    port: PortId,
    /// Towards which realm, and through the softwire of which B4 element.
    realm: u16,
    b4: Option<Ipv6Addr>,
    /// The addresses, of 4 or 16 bytes each.
    ends: Vec<u8>,
    identification: u16,
    hops: u8,
}

/// A fragment as its header tells it.
pub(super) struct Part {
    pub key: Key,
    pub start: usize,
    pub len: usize,
    pub more: bool,
}

impl Datagrams {
    /// Forgets those whose time is over.
    pub fn pass(&mut self, now: Duration) {
        self.all.retain(|one| now < one.until);
    }

    /// Whether a sender may have one more datagram, and one more fragment that waits.
    fn check(&self, part: &Part, config: &Config, begins: bool) -> Result<(), &'static str> {
        let limits = config.fragments;
        let of_side = || self.all.iter().filter(|one| one.key.0 == part.key.0);
        let sender = sender(part.key.1);
        let of_sender = || of_side().filter(|one| self::sender(one.key.1) == sender);
        let waits = part.start > 0;
        if begins && of_sender().count() >= limits.datagrams_per_sender as usize {
            return Err("fragment-limit");
        }
        if begins && of_side().count() >= limits.datagrams as usize {
            return Err("fragments-full");
        }
        let waiting: usize = of_sender().map(|one| one.waiting.len()).sum();
        if waits && waiting >= limits.waiting_per_sender as usize {
            return Err("fragment-limit");
        }
        let waiting: usize = of_side().map(|one| one.waiting.len()).sum();
        match waits && waiting >= limits.waiting as usize {
            true => Err("fragments-full"),
            false => Ok(()),
        }
    }
}

/// Whose part of the room a datagram takes: that of its address, or of its softwire, behind which
/// a subscriber has as many addresses as it likes.
fn sender((from, realm): (IpAddr, u16)) -> (IpAddr, u16) {
    match realm {
        ds_lite::FIRST.. => (Ipv4Addr::UNSPECIFIED.into(), realm),
        _ => (from, realm),
    }
}

impl Datagram {
    fn new(key: Key, until: Duration) -> Datagram {
        let (pieces, waiting) = (Pieces::default(), Vec::new());
        Datagram { key, pieces, first: None, waiting, until }
    }

    fn take(&mut self, part: &Part) -> Result<(), &'static str> {
        let taken = self.pieces.take(part.start, part.len, part.more);
        if self.pieces.is_broken {
            self.waiting.clear();
        }
        taken
    }
}
