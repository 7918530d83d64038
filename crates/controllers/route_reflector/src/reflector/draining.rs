//! Peers are told otherwise from now on while their sessions stand, and their paths count
//! otherwise.

use protocol_bgp::families::FAMILIES;

use super::{Reflector, Sweep, Swept};
use crate::groups::Identity;
use crate::own::Lowers;

impl Reflector {
    /// From now on these paths of a peer have the lowest preference. All of its paths are compared
    /// and told anew.
    pub fn lower(&mut self, peer: u16, lowers: Lowers) {
        let Some(source) = self.sources.get_mut(usize::from(peer)) else { return };
        if std::mem::replace(&mut source.lowers, lowers) == lowers {
            return;
        }
        let told = FAMILIES.iter().map(|row| row.family);
        let told: Vec<_> = told.filter(|family| self.told_by(peer, *family) > 0).collect();
        let anew = |family| Sweep { family, peer, cursor: 0, what: Swept::Anew, is_session: false };
        self.sweeps.extend(told.into_iter().map(anew));
    }

    /// A peer with a session is told by other identities from now on: everything again, of each
    /// family whose identity is another one than before.
    pub fn regroup(&mut self, peer: u16, identities: impl IntoIterator<Item = Identity>) {
        let place = usize::from(peer);
        for identity in identities {
            let family = identity.family;
            let Some(waiting) = self.waiting.get_mut(place) else { return };
            if let Some(waiting) = waiting.iter_mut().find(|one| one.family == family) {
                *waiting = identity;
                continue;
            }
            let Some(at) = self.members[place].iter().position(|one| one.0 == family) else {
                continue;
            };
            let (_, before) = self.members[place][at];
            let group = self.ribs[family as usize].groups[before as usize].as_ref();
            let group = group.filter(|group| *group.identity() != identity);
            let Some(reader) = group.and_then(|group| group.hand_over(peer)) else { continue };
            // It leaves last: what the family keeps for groups of this kind is kept.
            self.members[place].swap_remove(at);
            self.join(peer, vec![identity]);
            if let Some(&(_, now)) = self.members[place].last()
                && let Some(group) = &mut self.ribs[family as usize].groups[now as usize]
            {
                group.take_over(peer, reader);
            }
            self.leave_group(peer, family, before);
        }
    }
}
