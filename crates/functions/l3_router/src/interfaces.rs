//! By which interface a packet comes in, and the tag with which it leaves.
//!
//! A frame with a tag of IEEE 802.1Q belongs to the interface of its VLAN and loses the tag before
//! anything else looks at it; one without a tag, or with VLAN 0 (a priority alone), belongs to the
//! port's own. What leaves by an interface with a VLAN gets its tag last, with priority 0.
//!
//! Stages ask for an interface by its number and never care which kind it is: that is where further
//! kinds (tunnels, services of MPLS) join.
use std::net::IpAddr;

use packet::{Batch, PortId, Slot, Verdict};
use stages::virtuals::{Virtual, Virtuals};
use stages::vlan;
use wire::ethernet;

use super::addresses::Addresses;
use super::config::{Config, PortName, Resolved, Vxlan, number_of};
use super::reasons;
use super::vxlan::{self, Underlay};

/// The interfaces of a router.
pub struct Interfaces {
    all: Vec<Resolved>,
    /// The names of the ports.
    ports: Vec<PortName>,
    /// The number of the interface by port and VLAN; empty where there is none with a VLAN.
    by_vlan: Vec<Vec<u16>>,
    /// How the far ends of tunnels are reached at present, by interface; empty where there are
    /// none.
    underlay: Vec<Option<Underlay>>,
    /// Virtual addresses that they have at present.
    pub(super) virtuals: Virtuals,
    /// All other addresses that they have at present.
    pub(super) addresses: Addresses,
    /// Whether the host may be about to get an address of IPv4 for one that has none.
    pub(super) any_seeks: bool,
    /// Those whose MTU is that of their port's link.
    follow_link: Vec<bool>,
}

impl Interfaces {
    /// Those that the configuration describes.
    pub fn new(config: &Config) -> Interfaces {
        let all = config.all_interfaces();
        let by_vlan = |port: u8| {
            let port = PortId(port);
            let tagged = |one: &Resolved| one.port == port && one.vlan > 0;
            let mut numbers = match all.iter().any(tagged) {
                true => vec![NONE; VLANS],
                false => Vec::new(),
            };
            for (number, one) in all.iter().enumerate().filter(|(_, one)| tagged(one)) {
                if let Some(entry) = numbers.get_mut(usize::from(one.vlan)) {
                    *entry = number as u16;
                }
            }
            numbers
        };
        let ports = config.port_names();
        let by_vlan = (0..ports.len() as u8).map(by_vlan).collect();
        let tunnels = all.iter().any(|one| one.vxlan.is_some());
        let underlay = if tunnels { vec![None; all.len()] } else { Vec::new() };
        let addresses = Addresses::new(config.links());
        let virtuals = Virtuals::default();
        let follow_link = all.iter().map(|one| one.mtu == 0).collect();
        let mut one = Interfaces {
            all,
            by_vlan,
            underlay,
            ports,
            virtuals,
            addresses,
            any_seeks: false,
            follow_link,
        };
        one.look_for_seekers();
        one
    }

    /// An interface's addresses have changed: the first of each family is the one by which it
    /// speaks, if that of before is gone.
    pub(super) fn choose_addresses(&mut self, number: u16) {
        let Interfaces { all, addresses, .. } = self;
        if let Some(one) = all.get_mut(usize::from(number)) {
            let has = |address, len| addresses.len_of(number, address) == Some(len);
            one.ip = one
                .ip
                .filter(|ip| has(ip.address.into(), ip.len))
                .or_else(|| addresses.first_ipv4(number));
            one.ipv6 = one
                .ipv6
                .filter(|ip| has(ip.address.into(), ip.len))
                .or_else(|| addresses.first_ipv6(number));
        }
        self.look_for_seekers();
    }

    /// Whether the host may be about to get an address of IPv4 for an interface that has none.
    #[inline(always)]
    pub(super) fn seeks(&self, number: u16) -> bool {
        self.any_seeks && self.get(number).seeks()
    }

