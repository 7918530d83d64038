//! `latency` on simulated devices, whose queue takes 1 us and an exponential wait of mean
//! 2 us / (1 - utilisation): every percentile is known.

use measure::Seconds;
use measure::record::ClaimLevel;

use super::*;
use crate::Unobserved;
use crate::simulated::Simulated;

fn run(config: &Config, device: &mut Simulated) -> Outcome {
    config.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

/// The latency at a quantile of a queue with the given utilisation, which is the middle of the last
/// of the thousand samples up to it.
fn truth_ns(utilisation: f64, quantile: f64) -> f64 {
    let quantile = quantile - 0.0005;
    1_000.0 - 2_000.0 / (1.0 - utilisation) * (1.0 - quantile).ln()
}

fn part(outcome: &Outcome, name: &str, part: &str) -> f64 {
    let figure = outcome.parts(name).find(|f| f.of.as_deref() == Some(part));
    figure.unwrap_or_else(|| panic!("no {name} of {part}")).value
}

#[test]
fn percentiles_at_each_load_are_those_of_the_queue_within_three_per_mille() {
    let mut device = Simulated::fixed(10e6);
    let config = Config { of: Some(Pps(10e6)), ..Config::default() };
    let outcome = run(&config, &mut device);
    assert_eq!(device.trials(), 25, "five loads, five rounds, no search");
    assert!(device.simulated() <= config.time_bound());
    for (label, utilisation) in [("no load", 1e-4), ("10 %", 0.1), ("50 %", 0.5), ("90 %", 0.9)] {
        for (name, quantile) in [("latency_p50", 0.5), ("latency_p90", 0.9), ("latency_p99", 0.99)]
        {
            let found = part(&outcome, name, &format!("{label}, uplink"));
            let error = found / truth_ns(utilisation, quantile) - 1.0;
            assert!(error.abs() < 0.003, "{name} at {label}: {found}, error {error}");
        }
    }
    let pdv = part(&outcome, "latency_pdv", "50 %, downlink");
    let p99_9 = part(&outcome, "latency_p99_9", "50 %, downlink");
    assert_eq!(pdv, p99_9 - part(&outcome, "latency_min", "50 %, downlink"));
    assert!(outcome.validity.valid, "{:?}", outcome.validity);
    assert_eq!(outcome.trials[1].purpose, "latency 10 %");
}

#[test]
fn the_headline_is_of_the_highest_load_and_the_series_holds_all() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6));
    crate::figures::assert_known(&outcome);
    let headline = outcome.figure("latency_p99_9").expect("measured").value;
    assert_eq!(headline, part(&outcome, "latency_p99_9", "100 %, uplink"));
    let series = &outcome.series[0];
    assert_eq!((series.name.as_str(), series.rows.len()), ("latency-by-load", 10));
    let names: Vec<&str> = series.columns.iter().map(|column| column.name.as_str()).collect();
    for name in ["load_percent", "load_pps", "direction", "min", "p50", "p99_9", "max", "pdv"] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    assert!(
        series.rows.iter().all(|row| row.len() == names.len() && row.iter().all(Option::is_some))
    );
    let p50 = names.iter().position(|name| *name == "p50").expect("there");
    let up: Vec<f64> = series.rows.iter().step_by(2).filter_map(|row| row[p50]).collect();
    assert!(up.is_sorted() && up[0] < up[4], "more load, more latency: {up:?}");
}

#[test]
fn the_throughput_is_found_first_and_its_trials_are_kept() {
    let mut device = Simulated::fixed(1e6);
    let outcome = run(&Config::default(), &mut device);
    let reference = outcome.figure("reference_throughput").expect("found").value;
    assert!((0.98..=1.0).contains(&(reference / 1e6)), "{reference}");
    assert_eq!(outcome.trials.len(), device.trials());
    assert!(outcome.trials.iter().enumerate().all(|(at, trial)| trial.index == at));
    assert!(outcome.trials.iter().any(|t| t.purpose == "search"));
    assert!(outcome.answer.contains("at no load"), "{}", outcome.answer);
    assert!(outcome.answer.contains("100 % is the throughput ("), "{}", outcome.answer);
}

