//! The policers against exact arithmetic, verdict by verdict, and against what the RFCs promise in
//! the long run: the rates within 1 %.

use proptest::prelude::*;
use tables::oracle::ExactPolicer;
use tables::policer::{Colour, Policers, Policing, Profile, Refused};

/// A policer for both sides: rates in bytes per second, bursts in bytes.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    rfc: u32,
    is_colour_aware: bool,
    rates: [u64; 2],
    bursts: [u64; 2],
}

impl Wanted {
    fn policing(self, parent: Option<u32>) -> Policing {
        let [committed_bytes_per_s, second] = self.rates.map(|rate| rate as f64);
        let [committed_burst_bytes, burst] = self.bursts.map(|burst| burst as f64);
        let profile = match self.rfc {
            2697 => Profile::SingleRate {
                committed_bytes_per_s,
                committed_burst_bytes,
                excess_burst_bytes: burst,
            },
            2698 => Profile::TwoRate {
                committed_bytes_per_s,
                committed_burst_bytes,
                peak_bytes_per_s: second,
                peak_burst_bytes: burst,
            },
            _ => Profile::InProfile {
                committed_bytes_per_s,
                committed_burst_bytes,
                excess_bytes_per_s: second,
                excess_burst_bytes: burst,
            },
        };
        Policing { profile, is_colour_aware: self.is_colour_aware, parent }
    }

    fn exact(self, ticks_per_s: u64, now: u64) -> ExactPolicer {
        ExactPolicer::new(self.rfc, self.is_colour_aware, self.rates, self.bursts, ticks_per_s, now)
    }
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let rate = || prop_oneof![1..2_000u64, 1_000..10_000_000u64, 1_000_000..1_000_000_000u64];
    let burst = || prop_oneof![Just(0u64), 60..3_000u64, 3_000..100_000u64];
    let rfc = prop::sample::select(vec![2697, 2698, 4115]);
    (rfc, any::<bool>(), [rate(), rate()], [burst(), burst()]).prop_map(
        |(rfc, is_colour_aware, rates, bursts)| Wanted { rfc, is_colour_aware, rates, bursts },
    )
}

fn colour() -> impl Strategy<Value = Colour> {
    prop::sample::select(vec![Colour::Green, Colour::Green, Colour::Yellow, Colour::Red])
}

/// With such a clock a tick brings a number of bytes that floating point holds exactly.
const EXACT_CLOCK: u64 = 1 << 30;

proptest! {
    #[test]
    fn every_verdict_is_that_of_exact_arithmetic(
        wanted in wanted(),
        frames in prop::collection::vec((0..3_000_000u64, 64..1519u32, colour()), 1..300),
    ) {
        let mut now = 1 << 40;
        let mut fast = Policers::new(4, EXACT_CLOCK as f64).expect("memory is to be had");
        fast.set(3, &wanted.policing(None), now).expect("it is in order");
        let mut exact = wanted.exact(EXACT_CLOCK, now);
        for (gap, length, colour) in frames {
            now += gap;
            prop_assert_eq!(fast.mark(3, now, length, colour), exact.mark(now, length, colour));
        }
    }

    #[test]
    fn a_child_under_a_parent_is_as_in_exact_arithmetic(
        parent in wanted(),
        children in [wanted(), wanted()],
        frames in prop::collection::vec((0..2usize, 0..3_000_000u64, 64..1519u32, colour()), 1..300),
    ) {
        let mut now = 1 << 40;
        let mut fast = Policers::new(3, EXACT_CLOCK as f64).expect("memory is to be had");
        fast.set(2, &parent.policing(None), now).expect("it is in order");
        let mut above = parent.exact(EXACT_CLOCK, now);
        let mut exact = children.map(|child| child.exact(EXACT_CLOCK, now));
        for (number, child) in (0..).zip(children) {
            fast.set(number, &child.policing(Some(2)), now).expect("it is in order");
        }
        for (child, gap, length, colour) in frames {
            now += gap;
            let expected = above.mark_child(&mut exact[child], now, length, colour);
            prop_assert_eq!(fast.mark(child as u32, now, length, colour), expected);
        }
    }
}

