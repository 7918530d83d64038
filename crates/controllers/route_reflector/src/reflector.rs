//! The reflector without its sessions: what peers tell goes in, what they are told comes out.
//!
//! ```text
//!  UPDATE of a peer --> attributes interned --> routes, best paths --> log of changes
//!                                                                       | groups
//!  bytes for each peer <-- chunks of shared streams <-- encoded once <--+
//! ```

use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::path;
use protocol_bgp::rules::{Fault, Reading};
use protocol_bgp::update::{Field, Scan, Update};
use protocol_kit::Bytes;

use crate::groups::encode::{Encoder, View};
use crate::groups::group::{Limits, Shown};
use crate::groups::{Group, Identity};
use crate::known::{Known, put};
use crate::own::{Kind, Own, Source};
use crate::table::{self, Candidate, Interned, Path, Place, Rest, Rules, Teller};

/// The reflector.
#[derive(Debug)]
pub struct Reflector {
    own: Own,
    limits: Limits,
    ribs: Vec<Rib>,
    attributes: Interned<Known>,
    rests: Interned<()>,
    sources: Vec<Source>,
    /// What peers are members of: a group for each family.
    members: Vec<Vec<(Family, u32)>>,
    /// Peers whose paths are taken away, and how far that is.
    sweeps: Vec<Sweep>,
    encoder: Encoder,
    scan: Scan,
    bytes: Vec<u8>,
    counters: Counters,
}

/// The routes of a family, and who is told of them.
#[derive(Debug)]
struct Rib {
    family: table::Family,
    groups: Vec<Option<Group>>,
    /// The number of the next chunk of any of its streams.
    next_chunk: u64,
}

/// Paths of a peer that go.
#[derive(Clone, Copy, Debug)]
struct Sweep {
    family: Family,
    peer: u16,
    /// The next route to be looked at.
    cursor: u32,
    only_stale: bool,
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
    /// Routes for which there was no room.
    pub no_room: u64,
    /// Families of a session of which nothing more is taken, for an error.
    pub disabled: u64,
    /// UPDATEs whose routes were treated as withdrawn, for an error.
    pub treated_as_withdrawn: u64,
}

impl Reflector {
    /// Creates a reflector without peers and routes. Nobody can foresee its hashes who does not
    /// know the secret.
    pub fn new(own: Own, rules: Rules, limits: Limits, secret: [u64; 2]) -> Reflector {
        let families = protocol_bgp::families::FAMILIES.iter();
        let rib = |_| Rib {
            family: table::Family::new(secret, rules),
            groups: Vec::new(),
            next_chunk: 0,
        };
        Reflector {
            own,
            limits,
            ribs: families.map(rib).collect(),
            attributes: Interned::new(secret),
            rests: Interned::new(secret),
            sources: Vec::new(),
            members: Vec::new(),
            sweeps: Vec::new(),
            encoder: Encoder::default(),
            scan: Scan::default(),
            bytes: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns how many routes have a path, and how many paths there are of a family.
    pub fn count(&self, family: Family) -> (usize, usize) {
        self.ribs[family as usize].family.routes().count()
    }

    /// Returns how many different attributes there are.
    pub fn attributes(&self) -> usize {
        self.attributes.len()
    }

    /// Returns the groups of a family, and how each is doing.
    pub fn groups(&self, family: Family) -> impl Iterator<Item = (&Identity, Shown)> {
        let groups = self.ribs[family as usize].groups.iter().flatten();
        groups.map(|group| (group.identity(), group.shown()))
    }

    /// The session of a peer stands: it is told what is for those of its identities, one for each
    /// family that was agreed on. Its number is used by no other peer.
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
        }
        // What it has told before must not be mixed up with what it tells now.
        while !self.is_swept(peer) {
            self.go_on_sweeping();
        }
        self.sources[place] = source;
        self.leave(peer);
        for identity in identities {
            let family = identity.family;
            let rib = &mut self.ribs[family as usize];
            let same = |group: &Option<Group>| {
                group.as_ref().is_some_and(|group| *group.identity() == identity)
            };
            let at = rib.groups.iter().position(same).unwrap_or_else(|| {
                let free = rib.groups.iter().position(Option::is_none).unwrap_or_else(|| {
                    rib.groups.push(None);
                    rib.groups.len() - 1
                });
                rib.groups[free] = Some(Group::new(identity.clone(), rib.family.log().end()));
                free
            });
            if let Some(group) = &mut rib.groups[at] {
                group.join(peer);
            }
            self.members[place].push((family, at as u32));
        }
    }

