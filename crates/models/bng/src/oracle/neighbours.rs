//! The model's next hops without an Ethernet address.

use std::net::IpAddr;

use function_bng::config::{Config, Name};
use model_kit::neighbours;

/// The next hops that were asked for; the key is the VRF.
pub(super) struct Neighbours {
    pub list: neighbours::Neighbours<Option<Name>, (u16, Vec<u8>)>,
}

impl Neighbours {
    pub fn new(config: &Config) -> Neighbours {
        Neighbours { list: neighbours::Neighbours::new(config.next_hop_capacity, 64, 1200) }
    }

    pub fn find(&self, vrf: Option<Name>, address: IpAddr) -> Option<usize> {
        self.list.find(|entry| entry.key == vrf && entry.address == address)
    }
}
