//! MAC addresses that provider edges advertise (RFC 7432 section 7.2): nothing of them is kept.

use protocol_bgp::Family;

use crate::nlri;
use crate::routes::Routes;
use crate::source::members::{Members, target};
use crate::source::plain::{Plain, next_hop};

/// Routes of type 2, spread evenly over pairs of an edge and a network.
#[derive(Clone, Debug)]
pub struct Evpn {
    members: Members,
    count: u32,
}

impl Evpn {
    /// Describes a number of MAC addresses.
    ///
    /// # Errors
    /// In words, if there are fewer than pairs of an edge and a network.
    pub fn new(members: Members, count: u32) -> Result<Evpn, String> {
        if count < members.count() {
            return Err(format!(
                "{count} MAC addresses are fewer than the {} pairs of an edge and a network",
                members.count()
            ));
        }
        Ok(Evpn { members, count })
    }

    /// Returns which edge is a member of which network.
    pub fn members(&self) -> &Members {
        &self.members
    }
}

impl Routes for Evpn {
    fn count(&self) -> u32 {
        self.count
    }

    fn sets(&self) -> u32 {
        self.members.count()
    }

    fn set(&self, route: u32) -> u32 {
        (u64::from(route) * u64::from(self.members.count()) / u64::from(self.count)) as u32
    }

    fn family(&self, _set: u32) -> Family {
        Family::L2vpnEvpn
    }

    fn wire(&self, route: u32, out: &mut Vec<u8>) {
        let (edge, network) = self.members.pair(self.set(route));
        out.extend([2, 33, 0, 1]);
        out.extend(next_hop(edge.into(), false));
        out.extend((network as u16).to_be_bytes());
        // No segment, and tag 0.
        out.extend([0; 14]);
        out.extend([48, 2, 0]);
        out.extend(route.to_be_bytes());
        out.push(0);
        // The identifier of a VXLAN network has the whole of the label's bytes (RFC 8365).
        out.extend(&(FIRST_VNI + network).to_be_bytes()[1..]);
    }

    fn find(&self, family: Family, key: &[u8]) -> Option<u32> {
        let route = u32::from_be_bytes(key.get(16..20)?.try_into().ok()?);
        if family != Family::L2vpnEvpn || route >= self.count {
            return None;
        }
        let mut wire = Vec::with_capacity(35);
        self.wire(route, &mut wire);
        (nlri::key(family, &wire) == key).then_some(route)
    }

    fn attributes(&self, set: u32, out: &mut Vec<u8>) {
        let (edge, network) = self.members.pair(set);
        Plain {
            next_hop: &next_hop(edge.into(), false),
            local_pref: 100,
            extended: &[target(network), VXLAN],
            ..Plain::default()
        }
        .write(out);
    }

    fn feeder(&self, set: u32) -> Option<u16> {
        Some(self.members.pair(set).0)
    }

    fn target(&self, set: u32) -> u32 {
        self.members.pair(set).1
    }

    fn target_community(&self, number: u32) -> Option<[u8; 8]> {
        Some(target(number))
    }
}

/// The encapsulation VXLAN (RFC 9012 section 4.1).
const VXLAN: [u8; 8] = [3, 12, 0, 0, 0, 0, 0, 8];

const FIRST_VNI: u32 = 10_000;
