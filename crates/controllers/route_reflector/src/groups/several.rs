//! What a group is told of a route of which it is told several paths, each by its number (RFC
//! 7911).
//!
//! Nothing is kept of what a group was told. An entry of the log says which path has changed, and
//! that one alone is told or withdrawn. Where a route has, or lately had, more paths than the group
//! is told, others may have changed places: all are told, and what else may be known is withdrawn.

use crate::groups::encode::{Encoder, How};
use crate::groups::export::Identity;
use crate::groups::stream::Readers;
use crate::groups::view::View;
use crate::known::candidate;
use crate::table::targets::{EVERYBODY, NO_SET};
use crate::table::{Candidate, Path, Slots};

impl Identity {
    /// Finds the paths of a route that the group is told: those that are for it of the best ones,
    /// of which the very best is always one.
    pub fn choose_several(&self, view: View<'_>, number: u32, told: &mut Vec<Path>) {
        let View { own, sources, .. } = view;
        told.clear();
        told.extend(view.routes.paths(number).filter(|path| path.slot != 0));
        let most = usize::from(self.paths_max);
        if told.len() > most {
            let judge = |path: &Path| candidate(path, view.attributes, sources);
            let mut judged: Vec<Candidate> = told.iter().map(judge).collect();
            // The best one is the first already.
            for place in 1..told.len() {
                let best = place + view.family.best(&judged[place..]);
                told.swap(place, best);
                judged.swap(place, best);
            }
        }
        told.retain(|path| {
            let known = view.attributes.known(path.attributes);
            known.is_some_and(|known| self.takes(own, &sources[usize::from(path.peer)], known))
        });
        told.truncate(most);
    }

    /// Whether the group was told all paths of a route that were for it, for as long as anybody may
    /// have to be told of a change.
    fn tells_all(&self, view: View<'_>, number: u32) -> bool {
        let there = Encoder::slots(view, number);
        there.or(view.family.lost(number)).len() <= usize::from(self.paths_max)
    }
}

impl Encoder {
    /// Adds the change of a path by its number, if there is no later one that tells all of it.
    pub fn add_path(
        &mut self,
        view: View<'_>,
        identity: &Identity,
        (number, slot): (u32, u8),
        is_latest: bool,
    ) {
        if slot != 0 && identity.tells_all(view, number) {
            self.add_several(view, identity, (number, Slots::of(slot)), How::CHANGED);
        } else if slot == 0 || is_latest {
            self.add_several(view, identity, (number, Slots::ALL), How::CHANGED);
        }
    }

    /// Adds some paths of a route in their present state.
    pub fn add_several(
        &mut self,
        view: View<'_>,
        identity: &Identity,
        (number, meant): (u32, Slots),
        how: How,
    ) {
        let lost = view.family.lost(number);
        let had = view.family.had(number).filter(|_| identity.is_constrained);
        let mut told = std::mem::take(&mut self.told);
        identity.choose_several(view, number, &mut told);
        let mut left = Encoder::slots(view, number).or(lost).and(meant);
        for path in told.iter().filter(|path| meant.has(path.slot)) {
            let Path { attributes, peer, slot, .. } = *path;
            left = left.without(Slots::of(slot));
            match how {
                How { is_plain: true, .. } => self.announced.push((attributes, peer, number, slot)),
                How { is_gained: true, .. } => self.gained.push((attributes, peer, number, slot)),
                _ => {}
            }
            if !how.takes_back() {
                continue;
            }
            // It may know another one's path by this number.
            if lost.has(slot) {
                self.withdrawn.push((Readers::Only(peer), EVERYBODY, NO_SET, number, slot));
            }
            if identity.is_constrained {
                let now = view.targets_of(path);
                let lost = how.is_lost.then_some(now);
                for set in had.filter(|had| *had != now).into_iter().chain(lost) {
                    self.withdrawn.push((Readers::AllBut(peer), set, now, number, slot));
                }
            }
        }
        self.told = told;
        for slot in left.iter().filter(|_| how.takes_back()) {
            if !identity.is_constrained {
                self.withdrawn.push((Readers::All, EVERYBODY, NO_SET, number, slot));
                continue;
            }
            // One that is there and not told was told by its own targets, others by what all had;
            // of a route that was gone before anybody was told by targets nobody knows.
            let there = view.routes.in_slot(number, slot).map(|path| view.targets_of(path));
            let best = view.routes.route(number).best().filter(|_| there.is_none());
            let gone = had.or(best.map(|best| view.targets_of(best)));
            for set in there.into_iter().chain(gone) {
                self.withdrawn.push((Readers::All, set, NO_SET, number, slot));
            }
        }
    }

    /// The numbers of the paths of a route.
    fn slots(view: View<'_>, number: u32) -> Slots {
        let slots = view.routes.paths(number).map(|path| Slots::of(path.slot));
        slots.fold(Slots::NONE, Slots::or)
    }
}
