//! `convergence` on a simulated reflector, whose times are known.

use measure::record::LimitKind;
use measure::{RoutingSize, Seconds};

use super::*;
use crate::Unobserved;
use crate::simulated::{Reflecting, Simulated};

fn device() -> Reflecting {
    let size =
        RoutingSize { feeders: 1, clients: 10, routes: 1000, attribute_sets: 10, bytes: 5000 };
    Reflecting {
        size,
        client: Duration::from_millis(20),
        alone: Some(Duration::from_millis(50)),
        wrong_at: None,
        lost_at: None,
        events: Vec::new(),
    }
}

fn all() -> Config {
    Config { changes: 100.0, lost_clients: 2, restart: true, slow_clients: 3, ..Config::default() }
}

fn run(config: &Config, device: &mut dyn Measurer) -> Outcome {
    keys::check("", config).expect("a valid configuration");
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.figure(name).unwrap_or_else(|| panic!("no {name}: {}", outcome.answer)).value
}

#[test]
fn every_event_has_its_figure_and_its_place() {
    let mut device = device();
    let outcome = run(&all(), &mut device);
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    assert_eq!(value(&outcome, "convergence_time"), 200e6);
    assert_eq!(value(&outcome, "convergence_time_first"), 20e6);
    assert_eq!(value(&outcome, "convergence_updates_rate"), 10_000.0 / 0.2);
    assert_eq!(value(&outcome, "convergence_tester_alone"), 50e6);
    assert_eq!(value(&outcome, "slow_clients_time"), 140e6, "without the three slow ones");
    assert_eq!(value(&outcome, "restart_withdrawals_seen"), 1.0);
    assert!((value(&outcome, "change_time_p99") - 99e6).abs() < 0.5e6);
    let names: Vec<&str> = device.events.iter().map(|event| report::name(*event)).collect();
    let tables = ["table"; 3];
    let further = ["changes", "return", "restart", "withdrawal", "table-beside-slow-clients"];
    assert_eq!(names, [&tables[..], &further].concat());
    assert_eq!(outcome.series[0].rows.len(), 8);
    assert_eq!(outcome.series[1].rows.last().expect("a row")[1], Some(0.2));
    crate::figures::assert_known(&outcome);
    assert_eq!(
        outcome.answer,
        "1000 routes of 1 feeder reach all of 10 clients in 200 ms (median of 3; 200 ms to 200 ms)."
    );
}

#[test]
fn a_table_that_is_wrong_has_no_figure_and_nothing_follows_it() {
    let mut device = Reflecting { wrong_at: Some(0), ..device() };
    let outcome = run(&all(), &mut device);
    assert!(!outcome.validity.valid && outcome.figures.is_empty(), "{:?}", outcome.figures);
    assert_eq!(device.events.len(), 1);
    let what: Vec<&str> = outcome.validity.limits.iter().map(|limit| &*limit.what).collect();
    assert!(what[0].contains("192.0.2.0/24 is missing"), "{what:?}");
    assert!(what[1].starts_with("7 further events"), "{what:?}");
}

#[test]
fn a_withdrawal_that_is_wrong_leaves_the_figures_of_the_tables_but_not_valid() {
    let mut device = Reflecting { wrong_at: Some(3), ..device() };
    let outcome = run(&Config::default(), &mut device);
    assert_eq!(value(&outcome, "convergence_time"), 200e6);
    assert!(outcome.figure("withdrawal_time").is_none() && !outcome.validity.valid);
}

#[test]
fn a_session_that_ends_by_itself_makes_the_result_invalid() {
    let mut device = Reflecting { lost_at: Some(1), ..device() };
    let outcome = run(&Config::default(), &mut device);
    assert!(!outcome.validity.valid);
    assert!(outcome.validity.limits[0].what.contains("1 sessions ended"), "{outcome:?}");
}

#[test]
fn a_tester_that_takes_nearly_as_long_is_named_as_the_limit() {
    let mut device = Reflecting { alone: Some(Duration::from_millis(180)), ..device() };
    let outcome = run(&Config::default(), &mut device);
    let limits: Vec<LimitKind> = outcome.validity.limits.iter().map(|limit| limit.kind).collect();
    assert_eq!(limits, [LimitKind::Baseline]);
    assert!(outcome.validity.valid);
}

#[test]
fn what_forwards_frames_and_too_few_clients_are_refused() {
    let mut forwarder = Simulated::fixed(1e6);
    let refused = Config::default().run(&mut forwarder, &mut Unobserved);
    assert!(matches!(refused, Err(MeasureError::Unsupported(_))));
    let many = Config { lost_clients: 10, ..Config::default() };
    assert!(matches!(many.run(&mut device(), &mut Unobserved), Err(MeasureError::Unsupported(_))));
    let short = Config { changes: 1.0, changes_for: Seconds(500.0), ..Config::default() };
    assert_eq!(crate::entry::refused(&short).key, "changes-for");
}
