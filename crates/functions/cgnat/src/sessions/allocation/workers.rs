//! Ports among several workers: each gives away those that lead to it.

use std::sync::Arc;

use engine::steering::worker_of;

use crate::sessions::addresses::Addresses;
use crate::sessions::allocation::{Allocation, Layout};
use crate::sessions::published::Published;
use crate::sessions::steering::{Ends, of_group};

impl Layout {
    /// The group of ports to which one belongs: those of a block, which go to one worker.
    pub fn group(&self, port: u16) -> u16 {
        let unit = if self.size == 0 { SHARED_UNIT } else { self.size };
        (u32::from(port) / unit) as u16
    }
}

impl Allocation {
    /// Whether packets to a port of a pool, or of what a deterministic rule has for all, come to
    /// this worker.
    pub fn owns(&self, number: u32, port: u16) -> bool {
        if self.shard.count == 1 {
            return true;
        }
        let address = self.addresses.address(number);
        self.is_own(of_group(&self.keyed, address, self.layout.group(port)))
    }

    /// Whether packets from outside to an outside end come to this worker.
    pub fn is_here(&self, protocol: u8, end: (u32, u16)) -> bool {
        self.elsewhere(protocol, end).is_none()
    }

    /// The worker to which they come, if it is another one.
    pub fn elsewhere(&self, protocol: u8, end: (u32, u16)) -> Option<u32> {
        if self.shard.count == 1 {
            return None;
        }
        let worker = worker_of(self.steering(protocol, end), self.shard.count);
        (worker != self.shard.index).then_some(worker)
    }

    /// The bits by which they find their worker, as [`crate::workers::steering`].
    pub fn steering(&self, protocol: u8, end: (u32, u16)) -> u32 {
        let Allocation { keyed, addresses, plan, layout, .. } = self;
        Ends { keyed, addresses, plan, layout: *layout }.steering(protocol, end)
    }

    /// Lets ports that steer know of rules that came or went; where one of them is in the way, that
    /// is to be done again.
    pub(crate) fn publish(&mut self) {
        let published = self.published.as_ref();
        let is_done = published.is_none_or(|it| it.publish(|| self.addresses.clone()));
        self.is_unpublished = !is_done;
    }

    /// What ports that steer look at; none but of the first of several workers.
    pub fn published(&self) -> Option<&Arc<Published<Addresses>>> {
        self.published.as_ref()
    }

    fn is_own(&self, steering: u32) -> bool {
        worker_of(steering, self.shard.count) == self.shard.index
    }
}

/// Ports that go to one worker where there are no blocks.
const SHARED_UNIT: u32 = 64;
