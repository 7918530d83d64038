//! The reflector beside the plain one: peers come, tell, are told, lag and go.

use std::sync::Arc;

use protocol_bgp::builder::write_end_of_rib;
use protocol_bgp::capabilities::Role;
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use protocol_bgp::framing::Framing;
use protocol_bgp::message::{Kind as Message, LEN_MAX};
use protocol_bgp::rules::Reading;
use protocol_bgp::update::Scan;

use super::model::{Attributes, Is, Model, Prefix, asks_for, group};
pub use super::path::prefix;
use super::policy::{draw, groups};
use super::several::Several;
pub use super::step::Step;
use super::wire::{self, Paths};
use crate::bounds::{Bound, Then};
use crate::groups::Identity;
use crate::groups::group::Limits;
use crate::leaks::Relation;
use crate::own::{Kind, Lowers, Own, Source};
use crate::policy::Policy;
use crate::reflector::Reflector;
use crate::table::Rules;

mod paths;

/// The AS of the reflector.
pub const ASN: u32 = 64_500;

/// Its identifier.
pub const IDENTIFIER: u32 = 77;

/// Peers of which both reflectors know.
pub const PEERS: [Is; 5] = [Is::Client, Is::Client, Is::Other, Is::Other, Is::OfOtherAs(OTHER_AS)];

/// The AS of the last one.
const OTHER_AS: u32 = 64_501;

/// A peer that says anything, of which the plain one is told nothing.
pub const STRANGER: u16 = PEERS.len() as u16;

/// Both reflectors.
#[derive(Debug)]
pub struct Trial {
    /// The fast one.
    pub reflector: Reflector,
    /// The plain one.
    pub model: Model,
    /// The plain one of route targets that peers ask for; `None` where they ask for none.
    pub asked: Option<Model>,
    /// Whether what a peer asks for is known.
    begun: Vec<bool>,
    /// What each peer knows, while its session stands.
    known: Vec<Option<Paths>>,
    /// Who tells and is told several paths.
    several: Several,
    /// Whether it takes bytes.
    ready: Vec<bool>,
    scan: Scan,
    stranger: Option<Reading>,
    /// Whether the stranger has ever said something.
    has_heard: bool,
}

impl Trial {
    /// Both, where this many bytes of a stream are kept for those who lag. Where there are route
    /// targets, routes are a VPN's, and all but [`UNASKED`] ask for them.
    pub fn new(stream_bytes: usize, has_targets: bool) -> Trial {
        let own = Own {
            asn: ASN,
            identifier: IDENTIFIER,
            cluster: IDENTIFIER,
            reflects_between_clients: true,
        };
        let limits = Limits { stream_bytes, routes: 5 };
        let peers: Vec<_> =
            PEERS.iter().enumerate().map(|(at, is)| (*is, (at as u32 + 1) % 4)).collect();
        let asked = Model::new(ASN, IDENTIFIER, peers.clone());
        let asked = Model { asks: Some((OWN, (0, [0; 4]))), ..asked };
        Trial {
            reflector: Reflector::new(own, Rules::default(), limits, [3, 4]),
            model: Model::new(ASN, IDENTIFIER, peers),
            asked: has_targets.then_some(asked),
            begun: vec![false; PEERS.len()],
            known: vec![None; PEERS.len()],
            several: Several::default(),
            ready: vec![true; PEERS.len() + 1],
            scan: Scan::default(),
            stranger: None,
            has_heard: false,
        }
    }

    /// Both, where a peer may tell so many routes, and more of them are not taken.
    pub fn bounded(mut self, most: u32) -> Trial {
        self.model.most = most as usize;
        self
    }

    /// Both, where this is the own part in the relation with the other AS; route targets are told
    /// to none.
    pub fn related(mut self, own: Option<Role>) -> Trial {
        self.model.roles = own.into_iter().map(|own| (STRANGER - 1, own)).collect();
        self
    }

