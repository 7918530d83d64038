//! Virtual addresses: those of virtual routers (RFC 9568) that a function has while it is active.
//!
//! Each belongs to an interface and has an Ethernet address of its own. Frames to that are for the
//! function, and questions for the address are answered with it, by the function itself also where
//! the host has the interface: the kernel does not have the address.
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use wire::{MacAddr, arp, ethernet};

use crate::nd;

/// The virtual addresses of a function.
#[derive(Clone, Debug, Default)]
pub struct Virtuals {
    /// By address and number of the interface.
    all: BTreeMap<(IpAddr, u16), Virtual>,
    /// Their Ethernet addresses in the lower 48 bits, by interface; empty where there are none.
    stations: Vec<Vec<u64>>,
}

/// What a virtual address has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Virtual {
    /// Its Ethernet address.
    pub mac: MacAddr,
    /// Whether pings to it are answered (`Accept_Mode`).
    pub accept: bool,
}

impl Virtuals {
    /// Whether frames to a station, in the lower 48 bits, are for the function at an interface.
    #[inline]
    pub fn is_station(&self, interface: u16, station: u64) -> bool {
        let at = self.stations.get(usize::from(interface));
        at.is_some_and(|stations| stations.contains(&station))
    }

    /// Whether a frame is for such a station.
    pub fn is_for(&self, frame: &[u8], interface: u16) -> bool {
        let to = frame.first_chunk::<6>();
        to.is_some_and(|&to| self.is_station(interface, station(MacAddr(to))))
    }

    /// The virtual address of an interface.
    pub fn get(&self, interface: u16, address: IpAddr) -> Option<Virtual> {
        self.all.get(&(address, interface)).copied()
    }

    /// The interfaces that have a virtual address.
    pub fn with(&self, address: IpAddr) -> impl Iterator<Item = (u16, Virtual)> + '_ {
        let range = self.all.range((address, 0)..=(address, u16::MAX));
        range.map(|(&(_, interface), &one)| (interface, one))
    }

    /// The first Ethernet address of an interface that virtual addresses of a family have, to which
    /// most of its frames go while it has one.
    pub fn usual(&self, interface: u16, is_ipv6: bool) -> Option<MacAddr> {
        let of_it = |(&(address, at), one): (&(IpAddr, u16), &Virtual)| {
            (at == interface && address.is_ipv6() == is_ipv6).then_some(one.mac)
        };
        self.all.iter().find_map(of_it)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The virtual addresses of all interfaces.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.all.keys().map(|(address, _)| *address)
    }

    /// The interface of each virtual address.
    pub fn interfaces(&self) -> impl Iterator<Item = u16> + '_ {
        self.all.keys().map(|(_, interface)| *interface)
    }

    /// The Ethernet address for which an ARP request asks at an interface, if it is for a virtual
    /// address. Whoever announces its own address (RFC 5227 section 3) asks nothing: an answer of
    /// one that was active until now would lead switches back to it.
    pub fn asked_by_arp(&self, frame: &[u8], interface: u16) -> Option<MacAddr> {
        let header = frame.first_chunk::<{ ethernet::HEADER_LEN }>()?;
        let is_arp = header[ethernet::offset::TYPE..] == ethernet::TYPE_ARP.to_be_bytes();
        if self.all.is_empty() || !is_arp {
            return None;
        }
        let packet = arp::View::parse(&frame[ethernet::HEADER_LEN..]).ok()?;
        let target = packet.target_ip();
        let asks = packet.operation() == arp::OPERATION_REQUEST && packet.sender_ip() != target;
        let one = self.get(interface, target.into()).filter(|_| asks);
        one.map(|one| one.mac)
    }

    /// The virtual address and its Ethernet address for which Neighbor Discovery asks at an
    /// interface.
    pub fn asked_by_nd(&self, frame: &[u8], interface: u16) -> Option<(MacAddr, Ipv6Addr)> {
        if self.all.is_empty() {
            return None;
        }
        let target = nd::asked(frame)?;
        let one = self.get(interface, target.into())?;
        Some((one.mac, target))
    }

    /// Sets a virtual address of an interface.
    pub fn set(&mut self, interface: u16, address: IpAddr, one: Virtual) {
        self.all.insert((address, interface), one);
        self.note_stations();
    }

    /// Removes one; whether it was there.
    pub fn remove(&mut self, interface: u16, address: IpAddr) -> bool {
        let is_there = self.all.remove(&(address, interface)).is_some();
        self.note_stations();
        is_there
    }

    fn note_stations(&mut self) {
        self.stations.clear();
        for (&(_, interface), one) in &self.all {
            let (at, station) = (usize::from(interface), station(one.mac));
            self.stations.resize(self.stations.len().max(at + 1), Vec::new());
            if !self.stations[at].contains(&station) {
                self.stations[at].push(station);
            }
        }
    }
}

/// An Ethernet address in the lower 48 bits.
fn station(mac: MacAddr) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}
