//! VRFs: a tag of IEEE 802.1Q says of which a frame from inside is, and one towards inside has it.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_cgnat::config::{Prefixed, Vrf};
use function_cgnat::types::sides::INSIDE;
use model_kit::check::Expected;
use packet::PortId;

use super::networks::{holds, is_host, same};
use super::packets::{with_tag, without_tag, word};
use super::state::{Left, Model};
use super::tables::Who;

impl Model {
    /// The realm of a frame that comes in, and the frame without its tag.
    pub(super) fn enter(&self, port: PortId, frame: &[u8]) -> Result<(u16, Vec<u8>), &'static str> {
        let is_tagged = frame.len() >= 14 && word(frame, 12) == 0x8100;
        if port != INSIDE || self.config.vrfs.is_empty() || !is_tagged {
            return Ok((0, frame.to_vec()));
        }
        if frame.len() < 18 {
            return Err("truncated");
        }
        if frame[..6] != self.mac(INSIDE) && frame[..6] != [0xff; 6] {
            return Err("other-station");
        }
        let (realm, bare) = without_tag(frame);
        if realm != 0 && self.vrf(realm).is_none() {
            return Err("unknown-vlan");
        }
        match realm != 0 && word(&bare, 12) == 0x86dd {
            true => Err("unknown-ethertype"),
            false => Ok((realm, bare)),
        }
    }

    /// The realm towards which a frame left.
    pub(super) fn realm_of(&self, port: PortId, frame: &[u8]) -> u16 {
        if let Some(b4) = self.b4_of_frame(port, frame) {
            return self.realm_of_b4(b4).unwrap_or_default();
        }
        match self.bare(port, frame, &[]).len() < frame.len() {
            true => without_tag(frame).0,
            false => 0,
        }
    }

    /// What left by a port, without a tag or an outer header; nothing of pieces but the first.
    pub(super) fn bare(&self, port: PortId, frame: &[u8], left: Left<'_>) -> Vec<u8> {
        if self.b4_of_frame(port, frame).is_some() {
            return self.without_header(frame, left);
        }
        let is_tagged = frame.len() >= 18 && word(frame, 12) == 0x8100;
        match port == INSIDE && !self.config.vrfs.is_empty() && is_tagged {
            true => without_tag(frame).1,
            false => frame.to_vec(),
        }
    }

    /// An answer to the frame in hand.
    pub(super) fn reply(&self, port: PortId, frame: Vec<u8>) -> Expected {
        Expected::Forward { port, frame: self.dressed(self.realm, self.asking_b4(), frame) }
    }

    /// A frame towards a realm, with its tag or through its softwire.
    pub(super) fn dressed(&self, realm: u16, b4: Option<Ipv6Addr>, frame: Vec<u8>) -> Vec<u8> {
        match b4 {
            Some(b4) => self.with_header(b4, &frame),
            None => with_tag(realm, frame),
        }
    }

    /// The frame of a packet for somebody in a realm.
    pub(super) fn frame_in(&self, realm: u16, packet: &[u8]) -> Expected {
        match self.frame(INSIDE, packet) {
            Expected::Forward { port, frame } => {
                Expected::Forward { port, frame: self.dressed(realm, self.latest_b4(realm), frame) }
            }
            other => other,
        }
    }

    /// The sender of the packet in hand, or to whom the packet went that it quotes.
    pub(super) fn who(&self, address: impl Into<IpAddr>) -> Who {
        self.who_in(self.realm, address)
    }

    /// Who has an address in a realm.
    pub(super) fn who_in(&self, realm: u16, address: impl Into<IpAddr>) -> Who {
        Who { realm, b4: self.b4(realm), address: address.into() }
    }

    /// Whether an IPv4 address is a subscriber's.
    pub(super) fn has_inside(&self, realm: u16, address: Ipv4Addr) -> bool {
        if self.b4(realm).is_some() {
            return is_host(address);
        }
        let vrf = self.vrf(realm).map(|vrf| &vrf.inside);
        let networks = if realm == 0 { Some(&self.config.inside) } else { vrf };
        networks.is_some_and(|all| all.iter().any(|network| holds(*network, address)))
    }

    /// Whether a VRF's subscribers have an address.
    pub(super) fn vrf_has(&self, realm: u16, address: Ipv4Addr) -> bool {
        let mut networks = self.vrf(realm).into_iter().flat_map(|vrf| &vrf.inside);
        networks.any(|network| holds(*network, address))
    }

    /// Whether a pool is for a subscriber: its VRF's own, and where that has none one for all.
    pub(super) fn is_for(&self, pool: Prefixed<Ipv4Addr>, realm: u16) -> bool {
        let is_of = |vrf: &Vrf| vrf.pools.iter().any(|own| same(*own, pool));
        match self.vrf(realm).filter(|vrf| !vrf.pools.is_empty()) {
            Some(vrf) => is_of(vrf),
            None => !self.config.vrfs.iter().any(is_of),
        }
    }

    fn vrf(&self, vlan: u16) -> Option<&Vrf> {
        self.config.vrfs.iter().find(|vrf| vrf.vlan == vlan)
    }
}
