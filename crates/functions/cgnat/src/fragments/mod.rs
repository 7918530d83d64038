//! Fragmented datagrams on their way through a NAT: how the first fragment was translated, and
//! fragments that came before it.
//!
//! ```text
//!  first fragment --> translated as a packet --> followed: the others are translated as it was
//!  another one    --> of a datagram that is followed: goes on at once
//!                 --> else it waits, until the first one comes or the time is over
//! ```
//! Nothing is reassembled but outer packets of softwires, which nobody else could (RFC 6333
//! section 6.3): their fragments wait for one another. Both directions, and those, have a store of
//! their own, of a size fixed at the start, of which no sender gets more than its part; what has no
//! room is refused, and nothing gives way. A datagram whose fragments lie over one another (RFC
//! 5722 for IPv6, RFC 1858 and 3128) goes no further. An entry ends with the last byte of its
//! datagram, or a fixed time after its beginning, so that the oldest entry is always the next to
//! end.

pub(crate) mod config;
pub(crate) mod followed;
mod stage;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use machine::clock::{Clock, Ticks};
use packet::{PortId, Reason};
pub use stages::reassembly::fragments::Step;
use stages::reassembly::fragments::{self, Refused, Sender};
use stages::reassembly::{Key, Part};

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

/// The datagrams of one direction.
pub struct Fragments {
    /// The part of a source that names a sender.
    mask: [u64; 2],
    store: fragments::Fragments<Translation>,
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
        let config::Fragments { datagrams, datagrams_per_sender, .. } = limits;
        let config::Fragments { waiting, waiting_per_sender, timeout_s, .. } = limits;
        let limits = fragments::Limits {
            datagrams,
            datagrams_per_sender,
            waiting,
            waiting_per_sender,
            timeout_s,
        };
        Ok(Fragments { mask, store: fragments::Fragments::new(limits, clock, secret)? })
    }

    /// What is to be done with a fragment that is sound in itself.
    ///
    /// # Errors
    /// Why it does not go on now; where it waits, it was taken out of `frame`.
    pub fn take(
        &mut self,
        part: &Part,
        frame: &[u8],
        now: Ticks,
    ) -> Result<Step<Translation>, Reason> {
        let sender = self.sender(&part.key);
        self.store
            .take((part, sender), frame, now)
            .map_err(|why| reason(why, reasons::FRAGMENT_WAITS))
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
        each: impl FnMut(&[u8]),
    ) -> Result<(), Reason> {
        let sender = self.sender(&part.key);
        self.store
            .gather((part, sender), bytes, now, each)
            .map_err(|why| reason(why, reasons::OUTER_FRAGMENT_WAITS))
    }

    /// The first fragment of a datagram has left so; the others are to follow. `release` gets those
    /// that waited, in their order.
    pub fn settle(
        &mut self,
        (part, translation): (&Part, Translation),
        now: Ticks,
        release: impl FnMut(&[u8]),
    ) {
        let sender = self.sender(&part.key);
        self.store.settle((part, sender, translation), now, release);
    }

    /// The first fragment of a datagram was refused: nothing waits for it any longer.
    pub fn give_up(&mut self, key: &Key) {
        self.store.give_up(key);
    }

    /// Forgets datagrams whose time is over, many at a time at most.
    pub fn expire(&mut self, now: Ticks) {
        self.store.expire(now);
    }

    /// Fragments that waited in vain since this was asked last.
    pub fn take_given_up(&mut self) -> u64 {
        self.store.take_given_up()
    }

    /// Datagrams that are followed or waited for, and fragments that wait.
    pub fn sizes(&self) -> (usize, usize) {
        self.store.sizes()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.store.bytes()
    }

    fn sender(&self, key: &Key) -> Sender {
        let address = [key.source[0] & self.mask[0], key.source[1] & self.mask[1]];
        let sender = Inside { address, near: key.realm.into(), ..Inside::default() };
        (sender.subscriber(), key.realm)
    }
}

/// Why a fragment is dropped; `waits` of one that is kept.
fn reason(why: Refused, waits: Reason) -> Reason {
    match why {
        Refused::Waits => waits,
        Refused::Limit => reasons::FRAGMENT_LIMIT,
        Refused::Full => reasons::FRAGMENTS_FULL,
        Refused::Overlap => reasons::FRAGMENT_OVERLAP,
        Refused::Scattered => reasons::FRAGMENT_SCATTERED,
    }
}