    /// Both with policies that are drawn: of what some peers tell, and of what some are told. Where
    /// there are route targets there are none.
    pub fn policed(mut self, seed: u64) -> Trial {
        for (at, peers) in [[0, 2, 4], [1, 3, 4]].into_iter().enumerate() {
            let drawn = (0..).map(|number| draw(seed + number * 2 + at as u64));
            self.model.policies[at] = peers.into_iter().zip(drawn).collect();
        }
        self
    }

    /// The policy of a peer for what it tells, or for what it is told.
    fn policy(&self, at: usize, peer: u16) -> Option<Arc<Policy>> {
        let keys = self.model.policies[at].get(&peer)?;
        Some(Arc::new(Policy::new(keys, &mut groups())))
    }

    /// Lets something happen; what cannot happen now does not.
    ///
    /// # Panics
    /// If the reflector breaks a promise.
    pub fn step(&mut self, step: Step) {
        self.happen(step);
        self.look_at_slots();
    }

    fn happen(&mut self, step: Step) {
        match step {
            Step::Open(STRANGER) if self.stranger.is_none() => {
                self.sweep_all(STRANGER);
                let identities = self.identities(0);
                let stranger = source(Kind::Client, 9, STRANGER, Lowers::Nothing);
                self.reflector.open(STRANGER, stranger, identities);
                self.stranger = Some(self.reading(STRANGER));
            }
            Step::Close(STRANGER) if self.stranger.take().is_some() => {
                self.reflector.close(STRANGER, FamilySet::NONE);
            }
            Step::Hear(body) => {
                self.has_heard = true;
                if let Some(reading) = &mut self.stranger
                    && self.reflector.update(STRANGER, &body, reading).is_err()
                {
                    self.stranger = None;
                    self.reflector.close(STRANGER, FamilySet::NONE);
                }
            }
            Step::Work => {
                let ready = self.ready.clone();
                self.reflector.work(|peer| ready[usize::from(peer)]);
                self.ready.fill(false);
            }
            Step::Take(peer, room) => {
                self.ready[usize::from(peer)] = true;
                self.take(peer, room);
            }
            Step::Open(peer) => self.open(peer),
            Step::Sweep(peer) => {
                self.models().for_each(|(_, model)| model.sweep(peer));
                for family in self.families().iter() {
                    self.reflector.sweep(peer, family, true);
                }
                self.sweep_all(peer);
            }
            Step::Close(peer) | Step::Lose(peer) if self.is_open(peer) => {
                self.known[usize::from(peer)] = None;
                let is_lost = matches!(step, Step::Lose(_));
                let kept = if is_lost { self.families() } else { FamilySet::NONE };
                self.reflector.close(peer, kept);
                self.models().for_each(|(_, model)| match is_lost {
                    true => {
                        model.sweep(peer);
                        model.mark(peer);
                    }
                    false => model.close(peer),
                });
            }
            Step::Mark(peer) if self.is_open(peer) => {
                self.models().for_each(|(_, model)| model.mark(peer));
                for family in self.families().iter() {
                    self.reflector.mark(peer, family);
                }
            }
            Step::Announce(peer, prefixes, attributes) if self.is_open(peer) => {
                self.announce(peer, self.family(), self.paths(peer, &prefixes), &attributes);
            }
            Step::Withdraw(peer, prefixes) if self.is_open(peer) => {
                self.withdraw(peer, self.family(), self.paths(peer, &prefixes));
            }
            Step::Ask(peer, numbers, attributes) if self.asks(peer) => {
                let all = numbers.iter().map(|number| ((*number, [0; 4]), 0)).collect();
                self.announce(peer, Family::RouteTarget, all, &attributes);
            }
            Step::AskNoMore(peer, numbers) if self.asks(peer) => {
                let all = numbers.iter().map(|number| ((*number, [0; 4]), 0)).collect();
                self.withdraw(peer, Family::RouteTarget, all);
            }
            Step::HasAsked(peer) if self.asks(peer) => {
                let mut out = Vec::new();
                write_end_of_rib(Family::RouteTarget, &mut out);
                self.tell(peer, &out);
                // What it has not said again goes before it is told anything by that.
                self.reflector.sweep(peer, Family::RouteTarget, true);
                self.asked.iter_mut().for_each(|model| model.sweep(peer));
                if std::mem::replace(&mut self.begun[usize::from(peer)], true) {
                    self.sweep_all(peer);
                }
            }
            Step::Expire(peer) if self.asks(peer) => {
                self.reflector.begin_constrained(peer);
                self.begun[usize::from(peer)] = true;
            }
            Step::Drain(peer, is_drained) if usize::from(peer) < PEERS.len() => {
                self.models().for_each(|(_, model)| match is_drained {
                    true => drop(model.drained.insert(peer)),
                    false => drop(model.drained.remove(&peer)),
                });
                self.reflector.lower(peer, self.lowers(peer));
                self.reflector.regroup(peer, self.identities(peer));
            }
            Step::Police(peer, seed) if self.asked.is_none() && peer < STRANGER => {
                self.model.policies[1].insert(peer, draw(seed));
                if self.is_open(peer) {
                    let policy = self.policy(1, peer);
                    self.reflector.export_by(peer, policy.as_ref());
                }
            }
            Step::Refresh(peer) if self.is_open(peer) => {
                let families = self.families();
                families.iter().for_each(|family| self.reflector.refresh(peer, family));
            }
            _ => {}
        }
    }

