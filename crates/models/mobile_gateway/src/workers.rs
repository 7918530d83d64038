//! Which of several workers has a user: the gateway's own choice, which its oracle follows.

use std::net::Ipv4Addr;

use engine::steering::{Steering, worker_of};
use function_kit::Shard;
use function_mobile_gateway::config::Config;
use function_mobile_gateway::steering;

/// The users of one worker.
pub struct Workers {
    shard: Shard,
    steering: Steering,
}

impl Workers {
    /// Those of a worker of a gateway.
    pub fn new(config: &Config, shard: Shard) -> Workers {
        Workers { shard, steering: steering::of_config(config) }
    }

    /// Whether the worker has the user of an address.
    pub fn has(&self, ipv4: Ipv4Addr) -> bool {
        self.of(ipv4) == self.shard.index
    }

    /// The worker that has the user of an address.
    pub fn of(&self, ipv4: Ipv4Addr) -> u32 {
        worker_of(steering::of_user(&self.steering, ipv4), self.shard.count)
    }
}
