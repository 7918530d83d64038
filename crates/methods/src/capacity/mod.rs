//! `capacity`: how many packets per second the cores can process, with nothing in the way.
//!
//! **Goals.** What a core does for a packet and how long each stage takes, free of tester, ring and
//! pacing: the worker runs source and sink itself, as fast as it can (a closed loop). *Total*
//! counts all stages, *function* leaves out those of the bench (source, receive, transmit, sink).
//! A frame that the source has just written is in the first-level cache, and one that a network
//! card has written is not; so the function is measured with *cold* frames, too, which the source
//! has removed from all caches. That takes the source far longer than a card, so that there is a
//! function's rate of cold frames, and no total.
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
mod cold;
mod config;
mod rates;
#[cfg(test)]
mod tests;

use std::time::Duration;

use keys::Invalid;
use measure::record::{Claim, ClaimLevel, Figure, Limit, LimitKind, Outcome, Validity};
use measure::{Conditions, Load, MeasureError, Measurer, Pps, StageRole, Subject, Trial, validity};
use serde_json::Value;

use changes::Pair;
use config::NAME;
pub use config::{Config, Frames};
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
    read: |value| crate::entry::read(value, Config::validate),
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
            None => warm_up + each * self.repetitions * self.frames.len() as u32,
            // The state is made anew after changes, and warms up again.
            Some(_) => (warm_up + each * (1 + self.frames.len() as u32)) * self.repetitions,
        }
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let config = self.on(measurer);
        let mut session = Session::new(measurer, observer);
        let rounds = session.restoring(|session| match config.update_rate {
            None => config.rounds(session),
            Some(rate) => config.rounds_with_changes(session, rate),
        })?;
        let Rounds { cold, hot, pairs } = rounds;
        let records = session.records;
        let mut figures = cold::figures(&cold);
        figures.extend(figures_of(&hot));
        let measured: Vec<_> = records.iter().filter(|r| r.purpose != WARM_UP).collect();
        let mut limits = validity::summarise(&measured);
        limits.extend(own_limits(&cold, &hot, &figures));
        let mut answer = answer(&figures, cold.iter().chain(&hot));
        if config.frames != self.frames {
            answer += " Frames are hot, because this device cannot hand over cold ones.";
        }
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

/// The trials that count, by where their frames were.
#[derive(Default)]
struct Rounds {
    cold: Vec<Trial>,
    hot: Vec<Trial>,
    /// Those in pairs without and with changes; the former are among the others, too.
    pairs: Vec<Pair>,
}

impl Config {
    /// The configuration for a device: without cold frames if it has none and hot ones are wanted,
    /// too.
    fn on(&self, measurer: &dyn Measurer) -> Config {
        let is_possible = |frames: &Frames| *frames == Frames::Hot || measurer.has_cold_frames();
        let possible: Vec<Frames> = self.frames.iter().copied().filter(is_possible).collect();
        let frames = if possible.is_empty() { self.frames.clone() } else { possible };
        Config { frames, ..self.clone() }
    }

    fn validate(&self) -> Result<(), Invalid> {
        match self.frames.as_slice() {
            [one, other] if one == other => {
                Err(Invalid::new("frames", "names the same twice", "Name `cold`, `hot` or both"))
            }
            _ => Ok(()),
        }
    }

    /// The repetitions after one warm-up, each with all frames that are wanted.
    fn rounds(&self, session: &mut Session<'_>) -> Result<Rounds, MeasureError> {
        let each = self.frames.len() as u32;
        self.warm_up(session, self.repetitions * each)?;
        let mut rounds = Rounds::default();
        for left in (0..self.repetitions).rev() {
            for (frames, later) in self.frames.iter().zip((0..each).rev()) {
                set(session, *frames, None)?;
                let trial = self.trial(session, frames.purpose(), left * each + later + 1)?;
                rounds.of(*frames).push(trial);
            }
        }
        Ok(rounds)
    }

