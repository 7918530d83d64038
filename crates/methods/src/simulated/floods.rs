//! Floods beside the load: what they cost the load, and how many are answered.

use measure::{Flood, FloodCounts, Trial};

/// All floods that a simulated device suffers; it answers pings, the last of the kinds.
#[derive(Clone, Debug, Default)]
pub(super) struct Floods(pub(super) Vec<Suffered>);

/// The effect of a flood on a simulated device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suffered {
    /// Name of the flood.
    pub name: &'static str,
    /// Number of frames of the load that each of its frames displaces.
    pub costs: f64,
    /// Largest number of answers per second.
    pub answered_pps: f64,
    /// Whether pings are still answered during the flood.
    pub spares_pings: bool,
}

impl Floods {
    pub(super) fn names(&self) -> Vec<&'static str> {
        let ping = (!self.0.is_empty()).then_some("ping");
        self.0.iter().map(|flood| flood.name).chain(ping).collect()
    }

    /// How many frames per second are not forwarded because of those that are asked for.
    pub(super) fn cost_pps(&self, asked: &[Option<Flood>]) -> f64 {
        let asked = asked.iter().flatten();
        asked.map(|f| self.0.get(f.kind).map_or(0.0, |s| s.costs) * f.rate.0).sum()
    }

    /// Tells of those that a trial was asked for.
    pub(super) fn flood(&self, trial: &mut Trial, asked: &[Option<Flood>]) {
        let seconds = trial.effective.as_secs_f64();
        let asked = || asked.iter().flatten();
        let spares = asked().filter_map(|f| self.0.get(f.kind)).all(|s| s.spares_pings);
        let names = self.names();
        for flood in asked() {
            let sent = (flood.rate.0 * seconds).round() as u64;
            let answered = match self.0.get(flood.kind) {
                Some(suffered) => sent.min((suffered.answered_pps * seconds) as u64),
                None if spares => sent,
                None => 0,
            };
            let name = names.get(flood.kind).copied().unwrap_or_default().to_owned();
            trial.floods.push(FloodCounts { name, sent, ring_full: 0, answered });
        }
    }
}
