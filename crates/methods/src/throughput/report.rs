//! What a search yields: the outcome with its limits, its claims and its answer.

use measure::record::{
    Baseline, Claim, Figure, GoalRecord, Limit, LimitKind, Outcome, TrialRecord, Validity,
};
use measure::{Pps, Ratio, validity};

use super::config::{Config, Search};
use super::{NAME, figures};
use crate::claims::claim;
use crate::figures::{latency_words, rate_pps};
use crate::method::STALL_REPETITION;
use crate::search::{Attempts, Found, Goal, LossLimit};
use crate::{Method, baseline};

/// The outcome of a search for these goals; the first is the headline.
pub(super) fn outcome(
    config: &Config,
    goals: &[Goal],
    found: &[Found],
    trials: Vec<TrialRecord>,
    baseline: Option<Baseline>,
) -> Outcome {
    let all: Vec<Reached> = goals
        .iter()
        .zip(found)
        .map(|(goal, found)| Reached { config, goal, found, trials: &trials, baseline })
        .collect();
    // There is a goal always: a configuration without any has that of its loss tolerance.
    let Some(head) = all.first() else { return Outcome::default() };
    let mut limits = head.limits();
    limits.extend(repeated(config, &trials));
    limits.extend(all[1..].iter().filter_map(Reached::remark));
    let answers: Vec<String> =
        std::iter::once(head.answer()).chain(all[1..].iter().map(Reached::short_answer)).collect();
    let mut figures = head.figures();
    figures.extend(all[1..].iter().flat_map(Reached::goal_figures));
    let validity = Validity::from_limits(limits);
    let holds = validity.valid && all.iter().all(Reached::holds);
    let claims = claims(config, goals, holds, &trials);
    let goals: Vec<GoalRecord> = all.iter().map(|r| r.found.record(r.goal)).collect();
    Outcome {
        method: NAME.into(),
        configuration: config.configuration(),
        answer: answers.join(" "),
        aggregation: "loads and rates per port and direction, unless the name says aggregate; \
                      sizes include the frame check sequence; loss over all directions together"
            .into(),
        figures,
        bounds: Some(head.found.bounds),
        goals,
        baseline,
        trials,
        validity,
        claims,
        ..Outcome::default()
    }
}

/// The result for one goal, with everything needed to judge it.
#[derive(Clone, Copy)]
struct Reached<'a> {
    config: &'a Config,
    goal: &'a Goal,
    found: &'a Found,
    trials: &'a [TrialRecord],
    baseline: Option<Baseline>,
}

