//! What the loads of a method are percentages of: a throughput, or the highest rate there is.
//!
//! A throughput is given, or found first by the `throughput` method, whose trials then belong to
//! the method that asked. The highest rate is the configured one where the tester can send it, and
//! else what the tester sends of it. Both come with words that say which.

use std::time::Duration;

use keys::Invalid;
use measure::record::{Baseline, Limit, LimitKind};
use measure::{Load, MeasureError, Pps, Trial, validity};

use crate::method::Session;
use crate::{Method, Step, throughput};

/// A throughput to which loads refer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Throughput {
    /// Frames per second per port and direction; none if no load passed.
    pub pps: Option<f64>,
    /// Limits of the search, as limits of the method that uses it.
    pub limits: Vec<Limit>,
    /// Baseline of the tester, if the search measured it.
    pub baseline: Option<Baseline>,
    given: bool,
}

/// Refuses what the method `throughput` would refuse, under the key `search`.
pub(crate) fn validate(search: &throughput::Config) -> Result<(), Invalid> {
    search.validate().map_err(|invalid| invalid.under("search"))
}

/// Upper bound of the duration of [`throughput()`].
pub(crate) fn throughput_time(of: Option<Pps>, search: &throughput::Config) -> Duration {
    if of.is_some() { Duration::ZERO } else { search.time_bound() }
}

/// The configured throughput `of`, or one found by `search`. `after` is the number of trials that
/// follow, and their duration.
pub(crate) fn throughput(
    session: &mut Session<'_>,
    of: Option<Pps>,
    search: &throughput::Config,
    after: (usize, Duration),
) -> Result<Throughput, MeasureError> {
    if let Some(Pps(pps)) = of {
        return Ok(Throughput { pps: Some(pps), limits: Vec::new(), baseline: None, given: true });
    }
    let found = session.part(search, after)?;
    let figure = found.figure("throughput").filter(|_| found.validity.valid);
    let limits = match figure {
        Some(_) => {
            let notable = |limit: &Limit| limit.kind != LimitKind::RingFull;
            let remark = |limit: Limit| Limit {
                invalidates: false,
                what: format!("in the search for the throughput: {}", limit.what),
                ..limit
            };
            found.validity.limits.iter().filter(|l| notable(l)).cloned().map(remark).collect()
        }
        None => vec![Limit::of_search(
            true,
            format!("no throughput was found as a reference: {}", found.answer),
            "set `of`, or adjust the search: see the keys of the method throughput",
        )],
    };
    let pps = figure.map(|figure| figure.value);
    Ok(Throughput { pps, limits, baseline: found.baseline, given: false })
}

impl Throughput {
    /// The throughput as text, such as `the throughput (5.00 Mpps)`, or that it was configured.
    pub(crate) fn words(&self) -> String {
        let pps = Pps(self.pps.unwrap_or(0.0));
        if self.given { format!("the configured {pps}") } else { format!("the throughput ({pps})") }
    }

    /// The deviation from a clause that refers to the device's throughput, as text.
    pub(crate) fn deviation(&self) -> Option<String> {
        self.given.then(|| "the throughput is configured, not measured in this run".to_owned())
    }
}

/// The highest rate that can be offered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Maximum {
    /// Frames per second per port and direction.
    pub pps: f64,
    /// Whether the tester sent less than configured.
    pub of_tester: bool,
}

/// The configured rate, or the part of it that the tester sends in a trial of the given duration.
pub(crate) fn maximum(
    session: &mut Session<'_>,
    configured: Pps,
    duration: Duration,
    after: (usize, Duration),
) -> Result<Maximum, MeasureError> {
    let step = Step::new("maximum rate", after.0 + 1, duration.saturating_add(after.1), None);
    let trial = session.trial(Load::PerInterface(configured), duration, step)?;
    let of_tester = validity::tester_fell_short(&trial);
    Ok(Maximum { pps: if of_tester { sent_pps(&trial) } else { configured.0 }, of_tester })
}

impl Maximum {
    /// The rate as text, such as `20.0 Mpps`, or that it is the tester's maximum.
    pub(crate) fn words(&self) -> String {
        let most = if self.of_tester { " (the tester's maximum)" } else { "" };
        format!("{}{most}", Pps(self.pps))
    }

