//! A reflector that is slow and plain: every path in a list, and what each peer has to know by
//! going over all of them (RFC 4271 section 9.1, RFC 4456 sections 6, 8 and 9, RFC 4684 sections
//! 3.2, 4 and 6, RFC 9234 section 5).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use protocol_bgp::capabilities::Role;

pub use super::path::{Attributes, Prefix};
use super::policy::{Passed, pass};
use crate::config::PolicyKeys;

/// What a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    /// A client.
    Client,
    /// Another speaker of the same AS.
    Other,
    /// A speaker of another AS, which is this one.
    OfOtherAs(u32),
}

/// A peer, and the identifier of the path where it says several (RFC 7911); else 0.
pub type By = (u16, u32);

/// The reflector, of one family of routes.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its AS.
    pub asn: u32,
    /// Its identifier, which is its cluster, too.
    pub identifier: u32,
    /// What each peer is, in the order of their addresses, and its identifier.
    pub peers: Vec<(Is, u32)>,
    /// By prefix and who has said it.
    pub paths: BTreeMap<(Prefix, By), Attributes>,
    /// Those of them that a peer has yet to say again.
    pub stale: BTreeSet<(Prefix, By)>,
    /// Where prefixes are route targets that are asked for: the own next hop, and which one clients
    /// are asked for.
    pub asks: Option<([u8; 4], Prefix)>,
    /// Most paths of a peer; of more those that it has said before stay.
    pub most: usize,
    /// The own part in the relation with the ASes of some peers.
    pub roles: BTreeMap<u16, Role>,
    /// Peers whose sessions are to end (RFC 8326).
    pub drained: BTreeSet<u16>,
    /// The policies by which routes of some peers are taken, and by which some peers are told.
    pub policies: [BTreeMap<u16, PolicyKeys>; 2],
}

impl Model {
    /// A reflector without paths.
    pub fn new(asn: u32, identifier: u32, peers: Vec<(Is, u32)>) -> Model {
        let (paths, stale) = (BTreeMap::new(), BTreeSet::new());
        let (asks, most, roles) = (None, usize::MAX, BTreeMap::new());
        let (drained, policies) = (BTreeSet::new(), [BTreeMap::new(), BTreeMap::new()]);
        Model { asn, identifier, peers, paths, stale, asks, most, roles, drained, policies }
    }

    /// A peer says a path; one that has been here takes the place of the one before, too.
    pub fn announce(&mut self, by: By, prefix: Prefix, attributes: &Attributes) {
        let peer = by.0;
        let has_been_here = attributes.originator == Some(self.identifier)
            || attributes.clusters.contains(&self.identifier)
            || attributes.path.contains(&self.asn);
        let mut attributes = attributes.clone();
        let mut is_leak = false;
        if let (Some(role), (Is::OfOtherAs(asn), _)) =
            (self.roles.get(&peer), self.peers[usize::from(peer)])
        {
            let is_from_below = matches!(role, Role::Provider | Role::RouteServer);
            is_leak = match attributes.otc {
                Some(by) => is_from_below || *role == Role::Peer && by != asn,
                None => false,
            };
            if !is_from_below {
                attributes.otc = attributes.otc.or(Some(asn));
            }
        }
        let is_there = self.paths.contains_key(&(prefix, by));
        let count = self.paths.keys().filter(|(_, of)| of.0 == peer).count();
        self.withdraw(by, prefix);
        let attributes = match self.policies[0].get(&peer) {
            Some(policy) => pass(policy, group(peer), prefix, &attributes).map(|it| it.path),
            None => Some(attributes),
        };
        if let Some(attributes) = attributes
            && !has_been_here
            && !is_leak
            && (is_there || count < self.most)
        {
            self.paths.insert((prefix, by), attributes);
        }
    }

    /// A peer takes a path back.
    pub fn withdraw(&mut self, by: By, prefix: Prefix) {
        self.paths.remove(&(prefix, by));
        self.stale.remove(&(prefix, by));
    }

