//! The gateway itself: its ports, its addresses, and which tags belong to what.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use packet::{PortId, Reason};
use stages::nd;
use wire::MacAddr;
use wire::bytes::u16_at;
use wire::ethernet::{self, TAG_LEN};

use super::config::{Config, OuterTag, Tags};
use super::reasons;

/// Towards subscribers.
pub const ACCESS: PortId = PortId(0);
/// Towards the Internet.
pub const CORE: PortId = PortId(1);

/// A side of the gateway.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its MAC address.
    pub mac: MacAddr,
    /// Its IPv4 addresses.
    pub ipv4: Vec<Ipv4Addr>,
    /// Its IPv6 addresses, the link-local one last.
    pub ipv6: Vec<Ipv6Addr>,
    /// The MAC address in the upper 48 bits of a word.
    station: u64,
}

impl Side {
    fn new(mac: MacAddr, addresses: &[IpAddr]) -> Side {
        let [a, b, c, d, e, f] = mac.0;
        let ipv4 = addresses.iter().filter_map(|one| match one {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        });
        let ipv6 = addresses.iter().filter_map(|one| match one {
            IpAddr::V4(_) => None,
            IpAddr::V6(address) => Some(*address),
        });
        Side {
            mac,
            ipv4: ipv4.collect(),
            ipv6: ipv6.chain([nd::link_local(mac)]).collect(),
            station: u64::from_be_bytes([a, b, c, d, e, f, 0, 0]),
        }
    }

    /// Whether a frame is for this station.
    #[inline(always)]
    pub fn is_to(&self, head: &[u8; ethernet::HEADER_LEN]) -> bool {
        u64::from_be_bytes(wire::bytes::array_at(head, 0)) >> 16 == self.station >> 16
    }

    /// The address by which senders of a version of IP are told what is wrong; none of IPv6 but the
    /// link-local one is none.
    pub fn says_by(&self, is_ipv6: bool) -> Option<IpAddr> {
        match is_ipv6 {
            false => self.ipv4.first().copied().map(IpAddr::V4),
            true if self.ipv6.len() > 1 => self.ipv6.first().copied().map(IpAddr::V6),
            true => None,
        }
    }
}

/// The gateway itself.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Towards subscribers.
    pub access: Side,
    /// Towards the Internet.
    pub core: Side,
    /// Which forms of tags lines have: none, one, two.
    forms: [bool; 3],
    /// The type of the outer one of two tags.
    pub outer: u16,
    /// The VRF of each VLAN; [`NO_VRF`] for none.
    vrfs: Box<[u8; 4096]>,
    own: Own,
}

/// What stands in front of a frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagging {
    /// The tags, the outer VLAN in the upper half.
    pub line: u32,
    /// Where the payload begins, in bytes.
    pub at: usize,
    /// Its type.
    pub ether_type: u16,
}

/// The own addresses of both sides, told from others by a glance at their last bytes.
#[derive(Clone, Debug, Default)]
struct Own {
    ipv4: Vec<u32>,
    ipv6: Vec<u128>,
    last_bytes: [[u64; 4]; 2],
}

impl Gateway {
    /// The gateway of a configuration.
    pub fn new(config: &Config) -> Gateway {
        let access = Side::new(config.access_mac, &config.access_addresses);
        let core = Side::new(config.core_mac, &config.core_addresses);
        let mut vrfs = Box::new([NO_VRF; 4096]);
        vrfs[0] = 0;
        for (number, vrf) in (1..).zip(&config.vrfs) {
            if let Some(place) = vrfs.get_mut(usize::from(vrf.vlan)) {
                *place = number;
            }
        }
        let mut own = Own::default();
        for side in [&access, &core] {
            own.ipv4.extend(side.ipv4.iter().map(|one| one.to_bits()));
            own.ipv6.extend(side.ipv6.iter().map(|one| one.to_bits()));
        }
        let ipv4 = own.ipv4.iter().map(|one| (0, *one as u8));
        let ipv6 = own.ipv6.iter().map(|one| (1, *one as u8));
        for (version, last) in ipv4.chain(ipv6) {
            own.last_bytes[version][usize::from(last / 64)] |= 1 << (last % 64);
        }
        Gateway {
            access,
            core,
            forms: [Tags::None, Tags::One, Tags::Two].map(|form| config.tags.contains(&form)),
            outer: match config.outer_tag {
                OuterTag::Service => ethernet::TYPE_SERVICE_VLAN,
                OuterTag::Customer => ethernet::TYPE_VLAN,
            },
            vrfs,
            own,
        }
    }

