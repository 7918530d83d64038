//! What the searches for bursts amount to: figures, limits, claims and words.

use measure::record::{
    Claim, Column, Figure, Limit, LimitKind, Outcome, Series, Spread, TrialRecord, Validity,
};
use measure::{Nanos, Pps, validity};

use super::{Config, NAME, RFC9004, Searches, TST009};
use crate::Method;
use crate::claims::claim;
use crate::figures::interface_words;
use crate::reference::{Maximum, Throughput};

impl Config {
    pub(super) fn outcome(
        &self,
        records: Vec<TrialRecord>,
        maximum: Maximum,
        throughput: &Throughput,
        searches: &Searches,
    ) -> Outcome {
        let validity = Validity::from_limits(self.limits(&records, maximum, throughput, searches));
        let found = Found::of(self, maximum, throughput, searches);
        let holds = validity.valid && found.is_some() && searches.at_ceiling == 0;
        let interfaces = records.first().map_or(1, |record| record.directions.len());
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: match &found {
                Some(found) => found.words(maximum, interfaces),
                None => without_figure(maximum, throughput, searches),
            },
            aggregation: "frames and rates per port and direction, simultaneously; loss over all \
                 directions together"
                .into(),
            figures: found.as_ref().map_or_else(Vec::new, |found| found.figures(self)),
            series: found.as_ref().map(|_| series(searches)).into_iter().collect(),
            baseline: throughput.baseline,
            claims: self.claims(holds, maximum, throughput),
            validity,
            trials: records,
            ..Outcome::default()
        }
    }

    fn limits(
        &self,
        records: &[TrialRecord],
        maximum: Maximum,
        throughput: &Throughput,
        searches: &Searches,
    ) -> Vec<Limit> {
        let mut limits = throughput.limits.clone();
        if searches.lengths.is_empty() && !searches.out_of_time {
            if let Some(pps) = throughput.pps {
                limits.push(Limit::of_search(
                    false,
                    format!(
                        "the test does not apply (RFC 9004 section 5.1): the throughput, {}, \
                         reaches {}, so nothing is buffered",
                        Pps(pps),
                        maximum.words()
                    ),
                    "this is not an error; to measure a buffer nevertheless, raise max-rate or \
                     give the tester a core of its own: frames must arrive faster than they are \
                     forwarded",
                ));
            }
            return limits;
        }
        // Loss is how a search finds its way, and each burst was judged by itself.
        let counted: Vec<&TrialRecord> = records[searches.first_trial..].iter().collect();
        let of_trials = validity::summarise(&counted).into_iter().filter(|limit| {
            !matches!(limit.kind, LimitKind::RingFull | LimitKind::Stall | LimitKind::Tester)
        });
        limits.extend(of_trials);
        if searches.slow > 0 {
            limits.push(Limit {
                kind: LimitKind::Tester,
                invalidates: false,
                what: format!(
                    "{} bursts without loss were sent more slowly than {} in every attempt",
                    searches.slow,
                    Pps(maximum.pps)
                ),
                advice:
                    "lower max-rate to the tester's maximum, or give the tester a core of its own: \
                     the burst may be shorter at the full rate"
                        .into(),
            });
        }
        if searches.at_ceiling > 0 {
            limits.push(Limit::of_search(
                false,
                format!(
                    "{} of {} searches ended at or near max-burst ({}), so the device may pass \
                     longer bursts",
                    searches.at_ceiling,
                    searches.lengths.len(),
                    self.max_burst
                ),
                "raise max-burst and measure again (RFC 9004 section 5.2)",
            ));
        }
        if searches.lengths.contains(&0) {
            limits.push(Limit::of_search(
                true,
                format!("even the shortest burst of {} frames lost frames", self.step),
                "lower step, raise repeat-lossy, or look at the drops by reason",
            ));
        }
        if searches.out_of_time {
            limits.push(Limit::of_search(
                searches.lengths.is_empty(),
                format!(
                    "max-search-time ended after {} of {} searches",
                    searches.lengths.len(),
                    self.repetitions
                ),
                "raise max-search-time or step, or lower repetitions",
            ));
        }
        limits
    }

    fn claims(&self, holds: bool, maximum: Maximum, throughput: &Throughput) -> Vec<Claim> {
        let mut rfc: Vec<String> = throughput.deviation().into_iter().collect();
        rfc.push(maximum.deviation());
        if self.max_burst.0 < CEILING_S {
            rfc.push(format!("bursts up to {} instead of {CEILING_S} s", self.max_burst));
        }
        if self.depletion.0 < DEPLETION_S {
            rfc.push(format!("{} to empty buffers instead of {DEPLETION_S} s", self.depletion));
        }
        let doubling = "lengths doubled from the shortest before the bisection".to_owned();
        rfc.push(doubling.clone());
        vec![claim(RFC9004, holds, &rfc), claim(TST009, holds, &[doubling])]
    }
}

