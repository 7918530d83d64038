//! Ports and blocks that another NAT has given and this one takes over by name.

use crate::sessions::allocation::{Allocation, BlockChange, Layout};
use crate::sessions::ports::Class;
use crate::sessions::subscribers::{BLOCKS_MAX, Subscriber};
use crate::types::flow::Inside;

impl Allocation {
    /// The number of an outside address and whether this worker could have given its port to that
    /// subscriber; none where it could not.
    pub fn allowed(&self, key: &Inside, outside: u32, port: u16) -> Option<u32> {
        let number = self.addresses.number(outside)?;
        let is_allowed = match self.addresses.is_shared(number) {
            true => {
                let is_its = self.open.group_of(key.realm()) == Some(self.addresses.group(number));
                is_its && self.owns(number, port)
            }
            false => {
                self.ruled(key).is_some_and(|rule| self.may_be(&rule, (outside, port), number))
            }
        };
        is_allowed.then_some(number)
    }

    /// The subscriber of the block in which a port lies, if it lies in one that somebody has.
    pub fn block_owner(&self, address: u32, port: u16) -> Option<u32> {
        let block = self.block_of(address, port)?;
        self.block(address, block).owner.checked_sub(1)
    }

    /// Whether two ports of a shared address lie in one block.
    pub fn is_same_block(&self, address: u32, one: u16, other: u16) -> bool {
        let block = self.block_of(address, one);
        block.is_some() && block == self.block_of(address, other)
    }

    /// Takes a port for a mapping of a subscriber, and its block where that is not the subscriber's
    /// yet. Like [`Self::take`] it leaves [`Self::give`] to the caller. It tells whether it was
    /// done: not while another has the block, or the subscriber as many as there can be.
    pub fn adopt(
        &mut self,
        (number, subscriber): (u32, &mut Subscriber),
        (address, class, port): (u32, Class, u16),
    ) -> Option<Adopted> {
        if !self.addresses.is_shared(address) {
            return Some(Adopted::Port);
        }
        let Some(block) = self.block_of(address, port) else {
            self.room[address as usize] = self.room[address as usize].saturating_sub(1);
            if self.layout.size == 0 {
                self.uses.take(address);
            }
            return Some(Adopted::Port);
        };
        let state = self.block_mut(address, block);
        let adopted = match state.owner {
            0 => {
                let place = subscriber.blocks.get_mut(usize::from(subscriber.block_count))?;
                state.owner = number + 1;
                *place = block;
                subscriber.block_count += 1;
                self.room[address as usize] = self.room[address as usize].saturating_sub(1);
                self.uses.take(address);
                Adopted::Block(self.change(address, block))
            }
            owner if owner == number + 1 => Adopted::Port,
            _ => return None,
        };
        self.block_mut(address, block).used[class.index()] += 1;
        Some(adopted)
    }

    /// Whether new subscribers get an address.
    pub fn is_open(&self, number: u32) -> bool {
        self.open.has(number)
    }

    /// The place of a shared address's block that has a port.
    fn block_of(&self, address: u32, port: u16) -> Option<u32> {
        let Layout { first_port, size, .. } = self.layout;
        let offset = u32::from(port).checked_sub(first_port)?;
        let block = offset.checked_div(size).filter(|&block| block < self.layout.blocks())?;
        self.addresses.is_shared(address).then_some(block)
    }
}

/// What was taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopted {
    /// A port.
    Port,
    /// A port, and the block in which it lies.
    Block(BlockChange),
}

const _: () = assert!(BLOCKS_MAX <= u8::MAX as usize);