    fn look_for_seekers(&mut self) {
        self.any_seeks = self.all.iter().any(Resolved::seeks);
    }

    /// How many there are.
    pub fn len(&self) -> u16 {
        self.all.len() as u16
    }

    /// The number of the interface of a port's VLAN by the name of the port.
    pub fn named(&self, port: PortName, vlan: Option<u16>) -> Option<u16> {
        self.of_vlan(number_of(&self.ports, port)?, vlan.unwrap_or(0))
    }

    /// The names of the ports in the order of their numbers.
    pub fn ports(&self) -> &[PortName] {
        &self.ports
    }

    /// The virtual addresses that they have at present.
    pub fn virtuals(&self) -> &Virtuals {
        &self.virtuals
    }

    /// An address of a VRF, if it is a virtual one.
    pub(super) fn virtual_of(&self, vrf: u16, address: IpAddr) -> Option<Virtual> {
        let mut all = self.virtuals.with(address);
        all.find(|(interface, _)| self.get(*interface).vrf == vrf).map(|(_, one)| one)
    }

    /// Whether an interface's port has as many virtual addresses as it may have.
    pub(super) fn is_full_of_virtuals(&self, interface: u16) -> bool {
        let port = |number| self.get(number).port;
        let all = self.virtuals.interfaces();
        all.filter(|&number| port(number) == port(interface)).count() >= VIRTUALS_MAX
    }

    /// Whether there is none; a router has two at least.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// An interface by its number; a number that is none's stands for the first one.
    #[inline(always)]
    pub fn get(&self, number: u16) -> &Resolved {
        self.all.get(usize::from(number)).unwrap_or(&self.all[0])
    }

    /// The number of the interface of a VLAN; VLAN 0 is the port's own.
    #[inline(always)]
    pub fn of_vlan(&self, port: PortId, vlan: u16) -> Option<u16> {
        match vlan {
            0 => Some(own_of(port)),
            _ => self
                .by_vlan
                .get(usize::from(port.0))?
                .get(usize::from(vlan))
                .copied()
                .filter(|&number| number != NONE),
        }
    }

    /// The interface by which a frame came in, whose tag it loses.
    ///
    /// # Errors
    /// Why it comes in by none.
    #[inline(always)]
    pub fn enter(&self, batch: &mut Batch, slot: Slot) -> Result<u16, Unknown> {
        let port = batch.port(slot);
        let vlan = match vlan::read(batch.frame(slot)) {
            Ok(None) => return Ok(own_of(port)),
            Ok(Some(vlan)) => vlan,
            Err(vlan::Truncated) => return Err(Unknown::Truncated),
        };
        let number = self.of_vlan(port, vlan).ok_or(Unknown::Vlan)?;
        if self.get(number).vxlan.is_some() {
            return Err(Unknown::Vlan);
        }
        vlan::take_off(batch, slot);
        Ok(number)
    }

    /// Whether frames leave by tunnels.
    pub fn has_tunnels(&self) -> bool {
        !self.underlay.is_empty()
    }