    /// The repetitions with changes: the last frames that are wanted are measured without and with
    /// changes.
    fn rounds_with_changes(
        &self,
        session: &mut Session<'_>,
        rate: f64,
    ) -> Result<Rounds, MeasureError> {
        let Some((last, others)) = self.frames.split_last() else { return Ok(Rounds::default()) };
        // Before anything is measured: a device that cannot change is not to be measured in vain.
        set(session, *last, Some(rate))?;
        let each = self.frames.len() as u32 + 1;
        let mut rounds = Rounds::default();
        for left in (0..self.repetitions).rev() {
            let left = left * each;
            set(session, *last, Some(0.0))?;
            self.warm_up(session, left + each - 1)?;
            for frames in others {
                set(session, *frames, Some(0.0))?;
                let trial = self.trial(session, frames.purpose(), left + 3)?;
                rounds.of(*frames).push(trial);
            }
            set(session, *last, Some(0.0))?;
            let unchanged = self.trial(session, last.purpose(), left + 2)?;
            rounds.of(*last).push(unchanged.clone());
            set(session, *last, Some(rate))?;
            let changed = self.trial(session, "changing", left + 1)?;
            rounds.pairs.push(Pair { unchanged, changed });
        }
        Ok(rounds)
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

impl Rounds {
    fn of(&mut self, frames: Frames) -> &mut Vec<Trial> {
        match frames {
            Frames::Cold => &mut self.cold,
            Frames::Hot => &mut self.hot,
        }
    }
}

/// Sets where frames are, and the rate of changes if there are to be some.
fn set(
    session: &mut Session<'_>,
    frames: Frames,
    updates_per_s: Option<f64>,
) -> Result<(), MeasureError> {
    let cold_frames = frames == Frames::Cold;
    let needed = if updates_per_s.is_some() { "changes at a given rate" } else { "cold frames" };
    let conditions = Conditions { updates_per_s, cold_frames, ..Conditions::default() };
    session.conditions(&conditions, needed)
}

/// The figures of frames that are in the cache.
fn figures_of(trials: &[Trial]) -> Vec<Figure> {
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
fn own_limits(cold: &[Trial], hot: &[Trial], figures: &[Figure]) -> Vec<Limit> {
    let mut limits = Vec::new();
    if cold.iter().chain(hot).any(|t| ticks(t, |_| true) == 0.0) {
        limits.push(Limit {
            kind: LimitKind::TooFewFrames,
            invalidates: true,
            what: "a repetition has no cycles by stage".into(),
            advice: "choose a device that counts them, or the throughput method".into(),
        });
    }
    let widest = ["total_pps", "function_cold_pps"].iter().filter_map(|name| {
        let figure = figures.iter().find(|figure| figure.name == *name)?;
        figure.spread
    });
    let widest = widest.max_by(|a, b| a.relative_width().total_cmp(&b.relative_width()));
    limits.extend(validity::spread(widest));
    limits
}

fn answer<'a>(figures: &[Figure], mut trials: impl Iterator<Item = &'a Trial>) -> String {
    let value = |name: &str| Some(figures.iter().find(|f| f.name == name)?.value);
    let mut words = match trials.next().map_or(1, |t| t.workers.len().max(1)) {
        1 => "One worker processes".to_string(),
        n => format!("{n} workers process"),
    };
    let cold = value("function_cold_pps");
    if let Some(pps) = cold {
        words += &format!(" {} of cold frames excluding Rx/Tx", Pps(pps));
    }
    if let (Some(function), Some(total), Some(ticks)) =
        (value("function_pps"), value("total_pps"), value("ticks_per_packet"))
    {
        words += &format!(
            "{} {} including generator and sink, at {ticks:.0} TSC cycles per packet ({} excluding \
             Rx/Tx)",
            if cold.is_some() { "; of hot frames" } else { "" },
            Pps(total),
            Pps(function),
        );
    }
    words + "."
}

const WARM_UP: &str = "warm-up";

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("accepted_p50", "ns"),
    known("accepted_p99", "ns"),
    known("achieved_updates", "1/s"),
    known("function_changed_pps", "pps"),
    known("function_cold_pps", "pps"),
    known("function_kept_percent", "percent"),
    known("function_pps", "pps"),
    known("longest_batch", "ns"),
    known("ns_per_packet", "ns"),
    known("refused_updates", "updates"),
    known("ticks_cold_per_packet", "ticks"),
    known("ticks_per_packet", "ticks"),
    known("total_kept_percent", "percent"),
    known("total_pps", "pps"),
    known("updates", "1/s"),
    known("wall_clock_pps", "pps"),
];
