//! What each peer must be told, by going over all paths of a destination (RFC 4271 section 9.1, RFC
//! 4456 sections 6, 8 and 9).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use crate::path::{Attributes, DEFAULT_PREFERENCE, Prefix};
use crate::policy::Policy;

/// The reflector.
#[derive(Clone, Debug)]
pub struct Own {
    /// Its AS.
    pub asn: u32,
    /// Its identifier.
    pub identifier: Ipv4Addr,
    /// The number of its cluster.
    pub cluster: Ipv4Addr,
    /// Whether routes of clients go to other clients.
    pub client_to_client: bool,
}

/// A peer of the same AS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// Its identifier.
    pub identifier: Ipv4Addr,
    /// Whether it is a client.
    pub is_client: bool,
}

/// All that peers have said, and what follows from it.
#[derive(Clone, Debug)]
pub struct Oracle {
    own: Own,
    peers: Vec<Peer>,
    /// By destination and peer.
    paths: BTreeMap<(Prefix, usize), Attributes>,
    policies: Policies,
}

/// What all peers have: a policy for what they say, and one for what they are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// By which paths are taken; none for all as they are.
    pub import: Option<Policy>,
    /// By which they are told; none for all as they are.
    pub export: Option<Policy>,
}

impl Oracle {
    /// Creates an oracle to which nobody has said anything.
    pub fn new(own: Own, peers: Vec<Peer>) -> Oracle {
        Oracle { own, peers, paths: BTreeMap::new(), policies: Policies::default() }
    }

    /// The same where peers have policies.
    pub fn with(self, policies: Policies) -> Oracle {
        Oracle { policies, ..self }
    }

    /// A peer says a path. One that has been at the reflector before counts as withdrawn (RFC 4456
    /// section 8, RFC 4271 section 9), and so does one that a policy rejects.
    pub fn announce(&mut self, peer: usize, prefix: Prefix, attributes: &Attributes) {
        let has_been_here = attributes.originator == Some(self.own.identifier)
            || attributes.clusters.contains(&self.own.cluster)
            || attributes.path.contains(&self.own.asn);
        let taken = match &self.policies.import {
            _ if has_been_here => None,
            Some(policy) => policy.pass(prefix, attributes),
            None => Some(attributes.clone()),
        };
        match taken {
            Some(taken) => drop(self.paths.insert((prefix, peer), taken)),
            None => self.withdraw(peer, prefix),
        }
    }

    /// A peer withdraws its path.
    pub fn withdraw(&mut self, peer: usize, prefix: Prefix) {
        self.paths.remove(&(prefix, peer));
    }

    /// The session of a peer ends, and its paths with it.
    pub fn close(&mut self, peer: usize) {
        self.paths.retain(|(_, of), _| *of != peer);
    }

    /// Returns all that a peer must have.
    pub fn told(&self, peer: usize) -> BTreeMap<Prefix, Attributes> {
        self.best_as_told(peer, |from| from != peer)
    }

    /// Returns what a client would have beside that if it were told its own routes.
    pub fn told_again(&self, peer: usize) -> BTreeMap<Prefix, Attributes> {
        self.best_as_told(peer, |from| from == peer)
    }

    fn best_as_told(
        &self,
        peer: usize,
        is_of: impl Fn(usize) -> bool,
    ) -> BTreeMap<Prefix, Attributes> {
        let mut prefixes: Vec<Prefix> = self.paths.keys().map(|(prefix, _)| *prefix).collect();
        prefixes.dedup();
        let told = |prefix: Prefix| {
            let from = self.best(prefix).filter(|from| is_of(*from))?;
            let path = self.paths.get(&(prefix, from))?;
            Some((prefix, self.as_told(prefix, (from, peer), path)?))
        };
        prefixes.into_iter().filter_map(told).collect()
    }

    /// Returns the peer whose path to a destination is the best.
    pub fn best(&self, prefix: Prefix) -> Option<usize> {
        let all = self.paths.range((prefix, 0)..=(prefix, usize::MAX));
        let all: Vec<(usize, &Attributes)> = all.map(|((_, peer), path)| (*peer, path)).collect();
        best(&self.peers, &all)
    }

    /// Returns whether all paths to a destination can be brought into one order if a peer says this
    /// one, so that whoever compares two at a time comes to the same best one in any case.
    pub fn has_order_with(&self, peer: usize, prefix: Prefix, attributes: &Attributes) -> bool {
        let all = self.paths.range((prefix, 0)..=(prefix, usize::MAX));
        let others = all.map(|((_, of), path)| (*of, path)).filter(|(of, _)| *of != peer);
        let all: Vec<(usize, &Attributes)> = others.chain([(peer, attributes)]).collect();
        let wins = |one: &(usize, &Attributes)| {
            let is_better =
                |other: &&(usize, &Attributes)| best(&self.peers, &[*one, **other]) == Some(one.0);
            all.iter().filter(is_better).count()
        };
        let numbers: BTreeSet<usize> = all.iter().map(wins).collect();
        numbers.len() == all.len()
    }

