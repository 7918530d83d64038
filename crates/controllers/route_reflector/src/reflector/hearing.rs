//! What peers tell: UPDATEs become paths, and paths go with those who have told them.

use protocol_bgp::attributes::Action;
use protocol_bgp::families::Family;
use protocol_bgp::nlri::Nlri;
use protocol_bgp::notification::Notification;
use protocol_bgp::path;
use protocol_bgp::rules::{Fault, Finding, Reading};
use protocol_bgp::update::{Field, Scan, Update};

use super::{Gone, Reflector, Rib, Sweep, Swept};
use crate::known::{Known, candidate, parts, put};
use crate::leaks::{Heard, knows, mark};
use crate::membership::Delta;
use crate::own::Own;
use crate::table::targets::EMPTY;
use crate::table::{Change, Interned, Path, Rest, Sets};

/// Why a session cannot go on after an UPDATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The UPDATE is wrong.
    Fault(Fault),
    /// It has more than there is room for; with what the peer is told.
    Beyond(Notification),
}

impl Ending {
    /// Returns what is wrong with the UPDATE, if it is that.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Ending::Fault(fault) => Some(fault),
            Ending::Beyond(_) => None,
        }
    }

    /// Returns what the peer is told.
    pub fn into_notification(self) -> Notification {
        match self {
            Ending::Fault(fault) => fault.notification,
            Ending::Beyond(notification) => notification,
        }
    }
}

