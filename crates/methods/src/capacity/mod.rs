//! `capacity`: how many packets a second the cores can process, with nothing in the way.
//!
//! **Goals.** What a core does for a packet and how long each stage takes, free of tester, ring and
//! pacing: the worker runs source and sink itself, as fast as it can (a closed loop). *Total*
//! counts all stages, *function* leaves out those of the bench (source, receive, transmit, sink).
//!
//! **Non-goals.** Loss and latency: there is no load to lose from and no time to wait in. A
//! capacity is not a throughput in the sense of RFC 1242 and claims no clause of RFC 2544.
//!
//! **How.** After a warm-up, `repetitions` trials; each figure is the median over them, with the
//! extremes beside it. Rates come from the ticks of the stages on the workers' own time; the rate
//! by the wall clock stands beside them, and the two part when a worker lost its core. Stage
//! figures are ticks for each packet *of the workload*, so that they add up to the total even where
//! a stage sees only one direction. Several workers add up. With `update-rate` each repetition has
//! a twin in which the state changes so often, and the result says what is left of the rate.

mod changes;
mod config;
mod rates;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Claim, ClaimLevel, Figure, Limit, LimitKind, Outcome, Validity};
use measure::{Load, MeasureError, Measurer, Pps, StageRole, Subject, Trial, validity};
use serde_json::Value;

use changes::Pair;
pub use config::Config;
use config::NAME;
use rates::{packets, rate, ticks, wall_clock_pps};

use crate::figures::{KnownFigure, known, over_repetitions as figure};
use crate::method::{Session, to_value};
use crate::{Entry, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "packets per second and cycles by stage of the workers alone, in a closed loop",
    subject: Subject::Frames,
    standards: &[],
    figures: FIGURES,
    read: |value| crate::entry::read(value, |_: &Config| Ok(())),
    schema: || schemars::schema_for!(Config),
};

impl Method for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configuration(&self) -> Value {
        to_value(self)
    }

    fn time_bound(&self) -> Duration {
        let (warm_up, each) = (self.warm_up.duration(), self.duration.duration());
        match self.update_rate {
            None => warm_up + each * self.repetitions,
            // The state is made anew after changes, and warms up again.
            Some(_) => (warm_up + each * 2) * self.repetitions,
        }
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let (trials, pairs) = match self.update_rate {
            None => (self.trials(&mut session)?, Vec::new()),
            Some(rate) => {
                let pairs = session.restoring(|session| self.pairs(session, rate))?;
                (pairs.iter().map(|pair| pair.unchanged.clone()).collect(), pairs)
            }
        };
        let records = session.records;
        let mut figures = figures(&trials);
        let measured: Vec<_> = records.iter().filter(|r| r.purpose != WARM_UP).collect();
        let mut limits = validity::summarise(&measured);
        limits.extend(own_limits(&trials, &figures));
        let mut answer = answer(&figures, &trials);
        if let Some(asked) = self.update_rate {
            // Behind the totals and before the stages.
            let whole = figures.iter().take_while(|figure| figure.of.is_none()).count();
            let of_changes = changes::figures(&pairs);
            answer += &changes::words(&of_changes, asked);
            figures.splice(whole..whole, of_changes);
            limits.extend(changes::limits(&pairs, asked));
        }
        Ok(Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer,
            aggregation: "all directions and workers together".into(),
            figures,
            bounds: None,
            validity: Validity::from_limits(limits),
            trials: records,
            claims: vec![Claim {
                clause: "rfc2544.26.1".into(),
                level: ClaimLevel::None,
                reason: "a closed loop offers no load; this is not a throughput".into(),
            }],
            ..Outcome::default()
        })
    }
}

impl Config {
    /// The repetitions after one warm-up.
    fn trials(&self, session: &mut Session<'_>) -> Result<Vec<Trial>, MeasureError> {
        self.warm_up(session, self.repetitions)?;
        let repetitions = (0..self.repetitions).rev();
        repetitions.map(|left| self.trial(session, "repetition", left + 1)).collect()
    }

    /// The repetitions in pairs, without and with changes.
    fn pairs(&self, session: &mut Session<'_>, rate: f64) -> Result<Vec<Pair>, MeasureError> {
        // Before anything is measured: a device that cannot change is not to be measured in vain.
        changes::set(session, rate)?;
        let pair = |left: u32| {
            changes::set(session, 0.0)?;
            self.warm_up(session, left + 1)?;
            let unchanged = self.trial(session, "repetition", 2 * left + 2)?;
            changes::set(session, rate)?;
            let changed = self.trial(session, "changing", 2 * left + 1)?;
            Ok(Pair { unchanged, changed })
        };
        (0..self.repetitions).rev().map(pair).collect()
    }