    /// Whether an address is one of the gateway's.
    #[inline(always)]
    pub fn is_own(&self, address: u128, is_ipv6: bool) -> bool {
        let last = address as u8;
        let seen = self.own.last_bytes[usize::from(is_ipv6)][usize::from(last / 64)];
        seen >> (last % 64) & 1 != 0 && self.own.has(address, is_ipv6)
    }

    /// The line of a frame.
    ///
    /// # Errors
    /// Why it has none.
    #[inline(always)]
    pub fn line_of(&self, frame: &[u8]) -> Result<Tagging, Reason> {
        let Some(head) = frame.first_chunk::<{ ethernet::HEADER_LEN }>() else {
            return Err(reasons::TRUNCATED);
        };
        let ether_type = u16_at(head, ethernet::offset::TYPE);
        let tagging = match ether_type {
            ethernet::TYPE_VLAN | ethernet::TYPE_SERVICE_VLAN => self.tags_of(frame, ether_type)?,
            _ => Tagging { line: 0, at: ethernet::HEADER_LEN, ether_type },
        };
        let form = (tagging.at - ethernet::HEADER_LEN) / TAG_LEN;
        if self.forms[form % 3] { Ok(tagging) } else { Err(reasons::UNKNOWN_VLAN) }
    }

    /// The same of a frame with tags.
    #[inline(always)]
    fn tags_of(&self, frame: &[u8], first: u16) -> Result<Tagging, Reason> {
        let Some(head) = frame.first_chunk::<{ ethernet::HEADER_LEN + TAG_LEN }>() else {
            return Err(reasons::TRUNCATED);
        };
        let (vlan, second) = (u16_at(head, 14) & VLAN_MASK, u16_at(head, 16));
        if (first == self.outer) & (second == ethernet::TYPE_VLAN) {
            let Some(head) = frame.first_chunk::<{ ethernet::HEADER_LEN + 2 * TAG_LEN }>() else {
                return Err(reasons::TRUNCATED);
            };
            let (inner, ether_type) = (u16_at(head, 18) & VLAN_MASK, u16_at(head, 20));
            let line = u32::from(vlan) << 16 | u32::from(inner);
            let at = ethernet::HEADER_LEN + 2 * TAG_LEN;
            let are_vlans = is_vlan(vlan) & is_vlan(inner);
            let tagging = Tagging { line, at, ether_type };
            return if are_vlans { Ok(tagging) } else { Err(reasons::UNKNOWN_VLAN) };
        }
        let at = ethernet::HEADER_LEN + TAG_LEN;
        match (first == ethernet::TYPE_VLAN) & is_vlan(vlan) {
            true => Ok(Tagging { line: vlan.into(), at, ether_type: second }),
            false => Err(reasons::UNKNOWN_VLAN),
        }
    }

