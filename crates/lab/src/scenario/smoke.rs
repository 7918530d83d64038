//! The smoke test of a scenario: each part runs once, in seconds, before the scenario runs for
//! hours, and in tests. It shows that the scenario works, not how fast the device is.
//!
//! Methods get short trials at low rates and one repetition, and search nothing that can be given.
//! Functions hold few sessions, and reflectors few routes. A sweep keeps its first cell, and of
//! each key on its own one more number or a few further words. All devices are kept, and their
//! workers rest while no packet arrives. Thresholds are removed.

use std::collections::HashMap;

use keys::Invalid;
use measure::Subject;
use serde_json::{Map, Value, json};

use super::device::DeviceChoice;
use super::sweep::Combination;
use super::{Benchmark, MethodChoice, Scenario};

impl Scenario {
    /// The smoke test of this scenario.
    ///
    /// # Errors
    /// When a method cannot be shortened; that is a bug in this program.
    pub fn smoke_test(mut self) -> Result<Scenario, Invalid> {
        for benchmark in &mut self.benchmarks {
            keep_few_cells(benchmark);
            keep_little_state(benchmark);
            if benchmark.unit.subject() == Subject::Frames {
                benchmark.devices.iter_mut().for_each(let_rest);
            }
            for choice in &mut benchmark.methods {
                shorten(choice)?;
            }
        }
        self.plan.repetitions = 1;
        self.thresholds.clear();
        self.description = format!("Smoke test: its figures mean nothing. {}", self.description);
        Ok(self)
    }
}

/// Keeps the first cell, and for each key a few cells that differ from the first in that key alone.
fn keep_few_cells(benchmark: &mut Benchmark) {
    let Some(first) = benchmark.cells.first().map(|cell| cell.parameters.clone()) else { return };
    let mut kept: HashMap<String, usize> = HashMap::new();
    let differs = |(key, value): &(&String, &Value)| first.get(*key) != Some(*value);
    let is_device = |key: &String| key.starts_with("device.");
    // Jointly swept lists differ in several keys at once, never in one alone.
    let alone = |cell: &Combination| {
        let mut keys = cell.parameters.iter().filter(differs).map(|(key, _)| key);
        keys.next().is_some_and(|key| !is_device(key)) && keys.next().is_none()
    };
    let goes_together = !benchmark.cells.iter().any(alone);
    benchmark.cells.retain(|cell| {
        // Devices may differ in keys of their own as well as in their names.
        if cell.parameters.iter().filter(differs).all(|(key, _)| is_device(key)) {
            return true;
        }
        let mut different = cell.parameters.iter().filter(differs).map(|(key, _)| key);
        match (different.next(), different.next()) {
            (None, _) => true,
            (Some(key), None) => {
                let count = kept.entry(key.clone()).or_default();
                *count += 1;
                let is_number = cell.parameters.get(key).is_some_and(Value::is_number);
                is_device(key) || *count <= if is_number { 1 } else { MORE_WORDS }
            }
            (Some(_), Some(_)) if !goes_together => false,
            (Some(_), Some(_)) => {
                let same_device =
                    !cell.parameters.iter().filter(differs).any(|(k, _)| is_device(k));
                let count = kept.entry(String::new()).or_default();
                *count += usize::from(same_device);
                same_device && *count <= 1
            }
        }
    });
}

/// Limits the numbers of sessions, routes and peers: they take memory, and must be there before a
/// measurement.
fn keep_little_state(benchmark: &mut Benchmark) {
    for section in benchmark.cells.iter_mut().flat_map(|cell| &mut cell.sections) {
        for (key, most) in LITTLE {
            let many = section.get_mut(*key).filter(|it| it.as_u64().is_some_and(|it| it > *most));
            many.into_iter().for_each(|many| *many = json!(most));
        }
    }
}

/// Lets a device leave the cores to what runs beside a smoke test, as far as it has keys for that:
/// workers sleep while no packet arrives, and the kernel forwards where packets come in, without
/// threads that wait for a core.
fn let_rest(device: &mut DeviceChoice) {
    let Some(schema) = device.device.schema() else { return };
    for (key, value) in [("idle", "sleep"), ("forwarding", "softirq")] {
        if schema.pointer(&format!("/properties/{key}")).is_some() {
            device.options.entry(key).or_insert_with(|| json!(value));
        }
    }
}