    /// The deviation from a clause that refers to the maximum rate of a medium, as text.
    pub(crate) fn deviation(&self) -> String {
        let what = if self.of_tester { "the tester's own" } else { "a configured rate" };
        format!("the maximum rate is {what}, not that of a medium")
    }
}

/// Frames per second that the tester sent on the interface with the fewest.
pub(crate) fn sent_pps(trial: &Trial) -> f64 {
    let seconds = trial.effective.as_secs_f64();
    let least = trial.directions.iter().map(|d| d.sent).min().unwrap_or(0);
    if seconds > 0.0 { least as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;
    use crate::simulated::Simulated;

    const AFTER: (usize, Duration) = (3, Duration::from_secs(3));

    fn find(device: &mut Simulated, of: Option<Pps>) -> (Throughput, usize) {
        let mut observer = Unobserved;
        let mut session = Session::new(device, &mut observer);
        let search = throughput::Config::default();
        let found = throughput(&mut session, of, &search, AFTER).expect("simulated");
        let indices: Vec<usize> = session.records.iter().map(|r| r.index).collect();
        assert_eq!(indices, (0..indices.len()).collect::<Vec<_>>());
        (found, indices.len())
    }

    #[test]
    fn a_given_throughput_costs_nothing() {
        let (given, trials) = find(&mut Simulated::fixed(1e6), Some(Pps(5e6)));
        assert_eq!((given.pps, trials), (Some(5e6), 0));
        assert_eq!(given.words(), "the configured 5.00 Mpps");
        assert!(given.deviation().is_some());
        assert_eq!(throughput_time(Some(Pps(5e6)), &throughput::Config::default()), Duration::ZERO);
    }

    #[test]
    fn one_that_is_not_given_is_found_within_the_precision_of_the_search() {
        let (found, trials) = find(&mut Simulated::fixed(1e6), None);
        assert!((0.98..=1.0).contains(&(found.pps.expect("found") / 1e6)), "{found:?}");
        assert!((3..=20).contains(&trials), "{trials}");
        assert_eq!(found.deviation(), None);
    }

    #[test]
    fn a_search_that_finds_nothing_is_a_limit_that_invalidates() {
        let (found, _) = find(&mut Simulated::fixed(1e6).lossy_below(1e9, 0.1), None);
        assert_eq!(found.pps, None);
        assert!(found.limits.iter().any(|l| l.invalidates && l.advice.contains("`of`")));
    }

    #[test]
    fn the_maximum_is_what_is_configured_or_what_the_tester_sends() {
        let maximum_of = |mut device: Simulated| {
            let mut observer = Unobserved;
            let mut session = Session::new(&mut device, &mut observer);
            maximum(&mut session, Pps(10e6), Duration::from_secs(1), AFTER).expect("simulated")
        };
        assert_eq!(maximum_of(Simulated::fixed(1e6)), Maximum { pps: 10e6, of_tester: false });
        let short = maximum_of(Simulated::fixed(1e6).tester_limited(8e6));
        assert_eq!(short, Maximum { pps: 8e6, of_tester: true });
        assert_eq!(short.words(), "8.00 Mpps (the tester's maximum)");
    }

    #[test]
    fn an_observer_sees_the_part_and_the_whole_as_one() {
        struct Steps(Vec<(usize, usize)>);
        impl measure::Watch for Steps {
            fn at(&mut self, _: measure::TrialProgress) {}
        }
        impl crate::Observer for Steps {
            fn starting(&mut self, step: &Step) {
                self.0.push((step.index, step.trials_expected));
            }
            fn finished(&mut self, trial: &measure::record::TrialRecord) {
                assert_eq!(Some(trial.index), self.0.last().map(|step| step.0));
            }
        }
        let (mut device, mut observer) = (Simulated::fixed(1e6), Steps(Vec::new()));
        let mut session = Session::new(&mut device, &mut observer);
        maximum(&mut session, Pps(2e6), Duration::from_secs(1), AFTER).expect("simulated");
        throughput(&mut session, None, &throughput::Config::default(), AFTER).expect("simulated");
        assert!(observer.0.iter().enumerate().all(|(at, (index, _))| at == *index));
        assert!(observer.0.iter().all(|(_, expected)| *expected > AFTER.0), "{:?}", observer.0);
    }
}
