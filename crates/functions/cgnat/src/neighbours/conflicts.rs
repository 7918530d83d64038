//! Who else says by ARP that it has an address for which the NAT answers: one of an interface's
//! own, or of the pools, while this NAT is the active one.
//!
//! Virtual addresses pass from one NAT to another, and are none. **Not supported:** addresses of
//! IPv6, of which the default ones are also those of many routers.

use std::net::Ipv4Addr;

use function_kit::{Neighbour, station};
use machine::clock::{Clock, Ticks};
use stages::duplicates::{self, Duplicate, Duplicates};
use wire::MacAddr;

use crate::neighbours::table::Link;

/// Those that were heard just now.
pub(crate) struct Conflicts(Duplicates);

impl Conflicts {
    /// None so far.
    pub fn new(clock: Clock) -> Conflicts {
        Conflicts(Duplicates::new(clock))
    }

    /// A station on a link has said that it has an address of the NAT's: whether that is of note.
    pub(super) fn hear(
        &mut self,
        (link, address): (Link, Ipv4Addr),
        mac: MacAddr,
        now: Ticks,
    ) -> bool {
        self.0.hear((link.number(), address.into()), mac, now)
    }

    /// Forgets those that have not said so for a while.
    pub fn forget(&mut self, now: Ticks) {
        self.0.forget(now);
    }

    /// Those that are known, as operators see them.
    pub fn shown(&self) -> impl Iterator<Item = Neighbour> + '_ {
        let shown = |one: &Duplicate| {
            station(Link::of(one.link).name(), one.address, duplicates::STATE, Some(one.mac))
        };
        self.0.heard().iter().map(shown)
    }
}