proptest! {
    #[test]
    fn three_in_a_row_are_as_in_exact_arithmetic(
        all in [wanted(), wanted(), wanted(), wanted(), wanted()],
        frames in prop::collection::vec((0..3usize, 0..3_000_000u64, 64..1519u32, colour()), 1..300),
    ) {
        let mut now = 1 << 40;
        let mut fast = Policers::new(5, EXACT_CLOCK as f64).expect("memory is to be had");
        // A node, two subscribers and two classes of the first of them.
        let parents = [None, Some(0), Some(0), Some(1), Some(1)];
        for ((number, one), parent) in (0..).zip(all).zip(parents) {
            fast.set(number, &one.policing(parent), now).expect("it is in order");
        }
        let [mut node, mut first, mut second, mut third, mut fourth] =
            all.map(|one| one.exact(EXACT_CLOCK, now));
        for (which, gap, length, colour) in frames {
            now += gap;
            let mut chain = match which {
                0 => vec![&mut second, &mut node],
                1 => vec![&mut third, &mut first, &mut node],
                _ => vec![&mut fourth, &mut first, &mut node],
            };
            let expected = ExactPolicer::mark_all(&mut chain, now, length, colour);
            prop_assert_eq!(fast.mark(2 + which as u32, now, length, colour), expected);
        }
    }
}

#[test]
fn what_anybody_above_refuses_costs_nobody_anything() {
    let mut fast = Policers::new(3, 1e9).expect("memory is to be had");
    let of = |burst| Wanted { rfc: 4115, is_colour_aware: true, rates: [1, 1], bursts: [burst, 0] };
    for (number, burst) in [(0u32, 1000), (1, 1200), (2, 1500)] {
        let policing = of(burst).policing(number.checked_sub(1));
        fast.set(number, &policing, 0).expect("it is in order");
    }
    let colours = [600, 600, 400, 1].map(|length| fast.mark(2, 0, length, Colour::Green));
    // The node has 400 left for the second; else the subscriber would not have 400 for the third.
    assert_eq!(colours, [Colour::Green, Colour::Red, Colour::Green, Colour::Red]);
    fast.set(0, &of(1000).policing(None), 0).expect("a parent may be set anew");
    assert_eq!(fast.mark(2, 0, 200, Colour::Green), Colour::Green);
    assert_eq!(fast.mark(2, 0, 200, Colour::Green), Colour::Red, "the subscriber has no more");
}

#[test]
fn there_are_three_in_a_row_at_most_however_they_come_there() {
    let mut fast = Policers::new(8, 1e9).expect("memory is to be had");
    let some = Wanted { rfc: 2697, is_colour_aware: false, rates: [1, 0], bursts: [100, 100] };
    let set = |fast: &mut Policers, number, parent| fast.set(number, &some.policing(parent), 0);
    for (number, parent) in [(0, None), (1, Some(0)), (2, Some(1)), (4, None), (5, Some(4))] {
        assert_eq!(set(&mut fast, number, parent), Ok(()));
    }
    assert_eq!(set(&mut fast, 3, Some(2)), Err(Refused::Parent { parent: 2 }), "a fourth");
    let children = |number| Err(Refused::Children { number, children: 1 });
    assert_eq!(set(&mut fast, 0, Some(4)), children(0), "it has grandchildren");
    assert_eq!(set(&mut fast, 1, Some(0)), Ok(()), "another rate under the same parent");
    assert_eq!(set(&mut fast, 1, Some(2)), Err(Refused::Parent { parent: 2 }), "its own child");
    assert_eq!(set(&mut fast, 1, Some(5)), Err(Refused::Parent { parent: 5 }), "four in a row");
    assert_eq!(set(&mut fast, 1, Some(4)), Ok(()), "with its child");
    assert_eq!([0, 1, 2, 4].map(|number| fast.children(number)), [0, 1, 0, 2]);
    assert_eq!(fast.parent(1), Some(4));
    assert_eq!(fast.clear(4), Err(Refused::Children { number: 4, children: 2 }));
    assert_eq!(fast.clear(1), children(1).map(|()| true));
    assert_eq!(set(&mut fast, 1, None), Ok(()), "a root with a child");
    assert_eq!(set(&mut fast, 1, Some(0)), children(1), "and under nobody then");
}