    /// A peer is gone, and its paths with it.
    pub fn close(&mut self, peer: u16) {
        self.paths.retain(|(_, of), _| of.0 != peer);
        self.stale.retain(|(_, of)| of.0 != peer);
    }

    /// A peer has to say its paths again (RFC 4724 section 4.2, RFC 7313 section 4).
    pub fn mark(&mut self, peer: u16) {
        self.stale.extend(self.paths.keys().filter(|(_, of)| of.0 == peer));
    }

    /// A peer has said all that it has to say: what it has not said again goes.
    pub fn sweep(&mut self, peer: u16) {
        let Model { paths, stale, .. } = self;
        paths.retain(|path, _| path.1.0 != peer || !stale.contains(path));
        stale.retain(|(_, of)| of.0 != peer);
    }

    /// All that a peer has to know.
    pub fn told(&self, peer: u16) -> BTreeMap<Prefix, Attributes> {
        let mut prefixes: Vec<Prefix> = self.paths.keys().map(|(prefix, _)| *prefix).collect();
        prefixes.dedup();
        let told = prefixes.into_iter().filter_map(|prefix| {
            let ((from, _), path) = self.best(prefix, |_| true)?;
            let (is_from, is_to) =
                (self.peers[usize::from(from)].0, self.peers[usize::from(peer)].0);
            if self.asks.is_some() && (is_from, is_to) == (Is::Other, Is::Other) {
                let ((from, _), path) =
                    self.best(prefix, |(of, _)| self.peers[usize::from(of)].0 == Is::Client)?;
                return Some((prefix, self.as_told(prefix, from, peer, path)?));
            }
            Some((prefix, self.as_told(prefix, from, peer, path)?))
        });
        let mut told: BTreeMap<Prefix, Attributes> = told.collect();
        if let Some((next_hop, prefix)) = self.asks
            && self.peers[usize::from(peer)].0 == Is::Client
        {
            let (preference, originator) = (Some(100), Some(self.identifier));
            let own = Attributes { next_hop, preference, originator, ..Attributes::default() };
            told.insert(prefix, own);
        }
        told
    }

    /// All paths that a peer has to know that is told so many of each prefix at most, by prefix and
    /// who has said them. Its own ones count, and it is not told of them.
    pub fn told_several(&self, peer: u16, most: usize) -> BTreeMap<(Prefix, By), Attributes> {
        let mut told = BTreeMap::new();
        let prefixes: BTreeSet<Prefix> = self.paths.keys().map(|(prefix, _)| *prefix).collect();
        for prefix in prefixes {
            let (mut seen, mut count) = (BTreeSet::new(), 0);
            while let Some((by, path)) = self.best(prefix, |by| !seen.contains(&by)) {
                seen.insert(by);
                let Some(path) = self.as_told_to(prefix, by.0, peer, path) else { continue };
                count += 1;
                if count <= most && by.0 != peer {
                    told.insert((prefix, by), path);
                }
            }
        }
        told
    }

    /// The best one of the paths that count.
    fn best(&self, prefix: Prefix, counts: impl Fn(By) -> bool) -> Option<(By, &Attributes)> {
        let all = self.paths.range((prefix, (0, 0))..=(prefix, (u16::MAX, u32::MAX)));
        let all = all.filter(|((_, by), _)| counts(*by));
        let mut left: Vec<(By, &Attributes)> = all.map(|((_, by), it)| (*by, it)).collect();
        let preference = |by: By, it: &Attributes| match self.is_going(by.0, it) {
            true => 0,
            false => it.preference.unwrap_or(100),
        };
        left.sort_by_key(|(by, it)| (Reverse(preference(*by, it)), it.path.len()));
        let (by, first) = *left.first()?;
        let rank = |by: By, it: &Attributes| (preference(by, it), it.path.len());
        left.retain(|(of, it)| rank(*of, it) == rank(by, first));
        let meds: Vec<_> =
            left.iter().map(|(_, it)| (it.path.first().copied(), it.med.unwrap_or(0))).collect();
        left.retain(|(_, it)| {
            let own = (it.path.first().copied(), it.med.unwrap_or(0));
            meds.iter().all(|other| other.0 != own.0 || other.1 >= own.1)
        });
        left.into_iter().min_by_key(|(by, it)| {
            let (is, identifier) = self.peers[usize::from(by.0)];
            let is_internal = !matches!(is, Is::OfOtherAs(_));
            (is_internal, it.originator.unwrap_or(identifier), it.clusters.len(), *by)
        })
    }

