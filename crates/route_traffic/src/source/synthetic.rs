//! Host routes in sequence, in blocks of equal attributes: nothing of them is kept.

use std::net::IpAddr;

use protocol_bgp::Family;

use crate::routes::Routes;
use crate::source::plain::{Plain, next_hop};

/// A number of /32 or /128 in sequence, with a number of sets of attributes.
#[derive(Clone, Debug)]
pub struct Synthetic {
    start: IpAddr,
    count: u32,
    sets: u32,
}

impl Synthetic {
    /// Describes routes to hosts from an address on.
    ///
    /// # Errors
    /// In words, if there are no routes or sets, fewer routes than sets, or they go on beyond the
    /// last address.
    pub fn new(start: IpAddr, count: u32, sets: u32) -> Result<Synthetic, String> {
        if sets == 0 || count < sets {
            return Err(format!("{count} routes cannot have {sets} sets of attributes"));
        }
        let is_inside = match start {
            IpAddr::V4(start) => start.to_bits().checked_add(count - 1).is_some(),
            IpAddr::V6(start) => start.to_bits().checked_add(u128::from(count) - 1).is_some(),
        };
        if !is_inside {
            return Err(format!("{count} addresses from {start} on go on beyond the last one"));
        }
        Ok(Synthetic { start, count, sets })
    }
}

impl Routes for Synthetic {
    fn count(&self) -> u32 {
        self.count
    }

    fn sets(&self) -> u32 {
        self.sets
    }

    fn set(&self, route: u32) -> u32 {
        (u64::from(route) * u64::from(self.sets) / u64::from(self.count)) as u32
    }

    fn family(&self, _set: u32) -> Family {
        match self.start {
            IpAddr::V4(_) => Family::Ipv4Unicast,
            IpAddr::V6(_) => Family::Ipv6Unicast,
        }
    }

    fn wire(&self, route: u32, out: &mut Vec<u8>) {
        match self.start {
            IpAddr::V4(start) => {
                out.push(32);
                out.extend((start.to_bits() + route).to_be_bytes());
            }
            IpAddr::V6(start) => {
                out.push(128);
                out.extend((start.to_bits() + u128::from(route)).to_be_bytes());
            }
        }
    }

    fn find(&self, family: Family, key: &[u8]) -> Option<u32> {
        if family != self.family(0) {
            return None;
        }
        let (bits, address) = key.split_first()?;
        let route = match self.start {
            IpAddr::V4(start) if *bits == 32 => {
                u32::from_be_bytes(address.try_into().ok()?).checked_sub(start.to_bits())?
            }
            IpAddr::V6(start) if *bits == 128 => {
                let address = u128::from_be_bytes(address.try_into().ok()?);
                u32::try_from(address.checked_sub(start.to_bits())?).ok()?
            }
            _ => return None,
        };
        (route < self.count).then_some(route)
    }

    fn attributes(&self, set: u32, out: &mut Vec<u8>) {
        Plain {
            origin: 0,
            path: &[FIRST_AS, FIRST_AS + 1 + set % 64, FIRST_AS + 100 + set],
            next_hop: &next_hop(set, self.start.is_ipv6()),
            local_pref: 100,
            communities: &[FIRST_COMMUNITY + set],
            extended: &[],
        }
        .write(out);
    }
}

/// ASes of four bytes for documents and tests (RFC 5398).
const FIRST_AS: u32 = 65536;

const FIRST_COMMUNITY: u32 = 0xfc00_0000;
