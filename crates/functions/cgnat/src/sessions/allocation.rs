//! Which outside address and port a mapping gets.
//!
//! A subscriber is paired with one address (RFC 4787 REQ-2): of two that are drawn, the one with
//! more room. Its ports lie in blocks of its own there (RFC 6888 section 4), or anywhere where
//! there are no blocks. The port of a mapping is drawn, so that nobody can guess it (RFC 6056),
//! with the parity of the inside one where it can be (RFC 4787 REQ-4). Of several workers, each
//! gives away only blocks that lead to it ([`crate::workers::steering`]).
use std::io;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::Arc;

use engine::steering::Steering;
use function_kit::Shard;
use machine::memory::{HugeArray, prefetch_at};
use zerocopy::FromZeros;

use crate::config::{Config, Prefixed, deterministic_plan};
use crate::deterministic::Block as Own;
use crate::deterministic::Plan;
use crate::sessions::addresses::Addresses;
use crate::sessions::dice::Dice;
use crate::sessions::ports::{Class, Ports};
use crate::sessions::published::Published;
use crate::sessions::subscribers::{BLOCKS_MAX, Subscriber};
use crate::sessions::table::Number;
use crate::sessions::times::Moment;

mod adopt;
mod fitting;
mod open;
mod pool_uses;
mod ruled;
mod uses;
mod workers;

pub use self::adopt::Adopted;
pub use self::fitting::Wanted;
use self::open::Open;
pub use self::pool_uses::PoolUse;
pub use self::ruled::Ruled;
use self::uses::Uses;

/// The outside addresses and ports of a worker.
pub struct Allocation {
    /// The addresses.
    pub addresses: Addresses,
    /// Who has which port.
    pub ports: Ports,
    /// Blocks by address and place in it.
    blocks: HugeArray<Block>,
    uses: Uses,
    layout: Layout,
    shard: Shard,
    plan: Plan,
    /// By address: blocks of this worker that nobody has; without blocks, mappings that fit.
    room: Vec<u32>,
    /// Addresses that new subscribers may get, and for whom they are.
    open: Open,
    dice: Dice,
    /// How packets find their worker.
    keyed: Steering,
    /// The addresses for ports that steer; none but of the first of several workers.
    published: Option<Arc<Published<Addresses>>>,
    /// Whether they do not know of the latest rules.
    pub(crate) is_unpublished: bool,
}

/// Ports that a subscriber has for itself.
#[derive(Clone, Copy, FromZeros)]
#[repr(C)]
struct Block {
    /// Its subscriber, plus one; 0 for none.
    owner: u32,
    /// Used ports by class.
    used: [u16; Class::COUNT],
}

/// How the ports of an address are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    first_port: u32,
    /// Ports of a block; 0 for none.
    size: u32,
    /// Blocks of an address.
    blocks: u32,
    per_subscriber: usize,
}

/// Why there is no port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No address has room for a further subscriber.
    Pool,
    /// The subscriber has as many blocks as it may have, all used.
    Blocks,
    /// The subscriber's address has no room left.
    Ports,
}

/// What a change of blocks was, to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockChange {
    /// The number of its address.
    pub address: u32,
    /// Its first port.
    pub first_port: u16,
    /// Ports of it.
    pub size: u16,
}

impl Layout {
    /// That of a configuration.
    pub fn new(config: &Config) -> Layout {
        let size = u32::from(config.port_block.size);
        // Whole blocks only: the ports in front of the first multiple of their size stay unused.
        let first_port = u32::from(config.first_port);
        let first_port = if size == 0 { first_port } else { first_port.next_multiple_of(size) };
        Layout {
            first_port,
            size,
            blocks: (PORTS - first_port).checked_div(size).unwrap_or(0),
            per_subscriber: usize::from(config.port_block.per_subscriber).min(BLOCKS_MAX),
        }
    }

    /// Blocks of an address.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// A port of a block: of those with a parity, the one that a number leads to. The first port of
    /// a block is even, and their count a power of two.
    #[inline(always)]
    fn port(&self, block: u32, number: u16, parity: u16) -> u16 {
        let first = (self.first_port + block * self.size) as u16;
        first + ((number & (self.size - 1) as u16 & !1) | parity)
    }

    /// Ports of a protocol that a subscriber can have at most; 0 where there are no blocks.
    pub fn ports_per_subscriber(&self) -> u32 {
        self.size * self.per_subscriber as u32
    }
}

