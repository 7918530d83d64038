//! Outside addresses that new subscribers may get: of the pools for all, or of their VRF's own.

use std::ops::Range;

use crate::config::Config;
use crate::types::flow::SOFTWIRES;

/// Addresses by whom they are for.
pub(crate) struct Open {
    /// Those for all, then those of each VRF.
    groups: Vec<Vec<u32>>,
    /// Whose addresses the subscribers of each VRF get, by VLAN.
    realms: Vec<(u16, u16)>,
    /// Whether an address is among them, by its number: the end of every block asks for it.
    is_in: Vec<bool>,
}

impl Open {
    /// None yet, of a validated configuration.
    pub fn new(config: &Config, capacity: usize) -> Open {
        let mut groups = vec![Vec::with_capacity(capacity)];
        let mut realms = Vec::with_capacity(config.vrfs.len());
        for (group, vrf) in (1..).zip(&config.vrfs) {
            let own: u64 = vrf.pools.iter().map(|pool| 1 << (32 - pool.len)).sum();
            groups.push(Vec::with_capacity(own as usize));
            realms.push((vrf.vlan, if vrf.pools.is_empty() { 0 } else { group }));
        }
        realms.sort_unstable();
        Open { groups, realms, is_in: vec![false; capacity] }
    }

    /// Whose addresses the subscribers of a realm get; none where there is no such realm.
    pub fn group_of(&self, realm: u16) -> Option<u16> {
        if realm == 0 || realm >= SOFTWIRES {
            return Some(0);
        }
        let place = self.realms.binary_search_by_key(&realm, |(vlan, _)| *vlan).ok()?;
        Some(self.realms[place].1)
    }

    /// The addresses that new subscribers of a realm may get; none where there is no such realm.
    pub fn of_realm(&self, realm: u16) -> Option<&[u32]> {
        self.group_of(realm).map(|group| self.of_group(group))
    }

    /// Those of a group, as [`crate::sessions::allocation::Addresses::group`] has it.
    pub fn of_group(&self, group: u16) -> &[u32] {
        self.groups.get(usize::from(group)).map_or(&[], Vec::as_slice)
    }

    /// Whether new subscribers may get an address.
    pub fn has(&self, number: u32) -> bool {
        self.is_in[number as usize]
    }

    /// Adds an address of a group that has not got it.
    pub fn add(&mut self, group: u16, number: u32) {
        self.is_in[number as usize] = true;
        self.groups[usize::from(group)].push(number);
    }

    /// Takes addresses whose numbers follow one another out of their group, as far as they are in,
    /// in one walk through it.
    pub fn remove(&mut self, group: u16, numbers: Range<u32>) {
        let places = numbers.start as usize..numbers.end as usize;
        self.is_in[places].fill(false);
        self.groups[usize::from(group)].retain(|open| !numbers.contains(open));
    }
}
