//! What routes lead to.

use std::net::IpAddr;

use function_kit::sections::Prefixed;

/// What a route leads to: a prefix within a VRF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    /// The VRF.
    pub vrf: u16,
    /// The network's address.
    pub address: IpAddr,
    /// Length of the prefix in bits.
    pub len: u8,
}

impl Network {
    /// A prefix within a VRF.
    pub fn of(vrf: u16, prefix: Prefixed<IpAddr>) -> Network {
        Network { vrf, address: prefix.address, len: prefix.len }
    }

    /// The prefix alone.
    pub fn prefix(&self) -> Prefixed<IpAddr> {
        Prefixed { address: self.address, len: self.len }
    }
}