    fn announce(&mut self, peer: u16, family: Family, all: Told, attributes: &Attributes) {
        let session = (&self.writing(peer), is_external(peer));
        let mut out = Vec::new();
        wire::announce_paths(&mut out, session, family, attributes, all.iter().copied());
        self.tell(peer, &out);
        let heard = wire::as_heard(attributes, is_external(peer));
        let model = self.models().find(|one| one.0 == family).expect("it is one of them").1;
        all.iter().for_each(|(prefix, path)| model.announce((peer, *path), *prefix, &heard));
    }

    fn withdraw(&mut self, peer: u16, family: Family, all: Told) {
        let mut out = Vec::new();
        wire::withdraw_paths(&mut out, &self.writing(peer), family, all.iter().copied());
        self.tell(peer, &out);
        let model = self.models().find(|one| one.0 == family).expect("it is one of them").1;
        all.iter().for_each(|(prefix, path)| model.withdraw((peer, *path), *prefix));
    }

    /// The plain ones of all families.
    fn models(&mut self) -> impl Iterator<Item = (Family, &mut Model)> {
        let own = self.family();
        let asked = self.asked.iter_mut().map(|model| (Family::RouteTarget, model));
        std::iter::once((own, &mut self.model)).chain(asked)
    }

    /// The family of routes that are no route targets.
    fn family(&self) -> Family {
        if self.asked.is_some() { Family::VpnV4 } else { Family::Ipv4Unicast }
    }

    fn families(&self) -> FamilySet {
        let asked = self.asked.iter().map(|_| Family::RouteTarget);
        asked.chain([self.family()]).collect()
    }

    /// Whether a peer with a session is told what it asks for.
    fn asks(&self, peer: u16) -> bool {
        self.asked.is_some() && self.is_open(peer) && !UNASKED.contains(&peer)
    }

    /// Whether a peer is to be told of a route with these targets.
    fn wants(&self, peer: u16, targets: &[u64]) -> bool {
        if !self.asks(peer) {
            return true;
        }
        let asked = self.asked.iter().flat_map(|model| model.paths.keys());
        let mut own = asked.filter(|(_, of)| of.0 == peer);
        let wants = own.any(|((number, _), _)| asks_for(&wire::asked(*number), targets));
        self.begun[usize::from(peer)] && wants
    }

    fn is_open(&self, peer: u16) -> bool {
        self.known.get(usize::from(peer)).is_some_and(Option::is_some)
    }