    /// The VRF of a frame from the Internet, in place of a line.
    ///
    /// # Errors
    /// Why it has none.
    #[inline(always)]
    pub fn vrf_of(&self, frame: &[u8]) -> Result<(u8, Tagging), Reason> {
        let Some(head) = frame.first_chunk::<{ ethernet::HEADER_LEN }>() else {
            return Err(reasons::TRUNCATED);
        };
        let ether_type = u16_at(head, ethernet::offset::TYPE);
        if ether_type != ethernet::TYPE_VLAN {
            return Ok((0, Tagging { line: 0, at: ethernet::HEADER_LEN, ether_type }));
        }
        let Some(head) = frame.first_chunk::<{ ethernet::HEADER_LEN + TAG_LEN }>() else {
            return Err(reasons::TRUNCATED);
        };
        let (vlan, ether_type) = (u16_at(head, 14) & VLAN_MASK, u16_at(head, 16));
        let vrf = self.vrfs[usize::from(vlan)];
        if vlan == 0 || vrf == NO_VRF {
            return Err(reasons::UNKNOWN_VLAN);
        }
        let at = ethernet::HEADER_LEN + TAG_LEN;
        Ok((vrf, Tagging { line: vlan.into(), at, ether_type }))
    }
}

impl Own {
    #[inline(never)]
    fn has(&self, address: u128, is_ipv6: bool) -> bool {
        match is_ipv6 {
            false => self.ipv4.contains(&(address as u32)),
            true => self.ipv6.contains(&address),
        }
    }
}

fn is_vlan(vlan: u16) -> bool {
    vlan != 0 && vlan != VLAN_MASK
}

/// The VLAN within a tag.
const VLAN_MASK: u16 = 0x0fff;

/// Of VLANs that no VRF has.
const NO_VRF: u8 = u8::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(types: &[u16]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        types.iter().for_each(|word| frame.extend(word.to_be_bytes()));
        frame
    }

    #[test]
    fn each_form_of_tags_is_a_line_of_its_own() {
        let gateway = Gateway::new(&Config::default());
        let line = |types: &[u16]| gateway.line_of(&frame(types)).map(|tagging| tagging.line);
        assert_eq!(line(&[0x0800]), Ok(0));
        assert_eq!(line(&[0x8100, 0xe007, 0x0800]), Ok(7), "whatever its priority");
        assert_eq!(line(&[0x88a8, 5, 0x8100, 7, 0x0800]), Ok(5 << 16 | 7));
        for types in [&[0x8100, 0, 0x0800][..], &[0x8100, 4095, 0x0800], &[0x88a8, 5, 0x0800]] {
            assert_eq!(line(types), Err(reasons::UNKNOWN_VLAN), "{types:?}");
        }
        assert_eq!(line(&[0x8100, 7]), Err(reasons::TRUNCATED));
        assert_eq!(line(&[0x88a8, 5, 0x8100, 7]), Err(reasons::TRUNCATED));
        let tags = vec![Tags::Two];
        let config = Config { tags, outer_tag: OuterTag::Customer, ..Config::default() };
        let gateway = Gateway::new(&config);
        let line = |types: &[u16]| gateway.line_of(&frame(types)).map(|tagging| tagging.line);
        assert_eq!(line(&[0x8100, 5, 0x8100, 7, 0x0800]), Ok(5 << 16 | 7));
        for types in [&[0x0800][..], &[0x8100, 7, 0x0800], &[0x88a8, 5, 0x8100, 7, 0x0800]] {
            assert_eq!(line(types), Err(reasons::UNKNOWN_VLAN), "{types:?}");
        }
    }

    #[test]
    fn own_addresses_are_told_from_others_that_end_alike() {
        let access_addresses =
            ["10.0.0.1", "3fff::1"].map(|one| one.parse().expect("one")).to_vec();
        let gateway = Gateway::new(&Config { access_addresses, ..Config::default() });
        let ipv4 = |last: [u8; 4]| u128::from(Ipv4Addr::from(last).to_bits());
        assert!(gateway.is_own(ipv4([10, 0, 0, 1]), false));
        assert!(!gateway.is_own(ipv4([10, 0, 1, 1]), false));
        let link_local = gateway.core.ipv6[0].to_bits();
        assert!(gateway.is_own(link_local, true) && !gateway.is_own(link_local ^ 1 << 64, true));
    }
}