    /// Whether a path of a peer is about to go: all are of one whose session is to end, and those
    /// of another AS that say so.
    fn is_going(&self, peer: u16, path: &Attributes) -> bool {
        let is_external = matches!(self.peers[usize::from(peer)].0, Is::OfOtherAs(_));
        self.drained.contains(&peer) || is_external && path.communities.contains(&GOING)
    }

    fn as_told(&self, prefix: Prefix, from: u16, to: u16, path: &Attributes) -> Option<Attributes> {
        let hears_itself = self.asks.is_some() && self.peers[usize::from(to)].0 == Is::Client;
        let is_for_it = from != to || hears_itself;
        is_for_it.then(|| self.as_told_to(prefix, from, to, path)).flatten()
    }

    /// The same of one like the peer.
    fn as_told_to(
        &self,
        prefix: Prefix,
        from: u16,
        to: u16,
        said: &Attributes,
    ) -> Option<Attributes> {
        let ((is_from, identifier), (is_to, _)) =
            (self.peers[usize::from(from)], self.peers[usize::from(to)]);
        let is_going = self.is_going(from, said) || self.drained.contains(&to);
        if said.communities.contains(&0xffff_ff02) {
            return None;
        }
        let (mut path, sets_med) = match self.policies[1].get(&to) {
            Some(policy) => {
                let Passed { path, sets_med } = pass(policy, group(from), prefix, said)?;
                (path, sets_med)
            }
            None => (said.clone(), false),
        };
        match (is_from, is_to) {
            (Is::Other, Is::Other) => return None,
            (_, Is::OfOtherAs(_)) => {
                if said.communities.contains(&0xffff_ff01) {
                    return None;
                }
                path.path.insert(0, self.asn);
                if let Some(role) = self.roles.get(&to) {
                    let is_to_below = matches!(role, Role::Provider | Role::RouteServer);
                    if path.otc.is_some() && !is_to_below {
                        return None;
                    }
                    if is_to_below || *role == Role::Peer {
                        path.otc = path.otc.or(Some(self.asn));
                    }
                }
                path.med = path.med.filter(|_| sets_med);
                (path.preference, path.originator) = (None, None);
                path.clusters.clear();
            }
            (Is::OfOtherAs(_), _) => path.preference = Some(path.preference.unwrap_or(100)),
            _ => {
                path.originator = Some(path.originator.unwrap_or(identifier));
                path.clusters.insert(0, self.identifier);
                if let Some((next_hop, _)) = self.asks.filter(|_| is_to == Is::Client) {
                    (path.originator, path.next_hop) = (Some(self.identifier), next_hop);
                }
            }
        }
        if is_going && self.asks.is_none() {
            if !path.communities.contains(&GOING) {
                path.communities.push(GOING);
            }
            if !matches!(is_to, Is::OfOtherAs(_)) {
                path.preference = Some(0);
            }
        }
        Some(path)
    }
}

/// The community GRACEFUL_SHUTDOWN.
const GOING: u32 = 0xffff_0000;

/// The group of a peer: none, or one of two.
pub fn group(peer: u16) -> &'static str {
    ["", "a", "b"][usize::from(peer % 3)]
}

/// Whether somebody who asks by an NLRI is told of routes with these targets: bit by bit.
pub fn asks_for(nlri: &[u8], targets: &[u64]) -> bool {
    let bits = |bytes: &[u8]| -> Vec<bool> {
        bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> (7 - bit) & 1 == 1)).collect()
    };
    if nlri[0] == 0 {
        return true;
    }
    let wanted = &bits(&nlri[1..])[32..usize::from(nlri[0])];
    targets.iter().any(|target| bits(&target.to_be_bytes()).starts_with(wanted))
}
