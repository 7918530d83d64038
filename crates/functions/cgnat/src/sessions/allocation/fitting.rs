//! Ports that must be more than free: of a parity, beside another one, or a certain one.

use crate::sessions::allocation::{
    Allocation, BLOCKS_TRIED, BlockChange, Class, Moment, Own, PORTS, Refused, SHARED_TRIED,
    Subscriber,
};

/// What a mapping's port must be beside free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Of the parity of the inside port if that can be (RFC 4787 REQ-4).
    Any,
    /// Of that parity.
    Parity,
    /// Of that parity, and the next one is free as well, in the same block.
    Pair,
    /// This one.
    Exactly(u16),
    /// This one where it can be had, and else any: what a subscriber suggests.
    Rather(u16),
    /// This one, and it is no want where it cannot be had.
    Only(u16),
}

impl Wanted {
    /// Whether an inside port may have an outside one, whoever has the next one.
    pub fn fits(self, inside: u16, outside: u16) -> bool {
        match self {
            Wanted::Any | Wanted::Rather(_) => true,
            Wanted::Parity | Wanted::Pair => (inside ^ outside) & 1 == 0,
            Wanted::Exactly(port) | Wanted::Only(port) => port == outside,
        }
    }
}

impl Allocation {
    /// As [`Self::take`], for a port that is what is wanted.
    ///
    /// # Errors
    /// When there is none; nothing has changed then.
    pub fn take_wanted(
        &mut self,
        (number, subscriber): (u32, &mut Subscriber),
        (class, inside_port, wanted): (Class, u16, Wanted),
        now: Moment,
    ) -> Result<(u16, Option<BlockChange>), Refused> {
        let address = subscriber.outside;
        let ask = (class, inside_port, wanted);
        if wanted == Wanted::Any {
            return self.take((number, subscriber), (class, inside_port), now);
        }
        if let Wanted::Rather(port) = wanted {
            let exactly = (class, inside_port, Wanted::Exactly(port));
            let taken = self.take_wanted((number, subscriber), exactly, now);
            return taken.or_else(|_| self.take((number, subscriber), (class, inside_port), now));
        }
        if self.layout.size == 0 {
            let port = self.wanted_of_all(address, ask, now).ok_or(Refused::Ports)?;
            self.room[address as usize] = self.room[address as usize].saturating_sub(1);
            self.uses.take(address);
            return Ok((port, None));
        }
        for &block in &subscriber.blocks[..usize::from(subscriber.block_count)] {
            if let Some(port) = self.wanted_of_block(address, block, ask, now) {
                return Ok((port, None));
            }
        }
        if usize::from(subscriber.block_count) >= self.layout.per_subscriber {
            return Err(Refused::Blocks);
        }
        for _ in 0..BLOCKS_TRIED {
            let block = match wanted {
                Wanted::Exactly(port) | Wanted::Only(port) => self.free_block_of(address, port),
                _ => self.draw_block(address),
            };
            let block = block.ok_or(Refused::Ports)?;
            if let Some(port) = self.wanted_of_block(address, block, ask, now) {
                return Ok((port, Some(self.give_block((number, subscriber), block))));
            }
        }
        Err(Refused::Ports)
    }