    fn open(&mut self, peer: u16) {
        if usize::from(peer) >= PEERS.len() || self.is_open(peer) {
            return;
        }
        self.sweep_all(peer);
        let identifier = self.model.peers[usize::from(peer)].1;
        let identities = self.identities(peer);
        let source = source(kind(peer), identifier, peer, self.lowers(peer));
        self.reflector.open(peer, source, identities);
        self.reflector.import_by(peer, self.policy(0, peer));
        let most = u32::try_from(self.model.most).unwrap_or(u32::MAX);
        let mut bounds = [Bound::NONE; FAMILIES.len()];
        bounds[self.family() as usize] = Bound { most, then: Then::Refuse, ..Bound::NONE };
        self.reflector.bound(peer, bounds);
        let own = self.model.roles.get(&peer).copied();
        self.reflector.relate(peer, own.map(|own| Relation { own, asn: OTHER_AS }));
        self.begun[usize::from(peer)] = false;
        self.known[usize::from(peer)] = Some(Paths::new());
    }

    /// Has all paths of a peer taken away that are to go.
    fn sweep_all(&mut self, peer: u16) {
        while !self.reflector.is_swept(peer) {
            self.reflector.work(|_| false);
        }
    }

    fn tell(&mut self, peer: u16, bytes: &[u8]) {
        let (mut framing, mut left) = (Framing::default(), bytes);
        while let Some(message) = framing.next(&mut left, LEN_MAX).expect("messages") {
            let mut reading = self.reading(peer);
            self.reflector.update(peer, message.body, &mut reading).expect("it is one");
        }
    }

    /// A peer takes what has room; returns whether there was something.
    fn take(&mut self, peer: u16, room: usize) -> bool {
        let is_open = self.is_open(peer) || peer == STRANGER && self.stranger.is_some();
        let Some(bytes) = is_open.then(|| self.reflector.next(peer, room)).flatten() else {
            return false;
        };
        let mut left = &bytes[..];
        assert!(!left.is_empty() && left.len() <= room);
        let mut framing = Framing::default();
        while let Some(message) = framing.next(&mut left, LEN_MAX).expect("messages") {
            assert_eq!(message.kind, Message::Update);
            // What the stranger says may be told to all, and is no matter of the plain one.
            if !self.is_open(peer) {
                continue;
            }
            let reading = self.reading(peer);
            let Some(Some(known)) = self.known.get_mut(usize::from(peer)) else { continue };
            let learnt = wire::learn_paths(&mut self.scan, message.body, &reading, known);
            assert!(learnt.is_ok() || self.has_heard, "{learnt:?}");
            let (named, _) = learnt.unwrap_or_default();
            let known = self.known[usize::from(peer)].as_ref();
            let told = named.iter().filter_map(|key| known?.get(key).map(|it| (key, it)));
            for ((family, prefix, _), it) in told.filter(|(of, _)| of.0 != Family::RouteTarget) {
                let wants = self.wants(peer, &it.targets);
                assert!(wants, "{peer} does not ask for {prefix:?} of {family} with {it:?}");
            }
        }
        true
    }

