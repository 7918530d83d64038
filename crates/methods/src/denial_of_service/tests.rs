//! `denial-of-service` on simulated devices: what each flood costs is known beforehand.

use measure::Ratio;

use super::*;
use crate::Unobserved;
use crate::simulated::{Simulated, Suffered};

const HARMLESS: Suffered =
    Suffered { name: "arp", costs: 0.0, answered_pps: 100.0, spares_pings: true };
const STARVING: Suffered =
    Suffered { name: "icmp-echo", costs: 3.0, answered_pps: 1e9, spares_pings: false };

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

fn of(outcome: &Outcome, name: &str, part: &str) -> f64 {
    let found = outcome.parts(name).find(|figure| figure.of.as_deref() == Some(part));
    found.unwrap_or_else(|| panic!("no {name} of {part}")).value
}

fn given() -> Config {
    Config { of: Some(Pps(1e6)), ..Config::default() }
}

#[test]
fn each_flood_is_measured_beside_the_background_alone() {
    let mut device = Simulated::fixed(1e6).suffering(&[HARMLESS, STARVING]);
    let outcome = run(&given(), &mut device);
    assert_eq!(device.trials(), 9, "none and two floods, three times");
    assert!(device.simulated() <= given().time_bound());
    let loss = |part| of(&outcome, "background_loss_percent", part);
    assert_eq!((loss("none"), loss("arp")), (0.0, 0.0));
    // A flood of 200,000 costs three of the background each: 400,000 of 500,000 are left.
    assert!((loss("icmp-echo") - 20.0).abs() < 1e-6, "{}", loss("icmp-echo"));
    assert_eq!(outcome.figure("background_loss_percent").map(|f| f.value), Some(loss("icmp-echo")));
    let pings = |part| of(&outcome, "pings_answered_percent", part);
    assert_eq!((pings("none"), pings("arp"), pings("icmp-echo")), (100.0, 100.0, 0.0));
    assert_eq!(of(&outcome, "flood_answered", "arp"), 100.0);
    assert_eq!(of(&outcome, "flood_answered", "icmp-echo"), 200_000.0);
    assert_eq!(outcome.series[0].rows.len(), 3);
    assert!(outcome.validity.valid, "{outcome:?}");
    assert!(
        outcome.answer.starts_with("The background of 500 kpps loses at most 20 %, under icmp")
    );
    crate::figures::assert_known(&outcome);
}

#[test]
fn what_costs_nothing_is_answered_so() {
    let outcome = run(&given(), &mut Simulated::fixed(1e6).suffering(&[HARMLESS]));
    let expected = "loses nothing under any of 1 floods of 200 kpps; every ping is answered";
    assert!(outcome.answer.contains(expected), "{}", outcome.answer);
}

#[test]
fn floods_are_chosen_by_name() {
    let config = Config { floods: vec!["arp".into()], ..given() };
    let mut device = Simulated::fixed(1e6).suffering(&[HARMLESS, STARVING]);
    let outcome = run(&config, &mut device);
    assert_eq!(device.trials(), 6);
    assert!(outcome.figures.iter().all(|figure| figure.of.as_deref() != Some("icmp-echo")));
    let wrong = Config { floods: vec!["apr".into()], ..given() };
    let error = wrong.run(&mut device, &mut Unobserved).expect_err("there is none");
    assert!(error.to_string().contains("choose among arp, icmp-echo"), "{error}");
}

#[test]
fn rates_need_no_throughput_and_shares_find_it() {
    let suffering = || Simulated::fixed(1e6).suffering(&[HARMLESS]);
    let rates = Config {
        background: HeldLoad::Rate(Pps(1e5)),
        flood: HeldLoad::Rate(Pps(1e4)),
        repetitions: 1,
        ..Config::default()
    };
    let mut device = suffering();
    run(&rates, &mut device);
    assert_eq!(device.trials(), 2);
    let mut device = suffering();
    let outcome = run(&Config { repetitions: 1, ..Config::default() }, &mut device);
    assert!(device.trials() > 4, "a search before");
    let background = outcome.figure("load").expect("a load").value;
    assert!((0.49e6..=0.5e6).contains(&background), "{background}");
}

#[test]
fn a_device_without_floods_is_told_what_is_missing() {
    let mut device = Simulated::fixed(1e6);
    let error = given().run(&mut device, &mut Unobserved).expect_err("it has none");
    assert!(error.to_string().contains("no floods"), "{error}");
    assert_eq!(device.trials(), 0);
}

#[test]
fn a_background_that_is_lossy_by_itself_is_remarked() {
    let config = Config { background: HeldLoad::Share(Ratio(1.5)), ..given() };
    let outcome = run(&config, &mut Simulated::fixed(1e6).suffering(&[HARMLESS]));
    assert!(outcome.validity.limits.iter().any(|l| l.what.contains("without a flood")));
}

#[test]
fn conditions_are_set_back() {
    let mut device = Simulated::fixed(1e6).suffering(&[HARMLESS]);
    run(&given(), &mut device);
    let load = Load::PerInterface(Pps(1e5));
    let after = device.measure(load, Duration::from_secs(1), &mut Unobserved).expect("simulated");
    assert!(after.floods.is_empty());
}

#[test]
fn wrong_keys_are_named() {
    let error = |config: Config| crate::entry::refused(&config).key;
    let none = HeldLoad::Rate(Pps(0.0));
    assert_eq!(error(Config { background: none, ..Config::default() }), "background");
    assert_eq!(error(Config { flood: none, ..Config::default() }), "flood");
    assert_eq!(error(Config { repetitions: 0, ..Config::default() }), "repetitions");
}
