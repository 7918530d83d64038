//! The choice of trials, on devices that are a closure: which loads pass, and how often.

use measure::Ratio;

use super::*;
use crate::search::{Attempts, LossLimit};

const PACE: Pace = Pace { preceding_targets: 2, expansion: 2.0, fail_fast: true };

fn settings(guess_pps: f64) -> Settings {
    Settings {
        min_pps: 1e4,
        max_pps: 1e7,
        guess_pps,
        trials_max: 10_000,
        time_max: Duration::MAX,
        stall_repeats: 0,
        attempts: Attempts::Verified { repeats: 0, up_to: LossLimit::Ratio(Ratio(1.0)) },
    }
}

fn goal(loss_ratio: f64, width: f64) -> Goal {
    let second = Duration::from_secs(1);
    Goal {
        name: Ratio(loss_ratio).to_string(),
        loss_ratio: Ratio(loss_ratio),
        conditions: Vec::new(),
        unsent_is_loss: false,
        attributes: Some(Attributes {
            final_trial: second,
            duration_sum: second * 21,
            exceed_ratio: 0.5,
            width,
            initial_trial: second,
        }),
    }
}

/// Searches on a device whose loss at a load is `loss(load, trial at this load)`; returns the
/// controller and the loads in order.
fn play(
    guess: f64,
    goals: &[Goal],
    pace: Pace,
    loss: impl Fn(f64, usize) -> f64,
) -> (Controller, Vec<f64>) {
    let mut controller = Controller::new(&settings(guess), goals, pace);
    let mut loads = Vec::new();
    while let Some((at, duration)) = controller.next() {
        let load = controller.load(at);
        let before = loads.iter().filter(|l| **l == load).count();
        loads.push(load);
        assert!(loads.len() < 2000, "the search does not end: {:?}", &loads[1990..]);
        let loss_ratio = loss(load, before);
        let see = |goal: &Goal| Seen {
            duration_s: duration.as_secs_f64(),
            loss_ratio,
            high: loss_ratio > goal.loss_ratio.0,
        };
        let seen: Vec<Seen> = goals.iter().map(see).collect();
        let missed = vec![None; goals.len()];
        controller.tell(at, Shot { record: loads.len() - 1, seen, missed, short: false });
    }
    (controller, loads)
}

/// Loss function of a device with a fixed capacity.
fn fixed(capacity: f64) -> impl Fn(f64, usize) -> f64 {
    move |load, _| (1.0 - capacity / load).max(0.0)
}

#[test]
fn bounds_are_neighbours_within_the_width_from_any_guess() {
    for capacity in [1.1e4, 123_456.0, 1e6, 9.9e6] {
        for guess in [1.0, capacity * 0.5, capacity, capacity * 2.0, 1e12] {
            let goals = [goal(0.0, 0.005)];
            let (controller, loads) = play(guess, &goals, PACE, fixed(capacity));
            let bounds = controller.bounds(0);
            let (lower, upper) = (bounds.lower_pps.unwrap(), bounds.upper_pps.unwrap());
            assert!(bounds.regular && lower <= capacity && capacity < upper, "{bounds:?}");
            assert!((upper - lower) / upper <= 0.005 * (1.0 + 1e-9), "{bounds:?}");
            assert!(loads.len() <= 70, "{capacity} from {guess}: {} trials", loads.len());
        }
    }
}

#[test]
fn a_good_guess_costs_little_more_than_deciding_two_loads() {
    let (_, loads) = play(1e6, &[goal(0.0, 0.005)], PACE, fixed(1e6));
    assert!((22..=37).contains(&loads.len()), "{} trials", loads.len());
    let without = Pace { preceding_targets: 0, ..PACE };
    let (_, loads) = play(1e6, &[goal(0.0, 0.005)], without, fixed(1e6));
    assert_eq!(loads.len(), 22, "eleven trials decide a load, twice");
}

#[test]
fn coarse_targets_save_trials_where_the_guess_is_bad() {
    let count = |preceding_targets| {
        let pace = Pace { preceding_targets, ..PACE };
        play(2e6, &[goal(0.0, 0.005)], pace, fixed(1e6)).1.len()
    };
    assert!(count(2) < count(0) / 2, "{} and {}", count(2), count(0));
}

#[test]
fn goals_share_trials_and_the_lower_load_comes_first() {
    let goals = [goal(0.0, 0.005), goal(0.05, 0.05)];
    let (both, loads) = play(1e6, &goals, PACE, fixed(1e6));
    assert!(both.bounds(0).regular && both.bounds(1).regular);
    let pdr = both.bounds(1).lower_pps.unwrap();
    assert!(pdr > 1e6 && pdr <= 1e6 / 0.95, "{pdr}");
    let alone: usize =
        goals.iter().map(|g| play(1e6, std::slice::from_ref(g), PACE, fixed(1e6)).1.len()).sum();
    assert!(loads.len() < alone, "{} trials together, {alone} one by one", loads.len());
    let reversed: Vec<Goal> = goals.iter().rev().cloned().collect();
    let (reversed, same) = play(1e6, &reversed, PACE, fixed(1e6));
    assert_eq!(reversed.bounds(1), both.bounds(0), "the order of goals does not matter");
    assert_eq!(same, loads);
}