impl Reached<'_> {
    /// The trial that represents the result.
    fn best(&self) -> Option<&TrialRecord> {
        self.found.best.and_then(|index| self.trials.get(index))
    }

    /// The result per port and direction in packets per second: the conditional throughput of
    /// MLRsearch, or the load.
    fn pps(&self) -> Option<f64> {
        // What the tester did not send of the load, within its tolerance, is not shown to pass.
        let sent = self.best().map(rate_pps)?;
        Some(self.found.conditional_pps.map_or(sent, |pps| pps.min(sent)))
    }

    /// Whether the tester could not send the load above the result.
    fn tester_failed(&self) -> bool {
        let upper = self.found.upper.iter().filter_map(|index| self.trials.get(*index));
        upper.flat_map(|trial| &trial.limits).any(|limit| limit.kind == LimitKind::Tester)
    }

    fn ceiling(&self) -> Option<Limit> {
        baseline::limit(self.baseline?, self.config.max_rate, Pps(self.pps()?))
    }

    /// Whether the device may forward more than was found: the search did not end, or the tester
    /// was its end.
    fn is_at_least(&self) -> bool {
        !self.found.bounds.regular || self.tester_failed() || self.ceiling().is_some()
    }

    /// Whether the result supports a claim.
    fn holds(&self) -> bool {
        self.found.confirmed && self.found.bounds.regular && !self.tester_failed()
    }

    /// The limits of the deciding trials, and of the search as a whole.
    fn limits(&self) -> Vec<Limit> {
        let records = |indices: &[usize]| -> Vec<&TrialRecord> {
            indices.iter().filter_map(|index| self.trials.get(*index)).collect()
        };
        let mut lower = records(&self.found.lower);
        lower.retain(|trial| !trial.limits.iter().any(|limit| limit.kind == LimitKind::Tester));
        // What passed has passed, whoever else had the core; what failed above only bounds the
        // search: where the tester or the machine was the reason, the device may forward more than
        // was found.
        let mut limits = validity::summarise(&lower);
        limits.iter_mut().for_each(|l| l.invalidates &= l.kind != LimitKind::ForeignCpu);
        let above = validity::summarise(&records(&self.found.upper));
        limits.extend(above.into_iter().filter(|l| l.kind != LimitKind::RingFull).map(|limit| {
            let what = format!("at the next load, which failed: {}", limit.what);
            Limit { invalidates: false, what, ..limit }
        }));
        limits.extend(self.search_limit());
        limits.extend(self.ceiling());
        limits
    }

    /// The limit that kept the search from a regular result.
    fn search_limit(&self) -> Option<Limit> {
        let max_rate = self.config.max_rate;
        let limit = |invalidates, what: String, advice: &str| {
            Some(Limit::of_search(invalidates, what, advice))
        };
        let trials = self.trials.len();
        match (self.found.bounds.lower_pps, self.found.bounds.upper_pps) {
            (None, _) => limit(
                true,
                match self.least_tried() {
                    None => format!("no load was tried: {}", self.found.why),
                    Some(least) => format!(
                        "no load passed, the lowest that was tried being {}: {}",
                        Pps(least),
                        self.found.why
                    ),
                },
                match self.least_tried() {
                    Some(least) if least <= self.config.lowest().0 => {
                        "lower min-rate, allow a loss-tolerance, or look at the drops by reason"
                    }
                    _ => "raise max-search-time and max-trials, or use shorter trials",
                },
            ),
            (Some(_), _) if !self.found.confirmed => limit(
                true,
                format!("no load was confirmed in {trials} trials"),
                "raise loss-tolerance or repeat-lossy if the machine is noisy (see the stalls), \
                 otherwise max-search-time and max-trials",
            ),
            (Some(pps), None) if pps >= max_rate.0 => limit(
                false,
                format!("max-rate ({max_rate}) passed, so the device may forward more"),
                "raise max-rate",
            ),
            (Some(_), _) if !self.found.bounds.regular && !self.tester_failed() => limit(
                false,
                format!("{trials} trials did not reach the precision"),
                "raise max-search-time, max-trials or the precision (width); the figure is a \
                 confirmed lower bound",
            ),
            (Some(_), _) => None,
        }
    }

    /// A remark on a further goal without a regular result.
    fn remark(&self) -> Option<Limit> {
        let mut limit = self.search_limit()?;
        limit.invalidates = false;
        limit.what = format!("goal {}: {}", self.goal.name, limit.what);
        Some(limit)
    }

    fn figures(&self) -> Vec<Figure> {
        let Some((trial, pps)) = self.best().zip(self.pps()) else { return Vec::new() };
        let mut figures = figures::figures(trial, pps, self.is_at_least());
        if self.found.conditional_pps.is_some() {
            figures.extend(self.goal_figures());
        }
        figures
    }

    /// The figures of a goal, under its name.
    fn goal_figures(&self) -> Vec<Figure> {
        let figure = |name: &str, pps: Option<f64>| {
            let is_bound = name == "goal_throughput" && self.is_at_least();
            let figure = Figure::single(name, pps?, "pps");
            Some(figure.of(&self.goal.name).at_least(is_bound))
        };
        let bounds = &self.found.bounds;
        [
            figure("goal_throughput", self.pps()),
            figure("goal_lower_bound", bounds.lower_pps),
            figure("goal_upper_bound", bounds.upper_pps),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn answer(&self) -> String {
        let Some((trial, pps)) = self.best().zip(self.pps()) else {
            return self.nothing();
        };
        let least = if self.is_at_least() { "at least " } else { "" };
        let tolerated = self.goal.loss_ratio;
        let loss = match (tolerated.0 > 0.0, trial.loss_fraction) {
            (false, _) => "without loss".to_string(),
            (true, 0.0) => format!("without loss (tolerance {tolerated})"),
            (true, loss) => format!("with a loss of {} (tolerance {tolerated})", Ratio(loss)),
        };
        let loss = loss + &self.attempts_words();
        let conditions: String =
            self.goal.conditions.iter().map(|condition| format!(" and {condition}")).collect();
        let interfaces = trial.directions.len();
        let aggregate = if interfaces > 1 {
            let all = Pps(pps * interfaces as f64);
            format!(" on each of {interfaces} ports, {all} in all,")
        } else {
            String::new()
        };
        let latency = latency_words(trial);
        format!("It forwards {least}{}{aggregate} {loss}{conditions}{latency}.", Pps(pps))
    }

    /// How often a load was tried and when it passed, unless one trial decided; and how many trials
    /// of the result's load lost more than is tolerated.
    fn attempts_words(&self) -> String {
        let Some(most) = self.found.bounds.lower_pps.filter(|_| !self.config.is_mlr()) else {
            return String::new();
        };
        let rule = match self.config.attempts() {
            Attempts::Verified { repeats: 0, .. } => return String::new(),
            Attempts::Verified { repeats, .. } => {
                format!(" in the best of up to {} trials at a load", repeats + 1)
            }
            Attempts::BestOf(n) => format!(" in the best of {n} trials at a load"),
            Attempts::WorstOf(n) => format!(" in each of {n} trials at a load"),
        };
        let loads = self.found.lower.iter().filter_map(|index| self.trials.get(*index)?.load_pps());
        let load = loads.fold(most, f64::max);
        let failed = |trial: &&TrialRecord| {
            trial.load_pps() == Some(load)
                && trial.purpose != "warm-up"
                && !self.found.lower.contains(&trial.index)
        };
        match self.trials.iter().filter(failed).count() {
            0 => rule,
            failed => {
                let of = failed + self.found.lower.len();
                format!("{rule} ({failed} of {of} at this one did not pass)")
            }
        }
    }

    /// The answer where no load passed: what was tried, why the search ended, and that nothing is
    /// known of loads that were not offered.
    fn nothing(&self) -> String {
        let why = &self.found.why;
        match self.least_tried() {
            None => format!("No load was tried: {why}."),
            Some(least) if least <= self.config.lowest().0 => {
                format!("No load passed, down to {}, the lowest one: {why}.", Pps(least))
            }
            Some(least) => format!(
                "No load passed, down to {}; nothing is known of lower ones, because {why}.",
                Pps(least)
            ),
        }
    }

    /// The lowest load that was tried, in packets per second.
    fn least_tried(&self) -> Option<f64> {
        let tried = self.trials.iter().filter(|trial| trial.purpose != "warm-up");
        tried.filter_map(TrialRecord::load_pps).min_by(f64::total_cmp)
    }

    /// The answer for a further goal.
    fn short_answer(&self) -> String {
        let name = &self.goal.name;
        match self.pps() {
            None => format!("No load passed for {name}."),
            Some(pps) if self.is_at_least() => format!("For {name} at least {}.", Pps(pps)),
            Some(pps) => format!("For {name} {}.", Pps(pps)),
        }
    }
}

/// A remark on trials that were repeated because a stall explained what they lacked.
fn repeated(config: &Config, trials: &[TrialRecord]) -> Option<Limit> {
    let stalled = trials.iter().filter(|trial| trial.purpose == STALL_REPETITION).count();
    (stalled > 0).then(|| Limit {
        kind: LimitKind::Stall,
        invalidates: false,
        what: format!(
            "{stalled} of {} trials are repetitions of trials that lost no more frames than were \
             offered while a thread of tester or device did not run; up to {} at each load",
            trials.len(),
            config.repeat_stalled
        ),
        advice:
            "stop other work on this machine: `plumbline doctor` tells how often it stalls and \
                 for how long"
                .into(),
    })
}

/// The claims: none for an invalid or irregular result, and never more than was done.
fn claims(config: &Config, goals: &[Goal], holds: bool, trials: &[TrialRecord]) -> Vec<Claim> {
    let Some(goal) = goals.first() else { return Vec::new() };
    let mut common: Vec<String> = Vec::new();
    if !goal.conditions.is_empty() {
        common.push(format!("conditions beyond loss ({})", goal.words()));
    }
    let stalled = trials.iter().filter(|trial| trial.purpose == STALL_REPETITION).count();
    if stalled > 0 {
        common.push(format!("{stalled} trials repeated because a stall explained their loss"));
    }
    let rfc2544 = claim(RFC2544, holds, &[rfc2544(config, goal), common.clone()].concat());
    let tst009 = match config.search {
        Search::Tst009 => tst009(config, goal),
        Search::Rfc2544 => {
            vec!["geometric bisection from a first guess instead of a grid of equal steps".into()]
        }
        Search::Mlrsearch => {
            vec!["MLRsearch, for which only max(z) = infinity has an equivalent goal".into()]
        }
    };
    let clause = match (config.search, config.attempts()) {
        (Search::Mlrsearch, _) => TST009_VERIFIED,
        (_, attempts) if attempts.most() > 1 => TST009_VERIFIED,
        _ => TST009_SEARCH,
    };
    let tst009 = claim(clause, holds, &[tst009, common].concat());
    if !config.is_mlr() {
        return vec![rfc2544, tst009];
    }
    vec![claim(MLRSEARCH, holds, &mlrsearch(goals, stalled)), rfc2544, tst009]
}

/// Deviations of the search from RFC 2544 section 26.1.
fn rfc2544(config: &Config, goal: &Goal) -> Vec<String> {
    let mut deviations = Vec::new();
    let duration = match &goal.attributes {
        Some(attributes) => attributes.final_trial.into(),
        None => config.final_duration,
    };
    if duration.0 < TRIAL_S {
        deviations.push(format!("a final trial of {duration} instead of {TRIAL_S} s"));
    }
    deviations.extend(tolerated(goal));
    deviations.extend(attempts(config));
    if let Some(attributes) = goal.attributes.filter(|a| a.exceed_ratio > 0.0) {
        deviations
            .push(format!("an exceed ratio of {} instead of 0", Ratio(attributes.exceed_ratio)));
    }
    deviations.push("the waiting times of section 23 not kept".to_owned());
    deviations
}

/// Deviations of the search from ETSI GS NFV-TST 009 clause 12.3.2 or 12.3.3.
fn tst009(config: &Config, goal: &Goal) -> Vec<String> {
    let mut deviations: Vec<String> = tolerated(goal).into_iter().collect();
    if config.final_duration.0 < TRIAL_S {
        let duration = config.final_duration;
        deviations.push(format!("trials of {duration} instead of {TRIAL_S} s"));
    }
    match config.attempts() {
        Attempts::Verified { repeats: 1.., up_to: LossLimit::Ratio(ratio) } if ratio.0 < 1.0 => {
            deviations.push(format!("max(z) is {ratio} of the frames instead of a number"));
        }
        Attempts::WorstOf(_) => deviations.extend(attempts(config)),
        _ => {}
    }
    deviations
}

/// Deviations of the search from MLRsearch.
fn mlrsearch(goals: &[Goal], stalled: usize) -> Vec<String> {
    let mut deviations = Vec::new();
    for goal in goals.iter().filter(|goal| !goal.conditions.is_empty()) {
        deviations.push(format!("conditions beyond loss ({})", goal.words()));
    }
    if stalled > 0 {
        deviations.push(format!(
            "{stalled} trials, repeated because a stall explained their loss, excluded from the \
             classification"
        ));
    }
    deviations
}

fn tolerated(goal: &Goal) -> Option<String> {
    (goal.loss_ratio.0 > 0.0).then(|| format!("loss up to {} tolerated", goal.loss_ratio))
}

/// A deviation if a load was tried more than once.
fn attempts(config: &Config) -> Option<String> {
    match config.attempts() {
        _ if config.is_mlr() => None,
        Attempts::Verified { repeats: 0, .. } => None,
        Attempts::Verified { repeats, .. } => {
            Some(format!("a trial with loss repeated up to {repeats} times before it counted"))
        }
        Attempts::BestOf(n) => Some(format!("the best of {n} trials at each load counted")),
        Attempts::WorstOf(n) => Some(format!("the worst of {n} trials at each load counted")),
    }
}

pub(super) const RFC2544: &str = "rfc2544.26.1";
pub(super) const TST009_SEARCH: &str = "tst009.12.3.2";
pub(super) const TST009_VERIFIED: &str = "tst009.12.3.3";
pub(super) const MLRSEARCH: &str = "draft-ietf-bmwg-mlrsearch-15";

/// The shortest final trial of RFC 2544 section 24, in seconds; TST009 follows it.
const TRIAL_S: f64 = 60.0;