#[test]
fn in_the_long_run_each_colour_has_its_rate_within_1_percent() {
    // Rates from 8 kbit/s to 100 Gbit/s, sizes, and clocks that are no power of two.
    for rate in [1_000u64, 125_000, 12_500_000, 1_250_000_000, 12_500_000_000] {
        for ticks_per_s in [1_000_000_000u64, 2_596_112_345, 5_000_000_000] {
            for length in [64u32, 594, 1518, 9018] {
                for rfc in [2697, 2698, 4115] {
                    long_run(rfc, rate, length, ticks_per_s);
                }
            }
        }
    }
}

/// Twice the sum of both rates for as long as 20,000 frames take.
fn long_run(rfc: u32, rate: u64, length: u32, ticks_per_s: u64) {
    let burst = u64::from(2 * length);
    let wanted =
        Wanted { rfc, is_colour_aware: false, rates: [rate, 2 * rate], bursts: [burst, burst] };
    let start = 77;
    let mut fast = Policers::new(1, ticks_per_s as f64).expect("memory is to be had");
    fast.set(0, &wanted.policing(None), start).expect("it is in order");
    let mut bytes = [0.0; 3];
    let mut seconds = 0.0;
    for number in 0..20_000 {
        seconds = f64::from(number) * f64::from(length) / (6 * rate) as f64;
        let now = start + (seconds * ticks_per_s as f64) as u64;
        bytes[fast.mark(0, now, length, Colour::Green) as usize] += f64::from(length);
    }
    let (rate, burst) = (rate as f64, burst as f64);
    // Green has the committed rate; yellow nothing, what the peak leaves, or the excess rate.
    let yellow = match rfc {
        2697 => 0.0,
        2698 => rate,
        _ => 2.0 * rate,
    };
    let promised = [rate, yellow].map(|rate| rate * seconds + burst);
    for (bytes, promised) in bytes.iter().zip(promised) {
        let off = (bytes - promised).abs();
        // Of a burst and of the frame in which it ends, either may be spent or not.
        let most = 0.01 * promised + 2.0 * burst;
        assert!(off <= most, "RFC {rfc}, {rate} byte/s, {length}: {bytes} for {promised}");
    }
}

