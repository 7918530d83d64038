//! Figures of others, as data: what a report puts beside ours.
//!
//! A figure is a fact with its source and the cores it was reached on; nothing is scaled but by
//! dividing by cores. A function that has no entry gets no comparison.

use serde::Deserialize;

/// One figure of another system, or a goal.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The function it belongs to, `mobile-gateway` …
    pub function: String,
    /// Whose figure it is.
    pub system: String,
    /// Under which conditions.
    pub what: String,
    /// Where it comes from.
    pub kind: Kind,
    /// The value.
    pub value: f64,
    /// `Mpps`, `Gbit/s`, `1/s` of changes or `sessions`.
    pub unit: String,
    /// CPU cores (or threads) of the system; absent when not stated.
    pub cores: Option<f64>,
    /// Users, sessions or tunnels of that figure, for charts over them.
    pub user: Option<f64>,
    /// Which of our figures it compares with.
    pub counts: Counts,
    /// Whether charts over users show it.
    pub chart: bool,
    /// Its name in a chart's legend.
    #[serde(default)]
    pub mark: String,
    /// Where it was published, or how it was measured.
    pub source: String,
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Measured by this project on its development machine.
    Measured,
    /// Published by others.
    Published,
    /// What this project set itself.
    Goal,
}

/// Which of our figures a reference compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// The function's stages alone, in a closed loop.
    Function,
    /// With source and sink, in a closed loop.
    Total,
    /// An open-loop throughput, all interfaces together.
    Throughput,
    /// Changes a second: sessions attached, users that move.
    Changes,
    /// How much state it holds.
    State,
}

impl Reference {
    /// The value for each core, where the cores are known.
    pub fn per_core(&self) -> Option<f64> {
        self.cores.filter(|c| *c > 0.0).map(|cores| self.value / cores)
    }
}

/// The references of a function.
pub fn of(function: &str) -> Vec<Reference> {
    // The file is compiled in and a test reads it, so that nothing is lost here.
    let all: Vec<Reference> = serde_json::from_str(FILE).unwrap_or_default();
    all.into_iter().filter(|r| r.function == function).collect()
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
                ["Mpps", "Gbit/s", "1/s", "sessions"].contains(&reference.unit.as_str()),
                "{reference:?}"
            );
            assert!(!reference.source.is_empty() && reference.value > 0.0, "{reference:?}");
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
}
