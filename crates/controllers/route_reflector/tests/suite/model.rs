//! A reflector that is slow and plain: every path in a list, and what each peer has to know by
//! going over all of them (RFC 4271 section 9.1, RFC 4456 sections 6, 8 and 9).

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    Client,
    Other,
    OfOtherAs(u32),
}

/// The attributes of a path, as far as the tests use some.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attributes {
    pub next_hop: [u8; 4],
    pub path: Vec<u32>,
    pub med: Option<u32>,
    pub preference: Option<u32>,
    pub originator: Option<u32>,
    pub clusters: Vec<u32>,
    pub communities: Vec<u32>,
}

pub type Prefix = (u8, [u8; 4]);

pub struct Model {
    pub asn: u32,
    pub identifier: u32,
    pub peers: Vec<(Is, u32)>,
    /// By peer and prefix.
    pub paths: BTreeMap<(u16, Prefix), Attributes>,
}

impl Model {
    /// A peer says a path; one that has been here takes the place of the one before, too.
    pub fn announce(&mut self, peer: u16, prefix: Prefix, attributes: &Attributes) {
        let has_been_here = attributes.originator == Some(self.identifier)
            || attributes.clusters.contains(&self.identifier)
            || attributes.path.contains(&self.asn);
        self.paths.remove(&(peer, prefix));
        if !has_been_here {
            self.paths.insert((peer, prefix), attributes.clone());
        }
    }

    pub fn withdraw(&mut self, peer: u16, prefix: Prefix) {
        self.paths.remove(&(peer, prefix));
    }

    pub fn close(&mut self, peer: u16) {
        self.paths.retain(|(of, _), _| *of != peer);
    }

    /// All that a peer has to know.
    pub fn told(&self, peer: u16) -> BTreeMap<Prefix, Attributes> {
        let mut prefixes: Vec<Prefix> = self.paths.keys().map(|(_, prefix)| *prefix).collect();
        prefixes.dedup();
        let told = prefixes.into_iter().filter_map(|prefix| {
            let (from, path) = self.best(prefix)?;
            Some((prefix, self.as_told(from, peer, path)?))
        });
        told.collect()
    }

    fn best(&self, prefix: Prefix) -> Option<(u16, &Attributes)> {
        let all = self.paths.iter().filter(|((_, of), _)| *of == prefix);
        let mut left: Vec<(u16, &Attributes)> = all.map(|((peer, _), it)| (*peer, it)).collect();
        left.sort_by_key(|(_, it)| (Reverse(it.preference.unwrap_or(100)), it.path.len()));
        let (_, first) = *left.first()?;
        let rank = |it: &Attributes| (it.preference.unwrap_or(100), it.path.len());
        left.retain(|(_, it)| rank(it) == rank(first));
        let meds: Vec<_> =
            left.iter().map(|(_, it)| (it.path.first().copied(), it.med.unwrap_or(0))).collect();
        left.retain(|(_, it)| {
            let own = (it.path.first().copied(), it.med.unwrap_or(0));
            meds.iter().all(|other| other.0 != own.0 || other.1 >= own.1)
        });
        left.into_iter().min_by_key(|(peer, it)| {
            let (is, identifier) = self.peers[usize::from(*peer)];
            let is_internal = !matches!(is, Is::OfOtherAs(_));
            (is_internal, it.originator.unwrap_or(identifier), it.clusters.len(), *peer)
        })
    }

    fn as_told(&self, from: u16, to: u16, path: &Attributes) -> Option<Attributes> {
        let ((is_from, identifier), (is_to, _)) =
            (self.peers[usize::from(from)], self.peers[usize::from(to)]);
        let mut path = path.clone();
        if from == to || path.communities.contains(&0xffff_ff02) {
            return None;
        }
        match (is_from, is_to) {
            (Is::Other, Is::Other) => return None,
            (_, Is::OfOtherAs(_)) => {
                if path.communities.contains(&0xffff_ff01) {
                    return None;
                }
                path.path.insert(0, self.asn);
                (path.med, path.preference, path.originator) = (None, None, None);
                path.clusters.clear();
            }
            (Is::OfOtherAs(_), _) => path.preference = Some(path.preference.unwrap_or(100)),
            _ => {
                path.originator = Some(path.originator.unwrap_or(identifier));
                path.clusters.insert(0, self.identifier);
            }
        }
        Some(path)
    }
}
