//! VRFs: subscribers whose addresses others have as well, told apart by the VLAN of their frames.
//!
//! The VLAN is the realm that a session bears beside its inside address, so that two subscribers of
//! the same address have nothing in common. A frame loses its tag before anything else looks at it,
//! and gets the tag of whom it goes to last; everything between knows realms and no tags.

pub(crate) mod config;
mod stage;
pub(crate) mod validate;

use std::net::Ipv4Addr;

use packet::{Batch, Reason, Slot};
use stages::vlan;
use wire::{MacAddr, ethernet};

use crate::config::{Config, Prefixed, Vrf};
use crate::reasons;
use crate::types::networks::holds;

/// All VRFs.
#[derive(Clone, Debug)]
pub struct Vrfs {
    all: Vec<Vrf>,
    /// The place in `all` by VLAN.
    by_vlan: Box<[u16; VLANS]>,
}

impl Vrfs {
    /// Those of a validated configuration; none where it has none.
    pub fn new(config: &Config) -> Option<Vrfs> {
        let mut by_vlan = Box::new([NONE; VLANS]);
        for (place, vrf) in config.vrfs.iter().enumerate() {
            *by_vlan.get_mut(usize::from(vrf.vlan))? = place as u16;
        }
        (!config.vrfs.is_empty()).then(|| Vrfs { all: config.vrfs.clone(), by_vlan })
    }

    /// The VRF of a realm.
    pub fn of(&self, realm: u16) -> Option<&Vrf> {
        let place = *self.by_vlan.get(usize::from(realm))?;
        self.all.get(usize::from(place))
    }

    /// Whether an address of a realm is a subscriber's.
    pub fn is_subscriber(&self, realm: u16, address: u32) -> bool {
        let inside = |vrf: &Vrf| {
            vrf.inside.iter().any(|network: &Prefixed<Ipv4Addr>| holds(*network, address))
        };
        self.of(realm).is_some_and(inside)
    }

    /// The realm of a frame at the inside port, whose tag it loses; 0 of one without a tag, or with
    /// a priority alone.
    ///
    /// # Errors
    /// Why it is of none.
    pub fn enter(&self, batch: &mut Batch, slot: Slot, station: MacAddr) -> Result<u16, Reason> {
        let frame = batch.frame(slot);
        let read = vlan::read(frame).map_err(|vlan::Truncated| reasons::TRUNCATED)?;
        let Some(realm) = read else { return Ok(0) };
        if !frame.starts_with(&station.0) && !frame.starts_with(&[0xff; 6]) {
            return Err(reasons::OTHER_STATION);
        }
        if realm != 0 && self.of(realm).is_none() {
            return Err(reasons::UNKNOWN_VLAN);
        }
        vlan::take_off(batch, slot);
        let ether_type = &batch.frame(slot)[ethernet::offset::TYPE..ethernet::HEADER_LEN];
        match realm != 0 && ether_type == ethernet::TYPE_IPV6.to_be_bytes() {
            true => Err(reasons::ETHERTYPE),
            false => Ok(realm),
        }
    }
}

const VLANS: usize = 4096;

/// No VRF.
const NONE: u16 = u16::MAX;
