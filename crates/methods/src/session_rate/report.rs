//! What the search amounts to: figures, the course of the trials, limits, claims and words.

use measure::record::{
    Baseline, Claim, Figure, Limit, LimitKind, Outcome, Series, SessionsRecord, TrialRecord,
    Validity,
};
use measure::{Ratio, Seconds, SessionsThere, figure_words, validity};

use super::{Config, Found, NAME, RATE_CLAUSE, Tried, VALIDATION_CLAUSE};
use crate::Method;
use crate::baseline::NEAR_CEILING;
use crate::claims::claim;
use crate::sessions::{PIECES, answered, answered_words, column, held, rate_words, sessions_words};

impl Config {
    pub(super) fn outcome(
        &self,
        records: Vec<TrialRecord>,
        there: SessionsThere,
        found: &Found,
        baseline: Option<Baseline>,
    ) -> Outcome {
        let best = Best::of(&records, found);
        let mut limits = self.limits(&records, there, found);
        if found.tester_rate().is_none() {
            limits.extend(of_tester(baseline, self.max_rate, best.as_ref()));
        }
        let validity = Validity::from_limits(limits);
        let holds = validity.valid && found.bounds.regular && best.is_some();
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: self.answer(found, best.as_ref()),
            aggregation: "sessions of all clients together, each counted once; a rate is sessions \
                          started per second"
                .into(),
            figures: best.as_ref().map_or_else(Vec::new, |best| figures(best, found)),
            series: vec![series(&records, found)],
            claims: self.claims(holds, there, found),
            validity,
            baseline,
            trials: records,
            ..Outcome::default()
        }
    }

    fn limits(&self, records: &[TrialRecord], there: SessionsThere, found: &Found) -> Vec<Limit> {
        let mut limits = of_decisive(records, found);
        if found.bounds.lower_pps.is_none() {
            let why = found.worst.as_ref().and_then(|tried| tried.failure.clone());
            let what = match why {
                Some(why) => format!("sessions failed even at {}: {why}", self.lowest(found)),
                None => "no trial of a rate was completed".into(),
            };
            let advice = "lower min-rate, raise wait, or look at the drops by reason";
            limits.push(Limit::of_search(true, what, advice));
        } else if found.bounds.upper_pps.is_none() && found.ended.is_none() {
            limits.push(Limit::of_search(
                false,
                format!("the highest rate {} passed", rate_words(self.max_rate)),
                "raise max-rate: the device may do more",
            ));
        }
        if let Some(sent) = found.tester_rate() {
            limits.push(Limit {
                kind: LimitKind::Baseline,
                invalidates: false,
                what: format!(
                    "the tester started at most {}: the device may do more",
                    rate_words(sent)
                ),
                advice: "the tester was the limit: give it a core of its own or a faster one"
                    .into(),
            });
        }
        if let Some(budget) = found.ended {
            limits.push(Limit::of_search(
                found.bounds.lower_pps.is_none(),
                format!("{budget} ended the search before the precision was reached"),
                format!("raise {budget} or precision, or shorten hold"),
            ));
        }
        limits.extend(self.short_hold(there, found));
        limits
    }

    /// A limit if there were too few sessions to hold the rate.
    fn short_hold(&self, there: SessionsThere, found: &Found) -> Option<Limit> {
        let held = self.held(there, found)?;
        (held < self.hold.0 * HELD_MIN).then(|| {
            Limit::of_search(
                false,
                format!(
                    "the rate was held for {} instead of {}: the traffic has no more sessions",
                    Seconds(held),
                    self.hold
                ),
                "raise max-sessions, or give the traffic more sessions",
            )
        })
    }

    /// Time for which the best rate was held, in seconds.
    fn held(&self, there: SessionsThere, found: &Found) -> Option<f64> {
        let best = found.best.as_ref()?;
        Some(self.count(best.rate, there) as f64 / best.rate)
    }

    fn lowest(&self, found: &Found) -> String {
        rate_words(found.bounds.upper_pps.unwrap_or(self.min_rate))
    }

    fn answer(&self, found: &Found, best: Option<&Best<'_>>) -> String {
        let Some(best) = best else {
            return match found.bounds.upper_pps {
                Some(rate) => {
                    format!(
                        "No rate of new sessions passed; some failed even at {}.",
                        rate_words(rate)
                    )
                }
                None => "No trial of a rate of new sessions was completed.".into(),
            };
        };
        let least = if found.failed().is_none() { "at least " } else { "" };
        let verified = match best.tried.verified.used {
            0 => String::new(),
            used => format!(", and the {} that were used afterwards worked", sessions_words(used)),
        };
        format!(
            "It opens {least}{} sessions per second: none of {} fails{verified}{}.",
            figure_words(best.rate.round(), "").trim_end(),
            sessions_words(best.counts.succeeded),
            answered_words(best.counts)
        )
    }

    fn claims(&self, holds: bool, there: SessionsThere, found: &Found) -> Vec<Claim> {
        let mut rate = vec![
            "a session is opened by frames in both directions, not by one frame of the client"
                .into(),
            "the baseline of the tester is its frame rate through a wire, not its session rate"
                .into(),
        ];
        if self.short_hold(there, found).is_some() {
            rate.push(format!("too few sessions to hold the rate for {}", self.hold));
        }
        if found.best.as_ref().is_some_and(|best| best.repeated) {
            rate.push("the rate passed in a repetition of its trial".into());
        }
        let mut proof = Vec::new();
        if self.verify < Ratio(1.0) {
            proof.push(format!("{} of the sessions were used, spread evenly", self.verify));
        }
        vec![
            claim(RATE_CLAUSE, holds, &rate),
            claim(VALIDATION_CLAUSE, holds && self.verify.0 > 0.0, &proof),
        ]
    }
}

