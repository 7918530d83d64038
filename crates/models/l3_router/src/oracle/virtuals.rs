//! The model's virtual addresses: a list that is looked through.
use std::net::{IpAddr, Ipv6Addr};

use function_l3_router::config::{Mac, PortName};
use model_kit::host::word;
use model_kit::neighbours::Own;

use super::routes::{To, host};
use super::state::{Model, Virtual};
use crate::ports::Numbered;

impl Model {
    pub(super) fn set_virtual(
        &mut self,
        (port, vlan): (PortName, Option<u16>),
        (mac, address, accept): (Mac, IpAddr, bool),
    ) -> bool {
        let Some(at) = self.at(port, vlan) else { return false };
        let (own, mac) = (self.interfaces[at], mac.0.0);
        let has_family = if address.is_ipv4() { own.ip.is_some() } else { own.ipv6.is_some() };
        let is_one = !address.is_unspecified() && !address.is_multicast();
        if !has_family || !is_one || mac[0] % 2 == 1 || mac == [0; 6] || mac == own.mac.0.0 {
            return false;
        }
        let is_it = |one: &Virtual| (one.at, one.address) == (at, address);
        if !self.virtuals.iter().any(is_it) {
            let of_port = |one: &&Virtual| self.interfaces[one.at].port == own.port;
            let route = host(own.vrf, address);
            let is_taken = !is_near(address) && self.routes.contains_key(&route);
            let is_full = self.virtuals.iter().filter(of_port).count() >= 255;
            if is_taken || is_full || !is_near(address) && !self.has_room(route) {
                return false;
            }
            if !is_near(address) {
                self.routes.insert(route, To::Itself);
            }
        }
        self.virtuals.retain(|one| !is_it(one));
        self.virtuals.push(Virtual { at, mac, address, accept });
        true
    }

    pub(super) fn remove_virtual(
        &mut self,
        (port, vlan): (PortName, Option<u16>),
        address: IpAddr,
    ) -> bool {
        let Some(at) = self.at(port, vlan) else { return false };
        let before = self.virtuals.len();
        self.virtuals.retain(|one| (one.at, one.address) != (at, address));
        if self.virtuals.len() == before {
            return false;
        }
        if !is_near(address) {
            self.routes.remove(&host(self.interfaces[at].vrf, address));
        }
        true
    }

    /// Whether a station is virtual at an interface.
    pub(super) fn is_virtual_station(&self, at: usize, mac: &[u8]) -> bool {
        self.virtuals.iter().any(|one| one.at == at && one.mac == mac)
    }

    /// Whether pings are answered at a virtual address of a VRF; none of other addresses.
    pub(super) fn virtual_accepts(&self, vrf: u16, address: IpAddr) -> Option<bool> {
        let is_it = |one: &&Virtual| one.address == address && self.interfaces[one.at].vrf == vrf;
        self.virtuals.iter().find(is_it).map(|one| one.accept)
    }

    /// The Ethernet address for which a frame asks by ARP, if that is a virtual one.
    pub(super) fn asked_by_arp(&self, at: usize, frame: &[u8]) -> Option<[u8; 6]> {
        let packet = frame.get(14..42)?;
        let is_request = word(frame, 12) == 0x0806 && packet[..8] == [0, 1, 8, 0, 6, 4, 0, 1];
        // Who announces its own address asks nothing.
        let asks = is_request && packet[14..18] != packet[24..28];
        let target = IpAddr::from([packet[24], packet[25], packet[26], packet[27]]);
        let is_it = |one: &&Virtual| one.at == at && one.address == target;
        self.virtuals.iter().filter(|_| asks).find(is_it).map(|one| one.mac)
    }

    /// As whom a solicitation asks for the router, if that is as a virtual one.
    pub(super) fn asked_by_nd(&self, at: usize, frame: &[u8]) -> Option<Own> {
        let mut target = [0; 16];
        target.copy_from_slice(frame.get(62..78)?);
        let asks = word(frame, 12) == 0x86dd && frame[20] == 58 && frame[54] == 135;
        let target = Ipv6Addr::from(target);
        let is_it = |one: &&Virtual| one.at == at && one.address == target;
        let one = self.virtuals.iter().filter(|_| asks).find(is_it)?;
        Some(Own { mac: one.mac, ipv4: None, ipv6: Some(target) })
    }

    fn at(&self, port: PortName, vlan: Option<u16>) -> Option<usize> {
        if !self.config.port_names().contains(&port) {
            return None;
        }
        let (port, vlan) = (self.config.number_of(port), vlan.unwrap_or(0));
        self.interfaces.iter().position(|one| one.port == port && one.vlan == vlan)
    }
}

/// RFC 4291 section 2.5.6: it ends on its link.
fn is_near(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.segments()[0] & 0xffc0 == 0xfe80)
}
