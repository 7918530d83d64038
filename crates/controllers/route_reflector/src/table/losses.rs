//! Why a path is the best one, and why others are not: the step of the decision by which each lost.
//! It is asked for by people, one route after the other, and goes by the letter of the standards;
//! what the table does is [`decision::best`](super::decision::best), and tests hold both to each
//! other.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::table::decision::{Candidate, Rules};

/// A step of the decision, in its order (RFC 7432 section 15, RFC 4271 section 9.1, RFC 4456
/// section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// MAC mobility: a sticky one, then the highest sequence number.
    Mobility,
    /// The highest LOCAL_PREF.
    LocalPreference,
    /// The shortest AS path.
    PathLen,
    /// The lowest ORIGIN.
    Origin,
    /// The lowest MED of those of a neighbouring AS, or of all.
    Med,
    /// A path of another AS.
    External,
    /// The lowest ORIGINATOR_ID, or identifier of the peer.
    Router,
    /// The shortest CLUSTER_LIST.
    Clusters,
    /// The lowest address of the peer.
    Address,
    /// The lowest path identifier.
    Identifier,
}

/// That a path has lost against another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// By which step.
    pub step: Step,
    /// The place of the other one.
    pub to: usize,
}

/// What a path has at a step, beside what the one has to which it lost.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// The step.
    pub step: Step,
    /// The path that lost.
    pub lost: &'a Candidate,
    /// The path to which it did.
    pub to: &'a Candidate,
}

/// The steps, in their order.
const STEPS: [Step; 10] = [
    Step::Mobility,
    Step::LocalPreference,
    Step::PathLen,
    Step::Origin,
    Step::Med,
    Step::External,
    Step::Router,
    Step::Clusters,
    Step::Address,
    Step::Identifier,
];

/// Returns how each of the candidates has lost: of the best one nothing.
pub fn losses(candidates: &[Candidate], rules: Rules) -> Vec<Option<Loss>> {
    let mut losses = vec![None; candidates.len()];
    let mut left: Vec<usize> = (0..candidates.len()).collect();
    for step in STEPS {
        let loses_to = |one: usize, other: usize| {
            let [one, other] = [one, other].map(|place| &candidates[place]);
            let same_as = one.rank.neighbour_as == other.rank.neighbour_as;
            let compares = step != Step::Med || rules.always_compares_med || same_as;
            compares && step.of(other) < step.of(one)
        };
        let lost = left.iter().map(|&one| {
            // It lost to whichever has the least of those that beat it.
            let beats = left.iter().copied().filter(|&other| loses_to(one, other));
            (one, beats.min_by_key(|&other| step.of(&candidates[other])))
        });
        let lost: Vec<(usize, Option<usize>)> = lost.collect();
        for (one, to) in lost {
            losses[one] = to.map(|to| Loss { step, to });
        }
        left.retain(|&one| losses[one].is_none());
    }
    losses
}

impl Step {
    /// What of a candidate counts at a step: the least is best.
    fn of(self, candidate: &Candidate) -> u128 {
        let Candidate { rank, teller, identifier } = candidate;
        match self {
            Step::Mobility => {
                let mobility = rank.mobility;
                let moved = u64::from(mobility.is_sticky) << 32 | u64::from(mobility.sequence);
                u128::from(u64::MAX - moved)
            }
            Step::LocalPreference => u128::from(u32::MAX - rank.local_preference),
            Step::PathLen => rank.path_len.into(),
            Step::Origin => rank.origin.into(),
            Step::Med => rank.med.into(),
            Step::External => (!teller.is_external).into(),
            Step::Router => rank.originator.unwrap_or(teller.identifier).into(),
            Step::Clusters => rank.clusters.into(),
            Step::Address => teller.address,
            Step::Identifier => (*identifier).into(),
        }
    }

    /// Why the best path is the best one, if it is because of this step in the end.
    pub fn won(self) -> &'static str {
        match self {
            Step::Mobility => "the latest MAC mobility",
            Step::LocalPreference => "the highest LOCAL_PREF",
            Step::PathLen => "the shortest AS path",
            Step::Origin => "the lowest ORIGIN",
            Step::Med => "the lowest MED",
            Step::External => "from another AS",
            Step::Router => "the lowest router identifier",
            Step::Clusters => "the shortest CLUSTER_LIST",
            Step::Address => "the lowest peer address",
            Step::Identifier => "the lowest path identifier",
        }
    }
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Words { step, lost, to } = *self;
        let (own, best) = (&lost.rank, &to.rank);
        let router =
            |one: &Candidate| Ipv4Addr::from(one.rank.originator.unwrap_or(one.teller.identifier));
        match step {
            Step::Mobility if own.mobility.is_sticky != best.mobility.is_sticky => {
                f.write_str("the other MAC address is sticky")
            }
            Step::Mobility => {
                let [own, best] = [own, best].map(|rank| rank.mobility.sequence);
                write!(f, "MAC mobility {own} is before {best}")
            }
            Step::LocalPreference => {
                write!(f, "LOCAL_PREF {} is below {}", own.local_preference, best.local_preference)
            }
            Step::PathLen => {
                write!(f, "AS path of {} is longer than {}", own.path_len, best.path_len)
            }
            Step::Origin => {
                let [own, best] = [own, best].map(|rank| origin(rank.origin));
                write!(f, "ORIGIN {own} is behind {best}")
            }
            Step::Med if own.neighbour_as == best.neighbour_as && own.neighbour_as != 0 => {
                let asn = own.neighbour_as;
                write!(f, "MED {} is above {} of the same AS {asn}", own.med, best.med)
            }
            Step::Med => write!(f, "MED {} is above {}", own.med, best.med),
            Step::External => f.write_str("from the own AS, others are not"),
            Step::Router => {
                write!(f, "router identifier {} is above {}", router(lost), router(to))
            }
            Step::Clusters => {
                write!(f, "CLUSTER_LIST of {} is longer than {}", own.clusters, best.clusters)
            }
            Step::Address => {
                let [own, best] = [lost, to].map(|one| Address(one.teller.address));
                write!(f, "peer address {own} is above {best}")
            }
            Step::Identifier => {
                write!(f, "path identifier {} is above {}", lost.identifier, to.identifier)
            }
        }
    }
}

/// The name of an ORIGIN.
pub fn origin(code: u8) -> &'static str {
    match code {
        0 => "IGP",
        1 => "EGP",
        _ => "incomplete",
    }
}

/// An address by its order among all: those of IPv4 come first.
struct Address(u128);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u32::try_from(self.0) {
            Ok(bits) => Ipv4Addr::from(bits).fmt(f),
            Err(_) => Ipv6Addr::from(self.0).fmt(f),
        }
    }
}