#[test]
fn what_a_parent_refuses_costs_the_child_nothing() {
    let mut fast = Policers::new(2, 1e9).expect("memory is to be had");
    let of = |burst| Wanted { rfc: 4115, is_colour_aware: true, rates: [1, 1], bursts: [burst, 0] };
    fast.set(0, &of(1000).policing(None), 0).expect("it is in order");
    fast.set(1, &of(1500).policing(Some(0)), 0).expect("it is in order");
    let colours = [600, 600, 400, 400].map(|length| fast.mark(1, 0, length, Colour::Green));
    // The parent has 400 left for the second; the child has 900 then and not 300.
    let expected = [Colour::Green, Colour::Red, Colour::Green, Colour::Red];
    assert_eq!(colours, expected);
    fast.set(0, &of(1000).policing(None), 0).expect("a parent may be set anew");
    assert_eq!(fast.mark(1, 0, 500, Colour::Green), Colour::Green);
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let mut fast = Policers::new(4, 1e9).expect("memory is to be had");
    let some = Wanted { rfc: 2697, is_colour_aware: false, rates: [1, 0], bursts: [100, 100] };
    let set = |fast: &mut Policers, number, parent| fast.set(number, &some.policing(parent), 0);
    assert_eq!(set(&mut fast, 4, None), Err(Refused::Number { number: 4, count: 4 }));
    assert_eq!(set(&mut fast, 1, Some(0)), Err(Refused::Parent { parent: 0 }));
    assert_eq!(set(&mut fast, 0, Some(0)), Err(Refused::Parent { parent: 0 }));
    assert_eq!(set(&mut fast, 0, Some(9)), Err(Refused::Parent { parent: 9 }));
    assert_eq!(set(&mut fast, 0, None), Ok(()));
    assert_eq!(set(&mut fast, 1, Some(0)), Ok(()));
    assert_eq!(set(&mut fast, 3, None), Ok(()));
    let children = Err(Refused::Children { number: 0, children: 1 });
    assert_eq!(set(&mut fast, 0, Some(3)), children);
    assert_eq!(fast.clear(0), Err(Refused::Children { number: 0, children: 1 }));
    assert_eq!((fast.parent(1), fast.is_set(2)), (Some(0), false));
    assert_eq!((fast.clear(1), fast.clear(1), fast.clear(0)), (Ok(true), Ok(false), Ok(true)));
    let mut endless = some.policing(None);
    if let Profile::SingleRate { committed_bytes_per_s, .. } = &mut endless.profile {
        *committed_bytes_per_s = f64::INFINITY;
    }
    assert_eq!(fast.set(0, &endless, 0), Err(Refused::Rate));
    // Where there is no policer, a frame keeps its colour.
    for number in [0, 4] {
        assert_eq!(fast.mark(number, 0, 64, Colour::Yellow), Colour::Yellow);
    }
}

#[test]
fn a_clock_that_steps_back_brings_nothing() {
    let mut fast = Policers::new(1, 1e9).expect("memory is to be had");
    let some = Wanted { rfc: 4115, is_colour_aware: false, rates: [1000, 0], bursts: [100, 0] };
    fast.set(0, &some.policing(None), 1 << 40).expect("it is in order");
    assert_eq!(fast.mark(0, 1 << 40, 100, Colour::Green), Colour::Green);
    for now in [0, 1 << 39, 1 << 40] {
        assert_eq!(fast.mark(0, now, 100, Colour::Green), Colour::Red);
    }
    assert_eq!(fast.mark(0, (1 << 40) + 100_000_000, 100, Colour::Green), Colour::Green);
}

/// Workers with one policer in common, and one that has it alone.
fn joined(count: usize, wanted: Wanted, now: u64) -> Vec<Policers> {
    let mut workers: Vec<Policers> =
        (0..count).map(|_| Policers::new(4, 1e9).expect("memory is to be had")).collect();
    workers.iter_mut().for_each(|one| one.set(3, &wanted.policing(None), now).expect("sound"));
    if let Some((first, others)) = workers.split_first_mut() {
        others.iter_mut().for_each(|one| one.join(first, count));
    }
    workers
}