impl Reflector {
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
    ) -> Result<Option<Family>, Ending> {
        let mut scan = std::mem::take(&mut self.scan);
        let read = scan.read(body, reading).map_err(Ending::Fault);
        let read = read.and_then(|update| {
            let routes = || update.announced().map(|field| field.nlris().count()).sum();
            if update.announced().next().is_some() {
                self.take_room(body.len(), routes).map_err(Ending::Beyond)?;
            }
            Ok(update)
        });
        if let Ok(update) = &read {
            let mut delta = Delta::default();
            self.take(peer, &scan, update, &mut delta);
            for family in update.disabled.iter() {
                reading.families.remove(family);
                self.counters.disabled += 1;
                self.sweep(peer, family, false);
                self.admit_all(peer, Some(family));
                if family == Family::RouteTarget {
                    self.counters.unconstrained += 1;
                    self.memberships[usize::from(peer)].lose(&mut delta);
                }
            }
            self.change(peer, &delta);
            let all_told = update.disabled.iter().chain(update.end_of_rib);
            if all_told.into_iter().any(|family| family == Family::RouteTarget) {
                self.ready.push(peer);
            }
        }
        if !scan.findings().is_empty() {
            let is_discard = |one: &&Finding| one.action == Action::Discard;
            self.counters.discarded += scan.findings().iter().filter(is_discard).count() as u64;
        }
        self.counters.resets += u64::from(matches!(read, Err(Ending::Fault(_))));
        let end_of_rib = read.map(|update| update.end_of_rib);
        self.scan = scan;
        let bounded = |family| self.is_bounded(peer).map(|()| family).map_err(Ending::Beyond);
        end_of_rib.and_then(bounded)
    }

    fn take(&mut self, peer: u16, scan: &Scan, update: &Update<'_>, delta: &mut Delta) {
        self.counters.treated_as_withdrawn += u64::from(update.is_treated_as_withdrawal());
        for field in update.withdrawn() {
            self.take_back(peer, &field, delta);
        }
        for field in update.announced() {
            let mut bytes = std::mem::take(&mut self.bytes);
            let mut marked = std::mem::take(&mut self.marked);
            let (mut block, mut summary) = (scan.block(), *scan.summary());
            let relation = self.relations[usize::from(peer)].filter(|_| knows(field.family));
            let heard = relation.map_or(Heard::Plain, |relation| relation.hears(summary.otc));
            if let Heard::Marked(asn) = heard {
                // What the summary tells of stands before it.
                mark(block, asn, &mut marked);
                (block, summary.otc) = (&marked, Some(asn));
            }
            put(field.next_hop, block, &mut bytes);
            let known = Known::new(&bytes, summary);
            if self.has_been_here(&known, &bytes, scan) {
                self.counters.loops += self.take_back(peer, &field, delta);
            } else if heard == Heard::Leak {
                self.counters.leaks += self.take_back(peer, &field, delta);
            } else if let Some(policy) = self.imports[usize::from(peer)].clone() {
                self.announce_by(&policy, peer, &field, (&bytes, known), delta);
            } else {
                self.announce(peer, routes_of(&field), (&bytes, known), delta);
            }
            (self.bytes, self.marked) = (bytes, marked);
        }
    }

    /// Takes back the routes of a field, those that a policy has refused, too; returns how many
    /// there are in the field.
    fn take_back(&mut self, peer: u16, field: &Field<'_>, delta: &mut Delta) -> u64 {
        if self.imports[usize::from(peer)].is_some() {
            self.admit(peer, routes_of(field));
        }
        self.withdraw(peer, routes_of(field), delta)
    }

    /// Whether a route has been here before, and is not taken again.
    fn has_been_here(&self, known: &Known, bytes: &[u8], scan: &Scan) -> bool {
        let Own { asn, identifier, cluster, .. } = self.own;
        known.has_been_at(bytes, (identifier, cluster))
            || path::contains(known.summary.path.of(scan.block()), asn)
    }

    pub(super) fn announce<'a>(
        &mut self,
        peer: u16,
        (family, nlris): (Family, impl Iterator<Item = Nlri<'a>>),
        (bytes, known): (&[u8], Known),
        delta: &mut Delta,
    ) {
        let Reflector { ribs, attributes, rests, sets, sources, counters, .. } = self;
        let rib = &mut ribs[family as usize];
        let membership = &mut self.memberships[usize::from(peer)];
        let was_open = membership.is_open();
        let told = &mut self.told[usize::from(peer)];
        let ((mut count, bound), mut refused) = (told.of(family), 0);
        let beside = told.refused_by_policy(family);
        // One use of it is this UPDATE's.
        let whole = || Known { targets: sets.of_block(&known.summary, parts(bytes).1), ..known };
        let Some(number) = attributes.intern(bytes, whole) else {
            counters.no_room += nlris.count() as u64;
            return;
        };
        for nlri in nlris {
            counters.announced += 1;
            let (key, rest): (&[u8], &[u8]) = (nlri.key.as_slice(), nlri.rest.as_slice());
            if bound.refuses(count + beside) && !rib.family.routes().has(key, (peer, nlri.path_id))
            {
                refused += 1;
                continue;
            }
            let string = || rests.intern(rest, || ()).map(Rest::of_string);
            let rest = Rest::short(rest).or_else(string);
            let Some(rest) = rest else {
                counters.no_room += 1;
                continue;
            };
            attributes.share(number);
            let path = Path {
                attributes: number,
                rest,
                identifier: nlri.path_id,
                peer,
                is_stale: false,
                slot: 0,
            };
            let judge = |path: &Path| candidate(path, attributes, sources);
            let ended = match rib.family.announce(key, path, judge) {
                Some(change) => {
                    count += u32::from(change.ended.is_none());
                    if change.ended.is_none() && family == Family::RouteTarget {
                        membership.add(key, delta);
                    }
                    note_had(rib, &change, attributes, sets);
                    change.ended
                }
                None => {
                    counters.no_room += 1;
                    Some(path)
                }
            };
            if let Some(ended) = ended {
                release(&ended, (attributes, rests, sets));
            }
        }
        release_block(number, attributes, sets);
        counters.beyond += refused;
        self.notices.extend(told.set(peer, family, count, refused));
        counters.unconstrained += u64::from(!was_open && membership.is_open());
    }

    /// Withdraws routes; returns how many those are.
    pub(super) fn withdraw<'a>(
        &mut self,
        peer: u16,
        (family, nlris): (Family, impl Iterator<Item = Nlri<'a>>),
        delta: &mut Delta,
    ) -> u64 {
        let Reflector { ribs, attributes, rests, sets, sources, counters, .. } = self;
        let rib = &mut ribs[family as usize];
        let membership = &mut self.memberships[usize::from(peer)];
        let (mut count, mut gone) = (0, 0);
        for nlri in nlris {
            count += 1;
            let judge = |path: &Path| candidate(path, attributes, sources);
            let key = nlri.key.as_slice();
            let Some(change) = rib.family.withdraw(key, (peer, nlri.path_id), judge) else {
                continue;
            };
            gone += u32::from(change.ended.is_some());
            if family == Family::RouteTarget {
                membership.remove(key, delta);
            }
            note_had(rib, &change, attributes, sets);
            if let Some(ended) = change.ended {
                release(&ended, (attributes, rests, sets));
            }
        }
        counters.withdrawn += count;
        self.uncount(peer, family, gone);
        count
    }

    /// Takes away paths of peers that are gone, and looks at others anew. Returns whether there are
    /// more.
    pub(super) fn go_on_sweeping(&mut self) -> bool {
        let Some(sweep) = self.sweeps.first_mut() else { return false };
        let Sweep { family, peer, cursor, what, is_session } = *sweep;
        let rib = &mut self.ribs[family as usize];
        let end = rib.family.routes().end();
        let last = end.min(cursor.saturating_add(SWEPT_MAX));
        sweep.cursor = last;
        if last == end {
            self.sweeps.remove(0);
        }
        let (mut going, mut delta, mut gone) = (Vec::new(), Delta::default(), 0);
        for number in cursor..last {
            if what == Swept::Anew {
                let Reflector { attributes, sets, sources, .. } = self;
                let judge = |path: &Path| candidate(path, attributes, sources);
                if let Some(change) = rib.family.judge_anew(number, peer, judge) {
                    note_had(rib, &change, attributes, sets);
                }
                continue;
            }
            let paths = rib.family.routes().paths(number);
            let is_meant =
                |path: &&Path| path.peer == peer && (path.is_stale || what == Swept::All);
            going.extend(paths.filter(is_meant).map(|path| path.identifier));
            for identifier in going.drain(..) {
                let Reflector { attributes, rests, sets, sources, .. } = self;
                let judge = |path: &Path| candidate(path, attributes, sources);
                let change = rib.family.withdraw_of(number, (peer, identifier), judge);
                let Some(change) = change else { continue };
                gone += u32::from(change.ended.is_some());
                if let Some(gone) = self.gone.as_mut().filter(|_| is_session) {
                    let key = rib.family.routes().with_key(number, |key| key.into());
                    gone.push(Gone { peer, family, path_id: identifier, key });
                }
                if family == Family::RouteTarget {
                    let membership = &mut self.memberships[usize::from(peer)];
                    let remove = |key: &[u8]| membership.remove(key, &mut delta);
                    rib.family.routes().with_key(number, remove);
                }
                note_had(rib, &change, attributes, sets);
                if let Some(ended) = change.ended {
                    release(&ended, (attributes, rests, sets));
                }
            }
        }
        self.change(peer, &delta);
        self.uncount(peer, family, gone);
        self.look_at_room();
        !self.sweeps.is_empty()
    }
}