    /// Returns the attributes with which a path is told; none where it is not.
    fn as_told(
        &self,
        prefix: Prefix,
        (from, to): (usize, usize),
        path: &Attributes,
    ) -> Option<Attributes> {
        let [from_peer, to_peer] = [from, to].map(|at| self.peers[at]);
        let between_clients = from_peer.is_client && to_peer.is_client;
        let is_told = (from_peer.is_client || to_peer.is_client)
            && (!between_clients || self.own.client_to_client)
            && !path.communities.contains(&NO_ADVERTISE);
        let path = match &self.policies.export {
            _ if !is_told => return None,
            Some(policy) => policy.pass(prefix, path)?,
            None => path.clone(),
        };
        Some(reflected(&path, from_peer.identifier, self.own.cluster).sorted())
    }
}

/// Returns which of several paths is the best, each with the peer that has said it.
pub fn best(peers: &[Peer], paths: &[(usize, &Attributes)]) -> Option<usize> {
    let preference = |path: &Attributes| path.preference.unwrap_or(DEFAULT_PREFERENCE);
    let first = |path: &Attributes| (Reverse(preference(path)), path.path.len(), path.origin);
    let least = paths.iter().map(|(_, path)| first(path)).min()?;
    let mut left: Vec<(usize, &Attributes)> =
        paths.iter().copied().filter(|(_, path)| first(path) == least).collect();
    // MED counts between paths of one neighbouring AS alone, so that no order of all follows.
    let med = |path: &Attributes| (path.path.first().copied(), path.med.unwrap_or(0));
    let all: Vec<_> = left.iter().map(|(_, path)| med(path)).collect();
    left.retain(|(_, path)| {
        let (neighbour, own) = med(path);
        all.iter().all(|(other, value)| *other != neighbour || *value >= own)
    });
    let last = |(peer, path): &(usize, &Attributes)| {
        let Peer { identifier, address, .. } = peers[*peer];
        (path.originator.unwrap_or(identifier), path.clusters.len(), address)
    };
    left.into_iter().min_by_key(last).map(|(peer, _)| peer)
}

/// Returns the attributes of a path as a reflector tells them (RFC 4456 section 8).
pub fn reflected(path: &Attributes, teller: Ipv4Addr, cluster: Ipv4Addr) -> Attributes {
    let mut told = path.clone();
    told.originator = Some(told.originator.unwrap_or(teller));
    told.clusters.insert(0, cluster);
    told.preference = Some(told.preference.unwrap_or(DEFAULT_PREFERENCE));
    for (is_partial, _) in told.unknown.values_mut() {
        // RFC 4271 section 9: who passes on what it does not know says so.
        *is_partial = true;
    }
    told
}

/// NO_ADVERTISE (RFC 1997).
pub(crate) const NO_ADVERTISE: u32 = 0xffff_ff02;

#[cfg(test)]
mod tests {
    use super::*;

    const SELF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

    fn peer(last: u8, is_client: bool) -> Peer {
        let address = Ipv4Addr::new(127, 0, 1, last);
        Peer { address: address.into(), identifier: address, is_client }
    }

    fn oracle(client_to_client: bool) -> Oracle {
        let own = Own { asn: 64_500, identifier: SELF, cluster: SELF, client_to_client };
        Oracle::new(own, vec![peer(1, true), peer(2, true), peer(3, false), peer(4, false)])
    }

    fn prefix() -> Prefix {
        Prefix { address: Ipv4Addr::new(198, 51, 100, 0).into(), len: 24 }
    }

    fn plain() -> Attributes {
        Attributes::new(Ipv4Addr::new(10, 0, 0, 1).into())
    }

    fn hears(oracle: &Oracle) -> [bool; 4] {
        [0, 1, 2, 3].map(|peer| oracle.told(peer).contains_key(&prefix()))
    }

