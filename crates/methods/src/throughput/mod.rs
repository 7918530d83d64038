//! `throughput`: the highest load that the device forwards without loss (or with as much as is
//! tolerated).
//!
//! **Goals.** The throughput of RFC 1242 section 3.17 by the search of RFC 2544 section 26.1 as
//! errata 422 corrects it (raise the load after a trial without loss, lower it after one with loss),
//! in few trials and robust on a shared machine: a trial with loss may be repeated before its loss
//! counts, which is the loss verification of ETSI GS NFV-TST 009 clause 12.3.3. The result is
//! confirmed by a longer trial, whose latency percentiles are reported.
//!
//! **Non-goals.** Several loss goals at once and statistics over many searches; loss below the
//! result (a search never looks there: a device that loses at low loads only shows in a loss curve);
//! the waiting times of RFC 2544 section 23, which is why no claim is ever full.
//!
//! **How.** A warm-up at `max-rate` tells what comes through; the search begins there, widens in
//! doubling steps until it has bounds, and bisects (geometrically) to `precision`. When the
//! confirmation fails, brief trials are no evidence any more: the search goes on below, in growing
//! steps and with trials of the final duration only. Where the tester cannot send a load, what it did
//! send is what passed or failed; the answer then says "at least", and the limit why.

mod config;
mod figures;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Bounds, Claim, Limit, LimitKind, Outcome, TrialRecord, Validity};
use measure::{Load, MeasureError, Measurer, Pps, Ratio, Trial, validity};
use serde_json::Value;

pub use config::Config;

use crate::claims::claim;
use crate::figures::{latency_words, rate_pps};
use crate::method::{Session, to_value};
use crate::search::Bisection;
use crate::{Entry, Method, Observer, Step};

/// The registry line.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "the highest load without loss, by binary search, with latency at that load",
    standards: &[RFC2544, TST009_SEARCH, TST009_VERIFIED],
    read: |value| crate::registry::read(value, Config::validate),
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
        self.max_search_time.duration()
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut search = Search {
            config: self,
            session: Session::new(measurer, observer),
            bisection: self.bisection(self.max_rate.0),
            passed: Vec::new(),
            doubting: false,
        };
        search.warm_up()?;
        search.run()?;
        Ok(search.outcome())
    }
}

impl Config {
    fn bisection(&self, guess: f64) -> Bisection {
        Bisection::new(self.min_rate.0, self.max_rate.0, self.precision.0, guess)
    }

    /// Whether what was sent in a trial meets the goal, however much that was.
    fn passes(&self, trial: &Trial) -> bool {
        trial.sent() > 0 && trial.loss_ratio() <= self.loss_tolerance.0
    }
}

/// What came of trying a load.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tried {
    /// It was sent and passed.
    Passed,
    /// The tester sent only this load of it, and that passed.
    Short(f64),
    /// It failed, as often as it was to be tried.
    Failed,
}

/// A search under way.
struct Search<'a> {
    config: &'a Config,
    session: Session<'a>,
    bisection: Bisection,
    /// Trials that passed, with their loads.
    passed: Vec<(f64, Trial)>,
    /// Whether a confirmation failed, so that only long trials count.
    doubting: bool,
}