impl Allocation {
    /// The ports of a configuration that one worker gives away.
    ///
    /// # Errors
    /// When the kernel has no memory for them.
    pub fn new(config: &Config, shard: Shard) -> io::Result<Allocation> {
        let addresses = Addresses::new(config);
        let (layout, capacity) = (Layout::new(config), addresses.capacity());
        let mut all = Allocation {
            ports: Ports::new(capacity)?,
            blocks: HugeArray::zeroed(capacity as usize * layout.blocks() as usize)?,
            uses: Uses::new(capacity),
            layout,
            shard,
            // Rules that do not fit were refused when the configuration was checked.
            plan: deterministic_plan(&config.deterministic).unwrap_or_default(),
            room: vec![0; capacity as usize],
            open: Open::new(config, capacity as usize),
            dice: Dice::new(config.secret, shard.index),
            keyed: config.steering(),
            published: None,
            is_unpublished: false,
            addresses,
        };
        if shard.index == 0 && shard.count > 1 {
            all.published = Some(Arc::new(Published::new(all.addresses.clone())));
        }
        all.ports.populate(0..all.addresses.count())?;
        let shared: Vec<u32> = all.addresses.shared().collect();
        shared.into_iter().for_each(|number| all.open(number));
        Ok(all)
    }

    /// The layout of ports.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Lets new subscribers have an address.
    pub fn open(&mut self, number: u32) {
        if self.open.has(number) {
            return;
        }
        let free = match self.layout.size {
            0 => (PORTS - self.layout.first_port) * Class::COUNT as u32,
            _ => (0..self.layout.blocks()).filter(|&block| self.is_free(number, block)).count()
                as u32,
        };
        self.room[number as usize] = free;
        self.open.add(self.addresses.group(number), number);
    }

    /// Lets no new subscriber, and no new block, have some addresses of a pool.
    pub fn drain(&mut self, numbers: Range<u32>) {
        self.room[numbers.start as usize..numbers.end as usize].fill(0);
        self.open.remove(self.addresses.group(numbers.start), numbers);
    }

    /// An address for a new subscriber of a realm.
    ///
    /// # Errors
    /// When none has room.
    pub fn pair(&mut self, realm: u16) -> Result<u32, Refused> {
        let open = self.open.of_realm(realm).ok_or(Refused::Pool)?;
        let count = open.len() as u32;
        if count == 0 {
            return Err(Refused::Pool);
        }
        let drawn = [(); 2].map(|()| open[self.dice.below(count) as usize]);
        let best = drawn.into_iter().max_by_key(|&number| self.room[number as usize]);
        let any = || open.iter().copied().find(|&number| self.room[number as usize] > 0);
        best.filter(|&number| self.room[number as usize] > 0).or_else(any).ok_or(Refused::Pool)
    }

    /// A port for a mapping of a subscriber, which is paired with an address, and the block that it
    /// got for it, if any. The caller gives it to the mapping by [`Ports::give`] at once.
    ///
    /// # Errors
    /// When there is none; nothing has changed then.
    pub fn take(
        &mut self,
        (number, subscriber): (u32, &mut Subscriber),
        (class, inside_port): (Class, u16),
        now: Moment,
    ) -> Result<(u16, Option<BlockChange>), Refused> {
        if self.layout.size == 0 {
            return self.take_shared(subscriber.outside, class, inside_port, now);
        }
        let address = subscriber.outside;
        for &block in &subscriber.blocks[..usize::from(subscriber.block_count)] {
            if let Some(port) = self.take_of_block(address, block, (class, inside_port), now) {
                return Ok((port, None));
            }
        }
        if usize::from(subscriber.block_count) >= self.layout.per_subscriber {
            return Err(Refused::Blocks);
        }
        // A block whose ports all rest is of no use yet; another one is tried, but not all.
        for _ in 0..BLOCKS_TRIED {
            let block = self.draw_block(address).ok_or(Refused::Ports)?;
            let Some(port) = self.take_of_block(address, block, (class, inside_port), now) else {
                continue;
            };
            return Ok((port, Some(self.give_block((number, subscriber), block))));
        }
        Err(Refused::Ports)
    }