/// Shortens a method: short trials at low rates.
fn shorten(choice: &mut MethodChoice) -> Result<(), Invalid> {
    let name = choice.method.name();
    let Some(entry) = methods::find(name) else { return Ok(()) };
    let mut configuration = choice.method.configuration();
    if let Some(keys) = configuration.as_object_mut() {
        let max_rate = keys.get("max-rate").cloned();
        shorten_keys(keys);
        match name {
            "loss-curve" => drop(keys.insert("step".to_owned(), json!(0.25))),
            // The load follows from the rates of subscribers, whatever those are.
            "rate-precision" => keys.extend(max_rate.map(|rate| ("max-rate".to_owned(), rate))),
            _ => {}
        }
    }
    choice.method = (entry.read)(configuration)?;
    Ok(())
}

fn shorten_keys(keys: &mut Map<String, Value>) {
    let is_mlrsearch = keys.get("search").is_some_and(|search| search == "mlrsearch");
    for (key, value) in keys.iter_mut() {
        match value {
            Value::Object(nested) => shorten_keys(nested),
            Value::Array(items) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(shorten_keys);
            }
            // MLRsearch refuses keys that it does not use; its named goals set their own durations.
            _ if is_mlrsearch && LEFT_TO_MLRSEARCH.contains(&key.as_str()) => {}
            _ if LEFT_OFF.contains(&key.as_str()) && value.as_f64() == Some(0.0) => {}
            // Without an update rate nothing changes during a trial; other absent keys get a bound.
            Value::Null if key == "update-rate" => {}
            _ => {
                let most = AT_MOST.iter().find(|(known, _)| known == key);
                let count = value.as_u64().zip(most).map(|(count, (_, most))| count.min(*most));
                count.into_iter().for_each(|count| *value = json!(count));
                let short = SHORT.iter().find(|(known, _)| known == key);
                // An integer stays an integer.
                let short = short.map(|(_, short)| match value.is_u64() {
                    true => json!(*short as u64),
                    false => json!(short),
                });
                short.into_iter().for_each(|short| *value = short);
            }
        }
    }
    // The sum of the trials of a goal is no shorter than one of them.
    if keys.contains_key("duration-sum") {
        keys.entry("final-trial-duration").or_insert_with(|| json!(0.1));
    }
}

/// The largest numbers of what a function holds and its traffic makes.
const LITTLE: &[(&str, u64)] = &[
    ("user", 10_000),
    // As many as the clients of the NATs that are measured.
    ("subscribers", 20_000),
    ("upstream-table-size", 2_000),
    ("downstream-table-size", 2_000),
    ("upstream-l3-table-size", 10_000),
    ("downstream-l3-table-size", 10_000),
    ("sessions", 30_000),
    ("prefixes", 2_000),
    ("ipv6-prefixes", 500),
    ("attribute-sets", 50),
    ("clients", 6),
    ("vpns", 20),
    ("edges-per-vpn", 4),
];

/// The values that keys get, each in its own unit: seconds, frames per second, fractions of one.
const SHORT: &[(&str, f64)] = &[
    ("duration", 0.2),
    ("slice", 0.1),
    ("trial-duration", 0.1),
    ("final-duration", 0.1),
    ("final-trial-duration", 0.1),
    ("initial-trial-duration", 0.1),
    ("duration-sum", 0.3),
    ("hold-duration", 0.1),
    ("hold", 0.2),
    ("wait", 0.2),
    ("warm-up-sessions", 2e3),
    ("sessions", 2e3),
    ("start", 1e3),
    ("beyond", 100.0),
    ("overload-duration", 0.1),
    ("then-duration", 0.1),
    ("before", 0.2),
    ("settle", 0.1),
    ("patience", 20.0),
    ("changes", 100.0),
    ("changes-for", 0.5),
    ("lost-clients", 1.0),
    ("slow-clients", 1.0),
    ("after", 2.0),
    ("warm-up", 0.05),
    ("tester-alone", 0.05),
    ("max-search-time", 3.0),
    ("max-time", 3.0),
    ("max-burst", 0.1),
    ("depletion", 0.05),
    ("min-rate", 1e3),
    ("max-rate", 2e4),
    ("rate", 1e4),
    ("of", 5e3),
    ("update-rate", 1e3),
    ("precision", 0.5),
];

/// The largest counts of what is done again: what noise spoils is not measured once more, since the
/// figures of a smoke test mean nothing.
const AT_MOST: &[(&str, u64)] = &[
    ("repetitions", 1),
    ("repeat-stalled", 0),
    ("repeat-lossy", 0),
    ("repeat-failed", 0),
    ("best-of", 2),
    ("worst-of", 2),
    ("max-trials", 12),
];

/// Keys that ask for nothing where they are 0, and stay so: not all routes can change.
const LEFT_OFF: [&str; 3] = ["changes", "lost-clients", "slow-clients"];

/// Keys that `search: mlrsearch` does not use, and its search's time and trials, which stay as they
/// are.
const LEFT_TO_MLRSEARCH: [&str; 6] = [
    "trial-duration",
    "final-duration",
    "precision",
    "max-search-time",
    "repeat-lossy",
    "max-trials",
];