/// Bytes of each colour that workers let pass in ten seconds, each loaded with these rates in bytes
/// per second in frames of 1,000 bytes.
fn passed(workers: &mut [Policers], loads: &[u64], from: u64) -> [u64; 3] {
    let mut bytes = [0; 3];
    let mut next: Vec<u64> = loads.iter().map(|_| from).collect();
    let end = from + 10 * SECOND;
    while let Some((at, &now)) = next.iter().enumerate().min_by_key(|(_, now)| **now)
        && now < end
    {
        let colour = workers[at].mark(3, now, 1000, Colour::Green);
        bytes[colour as usize] += 1000;
        next[at] = now + 1000 * SECOND / loads[at];
    }
    bytes
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn several_workers_let_one_rate_pass_whichever_of_them_has_the_load() {
    let rates = [1_250_000, 2_500_000];
    let bursts = [100_000, 50_000];
    let loads: [&[u64]; 6] = [
        &[2_500_000, 2_500_000],
        &[5_000_000, 1_000],
        &[1_000, 20_000_000],
        &[700_000, 5_000_000],
        &[1_250_000, 1_250_000, 1_250_000, 1_250_000],
        &[100, 100, 100, 9_000_000],
    ];
    for rfc in [2697, 2698, 4115] {
        for load in loads {
            let wanted = Wanted { rfc, is_colour_aware: false, rates, bursts };
            let mut workers = joined(load.len(), wanted, 5);
            passed(&mut workers, load, 1 << 30);
            let [green, yellow, _] = passed(&mut workers, load, (1 << 30) + 10 * SECOND);
            let green_expected = 10 * rates[0];
            let offered = 10 * load.iter().sum::<u64>();
            let yellow_expected = match rfc {
                2697 => 0,
                2698 => (10 * rates[1]).min(offered) - green_expected,
                _ => (10 * rates[1]).min(offered - green_expected),
            };
            let slack = offered / 1000 + load.len() as u64 * 1000;
            for (got, expected) in [(green, green_expected), (yellow, yellow_expected)] {
                let limit = expected / 100 + slack;
                assert!(got.abs_diff(expected) <= limit, "{rfc}: {load:?}: {got}, not {expected}");
            }
        }
    }
}

#[test]
fn several_workers_have_one_burst_and_keep_what_they_do_not_use_small() {
    let bursts = [80_000, 40_000];
    for rfc in [2697, 2698, 4115] {
        for count in [2, 4] {
            let wanted = Wanted { rfc, is_colour_aware: false, rates: [1000, 2000], bursts };
            let mut workers = joined(count, wanted, 0);
            let mut bytes = [0; 3];
            for turn in 0..2000 {
                bytes[workers[turn % count].mark(3, 7, 100, Colour::Green) as usize] += 100;
            }
            let expected = match rfc {
                2698 => [40_000, 0],
                _ => bursts,
            };
            for (got, expected) in bytes.into_iter().zip(expected) {
                let least = expected - expected / 8;
                assert!((least..=expected).contains(&got), "{rfc}, {count}: {bytes:?}");
            }
        }
    }
}

#[test]
fn a_change_fills_common_buckets_once() {
    let wanted = Wanted { rfc: 2697, is_colour_aware: false, rates: [1; 2], bursts: [8000, 0] };
    let mut workers = joined(2, wanted, 0);
    let drain = |workers: &mut [Policers]| {
        let marks = (0..200).map(|turn| workers[turn % 2].mark(3, 9, 100, Colour::Green));
        marks.filter(|colour| *colour == Colour::Green).count()
    };
    assert_eq!(drain(&mut workers), 80);
    for worker in &mut workers {
        worker.set(3, &wanted.policing(None), 9).expect("sound");
    }
    assert_eq!(drain(&mut workers), 80);
}

#[test]
fn an_exact_one_takes_over_what_another_has_spent_and_keeps_its_own_clock() {
    let [mut early, mut late] =
        [(); 2].map(|()| ExactPolicer::new(2698, false, [100; 2], [300; 2], 1000, 0));
    assert_eq!(early.mark(0, 300, Colour::Green), Colour::Green);
    assert_eq!(late.mark(10_000, 100, Colour::Green), Colour::Green);
    late.charge_as(&early);
    // Its ten seconds are over already, and are worth nothing a second time.
    assert_eq!(late.mark(10_000, 100, Colour::Green), Colour::Red);
    assert_eq!(late.mark(11_000, 100, Colour::Green), Colour::Green);
    early.charge_as(&late);
    assert_eq!(early.mark(900, 100, Colour::Green), Colour::Red);
    assert_eq!(early.mark(1000, 100, Colour::Green), Colour::Green);
}