/// The routes of a field with their family: they were read before, and there is no error.
pub(super) fn routes_of<'a>(
    field: &Field<'a>,
) -> (Family, impl Iterator<Item = Nlri<'a>> + use<'a>) {
    (field.family, field.nlris().flatten())
}

/// Notes by which route targets peers may know a route that has changed, where it has others now.
fn note_had(rib: &mut Rib, change: &Change, attributes: &Interned<Known>, sets: &mut Sets) {
    if rib.constrained == 0 || !change.is_noted {
        return;
    }
    let set_of =
        |path: &Path| attributes.known(path.attributes).map_or(EMPTY, |known| known.targets);
    let Change { number, before, ended, .. } = *change;
    let now = rib.family.routes().route(number).best().map(set_of);
    let noted = rib.family.had(number);
    let Some(had) = noted.or(before.as_ref().map(set_of)) else {
        // Nobody knows it.
        return;
    };
    // Somebody may know it by another path than the best one.
    let ended = ended.filter(|_| rib.several > 0).as_ref().map(set_of);
    // A union is used already by who has made it.
    let mut union = None;
    for other in now.into_iter().chain(ended) {
        let had = union.unwrap_or(had);
        if other != had {
            let both = Some(sets.union(had, other));
            std::mem::replace(&mut union, both).into_iter().for_each(|set| sets.release(set));
        }
    }
    let all = union.unwrap_or(had);
    let is_other = Some(all) != now;
    match (is_other, union) {
        (true, None) => sets.share(all),
        (false, Some(_)) => sets.release(all),
        _ => {}
    }
    let ended = rib.family.note_had(number, is_other.then_some(all));
    ended.into_iter().for_each(|set| sets.release(set));
}

/// Ends the uses of a path that is gone.
fn release(path: &Path, (attributes, rests, sets): Uses<'_>) {
    release_block(path.attributes, attributes, sets);
    if let Some(string) = path.rest.string() {
        rests.release(string);
    }
}

/// Ends a use of an attribute block, and with the last one that of its set of route targets.
fn release_block(number: u32, attributes: &mut Interned<Known>, sets: &mut Sets) {
    if let Some(known) = attributes.release(number) {
        sets.release(known.targets);
    }
}

/// What paths use.
type Uses<'a> = (&'a mut Interned<Known>, &'a mut Interned<()>, &'a mut Sets);

/// Routes that are looked at in one turn for paths that go.
const SWEPT_MAX: u32 = 256 << 10;
