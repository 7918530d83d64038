//! Who else says that it has an address of the function's (RFC 5227 section 2.4, RFC 4861 section
//! 7.2.5).
//!
//! The function goes on using the address, and answers for it as before: it is a router, on whom
//! others depend. What was heard is kept for operators until nobody has said so for [`KEPT_S`]
//! seconds. Virtual routers (RFC 9568) take turns with their addresses and are none.

use std::net::IpAddr;

use machine::clock::{Clock, Ticks};
use wire::MacAddr;

/// Those that were heard just now.
pub struct Duplicates {
    heard: Vec<Duplicate>,
    kept: Ticks,
}

/// A station that has an address of the function's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The link where it is, by the user's number.
    pub link: u16,
    /// The address.
    pub address: IpAddr,
    /// The Ethernet address of the station.
    pub mac: MacAddr,
    /// When it is forgotten.
    until: Ticks,
}

impl Duplicates {
    /// None so far.
    pub fn new(clock: Clock) -> Duplicates {
        let kept = (KEPT_S * clock.ticks_per_second()) as Ticks;
        Duplicates { heard: Vec::with_capacity(HEARD_MAX), kept }
    }

    /// A station on a link has said that it has an address, which is the function's: whether that
    /// is of note.
    pub fn hear(&mut self, (link, address): (u16, IpAddr), mac: MacAddr, now: Ticks) -> bool {
        if mac.0[..5] == VIRTUAL_ROUTER || mac.0[..5] == VIRTUAL_ROUTER_IPV6 {
            return false;
        }
        self.forget(now);
        let until = now.saturating_add(self.kept);
        let is_it = |one: &&mut Duplicate| (one.link, one.address, one.mac) == (link, address, mac);
        if let Some(known) = self.heard.iter_mut().find(is_it) {
            known.until = until;
        } else if self.heard.len() < HEARD_MAX {
            self.heard.push(Duplicate { link, address, mac, until });
        }
        true
    }

    /// Forgets those that have not said so for a while.
    pub fn forget(&mut self, now: Ticks) {
        self.heard.retain(|one| one.until > now);
    }

    /// Those that are known.
    pub fn heard(&self) -> &[Duplicate] {
        &self.heard
    }
}

/// The state as which they are shown among neighbours.
pub const STATE: &str = "duplicate";

/// Seconds for which one is known.
pub const KEPT_S: f64 = 60.0;

/// Most that are known at a time.
pub const HEARD_MAX: usize = 16;

/// How the Ethernet addresses of virtual routers begin (RFC 9568 section 7.3).
const VIRTUAL_ROUTER: [u8; 5] = [0, 0, 0x5e, 0, 1];
const VIRTUAL_ROUTER_IPV6: [u8; 5] = [0, 0, 0x5e, 0, 2];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_kept_and_for_a_while() {
        let mut all = Duplicates::new(Clock::with_rate(1000.0));
        let own = IpAddr::from([10, 0, 0, 1]);
        for round in 0..3 {
            for last in 0..40 {
                assert!(all.hear((1, own), MacAddr([2, 0, 0, 0, 0, last]), round));
            }
        }
        assert_eq!(all.heard().len(), HEARD_MAX);
        assert!(!all.hear((1, own), MacAddr([0, 0, 0x5e, 0, 1, 7]), 3));
        all.forget(60_001);
        assert_eq!(all.heard().len(), HEARD_MAX);
        all.forget(60_002);
        assert!(all.heard().is_empty());
    }
}
