//! What the methods of sessions share: what there is to open, an empty device, a trial of sessions,
//! and the proof that those that were opened are there (RFC 9693 section 4.6).

use std::time::Duration;

use measure::record::{Column, Figure, SessionsRecord, TrialRecord};
use measure::{
    Load, MeasureError, Measurer, Nanos, Ratio, SessionAction, SessionCounts, SessionLoad,
    SessionsThere, Trial, figure_words,
};

use crate::Step;
use crate::method::Session;

/// The sessions that the traffic can create; an error if there are none.
pub(crate) fn there(measurer: &dyn Measurer) -> Result<SessionsThere, MeasureError> {
    measurer.sessions().filter(|there| there.most > 0).ok_or_else(|| {
        MeasureError::NothingToMeasure(
            "this method needs traffic that opens sessions, which this function does not have; \
             choose another method, or a stateful function"
                .into(),
        )
    })
}

/// A sample of sessions as ranges (first and count): a fraction of each of a few equal parts.
pub(crate) fn sample(sessions: u64, share: Ratio) -> Vec<(u64, u64)> {
    let pieces = if share.0 >= 1.0 { 1 } else { PIECES.min(sessions) };
    // 128 bits: a piece's end is a product of two counts.
    let end = |piece: u64| (u128::from(sessions) * u128::from(piece) / u128::from(pieces)) as u64;
    let piece = |index: u64| {
        let (first, width) = (end(index), end(index + 1) - end(index));
        (first, ((width as f64 * share.0).ceil() as u64).min(width))
    };
    (0..pieces).map(piece).filter(|(_, count)| *count > 0).collect()
}

/// Result of verifying that sessions exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verified {
    /// Number of sessions that were used.
    pub(crate) used: u64,
    /// Number of used sessions that did not work.
    pub(crate) lost: u64,
}

impl Session<'_> {
    /// Removes all sessions from the device; an error if it cannot do that.
    pub(crate) fn clear(&mut self) -> Result<(), MeasureError> {
        self.measurer.clear_sessions().map_err(|error| match error {
            MeasureError::Unsupported(why) => MeasureError::NothingToMeasure(format!(
                "this method begins each trial on a device without sessions ({why}); choose another \
                 device"
            )),
            other => other,
        })
    }

    /// Makes a trial of sessions, with `wait` after the last frame.
    pub(crate) fn sessions(
        &mut self,
        load: SessionLoad,
        wait: Duration,
        step: Step,
    ) -> Result<(Trial, SessionCounts), MeasureError> {
        let trial = self.trial(Load::Sessions(load), wait, step)?;
        let counts = trial.sessions.clone().ok_or_else(|| {
            MeasureError::Device("the device returned no result for a load of sessions".into())
        })?;
        Ok((trial, counts))
    }

    /// Uses a fraction of the first `sessions` sessions, spread evenly over them.
    pub(crate) fn verify(
        &mut self,
        sessions: u64,
        share: Ratio,
        wait: Duration,
        step: &Step,
    ) -> Result<Verified, MeasureError> {
        let mut verified = Verified::default();
        if share.0 <= 0.0 || sessions == 0 {
            return Ok(verified);
        }
        for (first, count) in sample(sessions, share) {
            let load = SessionLoad { first, ..SessionLoad::all(SessionAction::Use, count) };
            let step = Step { purpose: VALIDATION.into(), ..step.clone() };
            let (_, counts) = self.sessions(load, wait, step)?;
            verified.used += count;
            verified.lost += count - counts.succeeded.min(count);
        }
        Ok(verified)
    }
}

/// Duration of trials: from the first to the last session started, plus the wait for missing
/// frames.
pub(crate) fn time_spent(records: &[TrialRecord]) -> Duration {
    let one = |record: &TrialRecord| {
        let whole = record.sessions.as_ref().is_some_and(|s| s.succeeded == s.asked);
        record.effective_ns + if whole { 0 } else { record.intended_ns }
    };
    Duration::from_nanos(records.iter().map(one).sum())
}

/// Answer times of sessions as figures.
pub(crate) fn answered(counts: &SessionsRecord) -> Vec<Figure> {
    let figures = counts.answered.as_ref().map(|times| {
        [
            ("session_answer_p50", times.p50_ns),
            ("session_answer_p99", times.p99_ns),
            ("session_answer_p99_9", times.p99_9_ns),
            ("session_answer_max", times.max_ns),
        ]
    });
    let figure = |(name, ns): (&str, u64)| Figure::single(name, ns as f64, "ns");
    figures.into_iter().flatten().map(figure).collect()
}

/// Answer times of sessions as text; empty if none was answered.
pub(crate) fn answered_words(counts: &SessionsRecord) -> String {
    counts.answered.as_ref().map_or(String::new(), |times| {
        format!(
            "; answer time median {}, 99.9th percentile {}",
            Nanos(times.p50_ns as f64),
            Nanos(times.p99_9_ns as f64)
        )
    })
}

/// The number of sessions that the device reports, as a figure.
pub(crate) fn held(counts: &SessionsRecord) -> Option<Figure> {
    counts.held.map(|held| Figure::single("sessions_held", held as f64, "sessions"))
}

/// A number of sessions as text.
pub(crate) fn sessions_words(count: u64) -> String {
    figure_words(count as f64, "sessions")
}

/// A rate of sessions as text.
pub(crate) fn rate_words(rate: f64) -> String {
    figure_words(rate, "1/s")
}

/// A column of a series.
pub(crate) fn column(name: &str, unit: &str) -> Column {
    Column { name: name.into(), unit: unit.into() }
}

/// Purpose of a trial that verifies sessions.
pub(crate) const VALIDATION: &str = "validation";

/// Number of parts of a sample of sessions; each needs a trial, of which a search has enough.
pub(crate) const PIECES: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_evenly_and_never_counts_twice() {
        assert_eq!(sample(1000, Ratio(1.0)), [(0, 1000)]);
        let tenth: Vec<(u64, u64)> = (0..PIECES).map(|piece| (piece * 250, 25)).collect();
        assert_eq!(sample(1000, Ratio(0.1)), tenth);
        assert_eq!(sample(3, Ratio(0.01)), [(0, 1), (1, 1), (2, 1)], "at least one of each piece");
        for (sessions, share) in [(105, 0.99), (99_600_000, 0.001), (u64::MAX / 2, 0.5), (1, 0.5)] {
            let pieces = sample(sessions, Ratio(share));
            let end = |(first, count): &(u64, u64)| first + count;
            assert!(pieces.windows(2).all(|pair| end(&pair[0]) <= pair[1].0), "{pieces:?}");
            assert!(pieces.iter().all(|piece| end(piece) <= sessions), "{pieces:?}");
            let used: u64 = pieces.iter().map(|(_, count)| count).sum();
            assert!(used as f64 >= sessions as f64 * share * 0.999_999, "{used} of {sessions}");
        }
    }
}