    /// Asks for the state of a subscriber's blocks, which [`Self::take`] reads.
    #[inline]
    pub fn prefetch_blocks(&self, subscriber: &Subscriber) {
        for &block in &subscriber.blocks[..usize::from(subscriber.block_count)] {
            prefetch_at(&self.blocks, self.block_place(subscriber.outside, block));
        }
    }

    /// The outside address and port that a mapping of a subscriber likely gets after `ahead`
    /// others; the word of the port is asked for.
    #[inline]
    pub fn foresee(
        &self,
        subscriber: &Subscriber,
        (class, inside_port): (Class, u16),
        ahead: usize,
    ) -> Option<(u32, u16)> {
        let address = subscriber.outside;
        let mut blocks = subscriber.blocks[..usize::from(subscriber.block_count)].iter();
        let block = *blocks.find(|&&block| self.has_room(address, block, class))?;
        let port = self.layout.port(block, self.dice.peek(ahead)? as u16, inside_port & 1);
        self.ports.prefetch(address, class, port);
        Some((self.addresses.address(address), port))
    }

    /// The ports that a subscriber has by a deterministic rule.
    pub fn deterministic(&self, realm: u16, inside: u32) -> Option<Own> {
        self.plan.forward(realm, Ipv4Addr::from_bits(inside))
    }

    /// A port for a mapping of a subscriber with ports of its own: one of those, or of what the
    /// rule has for all of its subscribers beyond.
    ///
    /// # Errors
    /// When there is none.
    pub fn take_own(
        &mut self,
        (address, own): (u32, Own),
        (class, inside_port): (Class, u16),
        now: Moment,
    ) -> Result<u16, Refused> {
        let shared = self.plan.dynamic(own.outside);
        for block in [Some(own), shared].into_iter().flatten() {
            let len = u32::from(block.len);
            let start = self.dice.below(len);
            let ports = (0..len.min(SHARED_TRIED))
                .map(|step| block.nth(((start + step) % len) as u16))
                .filter(|&port| self.ports.is_free(address, class, port, now))
                .filter(|&port| block == own || self.owns(address, port));
            let mut ports = ports.peekable();
            let any = ports.peek().copied();
            let parity = |port: &u16| (port ^ inside_port) & 1 == 0;
            if let Some(port) = ports.take(PARITY_TRIED).find(parity).or(any) {
                return Ok(port);
            }
        }
        Err(Refused::Blocks)
    }

    /// Takes back the port of a mapping that is gone, which rests until a time; tells the block
    /// that nobody uses any more.
    pub fn put_back(
        &mut self,
        subscriber: &mut Subscriber,
        (address, class, port): (u32, Class, u16),
        until: Moment,
    ) -> Option<BlockChange> {
        self.ports.rest(address, class, port, until);
        if !self.addresses.is_shared(address) {
            return None;
        }
        if self.layout.size == 0 {
            self.uses.give_back(address);
        }
        if self.layout.size == 0 || u32::from(port) < self.layout.first_port {
            self.room[address as usize] += u32::from(self.open.has(address));
            return None;
        }
        let block = (u32::from(port) - self.layout.first_port) / self.layout.size;
        if block >= self.layout.blocks() {
            return None;
        }
        let state = self.block_mut(address, block);
        let used = &mut state.used[class.index()];
        *used = used.saturating_sub(1);
        if state.owner == 0 || state.used.iter().any(|&used| used > 0) {
            return None;
        }
        state.owner = 0;
        self.uses.give_back(address);
        let count = usize::from(subscriber.block_count);
        if let Some(at) = subscriber.blocks[..count].iter().position(|&known| known == block) {
            subscriber.blocks.copy_within(at + 1..count, at);
            subscriber.block_count -= 1;
        }
        if self.open.has(address) {
            self.room[address as usize] += 1;
        }
        Some(self.change(address, block))
    }

    /// A port of a block that is free.
    fn take_of_block(
        &mut self,
        address: u32,
        block: u32,
        (class, inside_port): (Class, u16),
        now: Moment,
    ) -> Option<u16> {
        if !self.has_room(address, block, class) {
            return None;
        }
        let (layout, start) = (self.layout, self.dice.roll() as u16);
        // Ports of the right parity first: as many are even as odd.
        let parity = inside_port & 1;
        let [even, odd] = [parity, parity ^ 1].map(|parity| {
            move |step: u16| layout.port(block, start.wrapping_add(step * 2), parity)
        });
        let half = (layout.size / 2) as u16;
        let free = |port: &u16| self.ports.is_free(address, class, *port, now);
        let port = (0..half).map(even).find(free).or_else(|| (0..half).map(odd).find(free))?;
        self.block_mut(address, block).used[class.index()] += 1;
        Some(port)
    }

