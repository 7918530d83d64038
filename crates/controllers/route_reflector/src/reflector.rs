//! The reflector without its sessions: what peers tell goes in, what they are told comes out.
//!
//! ```text
//!  UPDATE of a peer --> attributes interned --> routes, best paths --> log of changes
//!                                                                       | groups
//!  bytes for each peer <-- chunks of shared streams <-- encoded once <--+
//! ```

use std::sync::Arc;

use protocol_bgp::families::{Family, FamilySet, Row};
use protocol_bgp::update::Scan;
use protocol_kit::Bytes;

use crate::bounds::{Budget, Notice, Told};
use crate::groups::encode::Encoder;
use crate::groups::group::{Limits, Shown};
use crate::groups::view::View;
use crate::groups::{Group, Identity};
use crate::known::Known;
use crate::leaks::Relation;
use crate::membership::{Delta, Membership};
use crate::own::{Own, Source};
use crate::policy::Policy;
use crate::refused::Refused;
use crate::table::{self, Interned, Place, Rules, Sets};

mod hearing;

mod importing;

mod seen;

mod bounding;

mod watched;

mod draining;

pub use hearing::Ending;

/// The reflector.
#[derive(Debug)]
pub struct Reflector {
    own: Own,
    limits: Limits,
    ribs: Vec<Rib>,
    attributes: Interned<Known>,
    rests: Interned<()>,
    sets: Sets,
    sources: Vec<Source>,
    /// What peers are members of: a group for each family.
    members: Vec<Vec<(Family, u32)>>,
    /// Which route targets peers ask for.
    memberships: Vec<Membership>,
    /// What peers become members of when they have told that.
    waiting: Vec<Vec<Identity>>,
    /// Those that have told it, and of which something else is to go first.
    ready: Vec<u16>,
    /// Peers whose paths are taken away, and how far that is.
    sweeps: Vec<Sweep>,
    /// How much peers have told, and may tell.
    told: Vec<Told>,
    /// What other ASes are to this one.
    relations: Vec<Option<Relation>>,
    /// By which policies routes of peers are taken; `None` where all are.
    imports: Vec<Option<Arc<Policy>>>,
    /// Routes that those have refused.
    refused: Refused,
    budget: Budget,
    notices: Vec<Notice>,
    /// Paths that are gone without a word of peers; `None` where nobody wants to know.
    gone: Option<Vec<Gone>>,
    /// Families of whose routes nobody is told yet.
    deferred: FamilySet,
    encoder: Encoder,
    scan: Scan,
    bytes: Vec<u8>,
    marked: Vec<u8>,
    counters: Counters,
}

/// The routes of a family, and who is told of them.
#[derive(Debug)]
struct Rib {
    family: table::Family,
    groups: Vec<Option<Group>>,
    /// Groups that are told by route targets.
    constrained: usize,
    /// Groups that are told several paths of a route.
    several: usize,
    /// The number of the next chunk of any of its streams.
    next_chunk: u64,
}

/// Paths of a peer that go, or are looked at.
#[derive(Clone, Copy, Debug)]
struct Sweep {
    family: Family,
    peer: u16,
    /// The next route to be looked at.
    cursor: u32,
    what: Swept,
    /// Whether the peer had a session when it began.
    is_session: bool,
}

/// A path of a peer with a session that is gone, of which the peer has not said so.
#[derive(Clone, Debug)]
pub struct Gone {
    /// The peer.
    pub peer: u16,
    /// The family.
    pub family: Family,
    /// Its identifier.
    pub path_id: u32,
    /// The key of its route.
    pub key: Box<[u8]>,
}

/// What becomes of paths of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swept {
    /// All go.
    All,
    /// The stale ones go.
    Stale,
    /// They stay, and are compared with others and told anew.
    Anew,
}