    /// As [`Self::take_own`], for a port that is what is wanted.
    ///
    /// # Errors
    /// When there is none.
    pub fn take_own_wanted(
        &mut self,
        (address, own): (u32, Own),
        (class, inside_port, wanted): (Class, u16, Wanted),
        now: Moment,
    ) -> Result<u16, Refused> {
        if wanted == Wanted::Any {
            return self.take_own((address, own), (class, inside_port), now);
        }
        if let Wanted::Rather(port) = wanted {
            let exactly = (class, inside_port, Wanted::Exactly(port));
            let taken = self.take_own_wanted((address, own), exactly, now);
            return taken.or_else(|_| self.take_own((address, own), (class, inside_port), now));
        }
        let shared = self.plan.dynamic(own.outside);
        for block in [Some(own), shared].into_iter().flatten() {
            let len = u32::from(block.len);
            let start = self.dice.below(len);
            let is_free = |port: u16| {
                block.holds(port)
                    && (block == own || self.owns(address, port))
                    && self.ports.is_free(address, class, port, now)
            };
            let fits = |port: &u16| {
                let next = || port.checked_add(1).is_some_and(is_free);
                let is_paired = wanted != Wanted::Pair || next();
                wanted.fits(inside_port, *port) && is_free(*port) && is_paired
            };
            let mut ports =
                (0..len.min(SHARED_TRIED)).map(|step| block.nth(((start + step) % len) as u16));
            let found = match wanted {
                Wanted::Exactly(port) | Wanted::Only(port) => Some(port).filter(fits),
                _ => ports.find(fits),
            };
            if let Some(port) = found {
                return Ok(port);
            }
        }
        Err(Refused::Blocks)
    }

    /// Gives a free block of the subscriber's address to it.
    pub(crate) fn give_block(
        &mut self,
        (number, subscriber): (u32, &mut Subscriber),
        block: u32,
    ) -> BlockChange {
        let address = subscriber.outside;
        self.block_mut(address, block).owner = number + 1;
        self.uses.take(address);
        self.room[address as usize] = self.room[address as usize].saturating_sub(1);
        subscriber.blocks[usize::from(subscriber.block_count)] = block;
        subscriber.block_count += 1;
        self.change(address, block)
    }

    /// The block of a port, if nobody has it.
    fn free_block_of(&self, address: u32, port: u16) -> Option<u32> {
        let above = u32::from(port).checked_sub(self.layout.first_port)?;
        let block = above / self.layout.size;
        let is_there = block < self.layout.blocks() && self.room[address as usize] > 0;
        (is_there && self.is_free(address, block)).then_some(block)
    }

    fn wanted_of_block(
        &mut self,
        address: u32,
        block: u32,
        (class, inside_port, wanted): (Class, u16, Wanted),
        now: Moment,
    ) -> Option<u16> {
        let size = self.layout.size;
        let first = self.layout.first_port + block * size;
        let ports = first..first + size;
        let start = self.dice.roll() & (size - 1);
        let is_free = |port: u32| {
            ports.contains(&port) && self.ports.is_free(address, class, port as u16, now)
        };
        let fits = |port: &u32| {
            let is_paired = wanted != Wanted::Pair || is_free(port + 1);
            wanted.fits(inside_port, *port as u16) && is_free(*port) && is_paired
        };
        let found = match wanted {
            Wanted::Exactly(port) | Wanted::Only(port) => Some(u32::from(port)).filter(fits),
            _ => (0..size).map(|step| first + ((start + step) & (size - 1))).find(fits),
        };
        let port = found? as u16;
        self.block_mut(address, block).used[class.index()] += 1;
        Some(port)
    }

    /// A port anywhere on an address.
    fn wanted_of_all(
        &mut self,
        address: u32,
        (class, inside_port, wanted): (Class, u16, Wanted),
        now: Moment,
    ) -> Option<u16> {
        let first = self.layout.first_port;
        let count = PORTS - first;
        let start = self.dice.below(count);
        let is_free = |port: u32| {
            (first..PORTS).contains(&port)
                && self.owns(address, port as u16)
                && self.ports.is_free(address, class, port as u16, now)
        };
        let fits = |port: &u32| {
            let is_paired = wanted != Wanted::Pair || is_free(port + 1);
            wanted.fits(inside_port, *port as u16) && is_free(*port) && is_paired
        };
        let found = match wanted {
            Wanted::Exactly(port) | Wanted::Only(port) => Some(u32::from(port)).filter(fits),
            _ => (0..SHARED_TRIED).map(|step| first + (start + step) % count).find(fits),
        };
        found.map(|port| port as u16)
    }
}