    /// A port anywhere on an address.
    fn take_shared(
        &mut self,
        address: u32,
        class: Class,
        inside_port: u16,
        now: Moment,
    ) -> Result<(u16, Option<BlockChange>), Refused> {
        let first = self.layout.first_port;
        let count = PORTS - first;
        let start = self.dice.below(count);
        let parity = u32::from(inside_port & 1);
        for step in 0..SHARED_TRIED {
            // Drawn ones first, then one behind the other, so that the last free ones are found,
            // too.
            let offset = match step < SHARED_DRAWN {
                true => self.dice.below(count),
                false => (start + step) % count,
            };
            let port = first + offset;
            let port = if step < SHARED_DRAWN { port & !1 | parity } else { port };
            if port < first || port >= PORTS {
                continue;
            }
            let port = port as u16;
            if self.owns(address, port) && self.ports.is_free(address, class, port, now) {
                self.room[address as usize] = self.room[address as usize].saturating_sub(1);
                self.uses.take(address);
                return Ok((port, None));
            }
        }
        Err(Refused::Ports)
    }

    /// A block of an address that nobody has.
    fn draw_block(&mut self, address: u32) -> Option<u32> {
        if self.room[address as usize] == 0 {
            return None;
        }
        let count = self.layout.blocks();
        let start = self.dice.below(count);
        (0..count).map(|step| (start + step) % count).find(|&block| self.is_free(address, block))
    }

    fn is_free(&self, address: u32, block: u32) -> bool {
        let first = self.layout.first_port + block * self.layout.size;
        self.block(address, block).owner == 0 && self.owns(address, first as u16)
    }

    /// The pools whose addresses new subscribers may get.
    pub fn open_pools(&self) -> impl Iterator<Item = Prefixed<Ipv4Addr>> {
        let is_open = |pool: &Prefixed<Ipv4Addr>| {
            self.addresses.pool(*pool).is_some_and(|(first, _)| self.open.has(first))
        };
        self.addresses.networks().filter(is_open)
    }

    /// A block, by its address and its place there.
    pub fn change(&self, address: u32, block: u32) -> BlockChange {
        let Layout { first_port, size, .. } = self.layout;
        BlockChange { address, first_port: (first_port + block * size) as u16, size: size as u16 }
    }

    fn block(&self, address: u32, block: u32) -> &Block {
        &self.blocks[self.block_place(address, block)]
    }

    fn block_mut(&mut self, address: u32, block: u32) -> &mut Block {
        let place = self.block_place(address, block);
        &mut self.blocks[place]
    }

    #[inline(always)]
    fn block_place(&self, address: u32, block: u32) -> usize {
        (address * self.layout.blocks() + block) as usize
    }

    /// Whether a block may have a port of a class that nobody has.
    #[inline(always)]
    fn has_room(&self, address: u32, block: u32, class: Class) -> bool {
        let used = self.blocks[self.block_place(address, block)].used[class.index()];
        u32::from(used) < self.layout.size
    }

    /// A mapping's port that is given without being drawn: of a one-to-one rule, or a restored one.
    pub fn give(&mut self, address: u32, class: Class, port: u16, session: Number) {
        self.ports.give(address, class, port, session);
    }

    /// Bytes of memory but for the ports' words, of which only the pages in use are there.
    pub fn bytes(&self) -> usize {
        self.blocks.len() * size_of::<Block>() + self.room.len() * 8
    }

    /// 128 secret bits for hashes.
    pub fn secret(&mut self) -> [u64; 2] {
        std::array::from_fn(|_| self.dice.roll64())
    }
}

/// Ports of an address and protocol.
const PORTS: u32 = 1 << 16;

/// Ports that are drawn where there are no blocks, before they are tried one behind the other.
const SHARED_DRAWN: u32 = 32;

/// Ports that are tried in all, which bounds the work of one packet.
const SHARED_TRIED: u32 = 4096;

/// Free ports among which one of the right parity is looked for.
const PARITY_TRIED: usize = 16;

/// Blocks whose ports may all rest, before a subscriber is refused.
const BLOCKS_TRIED: u32 = 4;

#[cfg(test)]
mod tests;
