//! The routes of another source, of which those with the same attributes are told apart by classes:
//! for a device that tells them otherwise by their prefixes.

use std::sync::Arc;

use protocol_bgp::Family;

use crate::routes::Routes;

/// Routes of another source whose sets of attributes are one for each class. Routes change to sets
/// of their own class alone.
#[derive(Debug)]
pub struct Divided {
    inner: Arc<dyn Routes>,
    /// The routes in their new order, by their numbers in the other source.
    order: Vec<u32>,
    /// The new number of each route of the other source.
    place: Vec<u32>,
    /// The new set of each route, in the new order.
    set_of: Vec<u32>,
    /// The other source's set and the class of each new set.
    sets: Vec<(u32, u32)>,
}

impl Divided {
    /// Divides the routes of a source, which has no route targets, by their classes.
    pub fn new(inner: Arc<dyn Routes>, class: impl Fn(u32) -> u32) -> Divided {
        let classes: Vec<u32> = (0..inner.count()).map(class).collect();
        let mut order: Vec<u32> = (0..inner.count()).collect();
        let named = |route: u32| (inner.set(route), classes[route as usize]);
        order.sort_by_key(|route| named(*route));
        let mut place = vec![0; order.len()];
        let (mut set_of, mut sets) = (Vec::with_capacity(order.len()), Vec::new());
        for (at, route) in order.iter().enumerate() {
            place[*route as usize] = at as u32;
            if sets.last() != Some(&named(*route)) {
                sets.push(named(*route));
            }
            set_of.push(sets.len() as u32 - 1);
        }
        Divided { inner, order, place, set_of, sets }
    }

    /// Returns the class of the routes of a set.
    pub fn class(&self, set: u32) -> u32 {
        self.sets[set as usize].1
    }
}

impl Routes for Divided {
    fn count(&self) -> u32 {
        self.inner.count()
    }

    fn sets(&self) -> u32 {
        self.sets.len() as u32
    }

    fn set(&self, route: u32) -> u32 {
        self.set_of[route as usize]
    }

    fn family(&self, set: u32) -> Family {
        self.inner.family(self.sets[set as usize].0)
    }

    fn wire(&self, route: u32, out: &mut Vec<u8>) {
        self.inner.wire(self.order[route as usize], out);
    }

    fn find(&self, family: Family, key: &[u8]) -> Option<u32> {
        self.inner.find(family, key).map(|route| self.place[route as usize])
    }

    fn attributes(&self, set: u32, out: &mut Vec<u8>) {
        self.inner.attributes(self.sets[set as usize].0, out);
    }

    fn feeder(&self, set: u32) -> Option<u16> {
        self.inner.feeder(self.sets[set as usize].0)
    }

    fn target(&self, set: u32) -> u32 {
        self.class(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::generated::Generated;

    #[test]
    fn each_route_stays_what_it_is() {
        let generated = Generated { ipv4: 500, ipv6: 50, seed: 3 };
        let inner: Arc<dyn Routes> = Arc::new(generated.list().expect("a table"));
        let divided = Divided::new(Arc::clone(&inner), |route| route % 3);
        assert!(divided.sets() > inner.sets() && divided.count() == inner.count());
        let (mut wire, mut set) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let mut last = 0;
        for route in 0..inner.count() {
            let own = divided.set(route);
            assert!(own >= last, "sets do not fall");
            last = own;
            let there = divided.order[route as usize];
            assert_eq!(divided.class(own), there % 3);
            wire.iter_mut().chain(&mut set).for_each(Vec::clear);
            divided.wire(route, &mut wire[0]);
            inner.wire(there, &mut wire[1]);
            divided.attributes(own, &mut set[0]);
            inner.attributes(inner.set(there), &mut set[1]);
            assert_eq!((&wire[0], &set[0]), (&wire[1], &set[1]));
            let key = crate::nlri::key(divided.family(own), &wire[0]);
            assert_eq!(divided.find(divided.family(own), &key), Some(route));
        }
        assert_eq!(divided.find(Family::Ipv4Unicast, &[8, 240]), None);
    }
}
