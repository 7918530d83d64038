//! From routes that have changed to chunks of UPDATEs: sorted by attributes, so that as many as
//! possible share a message.

use protocol_bgp::builder::Builder;
use protocol_bgp::families::Family;

use crate::groups::decided::Decided;
use crate::groups::export::{DEFAULT_TARGET, Exported, Identity};
use crate::groups::stream::{Draft, Readers, Stream, Told};
use crate::groups::view::View;
use crate::table::Path;
use crate::table::targets::{EVERYBODY, NO_SET};

/// Room to work in, which the groups of all families share.
#[derive(Debug, Default)]
pub struct Encoder {
    /// Routes that are announced: attributes, peer, route, the number of the path where several are
    /// told; else 0.
    pub(super) announced: Vec<Entry>,
    /// The same for those who have begun to ask for their targets.
    pub(super) gained: Vec<Entry>,
    /// Routes that are withdrawn from these readers: those who may know them by the first set of
    /// targets and do not ask for the second one.
    pub(super) withdrawn: Vec<(Readers, u32, u32, u32, u8)>,
    /// Paths of a route.
    pub(super) told: Vec<Path>,
    /// What the policy of the group says of those that are announced: their numbers stand in the
    /// place of their attributes then.
    pub(super) decided: Decided,
    /// Whether routes of the group are told in another way than to all but their teller.
    is_marked: bool,
    exported: Exported,
    draft: Draft,
}

/// A path that is announced.
type Entry = (u32, u16, u32, u8);

/// Who is told of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Whether it is new to all readers: what is not there is not told.
    pub is_first: bool,
    /// Whether those are told who ask for its targets.
    pub is_plain: bool,
    /// Whether those are who have begun to.
    pub is_gained: bool,
    /// Whether those are told that it is gone who do not ask for it any more.
    pub is_lost: bool,
}

impl How {
    /// All are told of a route that has changed.
    pub const CHANGED: How =
        How { is_first: false, is_plain: true, is_gained: false, is_lost: false };

    /// Whether anybody is told of it.
    pub fn tells(self) -> bool {
        self.is_plain || self.is_gained || self.is_lost
    }

    /// Whether anybody may know it who is not to know it any more.
    pub(super) fn takes_back(self) -> bool {
        !self.is_first && (self.is_plain || self.is_lost)
    }
}

impl Encoder {
    /// Begins with routes for a group.
    pub fn begin(&mut self, identity: &Identity) {
        let is_of_targets = identity.is_constrained || identity.family == Family::RouteTarget;
        self.is_marked = is_of_targets || identity.tells_teller() || identity.policy.is_some();
    }

    /// Returns how often policies have not told a group of a route.
    pub fn refused(&self) -> u64 {
        self.decided.refused
    }

    /// Adds a route in its present state.
    #[inline]
    pub fn add(&mut self, view: View<'_>, identity: &Identity, number: u32, how: How) {
        let route = view.routes.route(number);
        let teller = route.teller();
        let several = route.had_several_tellers();
        let path = identity.chooses(view, number);
        if self.is_marked {
            if identity.tells_default && view.routes.with_key(number, |key| key == DEFAULT_TARGET) {
                return;
            }
            return self.add_marked(view, identity, (number, path), how);
        }
        match path {
            Some(path) => {
                self.announced.push((path.attributes, path.peer, number, 0));
                // It may have been told another one's path before.
                if several && !how.is_first {
                    self.withdrawn.push((Readers::Only(path.peer), EVERYBODY, NO_SET, number, 0));
                }
            }
            None if how.is_first => {}
            // Who has told the only path that there was has heard nothing of it.
            None if route.best().is_none() && !several => {
                self.withdrawn.push((Readers::AllBut(teller), EVERYBODY, NO_SET, number, 0));
            }
            None => self.withdrawn.push((Readers::All, EVERYBODY, NO_SET, number, 0)),
        }
    }

