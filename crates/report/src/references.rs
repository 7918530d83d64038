//! Figures of others, as data: what a report puts beside ours.
//!
//! A figure is a fact with its source, its host and the cores it was reached on; nothing is scaled
//! but by dividing by cores. Figures of another host stand beside ours and are never divided by
//! them, or ours by them. A function that has no entry gets no comparison.

use serde::Deserialize;

/// A published figure of another system, or a goal.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Name of the figure, `vswitch.vm-to-vm.vpp.small`, by whose prefixes scenarios select; empty
    /// for a figure that is shown for every run of its function.
    #[serde(default)]
    pub id: String,
    /// The function to which it belongs: `mobile-gateway` …
    pub function: String,
    /// Name of the system.
    pub system: String,
    /// Conditions of the measurement.
    pub what: String,
    /// Origin of the figure.
    pub kind: Kind,
    /// Value of the figure.
    pub value: f64,
    /// Unit of the value: `Mpps`, `Gbit/s`, `1/s` of changes or `sessions`.
    pub unit: String,
    /// Number of CPU cores (or threads) of the system; absent if not stated.
    pub cores: Option<f64>,
    /// Number of users, sessions, tunnels, MACs or addresses, for charts over them.
    pub user: Option<f64>,
    /// The frame sizes, as in `traffic.pkt-size`; absent for any.
    #[serde(default)]
    pub size: Option<String>,
    /// The kind of our figures with which it is compared.
    pub counts: Counts,
    /// The figure of this kind, if there are several: `latency_max` …
    #[serde(default)]
    pub reading: Option<String>,
    /// Whether charts show it.
    pub chart: bool,
    /// Name in a chart's legend.
    #[serde(default)]
    pub mark: String,
    /// Processor and server on which it was reached, as far as its source tells.
    pub host: String,
    /// Publication, or how it was measured.
    pub source: String,
}

/// Origin of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Measured by this project on its development machine.
    Measured,
    /// Published by others.
    Published,
    /// A goal of this project.
    Goal,
}

/// The kind of our figures with which a reference is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// Rate of the function's stages alone, in a closed loop.
    Function,
    /// Rate including generator and sink, in a closed loop.
    Total,
    /// Open-loop throughput, all interfaces together.
    Throughput,
    /// Rate of changes per second: attached sessions, moving users.
    Changes,
    /// Amount of state.
    State,
    /// A time, such as a latency or an outage.
    Time,
    /// A fraction, such as lost frames, the load of a core, or a kept throughput.
    Part,
}

impl Reference {
    /// The value per core, if the number of cores is known.
    pub fn per_core(&self) -> Option<f64> {
        match self.counts {
            // More cores make a latency or a loss no larger.
            Counts::Time | Counts::Part => Some(self.value),
            _ => self.cores.filter(|c| *c > 0.0).map(|cores| self.value / cores),
        }
    }
}

/// All references.
pub fn all() -> Vec<Reference> {
    // The file is compiled in and a test reads it, so that nothing is lost here.
    serde_json::from_str(FILE).unwrap_or_default()
}

/// The references of a function that a scenario selected by name prefixes, or all if it selected
/// none. Selected references may belong to another function, such as those for a chain.
pub fn chosen(function: &str, names: &[String]) -> Vec<Reference> {
    let begins = |r: &Reference| names.iter().any(|name| r.id.starts_with(name.as_str()));
    let is_wanted = |r: &Reference| match names.is_empty() {
        true => r.function == function,
        false => !r.id.is_empty() && begins(r),
    };
    all().into_iter().filter(is_wanted).collect()
}

/// Whether two names mean the same frame sizes; some reports have another name for the usual
/// Internet mix.
pub fn is_same_mix(one: &str, other: &str) -> bool {
    let plain = |name: &str| if name == "cisco-vswitch" { "imix" } else { name }.to_owned();
    plain(one) == plain(other)
}

/// The references of a function.
pub fn of(function: &str) -> Vec<Reference> {
    chosen(function, &[])
}

const FILE: &str = include_str!("references.json");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_in_full() {
        let all: Vec<Reference> = serde_json::from_str(FILE).expect("references.json is valid");
        assert!(!all.is_empty());
        for reference in all {
            assert!(
                ["Mpps", "Gbit/s", "1/s", "sessions", "s", "us", "ms", "%"]
                    .contains(&reference.unit.as_str()),
                "{reference:?}"
            );
            assert!(!reference.source.is_empty() && reference.value >= 0.0, "{reference:?}");
            assert!(!reference.host.is_empty(), "{reference:?}");
            assert!(!reference.chart || !reference.mark.is_empty(), "{reference:?}");
        }
    }

    #[test]
    fn a_published_figure_is_divided_by_its_cores() {
        let gateway = of("mobile-gateway");
        let nokia = gateway.iter().find(|r| r.system.starts_with("Nokia")).expect("listed");
        assert!((nokia.per_core().expect("11 cores") - 0.218).abs() < 0.001);
        assert!(of("no-such-function").is_empty());
    }

    #[test]
    fn scenarios_choose_by_the_beginnings_of_names() {
        let fib = chosen("l2-switch", &["vswitch.fib.mac".to_owned()]);
        assert!(fib.len() >= 3 && fib.iter().all(|r| r.id.starts_with("vswitch.fib.mac.")));
        assert!(chosen("l2-switch", &["no.such".to_owned()]).is_empty());
        let mut ids: Vec<String> =
            all().into_iter().map(|r| r.id).filter(|i| !i.is_empty()).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "a name is of one figure");
    }
}
