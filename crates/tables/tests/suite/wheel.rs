//! The wheel of timers beside a sorted set of them, under random operations.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tables::wheel::Wheel;

#[derive(Clone, Copy, Debug)]
enum Operation {
    /// A timer, and the time from now on.
    Set(u32, u64),
    Cancel(u32),
    /// Time passes.
    Pass(u64),
    /// Time passes to the deadline that the wheel tells.
    PassToDeadline,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    // Spans of every level, those in the past and those that no clock reaches among them.
    let span = prop_oneof![
        4 => 0u64..200,
        4 => (0u32..64, any::<u64>()).prop_map(|(bits, random)| random >> bits),
        1 => Just(u64::MAX),
    ];
    let pass = (0u32..40, any::<u64>()).prop_map(|(bits, random)| random >> (24 + bits));
    let operation = prop_oneof![
        4 => (0..COUNT, span).prop_map(|(number, span)| Operation::Set(number, span)),
        1 => (0..COUNT).prop_map(Operation::Cancel),
        2 => pass.prop_map(Operation::Pass),
        2 => Just(Operation::PassToDeadline),
    ];
    prop::collection::vec(operation, 1..80)
}

proptest! {
    #[test]
    fn timers_are_due_in_their_step(operations in operations(), step_bits in 0u32..21) {
        let mut wheel = Wheel::new(COUNT as usize, step_bits);
        let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
        let mut now = 0u64;
        for operation in operations {
            match operation {
                Operation::Set(number, span) => {
                    wheel.set(number, now.saturating_add(span));
                    expected.insert(number, now.saturating_add(span));
                }
                Operation::Cancel(number) => {
                    prop_assert_eq!(wheel.cancel(number), expected.remove(&number).is_some());
                }
                Operation::Pass(span) => now = now.saturating_add(span),
                Operation::PassToDeadline => now = now.max(wheel.deadline().unwrap_or(now)),
            }
            check(&mut wheel, &mut expected, now, step_bits)?;
        }
    }
}

proptest! {
    #[test]
    fn calls_with_a_bound_take_all_in_the_end(
        operations in operations(),
        step_bits in 0u32..21,
        bound in 1usize..4,
    ) {
        let mut wheel = Wheel::new(COUNT as usize, step_bits);
        let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
        let mut now = 0u64;
        for operation in operations {
            match operation {
                Operation::Set(number, span) => {
                    wheel.set(number, now.saturating_add(span));
                    expected.insert(number, now.saturating_add(span));
                }
                Operation::Cancel(number) => {
                    prop_assert_eq!(wheel.cancel(number), expected.remove(&number).is_some());
                }
                Operation::Pass(span) => now = now.saturating_add(span),
                Operation::PassToDeadline => now = now.max(wheel.deadline().unwrap_or(now)),
            }
            let mut moves = bound;
            while let Some(number) = wheel.due_within(now, &mut moves) {
                let time = expected.remove(&number);
                let step = time.map(|time| u128::from(time).div_ceil(1 << step_bits) << step_bits);
                prop_assert!(step.is_some_and(|step| step <= u128::from(now)), "{}", number);
            }
            if moves > 0 {
                check(&mut wheel, &mut expected, now, step_bits)?;
            }
            prop_assert_eq!(wheel.len(), expected.len());
        }
        check(&mut wheel, &mut expected, now, step_bits)?;
    }
}

#[test]
fn a_call_moves_no_more_than_its_bound() {
    const TIMERS: u32 = 10_000;
    let mut wheel = Wheel::new(TIMERS as usize, 0);
    // All in one slot of level 2, each at another step.
    (0..TIMERS).for_each(|number| wheel.set(number, (1 << 14) + u64::from(number) % 4096));
    let mut moves = 1000;
    assert_eq!(wheel.due_within((1 << 14) - 1, &mut moves), None);
    assert_eq!(moves, 1000, "the slot has not begun");
    let mut calls = 0;
    loop {
        moves = 1000;
        let due = wheel.due_within(1 << 14, &mut moves);
        calls += 1;
        if due.is_some() {
            break;
        }
        assert_eq!(moves, 0);
        assert_eq!(wheel.deadline(), Some(1 << 14));
    }
    assert_eq!(calls, 10, "each timer is moved once, to level 1 or level 0");
    let taken = std::iter::from_fn(|| wheel.due(1 << 15)).count();
    assert_eq!((taken, wheel.len()), (TIMERS as usize - 1, 0));
}

/// Takes what is due: all of it, nothing early, nothing later than its step.
fn check(
    wheel: &mut Wheel,
    expected: &mut BTreeMap<u32, u64>,
    now: u64,
    step_bits: u32,
) -> Result<(), TestCaseError> {
    let due: BTreeSet<u32> = std::iter::from_fn(|| wheel.due(now)).collect();
    // Rounded up to a step; of the last one there is no end.
    let step = |time: u64| u128::from(time).div_ceil(1 << step_bits) << step_bits;
    let is_due = |&(_, &time): &(&u32, &u64)| step(time) <= u128::from(now);
    let wanted: BTreeSet<u32> = expected.iter().filter(is_due).map(|(number, _)| *number).collect();
    prop_assert_eq!(&due, &wanted, "at {}", now);
    expected.retain(|number, _| !due.contains(number));
    prop_assert_eq!(wheel.len(), expected.len());
    prop_assert_eq!(wheel.is_empty(), expected.is_empty());
    prop_assert_eq!(wheel.deadline().is_some(), !expected.is_empty());
    if let (Some(deadline), Some(first)) = (wheel.deadline(), expected.values().min()) {
        prop_assert!(u128::from(deadline) <= step(*first), "{} is behind {}", deadline, first);
        // Behind the last step there is no time left.
        prop_assert!(deadline > now || now == u64::MAX, "{} is due at {}", deadline, now);
    }
    Ok(())
}

#[test]
fn a_deadline_leads_to_the_timer_in_few_moves() {
    let mut wheel = Wheel::new(1, 0);
    for time in [1, 63, 64, 4_095, 4_096, 1 << 40, u64::MAX - 1] {
        let mut wheel = wheel.clone();
        wheel.set(0, time);
        let mut moves = 0;
        while let Some(deadline) = wheel.deadline() {
            moves += 1;
            assert!(moves <= 11, "{time}");
            if wheel.due(deadline).is_some() {
                assert_eq!(deadline, time);
            }
        }
    }
    assert!(wheel.bytes() > 24 && wheel.due(u64::MAX).is_none());
    wheel.set(0, 5);
    assert_eq!(wheel.due(0), Some(0), "a time in the past is due at once");
}

const COUNT: u32 = 8;