#[test]
fn the_wire_stands_beside_as_the_baseline() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6).tester_limited(3e6));
    let baseline = outcome.baseline.expect("simulated devices have a wire");
    assert_eq!(baseline.tester_pps, 3e6);
    assert!(baseline.latency_p50_ns.is_some_and(|ns| (ns / truth_ns(0.0, 0.5) - 1.0).abs() < 0.01));
}

#[test]
fn loss_at_a_load_that_should_have_none_is_remarked() {
    let config = Config { of: Some(Pps(2e6)), ..Config::default() };
    let outcome = run(&config, &mut Simulated::fixed(1.5e6));
    let limits: Vec<&str> = outcome
        .validity
        .limits
        .iter()
        .filter(|l| l.kind == measure::record::LimitKind::Search)
        .map(|l| l.what.as_str())
        .collect();
    assert_eq!(limits.len(), 2, "at 90 and 100 %: {limits:?}");
    assert!(limits[0].starts_with("in 5 of 5 trials at 90 %"), "{limits:?}");
}

#[test]
fn without_a_throughput_there_is_no_figure_and_no_claim() {
    let outcome = run(&Config::default(), &mut Simulated::fixed(1e6).lossy_below(1e9, 0.1));
    assert!(outcome.figures.is_empty() && !outcome.validity.valid);
    assert!(outcome.claims.iter().all(|c| c.level == ClaimLevel::None));
}

#[test]
fn rounds_spread_with_stalls_and_the_median_does_not_move() {
    let config = Config { of: Some(Pps(1e6)), loads: vec![Ratio(0.5)], ..Config::default() };
    let outcome = run(&config, &mut Simulated::fixed(1e6).stalling(0.4, 3_000_000).seeded(9));
    let max = outcome.parts("latency_max").find(|f| f.of.as_deref() == Some("50 %, uplink"));
    let spread = max.and_then(|f| f.spread).expect("five rounds");
    assert!(spread.max >= 3e6 && spread.n == 5, "{spread:?}");
    let p50 = part(&outcome, "latency_p50", "50 %, uplink");
    assert!((p50 / truth_ns(0.5, 0.5) - 1.0).abs() < 0.005);
}

#[test]
fn a_trial_whose_loss_a_stall_explains_is_repeated_for_its_load() {
    let config = Config { of: Some(Pps(1e6)), loads: vec![Ratio(0.9)], ..Config::default() };
    let mut device = Simulated::fixed(1e6).stalling(0.5, 9_000_000).seeded(2);
    let outcome = run(&config, &mut device);
    assert!(device.trials() > 10 && outcome.trials.len() == device.trials());
    assert!(outcome.trials.iter().all(|t| t.purpose.starts_with("latency ")));
    let counted = outcome.parts("latency_p50").filter_map(|f| f.spread).all(|s| s.n == 5);
    assert!(counted, "repetitions do not count twice");
}

#[test]
fn claims_name_every_deviation_and_long_trials_leave_fewer() {
    let claims = |config: &Config| run(config, &mut Simulated::fixed(1e6)).claims;
    let short = claims(&Config::default());
    assert!(short[1].reason.contains("trials of 2.00 s instead of 120 s"), "{}", short[1].reason);
    assert!(short[1].reason.contains("5 repetitions instead of 20"), "{}", short[1].reason);
    let long = Config { duration: Seconds(120.0), repetitions: 20, ..Config::default() };
    let long = claims(&long);
    assert_eq!(long[2].level, ClaimLevel::Full, "{}", long[2].reason);
    assert_eq!(long[0].level, ClaimLevel::Partial);
    let given = claims(&Config { of: Some(Pps(1e5)), ..Config::default() });
    assert!(given[2].reason.contains("configured"), "{}", given[2].reason);
}

#[test]
fn wrong_keys_are_named() {
    let error = |config: Config| crate::entry::refused(&config).key;
    assert_eq!(error(Config { loads: vec![Ratio(1.5)], ..Config::default() }), "loads[0]");
    assert_eq!(error(Config { of: Some(Pps(0.0)), ..Config::default() }), "of");
    let search = crate::throughput::Config { max_rate: Pps(1.0), ..Default::default() };
    assert_eq!(error(Config { search, ..Config::default() }), "search.max-rate");
}
