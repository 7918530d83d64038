//! How long packets may be on the links of each side.

use packet::PortId;

use super::config::{Config, Fragment};
use super::gateway::{ACCESS, side};

/// What links take, and what is cut.
pub(super) struct Lengths {
    /// Longest packet on the links of each side, that of base stations first; none is longer.
    mtus: [u16; 2],
    /// Whether each of them is the link's, because none is configured.
    follows: [bool; 2],
    /// What the tunnel's headers add, in bytes.
    growth: u16,
    /// What is cut.
    pub fragment: Fragment,
    /// The identification of the next tunnel packet that is cut, and how far the one behind it is
    /// away, so that those of several workers differ.
    identification: u16,
    step: u16,
}

impl Lengths {
    /// As configured, for one of several workers.
    pub fn new(config: &Config, (index, count): (u32, u32)) -> Lengths {
        let configured = [config.access_mtu, config.core_mtu];
        Lengths {
            mtus: configured.map(|mtu| if mtu == 0 { u16::MAX } else { mtu }),
            follows: configured.map(|mtu| mtu == 0),
            growth: config.tunnel.headers_len(),
            fragment: config.fragment,
            identification: index as u16,
            step: count as u16,
        }
    }

    /// Says what the links of a port take.
    pub fn set_mtu(&mut self, port: PortId, mtu: u16) {
        let at = side(port);
        if self.follows.get(at) == Some(&true) {
            self.mtus[at] = mtu;
        }
    }

    /// The longest packet of IP that passes by a port, out of a tunnel.
    #[inline]
    pub fn most(&self, port: PortId) -> u16 {
        self.mtus.get(side(port)).copied().unwrap_or(u16::MAX)
    }

    /// The longest packet of IP that passes by each port, out of a tunnel.
    #[inline]
    pub fn shortest(&self) -> u16 {
        let [one, other] = self.mtus;
        one.min(other)
    }

    /// The longest packet of a user that passes to a base station.
    #[inline]
    pub fn tunnelled(&self) -> u16 {
        match self.mtus[side(ACCESS)] {
            u16::MAX => u16::MAX,
            mtu => mtu.saturating_sub(self.growth),
        }
    }

    /// An identification for a tunnel packet that is cut.
    pub fn draw_identification(&mut self) -> u16 {
        let drawn = self.identification;
        self.identification = drawn.wrapping_add(self.step);
        drawn
    }
}