impl Search<'_> {
    /// Runs at the highest load and begins the search at what came through.
    fn warm_up(&mut self) -> Result<(), MeasureError> {
        if self.config.warm_up.0 <= 0.0 {
            return Ok(());
        }
        let step = self.step("warm-up");
        let load = Load::PerInterface(self.config.max_rate);
        let trial = self.session.trial(load, self.config.warm_up.duration(), step)?;
        let seconds = trial.effective.as_secs_f64();
        let slowest = trial.directions.iter().map(|d| d.received).min().unwrap_or(0);
        if seconds > 0.0 {
            self.bisection = self.config.bisection(slowest as f64 / seconds);
        }
        Ok(())
    }

    /// Searches until the bounds are close and the lower one is confirmed, or trials or time run
    /// out.
    fn run(&mut self) -> Result<(), MeasureError> {
        let (short, long) =
            (self.config.trial_duration.duration(), self.config.final_duration.duration());
        while let Some(load) = self.bisection.next().filter(|_| self.room_for(short + long, 2)) {
            match self.try_load(load, short, "search")? {
                Tried::Passed => self.bisection.passed(load),
                Tried::Short(sent) => {
                    self.bisection.failed(load);
                    self.bisection.passed(sent);
                }
                Tried::Failed => self.bisection.failed(load),
            }
        }
        if let Some(lower) = self.bisection.lower() {
            match self.try_load(lower, long, "confirmation")? {
                Tried::Passed => self.bisection.confirm(lower),
                Tried::Short(sent) => {
                    self.bisection.refute(lower);
                    self.bisection.passed(sent);
                    self.bisection.confirm(sent);
                }
                Tried::Failed => {
                    self.bisection.refute(lower);
                    self.doubting = true;
                    self.search_again(long)?;
                }
            }
        }
        self.bisection.settle();
        Ok(())
    }

    /// After a refuted confirmation only long trials count: each that passes is a confirmation.
    fn search_again(&mut self, long: Duration) -> Result<(), MeasureError> {
        while let Some(load) = self.bisection.next().filter(|_| self.room_for(long, 1)) {
            let passed = match self.try_load(load, long, "confirmation")? {
                Tried::Passed => load,
                Tried::Short(sent) => {
                    self.bisection.failed(load);
                    sent
                }
                Tried::Failed => {
                    self.bisection.failed(load);
                    continue;
                }
            };
            self.bisection.passed(passed);
            self.bisection.confirm(passed);
        }
        Ok(())
    }

    /// Whether a load passes, in one of as many trials as the configuration allows.
    fn try_load(
        &mut self,
        load: f64,
        duration: Duration,
        purpose: &'static str,
    ) -> Result<Tried, MeasureError> {
        let mut most_sent: f64 = 0.0;
        for repetition in 0..=self.config.repeat_lossy {
            // A search leaves time for its confirmation.
            let reserve = match purpose {
                "search" => (duration + self.config.final_duration.duration(), 2),
                _ => (duration, 1),
            };
            if repetition > 0 && !self.room_for(reserve.0, reserve.1) {
                break;
            }
            let step = self.step(if repetition == 0 { purpose } else { "verification" });
            let trial = self.session.trial(Load::PerInterface(Pps(load)), duration, step)?;
            if self.config.passes(&trial) {
                // What the tester did not send is no loss, and no evidence either.
                let short = validity::tester_fell_short(&trial);
                let sent = if short { rate_pps(&trial) } else { load };
                self.passed.push((sent, trial));
                if !short {
                    return Ok(Tried::Passed);
                }
                most_sent = most_sent.max(sent);
                // Only a long trial is worth repeating for it: a gap may have held the tester up.
                if purpose != "confirmation" {
                    break;
                }
                continue;
            }
            if trial.loss_ratio() > self.config.repeat_lossy_up_to.0 {
                break;
            }
        }
        Ok(if most_sent > 0.0 { Tried::Short(most_sent) } else { Tried::Failed })
    }

    fn trials_left(&self) -> usize {
        (self.config.max_trials as usize).saturating_sub(self.session.records.len())
    }

    /// Whether trials of that many, that long together, are still allowed.
    fn room_for(&self, time: Duration, trials: usize) -> bool {
        let spent_ns: u64 = self.session.records.iter().map(|r| r.intended_ns).sum();
        let spent = Duration::from_nanos(spent_ns);
        spent + time <= self.config.max_search_time.duration() && self.trials_left() >= trials
    }

    fn step(&self, purpose: &'static str) -> Step {
        let (short, long) =
            (self.config.trial_duration.duration(), self.config.final_duration.duration());
        let searching = self.bisection.expected().min(self.trials_left().saturating_sub(1));
        let (trials, time) = match (self.doubting, purpose) {
            (true, _) => (searching, long * searching as u32),
            (false, "confirmation") => (1, long),
            (false, _) => (searching + 1, short * searching as u32 + long),
        };
        Step::new(purpose, trials, time, Some(self.bisection.bounds()))
    }

    fn outcome(self) -> Outcome {
        let confirmed = self.bisection.is_confirmed();
        let bounds = self.bisection.bounds();
        let best = bounds.lower_pps.and_then(|lower| {
            self.passed.iter().rev().find(|(load, _)| *load == lower).map(|(_, trial)| trial)
        });
        let limits = limits(self.config, &self.session.records, bounds, confirmed);
        let tester_failed = limits.iter().any(|limit| limit.kind == LimitKind::Tester);
        let answer = answer(self.config, bounds, best, tester_failed);
        let validity = Validity::from_limits(limits);
        let claims = claims(self.config, confirmed && validity.valid && !tester_failed);
        Outcome {
            method: NAME.into(),
            configuration: self.config.configuration(),
            answer,
            aggregation: "loads and rates on each interface that sends, frame check sequence \
                          included in sizes; aggregate where the name says so; loss over all \
                          directions together"
                .into(),
            figures: best.map(figures::figures).unwrap_or_default(),
            bounds: Some(bounds),
            trials: self.session.records,
            validity,
            claims,
            ..Outcome::default()
        }
    }
}