    /// The session of a peer has ended. Its paths are taken away, but for those of some families,
    /// which are marked and stay until [`Reflector::sweep`].
    pub fn close(&mut self, peer: u16, kept: FamilySet) {
        self.leave(peer);
        for row in &protocol_bgp::families::FAMILIES {
            match kept.contains(row.family) {
                true => self.mark(peer, row.family),
                false => self.sweep(peer, row.family, false),
            }
        }
    }

    /// Marks the paths of a peer to a family as stale: it is to tell them again.
    pub fn mark(&mut self, peer: u16, family: Family) {
        // A sweep over those that it told before goes first.
        while !self.is_swept(peer) {
            self.go_on_sweeping();
        }
        self.ribs[family as usize].family.mark(peer);
    }

    /// Takes the paths of a peer away that it has told of a family, or the stale ones alone.
    pub fn sweep(&mut self, peer: u16, family: Family, only_stale: bool) {
        if self.ribs[family as usize].family.routes().end() > 0 {
            self.sweeps.push(Sweep { family, peer, cursor: 0, only_stale });
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
        for (family, at) in std::mem::take(members) {
            let group = &mut self.ribs[family as usize].groups[at as usize];
            if group.as_mut().is_some_and(|group| group.leave(peer)) {
                *group = None;
            }
        }
    }

    /// Takes the body of an UPDATE of a peer. Returns the family of which it says that all was
    /// told, if it does. Of a family whose routes could not be read nothing more is taken (RFC 7606
    /// section 2), and what the peer has told of it goes.
    ///
    /// # Errors
    /// Why the session cannot go on.
    pub fn update(
        &mut self,
        peer: u16,
        body: &[u8],
        reading: &mut Reading,
    ) -> Result<Option<Family>, Fault> {
        let mut scan = std::mem::take(&mut self.scan);
        let read = scan.read(body, reading);
        if let Ok(update) = &read {
            self.take(peer, &scan, update);
            for family in update.disabled.iter() {
                reading.families.remove(family);
                self.counters.disabled += 1;
                self.sweep(peer, family, false);
            }
        }
        self.scan = scan;
        read.map(|update| update.end_of_rib)
    }

    fn take(&mut self, peer: u16, scan: &Scan, update: &Update<'_>) {
        self.counters.treated_as_withdrawn += u64::from(update.is_treated_as_withdrawal());
        for field in update.withdrawn() {
            self.withdraw(peer, &field);
        }
        for field in update.announced() {
            let mut bytes = std::mem::take(&mut self.bytes);
            put(field.next_hop, scan.block(), &mut bytes);
            let known = Known::new(&bytes, *scan.summary());
            if self.has_been_here(&known, &bytes, scan) {
                self.counters.loops += self.withdraw(peer, &field);
            } else {
                self.announce(peer, &field, &bytes, known);
            }
            self.bytes = bytes;
        }
    }

    /// Whether a route has been here before, and is not taken again.
    fn has_been_here(&self, known: &Known, bytes: &[u8], scan: &Scan) -> bool {
        let Own { asn, identifier, cluster, .. } = self.own;
        known.has_been_at(bytes, (identifier, cluster))
            || path::contains(known.summary.path.of(scan.block()), asn)
    }

    fn announce(&mut self, peer: u16, field: &Field<'_>, bytes: &[u8], known: Known) {
        let Reflector { ribs, attributes, rests, sources, counters, .. } = self;
        let rib = &mut ribs[field.family as usize];
        // One use of it is this UPDATE's.
        let Some(number) = attributes.intern(bytes, || known) else {
            counters.no_room += field.nlris().count() as u64;
            return;
        };
        for nlri in field.nlris().flatten() {
            counters.announced += 1;
            let (key, rest): (&[u8], &[u8]) = (nlri.key.as_slice(), nlri.rest.as_slice());
            let string = || rests.intern(rest, || ()).map(Rest::of_string);
            let rest = Rest::short(rest).or_else(string);
            let Some(rest) = rest else {
                counters.no_room += 1;
                continue;
            };
            attributes.share(number);
            let path =
                Path { attributes: number, rest, identifier: nlri.path_id, peer, is_stale: false };
            let judge = |path: &Path| candidate(path, attributes, sources);
            let ended = match rib.family.announce(key, path, judge) {
                Some(change) => change.ended,
                None => {
                    counters.no_room += 1;
                    Some(path)
                }
            };
            if let Some(ended) = ended {
                release(&ended, attributes, rests);
            }
        }
        attributes.release(number);
    }

    /// Withdraws the routes of a field; returns how many those are.
    fn withdraw(&mut self, peer: u16, field: &Field<'_>) -> u64 {
        let Reflector { ribs, attributes, rests, sources, counters, .. } = self;
        let rib = &mut ribs[field.family as usize];
        let mut count = 0;
        for nlri in field.nlris().flatten() {
            count += 1;
            let judge = |path: &Path| candidate(path, attributes, sources);
            let change = rib.family.withdraw(nlri.key.as_slice(), (peer, nlri.path_id), judge);
            if let Some(ended) = change.and_then(|change| change.ended) {
                release(&ended, attributes, rests);
            }
        }
        counters.withdrawn += count;
        count
    }

    /// Does a bounded part of what there is to do: takes paths away, encodes what groups are told,
    /// forgets what is told. `is_ready` tells whether a peer takes bytes. Returns whether there may
    /// be more.
    pub fn work(&mut self, is_ready: impl Fn(u16) -> bool) -> bool {
        let mut has_more = self.go_on_sweeping();
        let Reflector { own, limits, ribs, attributes, rests, sources, encoder, .. } = self;
        for rib in ribs {
            let Rib { family, groups, next_chunk } = rib;
            let end = family.log().end();
            let (mut read, mut known) = (end, end);
            for group in groups.iter_mut().flatten() {
                let routes = family.routes();
                let view = View { own, routes, attributes, rests, sources };
                let log = family.log();
                has_more |= group.work(view, log, (encoder, next_chunk), *limits, &is_ready);
                read = read.min(group.read());
                known = known.min(group.known());
            }
            family.forget(read, known, limits.routes);
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
            if let Some(bytes) = group.next(peer, room) {
                return Some(bytes);
            }
        }
        None
    }

    /// Returns whether a peer has everything that it is to be told at present.
    pub fn is_done(&self, peer: u16) -> bool {
        let members = self.members.get(usize::from(peer));
        members.into_iter().flatten().all(|&(family, at)| {
            let rib = &self.ribs[family as usize];
            let group = rib.groups[at as usize].as_ref();
            group.is_none_or(|group| group.read() == rib.family.log().end() && group.is_done(peer))
        })
    }

    /// Takes away paths of peers that are gone. Returns whether there are more.
    fn go_on_sweeping(&mut self) -> bool {
        let Some(sweep) = self.sweeps.first_mut() else { return false };
        let Sweep { family, peer, cursor, only_stale } = *sweep;
        let rib = &mut self.ribs[family as usize];
        let end = rib.family.routes().end();
        let last = end.min(cursor.saturating_add(SWEPT_MAX));
        sweep.cursor = last;
        if last == end {
            self.sweeps.remove(0);
        }
        let mut going = Vec::new();
        for number in cursor..last {
            let paths = rib.family.routes().paths(number);
            let is_meant = |path: &&Path| path.peer == peer && (path.is_stale || !only_stale);
            going.extend(paths.filter(is_meant).map(|path| path.identifier));
            for identifier in going.drain(..) {
                let (attributes, sources) = (&self.attributes, &self.sources);
                let judge = |path: &Path| candidate(path, attributes, sources);
                let change = rib.family.withdraw_of(number, (peer, identifier), judge);
                if let Some(ended) = change.and_then(|change| change.ended) {
                    release(&ended, &mut self.attributes, &mut self.rests);
                }
            }
        }
        !self.sweeps.is_empty()
    }

    /// Returns about how many bytes of memory it has.
    pub fn memory(&self) -> usize {
        let ribs: usize = self.ribs.iter().map(|rib| rib.family.memory()).sum();
        ribs + self.attributes.memory() + self.rests.memory()
    }

    /// Returns the place up to which changes of a family are noted.
    pub fn end(&self, family: Family) -> Place {
        self.ribs[family as usize].family.log().end()
    }
}

/// A path as it is compared with others.
fn candidate(path: &Path, attributes: &Interned<Known>, sources: &[Source]) -> Candidate {
    let source = &sources[usize::from(path.peer)];
    let rank = attributes.known(path.attributes).map(|known| known.rank);
    Candidate {
        rank: rank.unwrap_or_default(),
        teller: Teller {
            is_external: source.kind == Kind::External,
            identifier: source.identifier,
            address: source.address,
        },
        identifier: path.identifier,
    }
}

/// Ends the uses of a path that is gone.
fn release(path: &Path, attributes: &mut Interned<Known>, rests: &mut Interned<()>) {
    attributes.release(path.attributes);
    if let Some(string) = path.rest.string() {
        rests.release(string);
    }
}

/// Routes that are looked at in one turn for paths that go.
const SWEPT_MAX: u32 = 256 << 10;
