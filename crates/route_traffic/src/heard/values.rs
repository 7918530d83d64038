//! Routes and values by numbers: those that the feeders tell, and whatever else a device says.
//!
//! A value is what a client has of a route: a view, or something that no feeder has told, with a
//! number behind those of the views. A route that no feeder has told gets a number behind theirs.

use std::collections::HashMap;
use std::sync::Arc;

use protocol_bgp::Family;

use crate::known::Known;

/// The numbers of routes and values.
#[derive(Debug)]
pub(crate) struct Values {
    known: Arc<Known>,
    families: Vec<Family>,
    /// Values by their hash.
    index: HashMap<u128, u32>,
    others: Vec<Other>,
    extras: Vec<(Family, Box<[u8]>)>,
    extra_index: HashMap<(Family, Box<[u8]>), u32>,
    scratch: Vec<u8>,
}

/// A value that no feeder has told.
#[derive(Debug)]
struct Other {
    set: Box<[u8]>,
    hash: u128,
    /// The whole of the route that has it, where that is not what a feeder has told.
    wire: Option<Box<[u8]>>,
}

impl Values {
    pub fn new(known: Arc<Known>) -> Values {
        let views = known.fed().views();
        // A feeder may tell the same in two views only if they are of one set: the first counts.
        let mut index = HashMap::with_capacity(views as usize);
        for view in 0..views {
            index.entry(known.hash_of_view(view)).or_insert(view);
        }
        let mut families: Vec<Family> = known.fed().families().collect();
        families.dedup();
        Values {
            known,
            families,
            index,
            others: Vec::new(),
            extras: Vec::new(),
            extra_index: HashMap::new(),
            scratch: Vec::new(),
        }
    }

    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Whether routes of a family are looked at.
    pub fn has(&self, family: Family) -> bool {
        self.families.contains(&family)
    }

    /// The number of a route by its key.
    ///
    /// # Errors
    /// If the device has told too many that no feeder has.
    pub fn route(&mut self, family: Family, key: &[u8]) -> Result<u32, String> {
        if let Some(route) = self.known.fed().routes().find(family, key) {
            return Ok(route);
        }
        let count = self.known.fed().routes().count();
        let named = (family, Box::from(key));
        if let Some(route) = self.extra_index.get(&named) {
            return Ok(*route);
        }
        if self.extras.len() == EXTRAS_MAX {
            return Err(format!("it tells more than {EXTRAS_MAX} routes that no feeder has told"));
        }
        let route = count + self.extras.len() as u32;
        self.extras.push(named.clone());
        self.extra_index.insert(named, route);
        Ok(route)
    }

    /// The number of a set of attributes as a value.
    ///
    /// # Errors
    /// If the device has told too many that no feeder has.
    pub fn value(&mut self, set: &[u8]) -> Result<u32, String> {
        let hash = self.known.hash_of_set(set);
        self.intern(hash, set, hash, None)
    }

    /// The number of a value as a route has it, and the hash of the route with it: the route's
    /// whole may be another one than its feeder has told.
    ///
    /// # Errors
    /// If the device has told too many that no feeder has.
    pub fn of_route(&mut self, route: u32, wire: &[u8], value: u32) -> Result<(u32, u128), String> {
        let family = self.family(route);
        let hash = self.hash_of(value);
        let what = self.known.hashes().of(family as u64, wire);
        let total = self.known.hashes().route(what, hash);
        let routes = self.known.fed().routes();
        let is_told = route < routes.count() && {
            self.scratch.clear();
            routes.wire(route, &mut self.scratch);
            self.scratch == wire
        };
        if is_told {
            return Ok((value, total));
        }
        let set = self.set(value);
        let name = self.known.hashes().route(what, !hash);
        Ok((self.intern(name, &set, hash, Some(wire.into()))?, total))
    }

    /// The place of the teller that has told a value of a route as its first one.
    #[inline]
    pub fn teller(&self, route: u32, value: u32) -> Option<u16> {
        let fed = self.known.fed();
        let is_told = route < fed.routes().count() && value < fed.views();
        if is_told { fed.teller(route, value) } else { None }
    }

    /// The hash of a route with a value.
    pub fn hash(&mut self, route: u32, value: u32) -> u128 {
        if value < self.known.fed().views() {
            return self.known.hash(route, value, &mut self.scratch);
        }
        let other = &self.others[(value - self.known.fed().views()) as usize];
        self.scratch.clear();
        match &other.wire {
            Some(wire) => self.scratch.extend(wire),
            None => self.known.fed().routes().wire(route, &mut self.scratch),
        }
        let what = self.known.hashes().of(self.family(route) as u64, &self.scratch);
        self.known.hashes().route(what, other.hash)
    }

    /// The first of the views that are told by the same attributes as this one.
    pub fn canonical(&self, view: u32) -> u32 {
        self.index.get(&self.known.hash_of_view(view)).copied().unwrap_or(view)
    }

    /// The attributes of a value.
    pub fn set(&self, value: u32) -> Vec<u8> {
        match value.checked_sub(self.known.fed().views()) {
            None => self.known.attributes(value),
            Some(other) => self.others[other as usize].set.to_vec(),
        }
    }

    /// Whether a value is of a route that carries something else than its feeder has told.
    pub fn is_carried_otherwise(&self, value: u32) -> bool {
        let other = value.checked_sub(self.known.fed().views());
        other.is_some_and(|other| self.others[other as usize].wire.is_some())
    }

    /// The family and key of a route.
    pub fn name(&self, route: u32) -> (Family, Vec<u8>) {
        let routes = self.known.fed().routes();
        match route.checked_sub(routes.count()) {
            Some(extra) => {
                let (family, key) = &self.extras[extra as usize];
                (*family, key.to_vec())
            }
            None => {
                let (family, mut wire) = (self.family(route), Vec::new());
                routes.wire(route, &mut wire);
                (family, crate::nlri::key(family, &wire))
            }
        }
    }

    fn family(&self, route: u32) -> Family {
        let routes = self.known.fed().routes();
        match route.checked_sub(routes.count()) {
            Some(extra) => self.extras[extra as usize].0,
            None => routes.family(routes.set(route)),
        }
    }

    fn hash_of(&self, value: u32) -> u128 {
        match value.checked_sub(self.known.fed().views()) {
            None => self.known.hash_of_view(value),
            Some(other) => self.others[other as usize].hash,
        }
    }

    fn intern(
        &mut self,
        name: u128,
        set: &[u8],
        hash: u128,
        wire: Option<Box<[u8]>>,
    ) -> Result<u32, String> {
        if let Some(value) = self.index.get(&name) {
            return Ok(*value);
        }
        if self.others.len() == OTHERS_MAX {
            return Err(format!(
                "it tells more than {OTHERS_MAX} sets of attributes that no feeder has told"
            ));
        }
        let value = self.known.fed().views() + self.others.len() as u32;
        self.others.push(Other { set: set.into(), hash, wire });
        self.index.insert(name, value);
        Ok(value)
    }
}

/// Most routes that no feeder has told.
const EXTRAS_MAX: usize = 1 << 20;

/// Most values that no feeder has told.
const OTHERS_MAX: usize = 1 << 20;