/// What was refused, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Routes announced.
    pub announced: u64,
    /// Routes withdrawn.
    pub withdrawn: u64,
    /// Routes that had been here before, by their ORIGINATOR_ID, CLUSTER_LIST or AS path.
    pub loops: u64,
    /// Routes that other ASes should not have told, by ONLY_TO_CUSTOMER and the own part in the
    /// relation with them.
    pub leaks: u64,
    /// Routes for which there was no room.
    pub no_room: u64,
    /// Routes that were more than their peers may tell, and were not taken.
    pub beyond: u64,
    /// Routes that the policies of their peers have not taken.
    pub refused: u64,
    /// Routes of which policies have not told a group, each time.
    pub untold: u64,
    /// Families of a session of which nothing more is taken, for an error.
    pub disabled: u64,
    /// Attributes discarded, for an error.
    pub discarded: u64,
    /// UPDATEs whose routes were treated as withdrawn, for an error.
    pub treated_as_withdrawn: u64,
    /// Sessions that an error of an UPDATE has ended.
    pub resets: u64,
    /// Attribute blocks whose route targets had no room: everybody is told of their routes.
    pub unmarked: u64,
    /// Peers that were told everything, for the route targets that they ask for had no room or
    /// could not be read.
    pub unconstrained: u64,
}

