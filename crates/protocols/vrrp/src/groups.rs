//! Virtual routers of a node that change their state together: all of them take part or none, and
//! they become active, and backup, as one.

use protocol_kit::Time;

use crate::config::Group;
use crate::machine::Vrrp;
use crate::place::Place;
use crate::router::{Reason, Router};

impl Vrrp {
    /// Lets all of a group take part, or none of them.
    pub(crate) fn review_group(&mut self, group: Group, now: Time) {
        let members = self.members(group);
        let barred = |number: &u32| self.places[*number as usize].barred;
        let is_whole = members.len() == group.size as usize
            && members.iter().all(|number| barred(number).is_none());
        let others = (!is_whole).then_some(Reason::Group);
        for number in members {
            let barred = self.places[number as usize].barred.or(others);
            self.with(number, |router| router.bar(barred, now));
        }
    }

    /// Makes a group active of which all wait for it.
    pub(crate) fn join_group(&mut self, group: Group, now: Time) {
        let members = self.members(group);
        let waits =
            |number: &u32| self.places[*number as usize].router.as_ref().is_some_and(Router::waits);
        if members.len() == group.size as usize && members.iter().all(waits) {
            for number in members {
                self.with(number, |router| router.join(now));
            }
        }
    }

    /// Lets the others of a group step back with one. Of two nodes that are equal each may outrank
    /// the other one on another link, so that both step back at once, and would come back at once:
    /// the one that was outranked where the virtual addresses are the lowest lingers.
    pub(crate) fn step_back(&mut self, outranked: u32, group: Group, now: Time) {
        let members = self.members(group);
        let place = |number: &u32| {
            let router = self.places[*number as usize].router.as_ref();
            router.map(|router| (router.addresses(), router.config.key.vrid))
        };
        let lingers = members.iter().min_by_key(|number| place(number)) == Some(&outranked);
        for member in members {
            self.with(member, |router| router.step_back(lingers, now));
        }
    }

    /// The virtual routers of a group.
    fn members(&self, group: Group) -> Vec<u32> {
        let is_its = |place: &Place| {
            let of = place.router.as_ref().and_then(|router| router.config.group);
            of.is_some_and(|of| of.number == group.number)
        };
        (0..).zip(&self.places).filter(|(_, place)| is_its(place)).map(|(at, _)| at).collect()
    }
}
