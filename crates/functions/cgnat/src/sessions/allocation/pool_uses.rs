//! How much of pools is in use.

use std::net::Ipv4Addr;

use crate::config::Prefixed;
use crate::sessions::allocation::{Allocation, PORTS};
use crate::sessions::ports::Class;

/// What subscribers have of a pool, as far as a worker gives it away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolUse {
    /// Its network.
    pub pool: Prefixed<Ipv4Addr>,
    /// Whether new subscribers get its addresses.
    pub is_open: bool,
    /// Addresses of it, and those of which subscribers have something.
    pub addresses: [u32; 2],
    /// What it has of blocks, or of ports where there are none; of several workers about its share.
    pub capacity: u64,
    /// What subscribers have of these.
    pub used: u64,
    /// The most that they have had of each address, together.
    pub high: u64,
}

impl Allocation {
    /// How much of each pool is in use.
    pub fn pool_uses(&self) -> impl Iterator<Item = PoolUse> {
        let each = match self.layout.size {
            0 => (PORTS - self.layout.first_port) * Class::COUNT as u32,
            _ => self.layout.blocks(),
        };
        self.addresses.pools().map(move |(pool, first, count)| {
            let all = first as usize..(first + count) as usize;
            let [used, high] =
                [&self.uses.used, &self.uses.high].map(|all_of| &all_of[all.clone()]);
            let sum = |some: &[u32]| some.iter().map(|&count| u64::from(count)).sum();
            let in_use = used.iter().filter(|&&count| count > 0).count() as u32;
            PoolUse {
                pool,
                is_open: self.open.has(first),
                addresses: [count, in_use],
                capacity: u64::from(count) * u64::from(each) / u64::from(self.shard.count),
                used: sum(used),
                high: sum(high),
            }
        })
    }

    /// How many blocks subscribers have, of how many there are on the addresses of pools that are
    /// open.
    pub fn block_use(&self) -> (u64, u64) {
        if self.layout.size == 0 {
            return (0, 0);
        }
        let open = self.pool_uses().filter(|one| one.is_open || one.used > 0);
        open.fold((0, 0), |(used, capacity), one| {
            (used + one.used, capacity + if one.is_open { one.capacity } else { one.used })
        })
    }
}