/// The limits of the trials that decided, and of the search as a whole.
fn limits(config: &Config, records: &[TrialRecord], bounds: Bounds, confirmed: bool) -> Vec<Limit> {
    let at = |load: Option<f64>, record: &&TrialRecord| {
        record.purpose != "warm-up" && load.is_some() && record.load_pps() == load
    };
    let upper: Vec<&TrialRecord> = records.iter().filter(|r| at(bounds.upper_pps, r)).collect();
    let lower: Vec<&TrialRecord> = records
        .iter()
        .filter(|r| at(bounds.lower_pps, r) && r.loss_fraction <= config.loss_tolerance.0)
        .filter(|r| !r.limits.iter().any(|limit| limit.kind == LimitKind::Tester))
        .collect();
    // What passed has passed, whoever else had the core; what failed above only bounds the search:
    // where the tester or the machine was the reason, the device may forward more than was found.
    let mut limits = validity::summarise(&lower);
    limits.iter_mut().for_each(|l| l.invalidates &= l.kind != LimitKind::ForeignCpu);
    let above = validity::summarise(&upper).into_iter().filter(|l| l.kind != LimitKind::RingFull);
    limits.extend(above.map(|limit| Limit {
        invalidates: false,
        what: format!("at the next load, which failed: {}", limit.what),
        ..limit
    }));
    let search = |invalidates, what: String, advice: &str| Limit {
        kind: LimitKind::Search,
        invalidates,
        what,
        advice: advice.into(),
    };
    let max = config.max_rate;
    match (bounds.lower_pps, bounds.upper_pps) {
        (None, _) => limits.push(search(
            true,
            format!("no load from {} to {max} passed", config.min_rate),
            "lower min-rate, allow a loss-tolerance, or look at the drops by reason",
        )),
        (Some(_), _) if !confirmed => limits.push(search(
            true,
            format!("no load was confirmed in {} trials", records.len()),
            "raise loss-tolerance or repeat-lossy if the machine is noisy (see the stalls), else \
             max-search-time and max-trials",
        )),
        (Some(_), None) => limits.push(search(
            false,
            format!("even max-rate ({max}) passed, so the device may forward more"),
            "raise max-rate",
        )),
        (Some(_), Some(_)) if !bounds.regular => limits.push(search(
            false,
            format!("{} trials did not bring the bounds to the precision", records.len()),
            "raise max-search-time, max-trials or precision; the figure is a confirmed lower bound",
        )),
        (Some(_), Some(_)) => {}
    }
    limits
}

/// What is claimed: nothing of an invalid result, and never more than was done.
fn claims(config: &Config, holds: bool) -> Vec<Claim> {
    let tst009 = if config.repeat_lossy > 0 { TST009_VERIFIED } else { TST009_SEARCH };
    let mut rfc2544 = Vec::new();
    if config.final_duration.0 < RFC2544_TRIAL_S {
        rfc2544.push(format!(
            "a final trial of {} instead of {RFC2544_TRIAL_S} s",
            config.final_duration
        ));
    }
    if config.loss_tolerance.0 > 0.0 {
        rfc2544.push(format!("loss up to {} tolerated", config.loss_tolerance));
    }
    if config.repeat_lossy > 0 {
        rfc2544.push(format!(
            "a trial with loss repeated up to {} times before it counted",
            config.repeat_lossy
        ));
    }
    rfc2544.push("the waiting times of section 23 not kept".to_owned());
    let grid = "geometric bisection from a first guess instead of a grid of equal steps";
    vec![claim(RFC2544, holds, &rfc2544), claim(tst009, holds, &[grid.to_owned()])]
}

fn answer(config: &Config, bounds: Bounds, best: Option<&Trial>, tester_failed: bool) -> String {
    let Some(trial) = best else {
        return format!("No load from {} to {} passed.", config.min_rate, config.max_rate);
    };
    let rate = rate_pps(trial);
    let least = if bounds.upper_pps.is_none() || tester_failed { "at least " } else { "" };
    let loss = match (config.loss_tolerance.0 > 0.0, trial.loss_ratio()) {
        (false, _) => "without loss".to_string(),
        (true, 0.0) => format!("without loss ({} was tolerated)", config.loss_tolerance),
        (true, loss) => {
            format!("with a loss of {} ({} was tolerated)", Ratio(loss), config.loss_tolerance)
        }
    };
    let interfaces = trial.directions.len();
    let aggregate = if interfaces > 1 {
        format!(" on each of {interfaces} interfaces, {} in all,", Pps(rate * interfaces as f64))
    } else {
        String::new()
    };
    format!("It forwards {least}{}{aggregate} {loss}{}.", Pps(rate), latency_words(trial))
}

const NAME: &str = "throughput";
const RFC2544: &str = "rfc2544.26.1";
const TST009_SEARCH: &str = "tst009.12.3.2";
const TST009_VERIFIED: &str = "tst009.12.3.3";

/// The shortest final trial of RFC 2544 section 24, in seconds.
const RFC2544_TRIAL_S: f64 = 60.0;
