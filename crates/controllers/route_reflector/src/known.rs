//! A next hop with an attribute block, as the table keeps it once for all routes that have it.
//!
//! ```text
//!  | length of the next hop u8 | next hop | attribute block |
//! ```

use protocol_bgp::summary::Summary;

use crate::own::{Kind, Source};
use crate::table::targets::EMPTY;
use crate::table::{Candidate, Interned, Mobility, Path, Rank, Teller};

/// What is known of a next hop with an attribute block.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Where in the block what is.
    pub summary: Summary,
    /// How routes with it are compared.
    pub rank: Rank,
    /// Whether nobody is told of it (NO_ADVERTISE, RFC 1997).
    pub stays_here: bool,
    /// Whether no other AS is told of it (NO_EXPORT, NO_EXPORT_SUBCONFED, RFC 1997).
    pub stays_in_as: bool,
    /// Whether whoever has told it is about to end the session (GRACEFUL_SHUTDOWN, RFC 8326).
    pub is_going: bool,
    /// The number of the set of its route targets, once it is kept.
    pub targets: u32,
}

impl Known {
    /// Reads what was put together by [`put`].
    pub fn new(bytes: &[u8], summary: Summary) -> Known {
        let mut known = Known {
            summary,
            rank: Rank {
                local_preference: summary.local_pref.unwrap_or(PREFERENCE),
                path_len: summary.path_weight,
                origin: summary.origin,
                med: summary.med.unwrap_or(0),
                neighbour_as: summary.neighbour_as.unwrap_or(0),
                mobility: Mobility::default(),
                clusters: 0,
                originator: summary.originator_id,
            },
            stays_here: false,
            stays_in_as: false,
            is_going: false,
            targets: EMPTY,
        };
        let (_, block) = parts(bytes);
        let clusters = summary.clusters.numbers(block).len() as u16;
        let mobility = summary.extended_communities.extended(block).find_map(mobility);
        known.rank.clusters = clusters;
        known.rank.mobility = mobility.unwrap_or_default();
        for community in summary.communities.numbers(block) {
            match community {
                NO_ADVERTISE => known.stays_here = true,
                NO_EXPORT | NO_EXPORT_SUBCONFED => known.stays_in_as = true,
                GRACEFUL_SHUTDOWN => known.is_going = true,
                _ => {}
            }
        }
        known
    }

    /// Returns whether a reflector is in it: as the one that a route comes from, or by its cluster
    /// (RFC 4456 section 8).
    pub fn has_been_at(&self, bytes: &[u8], (identifier, cluster): (u32, u32)) -> bool {
        let mut clusters = self.summary.clusters.numbers(parts(bytes).1);
        self.summary.originator_id == Some(identifier) || clusters.any(|one| one == cluster)
    }
}

/// A path as it is compared with others.
pub fn candidate(path: &Path, attributes: &Interned<Known>, sources: &[Source]) -> Candidate {
    let source = &sources[usize::from(path.peer)];
    let rank = attributes.known(path.attributes).map(|known| match source.lowers(known.is_going) {
        false => known.rank,
        true => Rank { local_preference: 0, ..known.rank },
    });
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

/// Returns the next hop and the block.
pub fn parts(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (len, rest) = bytes.split_first().unwrap_or((&0, &[]));
    rest.split_at_checked(usize::from(*len)).unwrap_or_default()
}

/// Puts together a next hop, of at most 255 bytes, and a block.
pub fn put(next_hop: &[u8], block: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.push(next_hop.len() as u8);
    out.extend(next_hop);
    out.extend(block);
}

/// The MAC mobility that an extended community tells (RFC 7432 section 7.7).
fn mobility(community: [u8; 8]) -> Option<Mobility> {
    let [6, 0, flags, _, sequence @ ..] = community else { return None };
    Some(Mobility { is_sticky: flags & 1 != 0, sequence: u32::from_be_bytes(sequence) })
}

/// LOCAL_PREF of routes that have none.
pub const PREFERENCE: u32 = 100;

/// The community of paths that are about to go (RFC 8326 section 2).
pub const GRACEFUL_SHUTDOWN: u32 = 0xffff_0000;

const NO_EXPORT: u32 = 0xffff_ff01;
const NO_ADVERTISE: u32 = 0xffff_ff02;
const NO_EXPORT_SUBCONFED: u32 = 0xffff_ff03;