    /// The same where targets tell who is told, where who has told a path hears of it, too, or
    /// where a policy says what is told.
    fn add_marked(
        &mut self,
        view: View<'_>,
        identity: &Identity,
        (number, path): (u32, Option<Path>),
        how: How,
    ) {
        let route = view.routes.route(number);
        let several = route.had_several_tellers();
        let had = match identity.is_constrained {
            true => view.family.had(number).or(route.best().map(|best| view.targets_of(best))),
            false => Some(EVERYBODY),
        };
        let told = path.map(|path| (path.attributes, path));
        let told = match &identity.policy {
            None => told,
            Some(policy) if policy.takes_nothing() => return,
            Some(policy) => told.and_then(|(_, path)| {
                let decided = self.decided.of(view, (identity, policy), number, &path)?;
                Some((decided, path))
            }),
        };
        let Some((first, path)) = told else {
            // Of a route that was gone before anybody was told by targets nobody of those knows.
            let Some(had) = had.filter(|_| how.takes_back()) else { return };
            // Of a route target it may know another one's path than the best one.
            let may_know =
                several || identity.tells_teller() || identity.family == Family::RouteTarget;
            let is_one_s = route.best().is_none() && !may_know;
            let readers = if is_one_s { Readers::AllBut(route.teller()) } else { Readers::All };
            return self.withdrawn.push((readers, had, NO_SET, number, 0));
        };
        let entry = (first, path.peer, number, 0);
        match how {
            How { is_plain: true, .. } => self.announced.push(entry),
            How { is_gained: true, .. } => self.gained.push(entry),
            _ => {}
        }
        if !how.takes_back() {
            return;
        }
        let had = had.unwrap_or(EVERYBODY);
        if several && !identity.tells_teller() {
            self.withdrawn.push((Readers::Only(path.peer), had, NO_SET, number, 0));
        }
        let now = view.targets_of(&path);
        if identity.is_constrained && (how.is_lost || had != now) {
            self.withdrawn.push((Readers::AllBut(path.peer), had, now, number, 0));
        }
    }

    /// Writes what was added behind a stream, as chunks with numbers from `next` on and a mark.
    pub fn write(
        &mut self,
        view: View<'_>,
        identity: &Identity,
        (next, mark): (&mut u64, u64),
        stream: &mut Stream,
    ) {
        for is_gained in [false, true] {
            let list = if is_gained { &mut self.gained } else { &mut self.announced };
            let mut entries = std::mem::take(list);
            entries.sort_unstable();
            if identity.paths_max > 0 {
                entries.dedup();
            }
            self.write_announced(view, identity, (&entries, is_gained), (&mut *next, mark), stream);
            entries.clear();
            *if is_gained { &mut self.gained } else { &mut self.announced } = entries;
        }
        self.withdrawn.sort_unstable();
        if identity.paths_max > 0 {
            self.withdrawn.dedup();
        }
        let withdrawn = std::mem::take(&mut self.withdrawn);
        let mut rest = &withdrawn[..];
        while let Some(&(readers, had, now, ..)) = rest.first() {
            let same = rest.partition_point(|one| (one.0, one.1, one.2) <= (readers, had, now));
            let numbers = rest[..same].iter().map(|one| (one.3, one.4));
            let told = match (had, now) {
                (EVERYBODY, NO_SET) => Told::Anything,
                (_, NO_SET) => Told::Gone(view.sets.get(had), None),
                _ => Told::Gone(view.sets.get(had), Some(view.sets.get(now))),
            };
            rest = &rest[self.withdraw(view, identity, numbers, (readers, &told))..];
            self.end_chunk(CHUNK_BYTES, (&mut *next, mark), stream);
        }
        self.withdrawn = withdrawn;
        self.withdrawn.clear();
        self.decided.clear();
        self.end_chunk(1, (next, mark), stream);
        self.shrink();
    }

    /// Writes routes that are announced, which are sorted, so that those with the same attributes
    /// are one run, and runs for the same readers are together.
    fn write_announced(
        &mut self,
        view: View<'_>,
        identity: &Identity,
        (entries, is_gained): (&[Entry], bool),
        (next, mark): (&mut u64, u64),
        stream: &mut Stream,
    ) {
        let mut runs = Vec::new();
        let mut rest = entries;
        while let Some(&(first, peer, ..)) = rest.first() {
            let same = rest.partition_point(|one| (one.0, one.1) <= (first, peer));
            let (run, behind) = rest.split_at(same);
            rest = behind;
            let attributes = self.decided.attributes(identity, first);
            let Some(known) = view.attributes.known(attributes) else { continue };
            let targets = if identity.is_constrained { known.targets } else { EVERYBODY };
            runs.push((targets, peer, run));
        }
        if identity.is_constrained {
            runs.sort_by_key(|(targets, peer, _)| (*targets, *peer));
        }
        let mut told = (EVERYBODY, Told::Anything);
        for (targets, peer, mut left) in runs {
            if told.0 != targets {
                let set = view.sets.get(targets);
                told = (targets, if is_gained { Told::Again(set) } else { Told::Routes(set) });
            }
            let attributes = self.decided.attributes(identity, left[0].0);
            let Some(known) = view.attributes.known(attributes) else { continue };
            let source = &view.sources[usize::from(peer)];
            let bytes = view.attributes.bytes_of(attributes);
            let decision = self.decided.decision(view, identity, left[0].0);
            let mut exported = std::mem::take(&mut self.exported);
            let path = (known, bytes);
            identity.export(view.own, source, path, decision.as_ref(), &mut exported);
            while !left.is_empty() {
                let count = self.announce(view, identity, &exported, (left, peer), &told.1);
                left = &left[count..];
                self.end_chunk(CHUNK_BYTES, (&mut *next, mark), stream);
            }
            self.exported = exported;
        }
    }