/// The searches' results and the values derived from them.
struct Found {
    frames: Spread,
    maximum_pps: f64,
    throughput_pps: f64,
    ceiling_frames: u64,
    /// Whether a search ended at the ceiling, so that longer bursts may pass.
    is_at_least: bool,
}

impl Found {
    fn of(
        config: &Config,
        maximum: Maximum,
        throughput: &Throughput,
        searches: &Searches,
    ) -> Option<Self> {
        let lengths: Vec<f64> = searches.lengths.iter().map(|frames| *frames as f64).collect();
        Some(Self {
            frames: Spread::of(&lengths)?,
            maximum_pps: maximum.pps,
            throughput_pps: throughput.pps?,
            ceiling_frames: config.ceiling_frames(maximum),
            is_at_least: searches.at_ceiling > 0,
        })
    }

    /// The mean burst as a time, in nanoseconds.
    fn implied_ns(&self) -> f64 {
        self.frames.mean / self.maximum_pps * 1e9
    }

    /// The mean burst without the frames forwarded while it arrives, as a time in nanoseconds.
    fn corrected_ns(&self) -> f64 {
        self.implied_ns() * (1.0 - self.throughput_pps / self.maximum_pps)
    }

    /// The figures of the table in RFC 9004 section 6, and further ones.
    fn figures(&self, config: &Config) -> Vec<Figure> {
        let found =
            |name, value, unit| Figure::single(name, value, unit).at_least(self.is_at_least);
        let mean = found("back_to_back_frames", self.frames.mean, "frames");
        let mut figures = vec![
            Figure { spread: Some(self.frames), ..mean },
            found("back_to_back_min", self.frames.min, "frames"),
            found("back_to_back_max", self.frames.max, "frames"),
            Figure::single("back_to_back_deviation", self.frames.deviation, "frames"),
            found("corrected_buffer_time", self.corrected_ns(), "ns"),
            found("implied_buffer_time", self.implied_ns(), "ns"),
        ];
        figures.extend(config.actual_rate.map(|Pps(pps)| {
            let time = self.corrected_ns() * self.maximum_pps / pps;
            found("actual_buffer_time", time, "ns")
        }));
        figures.extend([
            Figure::single("reference_throughput", self.throughput_pps, "pps"),
            Figure::single("maximum_rate", self.maximum_pps, "pps"),
            Figure::single("burst_searches", self.frames.n as f64, "searches"),
            Figure::single("burst_step", f64::from(config.step), "frames"),
            Figure::single("burst_ceiling", self.ceiling_frames as f64, "frames"),
        ]);
        figures
    }

    fn words(&self, maximum: Maximum, interfaces: usize) -> String {
        let least = if self.is_at_least { "at least " } else { "" };
        let spread = match self.frames.n {
            1 => String::new(),
            n => format!(
                " (mean of {n} searches, {:.0} to {:.0}, standard deviation {:.0})",
                self.frames.min, self.frames.max, self.frames.deviation
            ),
        };
        format!(
            "It passes bursts of {least}{:.0} frames{spread} without loss, back to back at {}{}: a \
             buffer of {least}{}, or {} without the frames forwarded in the meantime.",
            self.frames.mean,
            maximum.words(),
            interface_words(interfaces),
            Nanos(self.implied_ns()),
            Nanos(self.corrected_ns()),
        )
    }
}

fn without_figure(maximum: Maximum, throughput: &Throughput, searches: &Searches) -> String {
    match throughput.pps {
        None => "No throughput was found, so it is unknown which bursts need a buffer.".to_owned(),
        Some(pps) if searches.out_of_time => format!(
            "No search for the longest burst was completed at {} (throughput {}).",
            maximum.words(),
            Pps(pps)
        ),
        Some(pps) => format!(
            "The test does not apply: the maximum load {} passes (throughput {}), so no burst \
             needs a buffer.",
            maximum.words(),
            Pps(pps)
        ),
    }
}

fn series(searches: &Searches) -> Series {
    let column = |name: &str, unit: &str| Column { name: name.into(), unit: unit.into() };
    let row = |(index, frames): (usize, &u64)| vec![Some(index as f64), Some(*frames as f64)];
    Series {
        name: "burst-lengths".into(),
        title: "The longest burst without loss, by search".into(),
        columns: vec![column("search", "index"), column("frames", "frames")],
        rows: searches.lengths.iter().enumerate().map(row).collect(),
    }
}

/// Smallest ceiling of a search and smallest silence after a burst by RFC 9004, in seconds.
const CEILING_S: f64 = 30.0;
const DEPLETION_S: f64 = 2.0;
