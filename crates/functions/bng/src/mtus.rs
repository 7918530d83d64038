//! How long packets may be on the links of each side.

use packet::PortId;

use super::config::Config;
use super::gateway::{ACCESS, CORE};

/// What links take.
pub(super) struct Lengths {
    /// Longest packet on the links of each side, that of subscribers first.
    mtus: [u16; 2],
    /// Whether each of them is the link's, because none is configured.
    follows: [bool; 2],
}

impl Lengths {
    /// As configured.
    pub fn new(config: &Config) -> Lengths {
        let configured = [config.access_mtu, config.core_mtu];
        Lengths {
            mtus: configured.map(|mtu| if mtu == 0 { u16::MAX } else { mtu }),
            follows: configured.map(|mtu| mtu == 0),
        }
    }

    /// Says what the links of a port take.
    pub fn set_mtu(&mut self, port: PortId, mtu: u16) {
        let at = usize::from(port.0);
        if self.follows.get(at) == Some(&true) {
            self.mtus[at] = mtu;
        }
    }

    /// The longest packet towards the Internet.
    #[inline(always)]
    pub fn core(&self) -> u16 {
        self.mtus[usize::from(CORE.0)]
    }

    /// The longest packet to a host that receives so many bytes, 0 for any.
    #[inline(always)]
    pub fn access(&self, mru: u16) -> u16 {
        let mtu = self.mtus[usize::from(ACCESS.0)];
        if mru == 0 { mtu } else { mtu.min(mru) }
    }
}