/// The number of words of a key that are kept in addition to the first. Of numbers it is one.
const MORE_WORDS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::FUNCTIONS;

    fn smoke(text: &str) -> Scenario {
        let scenario = Scenario::parse("t.yaml", text.to_owned(), FUNCTIONS).expect("valid");
        scenario.smoke_test().expect("every method can be shortened")
    }

    #[test]
    fn every_method_can_be_shortened() {
        for entry in methods::METHODS {
            let function = match entry.subject {
                Subject::Frames => "l3-router",
                Subject::Routes => "route-reflector",
            };
            let text = format!("function: {{name: {function}}}\nmethods: {}\n", entry.name);
            let scenario = smoke(&text);
            let method = &scenario.benchmarks[0].methods[0].method;
            let bound = method.time_bound().as_secs();
            assert!(bound <= 120, "{} may take {bound} s", entry.name);
        }
        let updates = |capacity: &str| {
            let text = format!("function: {{name: l3-router}}\nmethods: {capacity}\n");
            smoke(&text).benchmarks[0].methods[0].method.configuration()["update-rate"].clone()
        };
        assert_eq!(updates("capacity"), Value::Null);
        assert_eq!(updates("{name: capacity, update-rate: 20000}"), json!(1e3));
        for goals in ["ndr-pdr", "[{loss-ratio: 0, duration-sum: 7 s}]"] {
            let mlr = format!("{{name: throughput, search: mlrsearch, goals: {goals}}}");
            smoke(&format!("function: {{name: l3-router}}\nmethods: {mlr}\n"));
        }
    }

    #[test]
    fn what_noise_spoils_is_not_measured_again() {
        let of = |keys: &str| {
            let text =
                format!("function: {{name: l3-router}}\nmethods: {{name: throughput, {keys}}}\n");
            smoke(&text).benchmarks[0].methods[0].method.configuration()
        };
        let shortened = of("repeat-stalled: 9, repeat-lossy: 3, best-of: 5");
        let rates = "function: {name: mobile-gateway}\nmethods: {name: rate-precision}\n";
        let precision = smoke(rates).benchmarks[0].methods[0].method.configuration();
        assert!(precision["max-rate"].as_f64() >= Some(1e6), "{precision}");
        for (key, count) in
            [("repeat-stalled", 0), ("repeat-lossy", 0), ("best-of", 2), ("worst-of", 1)]
        {
            assert_eq!(shortened[key], count, "{key}");
        }
        assert_eq!(of("max-trials: 5")["max-trials"], 5, "fewer stay fewer");
    }

    #[test]
    fn a_few_cells_and_all_devices_are_kept() {
        let scenario = smoke(
            "function: {name: l3-router, upstream-l3-table-size: [1, 10, 100, 1000]}\n\
             device: [embedded, process, linux, ovs]\n\
             traffic: {pkt-size: [64, 128, 256, 512]}\n\
             repetitions: 5\n\
             thresholds: [{figure: throughput, at-least: 1 Mpps}]\n",
        );
        let cells = &scenario.benchmarks[0].cells;
        let first = &cells[0].parameters;
        assert_eq!(cells.len(), 1 + 1 + 1 + 3, "itself, tables, sizes, devices");
        let sizes = cells.iter().filter_map(|cell| cell.parameters["traffic.pkt-size"].as_u64());
        assert_eq!(sizes.max(), Some(128), "the next one");
        for cell in cells {
            let different = cell.parameters.iter().filter(|(k, v)| first.get(*k) != Some(*v));
            assert!(different.count() <= 1, "{}", cell.id);
        }
        assert_eq!((scenario.plan.repetitions, scenario.thresholds.len()), (1, 0));
    }

    #[test]
    fn devices_with_keys_of_their_own_are_kept() {
        let scenario = smoke(
            "function: {name: l3-router, upstream-l3-table-size: [1, 10]}\n\
             device: [embedded, {name: process, ports: [memif, vhost-user]}]\n",
        );
        let cells = &scenario.benchmarks[0].cells;
        let ports = cells.iter().filter_map(|cell| cell.parameters.get("device.ports"));
        assert_eq!(ports.count(), 2, "both kinds of ports");
        assert_eq!(cells.len(), 1 + 1 + 2, "itself, a table, two more devices");
    }

    #[test]
    fn lists_that_go_together_keep_two_cells() {
        let scenario = smoke(
            "scale: joint\n\
             function: {name: l3-router, upstream-l3-table-size: [1, 10, 100], \
             downstream-l3-table-size: [1, 10, 100]}\n",
        );
        assert_eq!(scenario.benchmarks[0].cells.len(), 2);
    }
}