    #[test]
    fn who_is_told_what() {
        let mut of_client = oracle(true);
        of_client.announce(0, prefix(), &plain());
        assert_eq!(hears(&of_client), [false, true, true, true]);
        let mut meshed = oracle(false);
        meshed.announce(0, prefix(), &plain());
        assert_eq!(hears(&meshed), [false, false, true, true]);
        let mut of_other = oracle(true);
        of_other.announce(2, prefix(), &plain());
        assert_eq!(hears(&of_other), [true, true, false, false]);
        let mut kept = oracle(true);
        kept.announce(0, prefix(), &Attributes { communities: vec![NO_ADVERTISE], ..plain() });
        assert_eq!(hears(&kept), [false; 4]);
        let again = [0, 1, 2, 3].map(|peer| of_client.told_again(peer).len());
        assert_eq!(again, [1, 0, 0, 0]);
        assert!(of_other.told_again(2).is_empty(), "a non-client");
        of_client.close(0);
        assert_eq!(hears(&of_client), [false; 4]);
    }

    #[test]
    fn what_has_been_here_takes_the_place_of_what_was_said_before() {
        for path in [
            Attributes { originator: Some(SELF), ..plain() },
            Attributes { clusters: vec![SELF], ..plain() },
            Attributes { path: vec![64_500], ..plain() },
        ] {
            let mut oracle = oracle(true);
            oracle.announce(0, prefix(), &plain());
            oracle.announce(0, prefix(), &path);
            assert_eq!(hears(&oracle), [false; 4], "{path}");
        }
    }

    #[test]
    fn the_decision_goes_by_its_steps_in_their_order() {
        let peers = [peer(1, true), peer(2, true)];
        let wins = |one: &Attributes, other: &Attributes| {
            for (winner, paths) in [(0, [(0, one), (1, other)]), (1, [(0, other), (1, one)])] {
                // The second one's address is the higher one, so a draw shows.
                assert_eq!(best(&peers, &paths), Some(winner), "{one} over {other}");
            }
        };
        let worst = Attributes {
            path: vec![65_001, 65_002],
            origin: 2,
            med: Some(9),
            originator: Some(Ipv4Addr::new(9, 9, 9, 9)),
            clusters: vec![Ipv4Addr::new(8, 8, 8, 8)],
            ..plain()
        };
        let longer = |len: u32| (65_001..65_001 + len).collect::<Vec<u32>>();
        let preferred = Attributes { preference: Some(101), path: longer(5), ..worst.clone() };
        wins(&preferred, &worst);
        let shorter = Attributes { path: longer(1), origin: 2, med: Some(99), ..worst.clone() };
        wins(&shorter, &worst);
        let of_igp = Attributes { origin: 0, med: Some(99), ..worst.clone() };
        wins(&of_igp, &worst);
        let lower = Ipv4Addr::new(99, 9, 9, 9);
        let of_med = Attributes { med: Some(8), originator: Some(lower), ..worst.clone() };
        wins(&of_med, &worst);
        let originator = Some(Ipv4Addr::new(9, 9, 9, 8));
        let nearer = Attributes { originator, clusters: vec![SELF; 4], ..worst.clone() };
        wins(&nearer, &worst);
        let fewer = Attributes { clusters: Vec::new(), ..worst.clone() };
        wins(&fewer, &worst);
        assert_eq!(best(&peers, &[(1, &worst), (0, &worst)]), Some(0), "the lower address");
        let of_another = Attributes { path: vec![65_009, 65_002], med: Some(10), ..worst.clone() };
        assert_eq!(best(&peers, &[(0, &of_another), (1, &worst)]), Some(0), "MED says nothing");
    }

    #[test]
    fn paths_that_each_win_over_another_have_no_order() {
        let mut oracle = oracle(true);
        let path = |neighbour, med| Attributes { path: vec![neighbour], med, ..plain() };
        oracle.announce(0, prefix(), &path(65_001, Some(1)));
        oracle.announce(1, prefix(), &path(65_002, None));
        assert!(!oracle.has_order_with(2, prefix(), &path(65_001, Some(0))));
        assert!(oracle.has_order_with(2, prefix(), &path(65_001, Some(2))));
        assert!(oracle.has_order_with(1, prefix(), &path(65_001, Some(0))), "in place of its own");
    }

    #[test]
    fn what_is_reflected_says_so() {
        let unknown = BTreeMap::from([(200, (false, vec![1]))]);
        let clusters = vec![Ipv4Addr::new(8, 8, 8, 8)];
        let path = Attributes { preference: None, clusters, unknown, ..plain() };
        let told = reflected(&path, Ipv4Addr::new(7, 7, 7, 7), SELF);
        assert_eq!(told.originator, Some(Ipv4Addr::new(7, 7, 7, 7)));
        assert_eq!(told.clusters, [SELF, Ipv4Addr::new(8, 8, 8, 8)]);
        assert_eq!((told.preference, told.unknown[&200].0), (Some(100), true));
    }
}
