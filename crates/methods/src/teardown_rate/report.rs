//! What the repetitions amount to: figures, limits, claims and words.

use measure::record::{Claim, Figure, Limit, Outcome, SessionsRecord, TrialRecord, Validity};
use measure::{Nanos, validity};

use super::{CLAUSE, Closing, Config, NAME};
use crate::Method;
use crate::claims::claim;
use crate::figures::over_repetitions;
use crate::sessions::{answered, rate_words, sessions_words};

impl Config {
    pub(super) fn outcome(
        &self,
        records: Vec<TrialRecord>,
        count: u64,
        closings: &[Closing],
    ) -> Outcome {
        let figures = figures(&records, closings);
        let validity = Validity::from_limits(self.limits(&records, count, closings, &figures));
        let is_whole = closed(&records, closings).all(|(_, counts)| counts.failed == 0);
        let claims = vec![self.claim(validity.valid && is_whole)];
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: answer(&figures),
            aggregation: "sessions of all clients together; the median of the repetitions".into(),
            figures,
            claims,
            validity,
            trials: records,
            ..Outcome::default()
        }
    }

    fn limits(
        &self,
        records: &[TrialRecord],
        count: u64,
        closings: &[Closing],
        figures: &[Figure],
    ) -> Vec<Limit> {
        let decisive: Vec<&TrialRecord> =
            closings.iter().filter_map(|closing| records.get(closing.index)).collect();
        let mut limits = validity::summarise(&decisive);
        limits.extend(validity::spread(figures.first().and_then(|figure| figure.spread)));
        let unopened: u64 = closings.iter().map(|closing| closing.unopened).sum();
        if unopened > 0 {
            limits.push(Limit::of_search(
                true,
                format!("{} did not open, so they could not be closed", sessions_words(unopened)),
                "lower sessions to the capacity of the device (see the method session-capacity)",
            ));
        }
        let failed: u64 = closed(records, closings).map(|(_, counts)| counts.failed).sum();
        if failed > unopened {
            limits.push(Limit::of_search(
                false,
                format!("the closing of {} was not answered", sessions_words(failed - unopened)),
                "lower rate, or remove it so that nothing is lost for lack of buffers; raise wait",
            ));
        }
        if count < self.sessions {
            limits.push(Limit::of_search(
                false,
                format!(
                    "{} instead of {}: the traffic has no more",
                    sessions_words(count),
                    self.sessions
                ),
                "give the traffic more sessions, or lower sessions",
            ));
        }
        let done = closings.len();
        if done < self.repetitions as usize {
            limits.push(Limit::of_search(
                false,
                format!("max-time ended after {done} of {} repetitions", self.repetitions),
                "raise max-time, or lower sessions or repetitions",
            ));
        }
        limits
    }

    fn claim(&self, holds: bool) -> Claim {
        let mut deviations = vec![
            "sessions end by their own frames, not by a command that empties the table".into(),
        ];
        if let Some(rate) = self.rate {
            deviations.push(format!("they are closed at {} at most", rate_words(rate)));
        }
        claim(CLAUSE, holds, &deviations)
    }
}

/// The trials that closed sessions, with their counters.
fn closed<'r>(
    records: &'r [TrialRecord],
    closings: &'r [Closing],
) -> impl Iterator<Item = (&'r TrialRecord, &'r SessionsRecord)> {
    let one = |closing: &'r Closing| {
        let record = records.get(closing.index)?;
        Some((record, record.sessions.as_ref()?))
    };
    closings.iter().filter_map(one)
}

/// Time in which a trial closed its sessions, to the start of the last one plus its answer, in
/// nanoseconds.
fn time_ns(record: &TrialRecord, counts: &SessionsRecord) -> f64 {
    record.effective_ns as f64 + counts.answered.as_ref().map_or(0.0, |times| times.mean_ns)
}

fn figures(records: &[TrialRecord], closings: &[Closing]) -> Vec<Figure> {
    let over = |name: &str, unit: &str, read: &dyn Fn(&TrialRecord, &SessionsRecord) -> f64| {
        let values: Vec<f64> = closed(records, closings).map(|(r, c)| read(r, c)).collect();
        over_repetitions(name, unit, &values)
    };
    let rate = |record: &TrialRecord, counts: &SessionsRecord| {
        counts.succeeded as f64 / (time_ns(record, counts).max(1.0) * 1e-9)
    };
    let mut figures: Vec<Figure> = [
        over("teardown_rate", "1/s", &rate),
        over("teardown_time", "ns", &time_ns),
        over("sessions_closed", "sessions", &|_, counts| counts.succeeded as f64),
    ]
    .into_iter()
    .flatten()
    .collect();
    if closed(records, closings).all(|(_, counts)| counts.held.is_some()) {
        let left = |_: &TrialRecord, counts: &SessionsRecord| counts.held.unwrap_or(0) as f64;
        figures.extend(over("sessions_left", "sessions", &left));
    }
    let last = closed(records, closings).last();
    figures.extend(last.map_or_else(Vec::new, |(_, counts)| answered(counts)));
    figures
}

fn answer(figures: &[Figure]) -> String {
    let value = |name: &str| figures.iter().find(|f| f.name == name).map(|f| f.value);
    let (Some(rate), Some(time), Some(count)) =
        (value("teardown_rate"), value("teardown_time"), value("sessions_closed"))
    else {
        return "No session was closed.".into();
    };
    let left = value("sessions_left")
        .map_or(String::new(), |left| format!("; it then holds {}", sessions_words(left as u64)));
    format!(
        "It closes {}: {} in {}{left}.",
        rate_words(rate),
        sessions_words(count as u64),
        Nanos(time)
    )
}
