//! Which of several paths is the best one: RFC 4271 section 9.1.2.2 with RFC 4456 section 9.
//!
//! Next hops are taken as reachable and all as equally far: the reflector has no routes of an
//! interior protocol.

use std::cmp::Reverse;

/// What of a path's attributes counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// LOCAL_PREF, or 100 where there is none.
    pub local_preference: u32,
    /// Length of the AS path; a set counts as one (RFC 4271 section 9.1.2.2 a).
    pub path_len: u16,
    /// ORIGIN: 0 IGP, 1 EGP, 2 incomplete.
    pub origin: u8,
    /// MULTI_EXIT_DISC, or 0 where there is none.
    pub med: u32,
    /// The first AS of the path; 0 for none.
    pub neighbour_as: u32,
    /// How often a MAC address has moved, which comes before all else (RFC 7432 section 15).
    pub mobility: Mobility,
    /// Length of the CLUSTER_LIST.
    pub clusters: u16,
    /// ORIGINATOR_ID.
    pub originator: Option<u32>,
}

/// The MAC mobility community of a path; one without it has not moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mobility {
    /// A sticky address does not move.
    pub is_sticky: bool,
    /// How often it has moved.
    pub sequence: u32,
}

/// What of the peer counts that has told a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Teller {
    /// Whether it is of another AS.
    pub is_external: bool,
    /// Its BGP identifier.
    pub identifier: u32,
    /// The order of its address among those of all peers.
    pub address: u128,
}

/// How paths are compared, by the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Whether MED counts between paths of different neighbouring AS, too.
    pub always_compares_med: bool,
}

/// A path that may be the best one.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its attributes.
    pub rank: Rank,
    /// Who has told it.
    pub teller: Teller,
    /// Its identifier (RFC 7911), which decides between paths of one peer.
    pub identifier: u32,
}

/// Returns the place of the best candidate; 0 where there is none. `left` is room to work in.
pub fn best(candidates: &[Candidate], rules: Rules, left: &mut Vec<usize>) -> usize {
    left.clear();
    left.extend(0..candidates.len());
    keep_least(left, |place| {
        let Rank { mobility, local_preference, path_len, origin, .. } = candidates[place].rank;
        (Reverse(mobility), Reverse(local_preference), path_len, origin)
    });
    // One that loses against another of its AS is out, whichever wins of the others.
    let mut place = 0;
    while let Some(&one) = left.get(place) {
        let Rank { med, neighbour_as, .. } = candidates[one].rank;
        let beats = |other: &usize| {
            let other = &candidates[*other].rank;
            let compares = rules.always_compares_med || other.neighbour_as == neighbour_as;
            compares && other.med < med
        };
        match left.iter().any(beats) {
            true => drop(left.remove(place)),
            false => place += 1,
        }
    }
    keep_least(left, |place| {
        let Candidate { rank, teller, identifier } = candidates[place];
        let router = rank.originator.unwrap_or(teller.identifier);
        (!teller.is_external, router, rank.clusters, teller.address, identifier)
    });
    left.first().copied().unwrap_or_default()
}

/// Keeps the places whose key is the least.
fn keep_least<K: Ord>(left: &mut Vec<usize>, key: impl Fn(usize) -> K) {
    if let Some(least) = left.iter().map(|place| key(*place)).min() {
        left.retain(|place| key(*place) == least);
    }
}
