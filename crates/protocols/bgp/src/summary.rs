//! What of an attribute block routes are compared and filtered by.

use crate::attributes::{
    AS_PATH, Attributes, CLUSTER_LIST, COMMUNITIES, EXTENDED_COMMUNITIES, LARGE_COMMUNITIES,
    LOCAL_PREF, MED, ORIGIN, ORIGINATOR_ID, OTC,
};
use crate::bytes::u32_of;
use crate::path;

/// What of an attribute block is asked for often, and where in it the rest is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Whether routes come from an IGP (0), from EGP (1) or from elsewhere (2).
    pub origin: u8,
    /// The length of the AS path: a set counts for one, a confederation for nothing.
    pub path_weight: u16,
    /// The AS that the routes came from; `None` if they are of the own AS, or if a set hides it.
    pub neighbour_as: Option<u32>,
    /// The AS path, which [`path::Segments`] reads and [`path::contains`] searches.
    pub path: Span,
    /// MULTI_EXIT_DISC.
    pub med: Option<u32>,
    /// LOCAL_PREF.
    pub local_pref: Option<u32>,
    /// ORIGINATOR_ID.
    pub originator_id: Option<u32>,
    /// CLUSTER_LIST, 4 bytes each.
    pub clusters: Span,
    /// Communities, 4 bytes each.
    pub communities: Span,
    /// Extended communities, 8 bytes each.
    pub extended_communities: Span,
    /// Large communities, 12 bytes each.
    pub large_communities: Span,
    /// The AS that has marked the routes for customers only (RFC 9234).
    pub otc: Option<u32>,
}

/// A part of an attribute block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    start: u16,
    len: u16,
}

impl Summary {
    /// Returns that of a block.
    pub fn of(block: &[u8]) -> Summary {
        let (mut all, mut summary) = (Attributes::new(block), Summary::default());
        while let Some(attribute) = all.next() {
            let start = block.len() - all.rest().len() - attribute.value.len();
            summary.note(attribute.code, attribute.value, start);
        }
        summary
    }

    /// Notes an attribute whose value, which was checked, stands at a place of the block.
    pub(crate) fn note(&mut self, code: u8, value: &[u8], start: usize) {
        let span = Span { start: start as u16, len: value.len() as u16 };
        match code {
            ORIGIN => self.origin = value.first().copied().unwrap_or(0),
            AS_PATH => {
                self.path = span;
                self.path_weight = path::weight(path::Segments::new(value)) as u16;
                self.neighbour_as = path::neighbour(value);
            }
            MED => self.med = Some(u32_of(value)),
            LOCAL_PREF => self.local_pref = Some(u32_of(value)),
            ORIGINATOR_ID => self.originator_id = Some(u32_of(value)),
            CLUSTER_LIST => self.clusters = span,
            COMMUNITIES => self.communities = span,
            EXTENDED_COMMUNITIES => self.extended_communities = span,
            LARGE_COMMUNITIES => self.large_communities = span,
            OTC => self.otc = Some(u32_of(value)),
            _ => {}
        }
    }
}

impl Span {
    /// Returns its bytes in the block that it is of.
    pub fn of(self, block: &[u8]) -> &[u8] {
        let start = usize::from(self.start);
        block.get(start..start + usize::from(self.len)).unwrap_or(&[])
    }

    /// Returns its bytes as numbers of 4 bytes: communities, or the clusters of a list.
    pub fn numbers(self, block: &[u8]) -> impl ExactSizeIterator<Item = u32> {
        self.of(block).chunks_exact(4).map(u32_of)
    }

    /// Returns its bytes as extended communities.
    pub fn extended(self, block: &[u8]) -> impl ExactSizeIterator<Item = [u8; 8]> {
        self.of(block).as_chunks().0.iter().copied()
    }

    /// Returns its bytes as large communities.
    pub fn large(self, block: &[u8]) -> impl ExactSizeIterator<Item = [u32; 3]> {
        let part = |bytes: &[u8], at: usize| u32_of(&bytes[at * 4..]);
        self.of(block).chunks_exact(12).map(move |one| [part(one, 0), part(one, 1), part(one, 2)])
    }
}
