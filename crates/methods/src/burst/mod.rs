//! `burst`: the longest burst of frames, back to back, that the device takes without loss.
//!
//! **Goals.** The back-to-back frame benchmark of RFC 9004, which replaces RFC 2544 section 26.4:
//! the longest burst at the maximum rate, from idle, that comes through without loss; the mean over
//! whole searches, with minimum, maximum and deviation; and from it the buffer as a time: implied
//! (the burst's own length), and corrected by what the device forwards while the burst arrives.
//!
//! **Non-goals.** A figure where the throughput reaches the maximum rate: such a device needs no
//! buffer, RFC 9004 leaves that frame size out, and so does this method, in words that say so.
//! Frames of several sizes in one burst, which RFC 9004 excludes; the traffic of the scenario
//! decides that.
//!
//! **How.** One trial at `max-rate` tells whether the tester can send that. The throughput is given
//! or found. Each search doubles the length until a burst fails and bisects what lies between, as
//! ETSI GS NFV-TST 009 does; a burst with a little loss may be repeated before the loss counts, and
//! so is one that the tester sent too slowly, which shows nothing. A trial lasts as long as the
//! burst, its way through the device at the throughput, and the silence in which buffers run empty.

mod config;
mod report;
mod search;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::Outcome;
use measure::{Load, MeasureError, Measurer, Pps, Subject, Trial, validity};
use serde_json::Value;

pub use config::Config;
use config::NAME;
use search::LongestBurst;

use crate::figures::{KnownFigure, known};
use crate::method::{Session, to_value};
use crate::reference::{self, Maximum};
use crate::{Entry, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "longest burst of back-to-back frames without loss, and the implied buffer size",
    subject: Subject::Frames,
    standards: &[RFC9004, TST009],
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
        reference::throughput_time(self.of, &self.search)
            .saturating_add(MAXIMUM_TRIAL)
            .saturating_add(self.max_search_time.duration())
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let mut session = Session::new(measurer, observer);
        let after = (1, self.max_search_time.duration());
        let maximum = reference::maximum(&mut session, self.max_rate, MAXIMUM_TRIAL, after)?;
        let throughput = reference::throughput(&mut session, self.of, &self.search, after)?;
        let needs_buffer =
            throughput.pps.is_some_and(|pps| pps < maximum.pps * THROUGHPUT_BELOW_MAX);
        let searches = match throughput.pps.filter(|_| needs_buffer) {
            Some(pps) => self.searches(&mut session, maximum, Pps(pps))?,
            None => Searches::default(),
        };
        Ok(self.outcome(session.records, maximum, &throughput, &searches))
    }
}

/// Results of all searches.
#[derive(Debug, Default)]
struct Searches {
    /// The longest burst of each finished search, in frames; 0 if a single step failed.
    lengths: Vec<u64>,
    /// Number of searches that ended at the ceiling, or so close to it that it may have ended them.
    at_ceiling: usize,
    /// Number of bursts that counted although the tester sent them too slowly in every attempt.
    slow: usize,
    /// Whether the time limit ended the searches.
    out_of_time: bool,
    /// Index of the first trial of the searches.
    first_trial: usize,
}

impl Config {
    fn searches(
        &self,
        session: &mut Session<'_>,
        maximum: Maximum,
        throughput: Pps,
    ) -> Result<Searches, MeasureError> {
        let ceiling = self.ceiling_frames(maximum);
        let mut searches = Searches { first_trial: session.records.len(), ..Searches::default() };
        let mut left = self.max_search_time.duration();
        for done in 0..self.repetitions {
            let mut search = LongestBurst::new(u64::from(self.step), ceiling);
            let more = (self.repetitions - done - 1) as usize;
            while let Some(frames) = search.next() {
                let rate = Pps(maximum.pps);
                let burst = Burst { frames, rate, throughput, searches_after: more };
                match self.try_burst(session, &burst, search.expected(), &mut left)? {
                    None => {
                        searches.out_of_time = true;
                        return Ok(searches);
                    }
                    Some(Tried::Failed) => search.failed(frames),
                    Some(tried) => {
                        searches.slow += usize::from(tried == Tried::PassedSlowly);
                        search.passed(frames);
                    }
                }
            }
            searches.lengths.push(search.longest().unwrap_or(0));
            searches.at_ceiling += usize::from(search.is_near_ceiling());
        }
        Ok(searches)
    }