    /// Appends messages that are the same for all readers.
    pub fn append(&mut self, messages: &[u8], (next, mark): (&mut u64, u64), stream: &mut Stream) {
        self.draft.bytes.extend(messages);
        self.draft.end_part(Readers::All, &Told::Anything);
        self.end_chunk(1, (next, mark), stream);
    }

    /// Announces routes with the same attributes until a chunk is full; returns how many.
    fn announce(
        &mut self,
        view: View<'_>,
        identity: &Identity,
        exported: &Exported,
        (run, peer): (&[Entry], u16),
        told: &Told,
    ) -> usize {
        let readers = if identity.tells_teller() { Readers::All } else { Readers::AllBut(peer) };
        let Exported { next_hop, block, .. } = exported;
        let Identity { family, writing, .. } = identity;
        let mut builder =
            Builder::announce(&mut self.draft.bytes, writing, (*family, next_hop), block);
        let (mut refused, mut count, mut len) = (Vec::new(), 0, 0);
        for &(_, _, number, slot) in run {
            if len >= CHUNK_BYTES {
                break;
            }
            count += 1;
            // Where another path than the best one is told, nothing is beside the key.
            let path = match slot {
                0 => view.routes.route(number).best(),
                _ => view.routes.in_slot(number, slot),
            };
            let rest = path.map(|path| path.rest).unwrap_or_default();
            let (short, short_len) = rest.bytes();
            let string = rest.string().map(|number| view.rests.bytes_of(number));
            let rest = string.unwrap_or(&short[..short_len]);
            let is_refused = view.routes.with_key(number, |key| {
                len += key.len() + rest.len();
                builder.push(slot.into(), key, rest).is_err()
            });
            if is_refused {
                refused.push((number, slot));
            }
        }
        builder.finish();
        self.draft.end_part(readers, told);
        if !refused.is_empty() {
            self.withdraw(view, identity, refused.into_iter(), (readers, &Told::Anything));
        }
        count
    }

    /// Withdraws routes until a chunk is full; returns how many.
    fn withdraw(
        &mut self,
        view: View<'_>,
        identity: &Identity,
        numbers: impl Iterator<Item = (u32, u8)>,
        (readers, told): (Readers, &Told),
    ) -> usize {
        let Identity { family, writing, .. } = identity;
        let mut builder = Builder::withdraw(&mut self.draft.bytes, writing, *family);
        let rest: &[u8] = if *family == Family::Vpls { &[0; VPLS_REST] } else { &[] };
        let (mut count, mut len) = (0, 0);
        for (number, slot) in numbers {
            if len >= CHUNK_BYTES {
                break;
            }
            count += 1;
            // A key that has no room alone is longer than any message: nobody was told of it.
            let _ = view.routes.with_key(number, |key| {
                len += key.len();
                builder.push(slot.into(), key, rest)
            });
        }
        builder.finish();
        self.draft.end_part(readers, told);
        count
    }

    /// Ends a chunk that has this many bytes or more.
    fn end_chunk(&mut self, least: usize, (next, mark): (&mut u64, u64), stream: &mut Stream) {
        if self.draft.bytes.len() < least {
            return;
        }
        if let Some(chunk) = self.draft.finish(*next, mark) {
            *next += 1;
            stream.push(chunk);
        }
    }

    /// Keeps no more room than is often needed.
    fn shrink(&mut self) {
        self.announced.shrink_to(KEPT_MAX);
        self.gained.shrink_to(KEPT_MAX);
        self.withdrawn.shrink_to(KEPT_MAX);
        self.draft.bytes.shrink_to(4 * CHUNK_BYTES);
    }
}

/// Bytes after which a chunk is whole: its copies to many peers come from the cache. It has room
/// in a stream that has taken all before it.
const CHUNK_BYTES: usize = 64 << 10;

/// Routes for which there stays room.
const KEPT_MAX: usize = 64 << 10;

/// What follows the key of an NLRI of VPLS: its value means nothing in a withdrawal.
const VPLS_REST: usize = 5;
