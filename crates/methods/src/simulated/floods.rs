//! Floods beside the load: what they cost the load, and how many are answered.

use measure::{FloodCounts, Trial};

use super::Simulated;

/// A flood that a simulated device suffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suffered {
    /// Its name.
    pub name: &'static str,
    /// Frames of the load that each of its frames keeps from being forwarded.
    pub costs: f64,
    /// How many a second are answered at most.
    pub answered_pps: f64,
    /// Whether pings are still answered meanwhile.
    pub spares_pings: bool,
}

impl Simulated {
    /// It suffers these floods; it answers pings, the last of the kinds, all of them.
    pub fn suffering(mut self, floods: &[Suffered]) -> Self {
        self.floods = floods.to_vec();
        self
    }

    pub(super) fn flood_names(&self) -> Vec<&'static str> {
        let ping = (!self.floods.is_empty()).then_some("ping");
        self.floods.iter().map(|flood| flood.name).chain(ping).collect()
    }

    /// How much capacity the floods leave, in frames a second.
    pub(super) fn capacity_left(&self) -> f64 {
        let asked = self.conditions.floods.iter().flatten();
        let cost = asked.map(|f| self.floods.get(f.kind).map_or(0.0, |s| s.costs) * f.rate.0);
        (self.capacity.pps - cost.sum::<f64>()).max(0.0)
    }

    pub(super) fn flood(&self, trial: &mut Trial) {
        let seconds = trial.effective.as_secs_f64();
        let asked = || self.conditions.floods.iter().flatten();
        let spares = asked().filter_map(|f| self.floods.get(f.kind)).all(|s| s.spares_pings);
        let names = self.flood_names();
        for flood in asked() {
            let sent = (flood.rate.0 * seconds).round() as u64;
            let answered = match self.floods.get(flood.kind) {
                Some(suffered) => sent.min((suffered.answered_pps * seconds) as u64),
                None if spares => sent,
                None => 0,
            };
            let name = names.get(flood.kind).copied().unwrap_or_default().to_owned();
            trial.floods.push(FloodCounts { name, sent, ring_full: 0, answered });
        }
    }
}