#[test]
fn half_of_the_trials_may_fail_and_no_more() {
    // Between 0.5 and 0.8 Mpps every third trial loses frames, above that two of three.
    let noisy = |load: f64, n: usize| match load {
        l if l < 0.5e6 => 0.0,
        l if l < 0.8e6 => f64::from(u8::from(n.is_multiple_of(3))) * 0.1,
        _ => f64::from(u8::from(!n.is_multiple_of(3))) * 0.1,
    };
    let (controller, _) = play(1e6, &[goal(0.0, 0.005)], PACE, noisy);
    let bounds = controller.bounds(0);
    assert!(bounds.regular);
    assert!(bounds.lower_pps.unwrap() < 0.8e6 && bounds.upper_pps.unwrap() >= 0.8e6, "{bounds:?}");
}

#[test]
fn with_loss_inversion_the_upper_bound_is_the_real_one() {
    // Nothing passes from 0.3 to 0.4 Mpps, all else up to 1 Mpps does. The second goal tolerates
    // everything there and takes the search to higher loads.
    let inverted = |load: f64, _: usize| match load {
        l if (0.3e6..0.4e6).contains(&l) => 0.01,
        l if l > 1e6 => 0.2,
        _ => 0.0,
    };
    let goals = [goal(0.0, 0.005), goal(0.1, 0.1)];
    let (controller, loads) = play(0.35e6, &goals, PACE, inverted);
    let bounds = controller.bounds(0);
    assert!(bounds.regular && bounds.lower_pps.unwrap() < 0.3e6, "{bounds:?}");
    assert!(loads.iter().any(|l| (0.4e6..1e6).contains(l)), "loads above it were tried");
    assert!(controller.bounds(1).lower_pps.unwrap() > 0.9e6);
}

#[test]
fn the_ends_of_the_range_end_the_search_irregularly() {
    let goals = [goal(0.0, 0.005)];
    let (all, loads) = play(1e12, &goals, PACE, fixed(1e9));
    assert_eq!((all.bounds(0).lower_pps, all.bounds(0).upper_pps), (Some(1e7), None));
    assert!(!all.bounds(0).regular && loads.iter().all(|l| *l == 1e7));
    let (none, loads) = play(1e4, &goals, PACE, |_, _| 1.0);
    assert_eq!((none.bounds(0).lower_pps, none.bounds(0).upper_pps), (None, Some(1e4)));
    assert!(!none.bounds(0).regular && loads.len() <= 11);
}

#[test]
fn a_goal_that_fails_at_the_lowest_load_ends_the_others_only_if_it_is_to() {
    let goals = [goal(0.0, 0.005), goal(0.1, 0.1)];
    let lossy = |load: f64, _: usize| if load > 1e6 { 0.5 } else { 0.001 };
    let fast = play(1e6, &goals, PACE, lossy).0;
    assert!(fast.bounds(1).upper_pps.is_none(), "the second goal was left where it was");
    let slow = play(1e6, &goals, Pace { fail_fast: false, ..PACE }, lossy).0;
    assert!(slow.bounds(1).regular);
    assert_eq!(slow.bounds(0).upper_pps, Some(1e4));
}

#[test]
fn short_trials_come_first_where_a_goal_begins_with_them() {
    let mut long = goal(0.0, 0.02);
    if let Some(attributes) = &mut long.attributes {
        attributes.initial_trial = Duration::from_secs(1);
        attributes.final_trial = Duration::from_secs(60);
        attributes.duration_sum = Duration::from_secs(60);
        attributes.exceed_ratio = 0.0;
    }
    let mut controller = Controller::new(&settings(1e6), &[long.clone()], PACE);
    assert_eq!(controller.next().map(|(_, duration)| duration), Some(Duration::from_secs(1)));
    let targets = targets(&long.attributes.unwrap(), &PACE, 10);
    let seconds: Vec<f64> = targets.iter().map(|t| t.trial.as_secs_f64().round()).collect();
    assert_eq!(seconds, [1.0, 8.0, 60.0]);
    assert_eq!(targets.iter().map(|t| t.width).collect::<Vec<_>>(), [40, 20, 10]);
}

#[test]
fn the_grid_has_both_ends_and_no_step_wider_than_the_width() {
    for width in [1e-6, 0.005, 0.3, 0.5] {
        let controller = Controller::new(&settings(1e6), &[goal(0.0, width)], PACE);
        assert_eq!((controller.load(0), controller.load(controller.last)), (1e4, 1e7));
        let (a, b) = (controller.load(7), controller.load(8));
        assert!((b - a) / b <= width * (1.0 + 1e-6), "{width}: {a} {b}");
    }
    let narrow = Settings { min_pps: 1e6, max_pps: 1e6, ..settings(1e6) };
    let mut controller = Controller::new(&narrow, &[goal(0.0, 0.005)], PACE);
    assert_eq!((controller.last, controller.load(0)), (0, 1e6), "a range of one load");
    assert_eq!(controller.next().map(|(at, _)| at), Some(0));
}
