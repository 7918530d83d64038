//! What every search finds on every simulated device, whose answer is known: the error, the number
//! of trials and the time they would have taken.
//!
//! `golden/searches.txt` holds the table; `UPDATE_GOLDEN=1 cargo test -p methods searches`
//! rewrites it, and the difference is to be read before it is committed. Beside the table the test
//! holds what must be true of every row.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use measure::Measurer;
use measure::record::Outcome;
use methods::simulated::Simulated;
use methods::{Unobserved, find};
use serde_json::{Value, json};

#[test]
fn every_search_finds_every_device_as_the_table_says() {
    let table = table();
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/searches.txt");
    if env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        fs::write(&place, &table).expect("a golden file can be written");
    }
    let place_words = place.display();
    let expected = fs::read_to_string(&place).unwrap_or_else(|e| panic!("{place_words}: {e}"));
    assert!(table == expected, "{place_words} differs; UPDATE_GOLDEN=1 rewrites it. Now:\n{table}");
}

/// A search: its name and its configuration.
type Row = (&'static str, fn() -> Value);

/// All searches under test.
const SEARCHES: [Row; 9] = [
    ("rfc2544, as RFC 2544", || json!({"repeat-lossy": 0, "repeat-stalled": 0})),
    ("rfc2544, the defaults", || json!({})),
    ("rfc2544, 100 ppm", || json!({"loss-tolerance": "100 ppm"})),
    ("rfc2544, best of 3", || json!({"best-of": 3, "repeat-stalled": 0})),
    ("rfc2544, worst of 3", || json!({"worst-of": 3, "repeat-stalled": 0})),
    ("tst009, 12.3.2", || json!({"search": "tst009", "repeat-lossy": 0, "repeat-stalled": 0})),
    ("tst009, 12.3.3 max(r) 3, max(z) 50000", || {
        json!({"search": "tst009", "repeat-lossy": 2, "repeat-lossy-up-to": "50000 frames",
            "repeat-stalled": 0})
    }),
    ("mlrsearch, ndr", || json!({"search": "mlrsearch", "repeat-stalled": 0})),
    (
        "mlrsearch, ndr-pdr",
        || json!({"search": "mlrsearch", "goals": "ndr-pdr", "repeat-stalled": 0}),
    ),
];

/// The devices, each with the load that it holds without loss in a trial of any length; none if
/// there is no such load.
fn devices() -> Vec<(&'static str, Simulated, Option<f64>)> {
    let fixed = || Simulated::fixed(1e6);
    let slow = Duration::from_millis(2500);
    vec![
        ("fixed 1 Mpps", fixed(), Some(1e6)),
        ("fixed 14.88 Mpps", Simulated::fixed(14.88e6), Some(14.88e6)),
        ("fixed 100 Mpps, beyond the range", Simulated::fixed(100e6), Some(20e6)),
        ("noisy by 5 %", fixed().noisy(0.05).seeded(7), Some(0.95e6)),
        ("lossy below 200 kpps", fixed().lossy_below(2e5, 0.001), None),
        ("lossy at any load", fixed().lossy_below(1e9, 0.001), None),
        ("slower after 2.5 s", fixed().slower_after(slow, 0.7e6), Some(0.7e6)),
        ("bucket of 50,000 frames", fixed().bucket(50_000), Some(1e6)),
        (
            "stalls in 1 of 3 trials",
            Simulated::fixed(2e6).stalling(0.33, 9_000_000).seeded(5),
            Some(2e6),
        ),
        (
            "stalls of 2 ms in every trial",
            Simulated::fixed(5e6).stalling(1.0, 2_000_000),
            Some(2.048e6),
        ),
        ("tester limited to 2 Mpps", Simulated::fixed(10e6).tester_limited(2e6), Some(2e6)),
    ]
}

/// Goals beyond loss, each with the load that meets it. The simulated queue takes 2 us / (1 - load)
/// in the mean and 1 us of transit; the largest of its 1000 samples is 7.6 of that mean, their
/// median 0.692.
const GOALS: [(&str, &str, f64); 3] = [
    ("latency", "p99.9 <= 100 us", 0.8465e6),
    ("order", "reordered <= 1 ppm", 0.6e6),
    ("both", "reordered <= 1 ppm and p50 <= 4 us", 0.5386e6),
];

fn table() -> String {
    let mut text = String::from(HEAD);
    for (name, device, truth) in devices() {
        let _ = writeln!(text, "\n{name}");
        for (search, config) in SEARCHES {
            row(&mut text, search, &config(), device.clone(), truth);
        }
    }
    for (name, goal, truth) in GOALS {
        let _ = writeln!(text, "\n{name}: {goal}");
        for (search, config) in SEARCHES.iter().filter(|(name, _)| !name.contains("ndr-pdr")) {
            let mut config = config();
            config["goals"] = json!([goal]);
            let device = Simulated::fixed(1e6).reordering_above(0.6e6, 0.001);
            let device = if name == "latency" { Simulated::fixed(1e6) } else { device };
            row(&mut text, search, &config, device, Some(truth));
        }
    }
    text
}

/// Searches, checks the properties of every search, and writes a line for every goal.
fn row(text: &mut String, name: &str, config: &Value, mut device: Simulated, truth: Option<f64>) {
    let outcome = run(config, &mut device);
    let trials = outcome.trials.len();
    let seconds: f64 = outcome.trials.iter().map(|t| t.intended_ns as f64 * 1e-9).sum();
    assert!(trials <= 300 && seconds <= 120.0, "{name}: {trials} trials, {seconds} s");
    for goal in &outcome.goals {
        let (lower, upper) = (goal.bounds.lower_pps, goal.bounds.upper_pps);
        assert!(lower.zip(upper).is_none_or(|(l, u)| l < u), "{name}: {goal:?}");
        assert!(!goal.bounds.regular || lower.zip(upper).is_some(), "{name}: {goal:?}");
        let found = goal.conditional_pps.or(lower);
        let error = found
            .zip(truth)
            .map_or("-".into(), |(found, truth)| format!("{:+.2}", (found / truth - 1.0) * 100.0));
        let kpps = |pps: Option<f64>| pps.map_or("-".into(), |pps| format!("{:.1}", pps / 1e3));
        let search = match outcome.goals.len() {
            1 => name.to_owned(),
            _ => format!("{name}: {}", goal.name),
        };
        let regular = if goal.bounds.regular { "regular" } else { "irregular" };
        let _ = writeln!(
            text,
            "  {search:<38}{:>10}{:>10}{:>10}{error:>8}{trials:>8}{seconds:>8.1}  {regular}",
            kpps(found),
            kpps(lower),
            kpps(upper)
        );
    }
}

fn run(config: &Value, device: &mut dyn Measurer) -> Outcome {
    let entry = find("throughput").expect("a method");
    let method = (entry.read)(config.clone()).unwrap_or_else(|e| panic!("{config}: {e}"));
    method.run(device, &mut Unobserved).expect("a simulated device does not fail")
}

const HEAD: &str = "\
Every search on every simulated device. Loads in kpps per port and direction; the result of mlrsearch is
the conditional throughput. The error is in % of the load that the device holds without loss however
long a trial is, the goal pdr included, which asks for less. The time is what the trials would have
taken, in s. Ranges from 10 kpps to 20 Mpps; precision 2 % (rfc2544), 10 kpps (tst009), 0.5 %
(mlrsearch); trials of 1 s and 5 s (rfc2544), 5 s (tst009), 1 s (mlrsearch).

  search                                     result     lower     upper   error  trials       s
";