impl Reflector {
    /// Creates a reflector without peers and routes. Nobody can foresee its hashes who does not
    /// know the secret.
    pub fn new(own: Own, rules: Rules, limits: Limits, secret: [u64; 2]) -> Reflector {
        let families = protocol_bgp::families::FAMILIES.iter();
        let rib = |row: &Row| {
            let mut family = table::Family::new(secret, rules);
            // Others of the same AS are told another path than the best one.
            family.tell_all(row.family == Family::RouteTarget);
            Rib { family, groups: Vec::new(), constrained: 0, several: 0, next_chunk: 0 }
        };
        Reflector {
            own,
            limits,
            ribs: families.map(rib).collect(),
            attributes: Interned::new(secret),
            rests: Interned::new(secret),
            sets: Sets::new(secret),
            sources: Vec::new(),
            members: Vec::new(),
            memberships: Vec::new(),
            waiting: Vec::new(),
            ready: Vec::new(),
            sweeps: Vec::new(),
            told: Vec::new(),
            relations: Vec::new(),
            imports: Vec::new(),
            refused: Refused::new(secret),
            budget: Budget::new(usize::MAX),
            notices: Vec::new(),
            gone: None,
            deferred: FamilySet::NONE,
            encoder: Encoder::default(),
            scan: Scan::default(),
            bytes: Vec::new(),
            marked: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        let (unmarked, untold) = (self.sets.unmarked(), self.encoder.refused());
        Counters { unmarked, untold, ..self.counters }
    }

    /// Returns how many routes have a path, and how many paths there are of a family.
    pub fn count(&self, family: Family) -> (usize, usize) {
        self.ribs[family as usize].family.routes().count()
    }

    /// Returns how many different attributes there are.
    pub fn attributes(&self) -> usize {
        self.attributes.len()
    }

    /// Returns how many different sets of route targets there are.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// Returns which route targets a peer asks for, and whether its routes wait for that.
    pub fn membership(&self, peer: u16) -> Option<(&Membership, bool)> {
        let place = usize::from(peer);
        Some((self.memberships.get(place)?, !self.waiting.get(place)?.is_empty()))
    }

    /// Returns the groups of a family, and how each is doing.
    pub fn groups(&self, family: Family) -> impl Iterator<Item = (&Identity, Shown)> {
        let groups = self.ribs[family as usize].groups.iter().flatten();
        groups.map(|group| (group.identity(), group.shown()))
    }

    /// The session of a peer stands: it is told what is for those of its identities, one for each
    /// family that was agreed on. Its number is used by no other peer. What route targets tell it
    /// is told when it has told all of those, or [`Reflector::begin_constrained`] says so (RFC 4684
    /// section 6).
    pub fn open(
        &mut self,
        peer: u16,
        source: Source,
        identities: impl IntoIterator<Item = Identity>,
    ) {
        let place = usize::from(peer);
        if self.sources.len() <= place {
            self.sources.resize(place + 1, source);
            self.members.resize(place + 1, Vec::new());
            self.memberships.resize(place + 1, Membership::default());
            self.waiting.resize(place + 1, Vec::new());
            self.told.resize(place + 1, Told::default());
            self.relations.resize(place + 1, None);
            self.imports.resize(place + 1, None);
        }
        // What it has told before must not be mixed up with what it tells now.
        while !self.is_swept(peer) {
            self.go_on_sweeping();
        }
        self.sources[place] = source;
        (self.relations[place], self.imports[place]) = (None, None);
        self.leave(peer);
        self.memberships[place].begin();
        let all: Vec<Identity> = identities.into_iter().collect();
        let (waiting, now) = all.into_iter().partition(|identity| identity.is_constrained);
        self.waiting[place] = waiting;
        self.join(peer, now);
    }

    /// What the AS of a peer with a session is to this one, while that stands.
    pub fn relate(&mut self, peer: u16, relation: Option<Relation>) {
        if let Some(known) = self.relations.get_mut(usize::from(peer)) {
            *known = relation;
        }
    }

    /// A peer is told from now on what it asks for, whether or not it has told all of that.
    pub fn begin_constrained(&mut self, peer: u16) {
        let Some(waiting) = self.waiting.get_mut(usize::from(peer)) else { return };
        let identities = std::mem::take(waiting);
        self.join(peer, identities);
    }

    fn join(&mut self, peer: u16, identities: Vec<Identity>) {
        for identity in identities {
            let family = identity.family;
            let at = self.group_of(identity);
            if let Some(group) = &mut self.ribs[family as usize].groups[at] {
                group.join(peer);
            }
            self.members[usize::from(peer)].push((family, at as u32));
        }
    }

    /// The number of the group with an identity, which is new if there was none.
    fn group_of(&mut self, identity: Identity) -> usize {
        let rib = &mut self.ribs[identity.family as usize];
        let same = |group: &Option<Group>| {
            group.as_ref().is_some_and(|group| *group.identity() == identity)
        };
        rib.groups.iter().position(same).unwrap_or_else(|| {
            let free = rib.groups.iter().position(Option::is_none).unwrap_or_else(|| {
                rib.groups.push(None);
                rib.groups.len() - 1
            });
            rib.constrained += usize::from(identity.is_constrained);
            rib.several += usize::from(identity.paths_max > 0);
            if identity.paths_max > 0 && rib.several == 1 {
                rib.family.tell_several(true);
            }
            rib.groups[free] = Some(Group::new(identity, rib.family.log().end()));
            free
        })
    }

    /// The session of a peer has ended. Its paths are taken away, but for those of some families,
    /// which are marked and stay until [`Reflector::sweep`]; what was marked before goes, too (RFC
    /// 4724 section 4.2).
    pub fn close(&mut self, peer: u16, kept: FamilySet) {
        self.leave(peer);
        self.admit_all(peer, None);
        for row in &protocol_bgp::families::FAMILIES {
            match kept.contains(row.family) {
                true => {
                    self.sweep(peer, row.family, true);
                    self.mark(peer, row.family);
                }
                false => self.sweep(peer, row.family, false),
            }
        }
    }

    /// Marks the paths of a peer to a family as stale: it is to tell them again.
    pub fn mark(&mut self, peer: u16, family: Family) {
        self.admit_all(peer, Some(family));
        if self.told_by(peer, family) == 0 {
            return;
        }
        // A sweep over those that it told before goes first.
        while !self.is_swept(peer) {
            self.go_on_sweeping();
        }
        self.ribs[family as usize].family.mark(peer);
    }

    /// Takes the paths of a peer away that it has told of a family, or the stale ones alone.
    pub fn sweep(&mut self, peer: u16, family: Family, only_stale: bool) {
        if self.told_by(peer, family) > 0 {
            let what = if only_stale { Swept::Stale } else { Swept::All };
            let place = usize::from(peer);
            let is_session = !(self.members[place].is_empty() && self.waiting[place].is_empty());
            self.sweeps.push(Sweep { family, peer, cursor: 0, what, is_session });
        }
    }

    /// Returns whether all paths of a peer are gone that are to go.
    pub fn is_swept(&self, peer: u16) -> bool {
        self.sweeps.iter().all(|sweep| sweep.peer != peer)
    }

    /// A peer wants to be told all routes of a family again.
    pub fn refresh(&mut self, peer: u16, family: Family) {
        let Some(members) = self.members.get(usize::from(peer)) else { return };
        for &(_, at) in members.iter().filter(|one| one.0 == family) {
            if let Some(group) = &mut self.ribs[family as usize].groups[at as usize] {
                group.refresh(peer);
            }
        }
    }

    fn leave(&mut self, peer: u16) {
        let Some(members) = self.members.get_mut(usize::from(peer)) else { return };
        self.waiting[usize::from(peer)].clear();
        self.ready.retain(|one| *one != peer);
        for (family, at) in std::mem::take(members) {
            self.leave_group(peer, family, at);
        }
    }

    fn leave_group(&mut self, peer: u16, family: Family, at: u32) {
        let rib = &mut self.ribs[family as usize];
        let group = &mut rib.groups[at as usize];
        if group.as_mut().is_some_and(|group| group.leave(peer))
            && let Some(gone) = group.take()
        {
            let Identity { is_constrained, paths_max, .. } = *gone.identity();
            rib.constrained -= usize::from(is_constrained);
            if is_constrained && rib.constrained == 0 {
                rib.family.forget_had().for_each(|set| self.sets.release(set));
            }
            rib.several -= usize::from(paths_max > 0);
            if paths_max > 0 && rib.several == 0 {
                rib.family.tell_several(false);
            }
        }
    }

    /// The groups of a peer are told how its membership has changed.
    fn change(&mut self, peer: u16, delta: &Delta) {
        let is_constrained = |group: &&mut Group| group.identity().is_constrained;
        let members = self.members.get(usize::from(peer)).into_iter().flatten();
        for (family, at) in members.filter(|_| !delta.is_empty()) {
            let group = self.ribs[*family as usize].groups[*at as usize].as_mut();
            group.filter(is_constrained).into_iter().for_each(|group| group.change(peer, delta));
        }
    }

    /// Nobody is told of the routes of some families before [`Reflector::begin`] (RFC 4724 section
    /// 4.1). To be called before there are sessions.
    pub fn defer(&mut self, families: FamilySet) {
        self.deferred = families;
    }

    /// Returns the families of whose routes nobody is told yet.
    pub fn deferred(&self) -> FamilySet {
        self.deferred
    }

    /// All routes of a family are here: from now on peers are told of them.
    pub fn begin(&mut self, family: Family) {
        self.deferred.remove(family);
    }

    /// Does a bounded part of what there is to do: takes paths away, encodes what groups are told,
    /// forgets what is told. `is_ready` tells whether a peer takes bytes. Returns whether there may
    /// be more.
    pub fn work(&mut self, is_ready: impl Fn(u16) -> bool) -> bool {
        let mut has_more = self.go_on_sweeping();
        for peer in std::mem::take(&mut self.ready) {
            match self.is_swept(peer) {
                true => self.begin_constrained(peer),
                false => self.ready.push(peer),
            }
        }
        let Reflector { own, limits, ribs, attributes, rests, sets, sources, encoder, .. } = self;
        for (row, rib) in protocol_bgp::families::FAMILIES.iter().zip(ribs) {
            let Rib { family, groups, next_chunk, .. } = rib;
            let end = family.log().end();
            let (mut read, mut known) = (end, end);
            for group in groups.iter_mut().flatten() {
                let routes = family.routes();
                let view = View { own, family, routes, sets, attributes, rests, sources };
                let log = family.log();
                if self.deferred.contains(row.family) {
                    group.skip(end);
                    continue;
                }
                has_more |= group.work(view, log, (encoder, next_chunk), *limits, &is_ready);
                read = read.min(group.read());
                known = known.min(group.known());
            }
            family.forget((read, known), limits.routes, |set| sets.release(set));
        }
        has_more
    }

    /// Returns the next bytes for a peer, whole messages, if there is room for them.
    pub fn next(&mut self, peer: u16, room: usize) -> Option<Bytes> {
        let members = self.members.get_mut(usize::from(peer))?;
        for _ in 0..members.len() {
            // Each family in its turn.
            members.rotate_left(1);
            let (family, at) = *members.last()?;
            let group = self.ribs[family as usize].groups[at as usize].as_mut()?;
            let membership = &self.memberships[usize::from(peer)];
            let membership = Some(membership).filter(|_| group.identity().is_constrained);
            if let Some(bytes) = group.next(peer, room, membership) {
                return Some(bytes);
            }
        }
        None
    }

    /// Returns whether a peer has everything that it is to be told at present.
    pub fn is_done(&self, peer: u16) -> bool {
        let members = self.members.get(usize::from(peer));
        let is_waiting = self.ready.contains(&peer);
        !is_waiting
            && members.into_iter().flatten().all(|&(family, at)| {
                let rib = &self.ribs[family as usize];
                let group = rib.groups[at as usize].as_ref();
                group.is_none_or(|group| {
                    group.read() == rib.family.log().end() && group.is_done(peer)
                })
            })
    }

    /// Returns the place up to which changes of a family are noted.
    pub fn end(&self, family: Family) -> Place {
        self.ribs[family as usize].family.log().end()
    }
}
