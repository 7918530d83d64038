//! What the kernel has at its interfaces, and what the router has of it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::places::Places;

/// Addresses at interfaces, each with a value: of the kernel, of the router, and where they differ.
pub(crate) struct Mirror<V> {
    kernel: BTreeMap<(u32, IpAddr), V>,
    router: BTreeMap<(u16, IpAddr), V>,
    /// What may differ.
    changed: BTreeSet<(u16, IpAddr)>,
    /// What differs and is set when all is removed that goes.
    coming: BTreeSet<(u16, IpAddr)>,
    /// What the router has refused.
    refused: BTreeSet<(u16, IpAddr)>,
}

/// What the router is to have at an interface.
pub(crate) struct Change<V> {
    /// The router's number of the interface.
    pub number: u16,
    /// The address.
    pub address: IpAddr,
    /// Its value; `None` if it goes.
    pub value: Option<V>,
}

impl<V: Copy + PartialEq> Mirror<V> {
    /// What the router has at first.
    pub fn new(router: BTreeMap<(u16, IpAddr), V>) -> Mirror<V> {
        let (changed, coming, refused) = Default::default();
        Mirror { kernel: BTreeMap::new(), router, changed, coming, refused }
    }

    /// The kernel has something, or has it no more.
    pub fn tell(&mut self, kernel: u32, address: IpAddr, value: Option<V>, places: &Places) {
        match value {
            Some(value) => drop(self.kernel.insert((kernel, address), value)),
            None => drop(self.kernel.remove(&(kernel, address))),
        }
        if let Some(number) = places.number(kernel) {
            self.changed.insert((number, address));
        }
    }

    /// Everything may differ.
    pub fn look_at_all(&mut self, places: &Places) {
        let of_kernel = self
            .kernel
            .keys()
            .filter_map(|&(kernel, address)| places.number(kernel).map(|number| (number, address)));
        self.changed.extend(of_kernel);
        self.changed.extend(self.router.keys());
    }

    /// The next change that the router needs, which counts as made; `None` if there is none.
    pub fn next(&mut self, places: &Places) -> Option<Change<V>> {
        while let Some((number, address)) = self.changed.pop_first() {
            // An interface that is not there is about to be made again, as it was.
            let Some(kernel) = places.kernel(number) else { continue };
            let wanted = self.kernel.get(&(kernel, address)).copied();
            match (wanted, self.router.get(&(number, address))) {
                (None, None) => drop(self.refused.remove(&(number, address))),
                (None, Some(_)) => {
                    self.router.remove(&(number, address));
                    return Some(Change { number, address, value: None });
                }
                (Some(wanted), Some(has)) if wanted == *has => {}
                (Some(_), _) => drop(self.coming.insert((number, address))),
            }
        }
        while let Some((number, address)) = self.coming.pop_first() {
            let kernel = places.kernel(number);
            let wanted = kernel.and_then(|kernel| self.kernel.get(&(kernel, address)));
            if let Some(&wanted) = wanted {
                self.refused.remove(&(number, address));
                self.router.insert((number, address), wanted);
                return Some(Change { number, address, value: Some(wanted) });
            }
        }
        None
    }

    /// Whether something may differ.
    pub fn has_work(&self) -> bool {
        !self.changed.is_empty() || !self.coming.is_empty()
    }

    /// The router does not take something.
    pub fn refuse(&mut self, number: u16, address: IpAddr) {
        if self.router.remove(&(number, address)).is_some() {
            self.refused.insert((number, address));
        }
    }

    /// Whether the router has refused something that is still wanted.
    pub fn any_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// What was refused is tried again.
    pub fn retry(&mut self) {
        self.changed.append(&mut self.refused.clone());
    }

    /// How many the kernel has, and how many the router.
    pub fn counts(&self) -> [usize; 2] {
        [self.kernel.len(), self.router.len()]
    }
}
