//! What rules change of a route.

use std::net::IpAddr;

use protocol_bgp::attributes::{
    AS_PATH, COMMUNITIES, EXTENDED_COMMUNITIES, LARGE_COMMUNITIES, LOCAL_PREF, MED, rewrite,
};
use protocol_bgp::families::Family;
use protocol_bgp::message::EXTENDED_LEN_MAX;
use protocol_bgp::summary::Summary;

use super::ranges::Ranges;
use crate::config::{CommunityKind as Kind, PrependKeys, SetKeys};
use crate::known::{parts, put};
use crate::rewriting::{prepend, put_next_hop};

/// A route that rules have changed: its next hop with its attributes, as [`put`] has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The next hop and the attributes.
    pub bytes: Vec<u8>,
    /// Where in the attributes what is.
    pub summary: Summary,
    /// Whether a rule has set the MED.
    pub sets_med: bool,
    /// Whether a rule has set the next hop.
    pub sets_next_hop: bool,
}

/// What a rule changes.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    local_preference: Option<[u8; 4]>,
    med: Option<[u8; 4]>,
    next_hop: Option<IpAddr>,
    removed: Ranges,
    /// By kind: whether those that were there go, and those that come.
    communities: [(bool, Vec<u8>); 3],
    prepend: Option<PrependKeys>,
}

impl Edit {
    /// What keys say; `None` for nothing.
    pub fn new(keys: &SetKeys) -> Option<Edit> {
        if *keys == SetKeys::default() {
            return None;
        }
        let mut communities = Kind::ALL.map(|_| (false, Vec::new()));
        for (is_alone, list) in [(true, &keys.replace_communities), (false, &keys.add_communities)]
        {
            for (kind, bytes) in list.iter().filter_map(|one| one.single()) {
                let (goes, coming) = &mut communities[kind as usize];
                *goes |= is_alone;
                let bytes = &bytes[bytes.len() - kind.len()..];
                if !has(coming, bytes) {
                    coming.extend(bytes);
                }
            }
        }
        Some(Edit {
            local_preference: keys.local_preference.map(u32::to_be_bytes),
            med: keys.med.map(u32::to_be_bytes),
            next_hop: keys.next_hop,
            removed: Ranges::new(
                [keys.remove_communities.iter().map(|one| one.range())].into_iter(),
            ),
            communities,
            prepend: keys.prepend,
        })
    }

    /// Changes a route; `None` where its attributes would be longer than any message.
    pub fn apply(&self, family: Family, (bytes, summary): (&[u8], &Summary)) -> Option<Changed> {
        let (next_hop, block) = parts(bytes);
        let mut next_hop = next_hop.to_vec();
        let sets_next_hop =
            self.next_hop.is_some_and(|address| put_next_hop(address, family, &mut next_hop));
        let mut path = Vec::new();
        let mut changes: Vec<(u8, Option<&[u8]>)> = Vec::new();
        if let Some(PrependKeys { asn, times }) = self.prepend {
            path.extend(summary.path.of(block));
            for _ in 0..times {
                let before = std::mem::take(&mut path);
                prepend(asn, &before, &mut path);
            }
            changes.push((AS_PATH, Some(&path)));
        }
        changes.extend(self.med.as_ref().map(|med| (MED, Some(&med[..]))));
        changes.extend(self.local_preference.as_ref().map(|it| (LOCAL_PREF, Some(&it[..]))));
        let spans = [summary.communities, summary.extended_communities, summary.large_communities];
        let lists = Kind::ALL.map(|kind| self.list(kind, spans[kind as usize].of(block)));
        let codes = [COMMUNITIES, EXTENDED_COMMUNITIES, LARGE_COMMUNITIES];
        for (code, list) in codes.into_iter().zip(&lists) {
            changes
                .extend(list.as_deref().map(|all| (code, Some(all).filter(|it| !it.is_empty()))));
        }
        let mut changed = Vec::with_capacity(block.len() + 64);
        rewrite(block, &changes, &mut changed);
        if changed.len() > EXTENDED_LEN_MAX {
            return None;
        }
        let mut bytes = Vec::with_capacity(changed.len() + next_hop.len() + 1);
        put(&next_hop, &changed, &mut bytes);
        let summary = Summary::of(&changed);
        Some(Changed { bytes, summary, sets_med: self.med.is_some(), sets_next_hop })
    }

    /// What becomes of the communities of a kind; `None` where nothing is said of them.
    fn list(&self, kind: Kind, before: &[u8]) -> Option<Vec<u8>> {
        let (goes, coming) = &self.communities[kind as usize];
        if self.removed.is_empty() && !goes && coming.is_empty() {
            return None;
        }
        let mut all = Vec::with_capacity(before.len() + coming.len());
        for one in before.chunks_exact(kind.len()).filter(|_| !goes) {
            let value = one.iter().fold(0, |all, byte| all << 8 | u128::from(*byte));
            if self.removed.naming(kind.number(value)).next(0).is_none() {
                all.extend(one);
            }
        }
        for one in coming.chunks_exact(kind.len()) {
            if !has(&all, one) {
                all.extend(one);
            }
        }
        Some(all)
    }
}

/// Whether a community is among others of its kind.
fn has(all: &[u8], one: &[u8]) -> bool {
    all.chunks_exact(one.len()).any(|other| other == one)
}
