//! What the policy of a group has decided in a turn: once for all paths with the same attributes
//! whose prefixes the same rules name.

use hashbrown::HashTable;
use tables::hash::Keyed;

use crate::groups::export::Identity;
use crate::groups::view::View;
use crate::policy::{Decision, Policy, RuleSet};
use crate::table::Path;

/// Decisions by number.
#[derive(Debug)]
pub(super) struct Decided {
    all: Vec<(About, bool)>,
    index: HashTable<u32>,
    /// The number of the last one that was asked for.
    last: u32,
    /// How often a group was not told of a route for that.
    pub refused: u64,
    keyed: Keyed,
}

/// What a decision depends on beside the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct About {
    /// The number of the attributes.
    attributes: u32,
    /// The peer that has told them.
    peer: u16,
    /// The rules that name the prefix.
    named: RuleSet,
}

impl Default for Decided {
    fn default() -> Decided {
        // The numbers are those of this program: nobody else chooses them.
        let (all, index, last, refused) = (Vec::new(), HashTable::new(), 0, 0);
        Decided { all, index, last, refused, keyed: Keyed::new([1, 2]) }
    }
}

impl Decided {
    /// Returns the number of what is decided of a path of a route, if the group is told it.
    pub fn of(
        &mut self,
        view: View<'_>,
        (identity, policy): (&Identity, &Policy),
        route: u32,
        path: &Path,
    ) -> Option<u32> {
        let named = match policy.asks_for_prefixes() {
            true => view.routes.with_key(route, |key| policy.of_prefix(identity.family, key)),
            false => RuleSet::ALL,
        };
        let about = About { attributes: path.attributes, peer: path.peer, named };
        let Decided { all, index, last, refused, keyed } = self;
        let hash_of = |about: &About| {
            keyed
                .of2(u64::from(about.attributes) << 16 | u64::from(about.peer), about.named.mixed())
        };
        // Routes that are told together have much in common.
        if let Some((_, is_told)) = all.get(*last as usize).filter(|one| one.0 == about) {
            *refused += u64::from(!is_told);
            return is_told.then_some(*last);
        }
        let hash = hash_of(&about);
        let known = index.find(hash, |at| all[*at as usize].0 == about).copied();
        let number = match known {
            Some(number) => number,
            None => {
                let (number, what) = (all.len() as u32, (about.attributes, about.peer, named));
                let decision = view.decides(policy, identity.family, what);
                all.push((about, decision.is_some_and(|decision| decision.is_accepted)));
                index.insert_unique(hash, number, |at| hash_of(&all[*at as usize].0));
                number
            }
        };
        *last = number;
        let is_told = all[number as usize].1;
        *refused += u64::from(!is_told);
        is_told.then_some(number)
    }

    /// Returns what stands for the attributes of a path of a route that the group is told: their
    /// number, or that of what its policy has decided of them. None if it rejects the path.
    pub fn names(
        &mut self,
        view: View<'_>,
        identity: &Identity,
        route: u32,
        path: &Path,
    ) -> Option<u32> {
        match &identity.policy {
            None => Some(path.attributes),
            Some(policy) => self.of(view, (identity, policy), route, path),
        }
    }

    /// Returns the number of the attributes of what stands in the place of them.
    #[inline]
    pub fn attributes(&self, identity: &Identity, number: u32) -> u32 {
        match identity.policy {
            None => number,
            Some(_) => self.all[number as usize].0.attributes,
        }
    }

    /// Returns the decision again, if a policy has decided.
    pub fn decision(&self, view: View<'_>, identity: &Identity, number: u32) -> Option<Decision> {
        let policy = identity.policy.as_ref()?;
        let (About { attributes, peer, named }, _) = self.all[number as usize];
        view.decides(policy, identity.family, (attributes, peer, named))
    }

    /// Forgets all: attributes may be others in the next turn.
    pub fn clear(&mut self) {
        self.all.clear();
        self.index.clear();
        self.all.shrink_to(KEPT_MAX);
        self.index.shrink_to(KEPT_MAX, |at| u64::from(*at));
    }
}

/// Decisions for which there stays room.
const KEPT_MAX: usize = 16 << 10;
