//! What a worker knows of fragments, in each direction.

use std::io;
use std::net::Ipv6Addr;

use function_kit::Shard;
use machine::clock::Clock;
use packet::PortId;

use crate::config::Config;
use crate::ds_lite::DsLite;
use crate::fragments::Fragments;
use crate::types::flow::halves;
use crate::types::sides::side;

/// What is known of fragments.
pub(crate) struct Followed {
    /// By the port where they come in.
    pub(crate) sides: [Fragments; 2],
    /// Of outer packets of softwires.
    pub(crate) outer: Option<Fragments>,
    pub(crate) identifications: Identifications,
}

impl Followed {
    /// As configured; none where fragments are dropped.
    ///
    /// # Errors
    /// When the kernel has no memory for them.
    pub fn new(
        config: &Config,
        shard: Shard,
        clock: &Clock,
        secret: [u64; 2],
    ) -> io::Result<Followed> {
        let store = |mask| Fragments::new(config.fragments, clock, (mask, secret));
        let side = || store([u64::MAX; 2]);
        let ds_lite = DsLite::new(config);
        let mask = ds_lite.map(|it| halves(Ipv6Addr::from_bits(it.mask())));
        Ok(Followed {
            sides: [side()?, side()?],
            outer: mask.map(store).transpose()?,
            identifications: Identifications::new(shard, secret[0]),
        })
    }

    /// An identification for a packet from inside.
    pub fn draw_identification(&mut self) -> u16 {
        self.identifications.draw()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.sides.iter().chain(&self.outer).map(Fragments::bytes).sum()
    }

    /// Datagrams followed, and fragments that wait, of one direction.
    pub fn sizes(&self, port: PortId) -> (usize, usize) {
        self.sides[side(port)].sizes()
    }
}

/// New identifications of datagrams from inside, whose senders share addresses and know nothing of
/// one another (RFC 6864 section 5.3): all 65,536 in an order that a secret decides, each worker
/// its own.
pub(crate) struct Identifications {
    next: u16,
    step: u16,
    factor: u16,
    shift: u16,
}

impl Identifications {
    fn new(shard: Shard, secret: u64) -> Identifications {
        Identifications {
            next: shard.index as u16,
            step: shard.count as u16,
            factor: secret as u16 | 1,
            shift: (secret >> 16) as u16,
        }
    }

    pub(crate) fn draw(&mut self) -> u16 {
        let number = self.next;
        self.next = number.wrapping_add(self.step);
        number.wrapping_mul(self.factor).wrapping_add(self.shift)
    }
}