    /// The numbers and tunnels of the interfaces that have one.
    pub fn tunnels(&self) -> impl Iterator<Item = (u16, Vxlan)> + '_ {
        let numbered = self.all.iter().enumerate();
        numbered.filter_map(|(number, one)| Some((number as u16, one.vxlan?)))
    }

    /// Those of them whose far ends are not reached.
    pub(super) fn unreached(&self) -> impl Iterator<Item = (u16, Vxlan)> + '_ {
        let unreached = self.underlay.iter().enumerate().filter(|(_, way)| way.is_none());
        unreached.filter_map(|(number, _)| Some((number as u16, self.all[number].vxlan?)))
    }

    /// Says how the far end of an interface's tunnel is reached now.
    pub(super) fn reach(&mut self, number: u16, underlay: Option<Underlay>) {
        if let Some(entry) = self.underlay.get_mut(usize::from(number)) {
            *entry = underlay;
        }
    }

    /// Takes a frame that came in by a port's own interface out of its tunnel, if it is in one, and
    /// tells whose it is.
    ///
    /// # Errors
    /// When it is of a tunnel that is nobody's.
    pub(super) fn come_out(&self, batch: &mut Batch, slot: Slot, at: u16) -> Result<u16, ()> {
        let own = self.get(at);
        let Some(ip) = own.ip.filter(|_| own.vlan == 0) else { return Ok(at) };
        let frame = batch.frame(slot);
        let Some((from, vni)) = vxlan::inside(frame, ip.address) else { return Ok(at) };
        if !frame.starts_with(&own.mac.0.0) {
            return Ok(at);
        }
        let vni = vni?;
        let is_its = |tunnel: &Vxlan| tunnel.vni == vni && tunnel.remote == from;
        let mut of_port = self.tunnels().filter(|(number, _)| self.get(*number).port == own.port);
        let (number, _) = of_port.find(|(_, tunnel)| is_its(tunnel)).ok_or(())?;
        vxlan::unwrap(batch, slot);
        Ok(number)
    }

    /// The verdict of a frame that leaves by an interface: with its tag or in its tunnel.
    pub fn send(&self, batch: &mut Batch, slot: Slot, number: u16, forward: Verdict) -> Verdict {
        match self.leave(batch, slot, number) {
            true => forward,
            false => reasons::drop(reasons::NO_NEXT_HOP),
        }
    }

    /// The verdict of a frame of the host that leaves by an interface as it is.
    pub(super) fn inject(&self, batch: &mut Batch, slot: Slot, number: u16) -> Verdict {
        let Some(own) = self.all.get(usize::from(number)) else {
            return reasons::drop(reasons::NO_NEXT_HOP);
        };
        match self.carries(number, batch.longest(slot)) {
            true => self.send(batch, slot, number, Verdict::Forward(own.port)),
            false => reasons::drop(reasons::TOO_BIG),
        }
    }

    /// Interfaces of a port without an MTU of their own have that of its link from now on; in a
    /// tunnel there is less room.
    pub(super) fn set_mtu(&mut self, port: PortId, mtu: u16) {
        let all = self.all.iter_mut().zip(&self.follow_link);
        for (one, _) in all.filter(|(one, follows)| one.port == port && **follows) {
            let outer = if one.vxlan.is_some() { vxlan::OVERHEAD } else { 0 };
            one.mtu = mtu.saturating_sub(outer);
        }
    }

    /// Whether a frame without tag is within the MTU of an interface.
    #[inline(always)]
    pub fn carries(&self, number: u16, frame_len: usize) -> bool {
        let mtu = usize::from(self.get(number).mtu);
        mtu == 0 || frame_len <= mtu + ethernet::HEADER_LEN
    }

    /// Gives a frame the tag of the interface by which it leaves; whether there was room for it.
    #[inline(always)]
    fn leave(&self, batch: &mut Batch, slot: Slot, number: u16) -> bool {
        let Resolved { vlan, vxlan, .. } = self.get(number);
        let vlan = *vlan;
        if vlan == 0 {
            return true;
        }
        if let Some(tunnel) = vxlan {
            let by = self.underlay.get(usize::from(number)).copied().flatten();
            return by.is_some_and(|by| vxlan::wrap(batch, slot, tunnel, &by));
        }
        vlan::put_on(batch, slot, vlan)
    }
}

/// Why a frame comes in by no interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// It ends within its tag.
    Truncated,
    /// No interface has its VLAN.
    Vlan,
}

/// The number of a port's own interface.
#[inline(always)]
pub fn own_of(port: PortId) -> u16 {
    port.0.into()
}

const VLANS: usize = 4096;

/// Most virtual addresses of a port: one for each virtual router of a link.
const VIRTUALS_MAX: usize = 255;

/// No interface.
const NONE: u16 = u16::MAX;