    /// Goes on until nobody has to be told anything.
    ///
    /// # Panics
    /// If the reflector breaks a promise, or does not come to rest.
    pub fn settle(&mut self) {
        let mut quiet = 0;
        for _ in 0..TURNS_MAX {
            let mut did = self.reflector.work(|_| true);
            for peer in 0..=STRANGER {
                while self.take(peer, 1 << 20) {
                    did = true;
                }
            }
            quiet = if did { 0 } else { quiet + 1 };
            if quiet == 3 {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    /// Compares both.
    ///
    /// # Panics
    /// With the first peer that knows something else than it should, and when the tables differ.
    pub fn check(&self) {
        let vpn = self.family();
        for peer in 0..STRANGER {
            let Some(known) = &self.known[usize::from(peer)] else { continue };
            let mut told = self.told(peer);
            told.retain(|_, it| self.wants(peer, &it.targets));
            if let Some(asked) = self.asked.as_ref().filter(|_| self.asks(peer)) {
                let all = asked.told(peer).into_iter();
                told.extend(all.map(|(key, it)| ((Family::RouteTarget, key, 0), it)));
            }
            assert_eq!(*known, told, "peer {peer}");
            assert!(self.reflector.is_done(peer), "peer {peer}");
        }
        for peer in 0..STRANGER {
            let told = self.model.paths.keys().filter(|(_, of)| of.0 == peer).count();
            assert_eq!(self.reflector.told_by(peer, vpn) as usize, told, "of peer {peer}");
        }
        let models = self.asked.iter().map(|model| (Family::RouteTarget, model));
        for (family, model) in models.chain([(vpn, &self.model)]) {
            let mut prefixes: Vec<Prefix> = model.paths.keys().map(|one| one.0).collect();
            prefixes.sort_unstable();
            prefixes.dedup();
            let expected = (prefixes.len(), model.paths.len());
            assert_eq!(self.reflector.count(family), expected);
        }
    }

    /// Ends all sessions, after which nothing of anybody may be left.
    ///
    /// # Panics
    /// If something is.
    pub fn end(&mut self) {
        for peer in 0..=STRANGER {
            self.step(Step::Close(peer));
            self.step(Step::Sweep(peer));
        }
        self.settle();
        assert_eq!(self.reflector.attributes(), 0, "nobody uses them");
        assert_eq!(self.reflector.sets(), 0, "nobody has them");
        for family in self.families().iter() {
            assert_eq!(self.reflector.count(family), (0, 0));
        }
    }

    /// Which paths of a peer have the lowest preference.
    fn lowers(&self, peer: u16) -> Lowers {
        match (self.model.drained.contains(&peer), is_external(peer)) {
            (true, _) => Lowers::All,
            (false, true) => Lowers::Marked,
            (false, false) => Lowers::Nothing,
        }
    }

    /// What a peer is told depends on; the stranger is as the first one.
    fn identities(&self, peer: u16) -> Vec<Identity> {
        let is_asked = self.asked.is_some() && !UNASKED.contains(&peer);
        let families = self.families();
        let own = families.iter().filter(|family| is_asked || *family == self.family());
        let identity = |family: Family| {
            let is_for_client = family == Family::RouteTarget && kind(peer) == Kind::Client;
            Identity {
                family,
                writing: self.writing(peer),
                kind: kind(peer),
                role: self.model.roles.get(&peer).copied(),
                next_hop: is_for_client.then_some(OWN.into()),
                is_constrained: is_asked && family != Family::RouteTarget,
                tells_default: is_for_client,
                has_enhanced_refresh: false,
                paths_max: if self.path_ids(peer).contains(family) { self.several.most } else { 0 },
                drains: self.model.drained.contains(&peer) && family != Family::RouteTarget,
                policy: self.policy(1, peer),
            }
        };
        own.map(identity).collect()
    }
}

/// Prefixes, each with the identifier of a path.
type Told = Vec<(Prefix, u32)>;

fn is_external(peer: u16) -> bool {
    peer < STRANGER && kind(peer) == Kind::External
}

fn kind(peer: u16) -> Kind {
    match PEERS[usize::from(peer)] {
        Is::Client => Kind::Client,
        Is::Other => Kind::Internal,
        Is::OfOtherAs(_) => Kind::External,
    }
}

fn source(kind: Kind, identifier: u32, peer: u16, lowers: Lowers) -> Source {
    let group = match group(peer) {
        "" => 0,
        name => groups().number(name),
    };
    Source { kind, identifier, address: u128::from(peer), group, lowers }
}

/// Peers that ask for no route targets, and are told everything.
pub const UNASKED: [u16; 2] = [1, 3];

/// The own address.
const OWN: [u8; 4] = [10, 9, 9, 9];

/// More turns than anything takes to come to rest.
const TURNS_MAX: usize = 100_000;