    /// The longest burst that is tried, in frames.
    fn ceiling_frames(&self, maximum: Maximum) -> u64 {
        (self.max_burst.0 * maximum.pps) as u64
    }

    /// Whether a burst passes, in as many trials as the configuration permits; none if the time
    /// limit was reached before.
    fn try_burst(
        &self,
        session: &mut Session<'_>,
        burst: &Burst,
        expected: usize,
        left: &mut Duration,
    ) -> Result<Option<Tried>, MeasureError> {
        let duration = burst.trial(self.depletion.duration());
        let mut tried = Tried::Failed;
        for repetition in 0..=self.repeat_lossy {
            let Some(rest) = left.checked_sub(duration) else { return Ok(None) };
            let purpose = if repetition == 0 { "search" } else { "verification" };
            let trials = expected * (1 + burst.searches_after);
            let step = Step::new(purpose, trials, *left, None);
            let load = Load::Burst { frames: burst.frames, rate: burst.rate };
            let trial = session.trial(load, duration, step)?;
            *left = rest;
            if trial.loss_ratio() == 0.0 && trial.sent() > 0 {
                if !is_slow(&trial, burst) {
                    return Ok(Some(Tried::Passed));
                }
                tried = Tried::PassedSlowly;
            } else if trial.loss_ratio() > LOSS_BEYOND_DOUBT {
                return Ok(Some(Tried::Failed));
            } else {
                tried = Tried::Failed;
            }
        }
        Ok(Some(tried))
    }
}

/// Result of trying a burst length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tried {
    Passed,
    /// Without loss, but sent too slowly in each attempt, which is easier for the device.
    PassedSlowly,
    Failed,
}

/// A burst to try.
struct Burst {
    frames: u64,
    rate: Pps,
    /// Throughput of the device.
    throughput: Pps,
    searches_after: usize,
}

impl Burst {
    /// Duration of sending the burst.
    fn time(&self) -> Duration {
        self.at(self.rate)
    }

    fn at(&self, rate: Pps) -> Duration {
        Duration::try_from_secs_f64(self.frames as f64 / rate.0).unwrap_or(Duration::MAX)
    }

    /// Duration of the burst's trial (RFC 9004 section 5.2): the burst, its forwarding at the
    /// throughput without any overlap, and a silence in which buffers drain, at least as long as
    /// the burst.
    fn trial(&self, depletion: Duration) -> Duration {
        let silence = depletion.max(self.time());
        self.time().saturating_add(self.at(self.throughput)).saturating_add(silence)
    }
}

/// Whether the tester took notably longer than the burst should last, or sent less than all of it.
/// Very short bursts are not judged, because the clock of a shared machine is too coarse for them.
fn is_slow(trial: &Trial, burst: &Burst) -> bool {
    let late = trial.effective.saturating_sub(burst.time());
    let notable = burst.time().mul_f64(SLOW).max(SLOW_MIN);
    late > notable || validity::tester_fell_short(trial)
}

const RFC9004: &str = "rfc9004.6";
const TST009: &str = "tst009.12.3.3";

/// Duration for which the tester sends at `max-rate` to find its maximum.
const MAXIMUM_TRIAL: Duration = Duration::from_millis(500);

/// Fraction of the maximum rate above which a throughput leaves too little to buffer, given the
/// precision of the search.
const THROUGHPUT_BELOW_MAX: f64 = 0.97;

/// Loss fraction above which a burst is not repeated, because no disturbance explains that much.
const LOSS_BEYOND_DOUBT: f64 = 0.02;

/// Relative excess of the duration above which a burst was not back to back.
const SLOW: f64 = 0.05;
const SLOW_MIN: Duration = Duration::from_micros(100);

/// Figures of this method, in addition to the shared ones.
const FIGURES: &[KnownFigure] = &[
    known("actual_buffer_time", "ns"),
    known("back_to_back_deviation", "frames"),
    known("back_to_back_frames", "frames"),
    known("back_to_back_max", "frames"),
    known("back_to_back_min", "frames"),
    known("burst_ceiling", "frames"),
    known("burst_searches", "searches"),
    known("burst_step", "frames"),
    known("corrected_buffer_time", "ns"),
    known("implied_buffer_time", "ns"),
    known("maximum_rate", "pps"),
    known("step", "frames"),
];