/// The trial that represents the result.
struct Best<'r> {
    rate: f64,
    tried: &'r Tried,
    counts: &'r SessionsRecord,
}

impl<'r> Best<'r> {
    fn of(records: &'r [TrialRecord], found: &'r Found) -> Option<Best<'r>> {
        let tried = found.best.as_ref()?;
        let counts = records.get(tried.index)?.sessions.as_ref()?;
        Some(Best { rate: found.bounds.lower_pps?, tried, counts })
    }
}

fn figures(best: &Best<'_>, found: &Found) -> Vec<Figure> {
    let rate = Figure::single("session_rate", best.rate, "1/s");
    let mut figures = vec![rate.at_least(found.failed().is_none())];
    let failed = |rate| Figure::single("session_rate_failed", rate, "1/s");
    figures.extend(found.failed().map(failed));
    figures.push(Figure::single("sessions_opened", best.counts.succeeded as f64, "sessions"));
    let used = best.tried.verified.used;
    figures.push(Figure::single("sessions_verified", used as f64, "sessions"));
    figures.extend(held(best.counts));
    figures.extend(answered(best.counts));
    figures
}

/// The limits of the deciding trials; those of failed loads are expected.
fn of_decisive(records: &[TrialRecord], found: &Found) -> Vec<Limit> {
    let Some(best) = found.best.as_ref() else {
        return validity::summarise(&records.iter().collect::<Vec<_>>());
    };
    let is_proof = |record: &&TrialRecord| {
        record.index >= best.index && record.index - best.index <= PROOFS_MAX
    };
    let proofs = records[best.index + 1..]
        .iter()
        .take_while(|record| record.purpose == crate::sessions::VALIDATION)
        .filter(is_proof);
    let decisive: Vec<&TrialRecord> = records.get(best.index).into_iter().chain(proofs).collect();
    let mut limits = validity::summarise(&decisive);
    if best.short.is_some() {
        // What it did begin counts, and is told as a bound.
        limits.retain(|limit| limit.kind != LimitKind::Tester);
    }
    limits
}

/// A limit if the session rate is close to the frame rate of the tester alone, because a session
/// takes at least one frame each way. A tester that sent all of `asked` has shown no maximum.
fn of_tester(baseline: Option<Baseline>, asked: f64, best: Option<&Best<'_>>) -> Option<Limit> {
    let (ceiling, rate) = (baseline?.tester_pps, best?.rate);
    let has_ceiling = ceiling < asked * validity::TESTER_SENT_MIN;
    (has_ceiling && rate >= ceiling * NEAR_CEILING).then(|| Limit {
        kind: LimitKind::Baseline,
        invalidates: false,
        what: format!(
            "{} is {:.0} % of the tester's own frame rate each way: the device may do more",
            rate_words(rate),
            rate / ceiling * 100.0
        ),
        advice: "the tester was the limit: give it a core of its own or a faster one".into(),
    })
}

fn series(records: &[TrialRecord], found: &Found) -> Series {
    let row = |tried: &Tried| {
        let counts = records.get(tried.index)?.sessions.as_ref()?;
        let ns = |of: fn(&measure::record::Distribution) -> u64| {
            counts.answered.as_ref().map(|times| of(times) as f64)
        };
        Some(vec![
            Some(tried.rate),
            Some(counts.succeeded_per_s),
            Some(counts.succeeded as f64),
            Some((counts.asked - counts.succeeded.min(counts.asked)) as f64),
            Some(tried.verified.lost as f64),
            ns(|times| times.p50_ns),
            ns(|times| times.p99_9_ns),
            counts.held.map(|held| held as f64),
        ])
    };
    let mut rows: Vec<Vec<Option<f64>>> = found.tried.iter().filter_map(row).collect();
    rows.sort_by(|a, b| a[0].unwrap_or(0.0).total_cmp(&b[0].unwrap_or(0.0)));
    Series {
        name: "session-rates".into(),
        title: "Opened sessions by requested rate".into(),
        columns: vec![
            column("asked_rate", "1/s"),
            column("opened_rate", "1/s"),
            column("opened", "sessions"),
            column("failed", "sessions"),
            column("lost", "sessions"),
            column("answer_p50", "ns"),
            column("answer_p99_9", "ns"),
            column("held", "sessions"),
        ],
        rows,
    }
}

/// Fraction of the requested time below which a held rate gets a remark.
const HELD_MIN: f64 = 0.99;

/// Largest number of trials of one verification.
const PROOFS_MAX: usize = PIECES as usize;