    /// Makes one trial; `left` is the number of trials to go, including this one.
    fn trial(
        &self,
        session: &mut Session<'_>,
        purpose: &'static str,
        left: u32,
    ) -> Result<Trial, MeasureError> {
        let each = self.duration.duration();
        let step = Step::new(purpose, left as usize, each * left, None);
        session.trial(Load::ClosedLoop, each, step)
    }

    /// Makes a trial that does not count.
    fn warm_up(&self, session: &mut Session<'_>, left: u32) -> Result<(), MeasureError> {
        if self.warm_up.0 > 0.0 {
            let step = Step::new(WARM_UP, left as usize + 1, self.time_bound(), None);
            session.trial(Load::ClosedLoop, self.warm_up.duration(), step)?;
        }
        Ok(())
    }
}

fn figures(trials: &[Trial]) -> Vec<Figure> {
    let over = |value: &dyn Fn(&Trial) -> f64| trials.iter().map(value).collect::<Vec<f64>>();
    let mut figures: Vec<Figure> = [
        figure("function_pps", "pps", &over(&|t| rate(t, |role| role == StageRole::Function))),
        figure("total_pps", "pps", &over(&|t| rate(t, |_| true))),
        figure("wall_clock_pps", "pps", &over(&wall_clock_pps)),
        figure("ticks_per_packet", "ticks", &over(&|t| ticks(t, |_| true) / packets(t))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let longest = |t: &Trial| Some(t.longest_batch_ticks? as f64 * 1e9 / t.ticks_per_second);
    let longest: Option<Vec<f64>> = trials.iter().map(longest).collect();
    figures.extend(longest.and_then(|all| figure("longest_batch", "ns", &all)));
    let Some(first) = trials.first() else { return figures };
    for (index, stage) in first.stages.iter().enumerate() {
        let of_stage = |t: &Trial| t.stages.get(index).map_or(0.0, |s| s.ticks as f64 / packets(t));
        let ns = |t: &Trial| of_stage(t) * 1e9 / t.ticks_per_second;
        figures.extend(
            figure("ticks_per_packet", "ticks", &over(&of_stage)).map(|f| f.of(&stage.name)),
        );
        figures.extend(figure("ns_per_packet", "ns", &over(&ns)).map(|f| f.of(&stage.name)));
    }
    figures
}

/// Limits that follow from all repetitions together.
fn own_limits(trials: &[Trial], figures: &[Figure]) -> Vec<Limit> {
    let mut limits = Vec::new();
    if trials.iter().any(|t| ticks(t, |_| true) == 0.0) {
        limits.push(Limit {
            kind: LimitKind::TooFewFrames,
            invalidates: true,
            what: "a repetition has no cycles by stage".into(),
            advice: "choose a device that counts them, or the throughput method".into(),
        });
    }
    let total = figures.iter().find(|f| f.name == "total_pps");
    limits.extend(validity::spread(total.and_then(|f| f.spread)));
    limits
}

fn answer(figures: &[Figure], trials: &[Trial]) -> String {
    let value = |name: &str| figures.iter().find(|f| f.name == name).map_or(0.0, |f| f.value);
    let workers = match trials.first().map_or(1, |t| t.workers.len().max(1)) {
        1 => "One worker processes".to_string(),
        n => format!("{n} workers process"),
    };
    format!(
        "{workers} {} in the function and {} with source and sink, {:.0} ticks a packet in all.",
        Pps(value("function_pps")),
        Pps(value("total_pps")),
        value("ticks_per_packet"),
    )
}

const WARM_UP: &str = "warm-up";

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("accepted_p50", "ns"),
    known("accepted_p99", "ns"),
    known("achieved_updates", "1/s"),
    known("function_changed_pps", "pps"),
    known("function_kept_percent", "percent"),
    known("function_pps", "pps"),
    known("longest_batch", "ns"),
    known("ns_per_packet", "ns"),
    known("refused_updates", "updates"),
    known("ticks_per_packet", "ticks"),
    known("total_kept_percent", "percent"),
    known("total_pps", "pps"),
    known("updates", "1/s"),
    known("wall_clock_pps", "pps"),
];
