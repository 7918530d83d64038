//! The choice of trials, on devices that are a closure: which loads pass, and how often.

use measure::Ratio;

use super::grid::{Bracket, Grid, middle};
use super::target::targets;
use super::*;
use crate::search::engine::Settings;
use crate::search::{Attempts, Attributes, LossLimit};

const PACE: Pace = Pace { preceding_targets: 2, expansion: 2.0, fail_fast: true };

fn settings() -> Settings {
    Settings {
        min_pps: 1e4,
        max_pps: 1e7,
        guess_pps: 1e7,
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
fn play(goals: &[Goal], pace: Pace, loss: impl Fn(f64, usize) -> f64) -> (Controller, Vec<f64>) {
    let mut controller = Controller::new(&settings(), goals, pace);
    let mut loads = Vec::new();
    while let Some((at, duration)) = controller.next() {
        let load = controller.grid.load(at);
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
        let shot = Shot {
            record: loads.len() - 1,
            seen,
            missed: vec![None; goals.len()],
            short: false,
            offered_pps: load,
            forwarded_pps: load * (1.0 - loss_ratio),
        };
        controller.tell(at, shot);
    }
    (controller, loads)
}

/// Loss function of a device with a fixed capacity.
fn fixed(capacity: f64) -> impl Fn(f64, usize) -> f64 {
    move |load, _| (1.0 - capacity / load).max(0.0)
}

#[test]
fn bounds_are_neighbours_within_the_width() {
    for capacity in [1.1e4, 123_456.0, 1e6, 9.9e6] {
        for width in [0.005, 0.02, 0.1] {
            let (controller, loads) = play(&[goal(0.0, width)], PACE, fixed(capacity));
            let bounds = controller.bounds(0);
            let (lower, upper) = (bounds.lower_pps.unwrap(), bounds.upper_pps.unwrap());
            assert!(bounds.regular && lower <= capacity && capacity < upper, "{bounds:?}");
            assert!((upper - lower) / upper <= width * (1.0 + 1e-9), "{bounds:?}");
            assert!(loads.len() <= 30, "{capacity}, {width}: {} trials", loads.len());
        }
    }
}

#[test]
fn a_fixed_capacity_costs_little_more_than_deciding_two_loads() {
    let without = Pace { preceding_targets: 0, ..PACE };
    let (_, loads) = play(&[goal(0.0, 0.005)], without, fixed(1e6));
    assert_eq!(loads.len(), 23, "eleven trials decide a load, twice, after one at the highest");
    let (_, loads) = play(&[goal(0.0, 0.005)], PACE, fixed(1e6));
    assert_eq!(loads.len(), 27, "and four narrow the coarse bracket");
}

#[test]
fn coarse_targets_save_trials_where_the_rate_that_came_through_misleads() {
    // At the highest load twice as much comes through as the device takes without loss.
    let misleading = |load: f64, _: usize| match load {
        l if l <= 1e6 => 0.0,
        l => 1.0 - (2e6 / l).min(0.999),
    };
    let count = |preceding_targets| {
        let pace = Pace { preceding_targets, ..PACE };
        play(&[goal(0.0, 0.005)], pace, misleading).1.len()
    };
    assert!(count(2) < count(0) / 2, "{} and {}", count(2), count(0));
}

#[test]
fn goals_share_trials_and_the_lower_load_comes_first() {
    let goals = [goal(0.0, 0.005), goal(0.05, 0.05)];
    let (both, loads) = play(&goals, PACE, fixed(1e6));
    assert!(both.bounds(0).regular && both.bounds(1).regular);
    let pdr = both.bounds(1).lower_pps.unwrap();
    assert!(pdr > 1e6 && pdr <= 1e6 / 0.95, "{pdr}");
    let alone: usize =
        goals.iter().map(|g| play(std::slice::from_ref(g), PACE, fixed(1e6)).1.len()).sum();
    assert!(loads.len() < alone, "{} trials together, {alone} one by one", loads.len());
    let reversed: Vec<Goal> = goals.iter().rev().cloned().collect();
    let (reversed, same) = play(&reversed, PACE, fixed(1e6));
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
    let (controller, _) = play(&[goal(0.0, 0.005)], PACE, noisy);
    let bounds = controller.bounds(0);
    assert!(bounds.regular);
    assert!(bounds.lower_pps.unwrap() < 0.8e6 && bounds.upper_pps.unwrap() >= 0.8e6, "{bounds:?}");
}

#[test]
fn with_loss_inversion_the_upper_bound_is_the_real_one() {
    // Nothing passes from 0.3 to 0.4 Mpps, all else up to 1 Mpps does, and of more 0.35 Mpps come
    // through. The second goal tolerates what is lost there and takes the search to higher loads.
    let inverted = |load: f64, _: usize| match load {
        l if (0.3e6..0.4e6).contains(&l) => 0.01,
        l if l > 1e6 => 1.0 - 0.35e6 / l,
        _ => 0.0,
    };
    let goals = [goal(0.0, 0.005), goal(0.1, 0.1)];
    let (controller, loads) = play(&goals, PACE, inverted);
    let bounds = controller.bounds(0);
    assert!(bounds.regular && bounds.lower_pps.unwrap() < 0.3e6, "{bounds:?}");
    assert!(loads.iter().any(|l| (0.4e6..1e6).contains(l)), "loads above it were tried");
    assert!(controller.bounds(1).lower_pps.unwrap() > 0.9e6);
}

#[test]
fn the_ends_of_the_range_end_the_search_irregularly() {
    let goals = [goal(0.0, 0.005)];
    let (all, loads) = play(&goals, PACE, fixed(1e9));
    assert_eq!((all.bounds(0).lower_pps, all.bounds(0).upper_pps), (Some(1e7), None));
    assert!(!all.bounds(0).regular && loads.iter().all(|l| *l == 1e7));
    let (none, loads) = play(&goals, PACE, |_, _| 1.0);
    assert_eq!((none.bounds(0).lower_pps, none.bounds(0).upper_pps), (None, Some(1e4)));
    assert!(!none.bounds(0).regular && loads.len() <= 22, "{loads:?}");
}

#[test]
fn a_goal_that_fails_at_the_lowest_load_ends_the_others_only_if_it_is_to() {
    let goals = [goal(0.0, 0.005), goal(0.1, 0.1)];
    let lossy = |load: f64, _: usize| if load > 1e6 { 0.5 } else { 0.001 };
    let fast = play(&goals, PACE, lossy).0;
    assert!(fast.bounds(1).upper_pps.is_none(), "the second goal was left where it was");
    let slow = play(&goals, Pace { fail_fast: false, ..PACE }, lossy).0;
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
    let mut controller = Controller::new(&settings(), &[long.clone()], PACE);
    assert_eq!(controller.next().map(|(_, duration)| duration), Some(Duration::from_secs(1)));
    let targets = targets(&long.attributes.unwrap(), &PACE, 10);
    let seconds: Vec<f64> = targets.iter().map(|t| t.trial.as_secs_f64().round()).collect();
    assert_eq!(seconds, [1.0, 8.0, 60.0]);
    assert_eq!(targets.iter().map(|t| t.width).collect::<Vec<_>>(), [40, 20, 10]);
}

#[test]
fn the_grid_has_both_ends_and_no_step_wider_than_the_width() {
    for width in [1e-6, 0.005, 0.3, 0.5] {
        let grid = Grid::new(1e4, 1e7, [0.5, width].into_iter());
        assert_eq!((grid.load(0), grid.load(grid.last), grid.steps(width)), (1e4, 1e7, 1));
        let (a, b) = (grid.load(7), grid.load(8));
        assert!((b - a) / b <= width * (1.0 + 1e-6), "{width}: {a} {b}");
    }
    let narrow = Settings { min_pps: 1e6, max_pps: 1e6, ..settings() };
    let mut controller = Controller::new(&narrow, &[goal(0.0, 0.005)], PACE);
    let grid = controller.grid;
    assert_eq!((grid.last, grid.load(0)), (0, 1e6), "a range of one load");
    assert_eq!(controller.next().map(|(at, _)| at), Some(0));
}

#[test]
fn a_bracket_is_split_into_parts_that_halve_down_to_the_width() {
    for (upper, width, expected) in [(2, 1, 1), (3, 1, 1), (5, 1, 2), (8, 1, 4), (12, 1, 4)] {
        assert_eq!(middle(0, upper, width), expected, "{upper} by {width}");
    }
    assert_eq!(middle(100, 103, 2), 101, "a bracket below two widths is split by half a width");
    for (width, whole) in (1..20).flat_map(|w| (w + 1..200).map(move |whole| (w, whole))) {
        let at = middle(0, whole, width);
        assert!(at > 0 && at < whole && at <= whole - at, "{width}, {whole}: {at}");
    }
}

#[test]
fn a_load_keeps_its_distance_from_bounds_and_snaps_to_the_ends_of_the_range() {
    let grid = Grid::new(1e4, 1e7, [0.01].into_iter());
    let last = grid.last;
    let bracket = |lower, upper| Bracket { lower, upper };
    for (at, bounds, expected) in [
        (50, bracket(None, None), Some(50)),
        (1, bracket(None, None), Some(0)),
        (last - 1, bracket(None, None), Some(last)),
        (49, bracket(Some(48), Some(60)), Some(50)),
        (59, bracket(Some(48), Some(60)), Some(58)),
        (49, bracket(Some(48), Some(51)), Some(49)),
        (49, bracket(Some(48), Some(50)), None),
        (48, bracket(Some(48), None), None),
        (60, bracket(None, Some(60)), None),
        (60, bracket(None, Some(50)), None),
        (last + 9, bracket(Some(last - 1), None), Some(last)),
        (0, bracket(None, Some(2)), Some(0)),
    ] {
        assert_eq!(grid.between(at, 2, bounds), expected, "{at} in {bounds:?}");
    }
}
