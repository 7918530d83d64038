//! The laws of groups under random changes: shares by weight, counted seat by seat, and no flow
//! that moves without need.

use proptest::prelude::*;
use tables::groups::{GroupError, Groups, Limits, Member};
use tables::oracle;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Set(usize, Member),
    Remove(usize, u32),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let weight = prop_oneof![4 => Just(1u16), 2 => 1u16..6, 1 => 1u16..=u16::MAX];
    let operation = prop_oneof![
        3 => (0..GROUPS, 0u32..12, weight)
            .prop_map(|(group, value, weight)| Operation::Set(group, Member { value, weight })),
        2 => (0..GROUPS, 0u32..12).prop_map(|(group, value)| Operation::Remove(group, value)),
    ];
    prop::collection::vec(operation, 1..50)
}

proptest! {
    #[test]
    fn shares_are_by_weight_and_only_what_must_move_moves(
        operations in operations(),
        bits in 3..9u32,
    ) {
        let limits = Limits { groups: GROUPS, buckets: 1 << bits, members: 8 };
        let mut groups = Groups::new(limits).expect("possible limits");
        for operation in operations {
            let before = groups.clone();
            let (Operation::Set(group, Member { value, .. }) | Operation::Remove(group, value)) =
                operation;
            let held = before.members(group).iter().find(|m| m.value == value).map(|m| m.weight);
            let is_changed = match operation {
                Operation::Set(_, member) if held.is_none() && before.members(group).len() == 8 => {
                    let full = Err(GroupError::Members { limit: 8 });
                    prop_assert_eq!(groups.set(group, member), full);
                    false
                }
                Operation::Set(_, member) => {
                    prop_assert_eq!(groups.set(group, member), Ok(held));
                    true
                }
                Operation::Remove(..) => {
                    prop_assert_eq!(groups.remove(group, value), held);
                    held.is_some()
                }
            };
            for other in (0..GROUPS).filter(|&other| !is_changed || other != group) {
                prop_assert_eq!(groups.buckets(other), before.buckets(other));
                prop_assert_eq!(groups.members(other), before.members(other));
            }
            check_shares(&groups, group);
            check_moves(&before, &groups, group, value);
        }
    }
}

/// Everybody has what the slow count gives, and a look-up finds it.
fn check_shares(groups: &Groups, group: usize) {
    let members = groups.members(group);
    let buckets = groups.buckets(group);
    let weights: Vec<u32> = members.iter().map(|member| member.weight.into()).collect();
    let expected = oracle::shares(&weights, buckets.len());
    for (member, share) in members.iter().zip(expected) {
        assert_eq!(share_of(groups, group, member.value), share, "{member:?} of {members:?}");
    }
    for hash in 0..2 * buckets.len() as u32 {
        let bucket = buckets[hash as usize % buckets.len()];
        groups.prefetch(group as u32, hash);
        assert_eq!(groups.pick(group as u32, hash), (!members.is_empty()).then_some(bucket));
    }
}

/// Every bucket that moved left or joined the member that changed, as many as its share changed by.
fn check_moves(before: &Groups, after: &Groups, group: usize, changed: u32) {
    let pairs = before.buckets(group).iter().zip(after.buckets(group));
    let moved: Vec<_> = pairs.filter(|(old, new)| old != new).collect();
    if before.members(group).is_empty() || after.members(group).is_empty() {
        return;
    }
    let [old, new] = [before, after].map(|groups| share_of(groups, group, changed));
    assert_eq!(moved.len(), old.abs_diff(new), "{moved:?}");
    assert!(moved.iter().all(|(old, new)| **old == changed || **new == changed));
}

fn share_of(groups: &Groups, group: usize, value: u32) -> usize {
    groups.buckets(group).iter().filter(|&&member| member == value).count()
}

#[test]
fn what_cannot_be_is_refused() {
    for (buckets, members) in [(0, 0), (12, 4), (1 << 17, 4), (8, 9)] {
        let refused = Groups::new(Limits { groups: 1, buckets, members }).map(|_| ());
        assert_eq!(refused, Err(GroupError::Limits { buckets, members }));
    }
    let mut groups = Groups::new(Limits { groups: 1, buckets: 8, members: 8 }).expect("possible");
    let one = Member { value: 1, weight: 1 };
    assert_eq!(groups.set(1, one), Err(GroupError::Group { group: 1, limit: 1 }));
    assert_eq!(groups.set(0, Member { weight: 0, ..one }), Err(GroupError::Member));
    assert_eq!(groups.set(0, Member { value: u32::MAX, ..one }), Err(GroupError::Member));
    assert_eq!((groups.remove(0, 1), groups.remove(9, 1)), (None, None));
    assert_eq!((groups.pick(0, 5), groups.pick(7, 5)), (None, None));
    assert_eq!((groups.buckets(7), groups.members(7)), (&[][..], &[][..]));
    assert!(groups.bytes() >= 32);
}

const GROUPS: usize = 2;
