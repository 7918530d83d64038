//! Take-overs as figures, limits and words.

use measure::record::{Claim, Column, Figure, Limit, Outcome, Series, TrialRecord, Validity};
use measure::{Nanos, validity};

use super::{CLAUSE, Config, NAME, Taken};
use crate::Method;
use crate::claims::claim;
use crate::figures::over_repetitions;
use crate::sessions::sessions_words;

impl Config {
    pub(super) fn outcome(&self, records: Vec<TrialRecord>, count: u64, all: &[Taken]) -> Outcome {
        let figures = figures(all);
        let validity = Validity::from_limits(self.limits(&records, count, all));
        let is_kept = all.iter().all(|one| one.lost == 0 && one.is_acknowledged);
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: answer(all),
            aggregation: "times are medians of the repetitions, sessions their sums".into(),
            series: series(all),
            claims: vec![self.claim(validity.valid && is_kept)],
            figures,
            validity,
            trials: records,
            ..Outcome::default()
        }
    }

    fn limits(&self, records: &[TrialRecord], count: u64, all: &[Taken]) -> Vec<Limit> {
        let decisive: Vec<&TrialRecord> =
            records.iter().filter(|trial| trial.purpose == super::KEPT).collect();
        let mut limits = validity::summarise(&decisive);
        let of = all.len();
        let undone = all.iter().filter(|one| one.takeover.is_none()).count();
        if undone > 0 {
            limits.push(Limit::of_search(
                true,
                format!("in {undone} of {of} trials no standby took over"),
                "raise after; see the messages of the device",
            ));
        }
        let unsynchronised = all.iter().filter(|one| !one.is_acknowledged).count();
        if unsynchronised > 0 {
            limits.push(Limit::of_search(
                true,
                format!(
                    "in {unsynchronised} of {of} trials the standby had not acknowledged all sessions after {}",
                    self.patience
                ),
                "raise patience, or the rate of replication",
            ));
        }
        let unopened: u64 = all.iter().map(|one| count - one.opened.min(count)).sum();
        if unopened > 0 {
            limits.push(Limit::of_search(
                true,
                format!("{} did not open before the fail-over", sessions_words(unopened)),
                "lower sessions to the capacity of the device (see the method session-capacity)",
            ));
        }
        if count < self.sessions {
            let have = format!(
                "{} instead of {}: the traffic has no more",
                sessions_words(count),
                self.sessions
            );
            limits.push(Limit::of_search(
                false,
                have,
                "give the traffic more sessions, or lower sessions",
            ));
        }
        limits
    }

    fn claim(&self, holds: bool) -> Claim {
        let what =
            "sessions are verified by frames in both directions, on a standby that has taken over";
        claim(CLAUSE, holds, &[what.into()])
    }
}

fn figures(all: &[Taken]) -> Vec<Figure> {
    let sum = |of: fn(&Taken) -> u64| all.iter().map(of).sum::<u64>() as f64;
    let times = |of: fn(&measure::Takeover) -> u64| -> Vec<f64> {
        all.iter().filter_map(|one| one.takeover.as_ref()).map(|one| of(one) as f64).collect()
    };
    let timed = [
        over_repetitions("failover_time", "ns", &times(|one| one.silence_ns)),
        over_repetitions("failover_until_ready", "ns", &times(|one| one.ready_after_ns)),
    ];
    let unacknowledged = all.iter().filter_map(|one| one.takeover.as_ref());
    let unacknowledged: u64 = unacknowledged.map(|one| one.unacknowledged).sum();
    let counted = [
        ("sessions_opened", sum(|one| one.opened)),
        ("sessions_kept", sum(|one| one.opened - one.lost.min(one.opened))),
        ("sessions_lost", sum(|one| one.lost)),
        ("sessions_moved", sum(|one| one.moved)),
        ("sessions_unanswered", sum(|one| one.unanswered)),
        ("sessions_fresh_lost", sum(|one| one.fresh_lost)),
        ("sessions_unacknowledged", unacknowledged as f64),
    ];
    let counted = counted.map(|(name, value)| Figure::single(name, value, "sessions"));
    timed.into_iter().flatten().chain(counted).collect()
}

/// A series with one row per take-over.
fn series(all: &[Taken]) -> Vec<Series> {
    let column = |name: &str, unit: &str| Column { name: name.into(), unit: unit.into() };
    let row = |(index, one): (usize, &Taken)| {
        let takeover = one.takeover.as_ref();
        vec![
            Some(index as f64 + 1.0),
            takeover.map(|one| one.silence_ns as f64),
            takeover.map(|one| one.ready_after_ns as f64),
            Some(one.lost as f64),
            Some(one.unanswered as f64),
            Some(one.fresh_lost as f64),
            takeover.map(|one| one.unacknowledged as f64),
        ]
    };
    if all.is_empty() {
        return Vec::new();
    }
    vec![Series {
        name: NAME.into(),
        title: "Cost of each take-over".into(),
        columns: vec![
            column("takeover", "index"),
            column("failover_time", "ns"),
            column("until_ready", "ns"),
            column("sessions_lost", "sessions"),
            column("sessions_unanswered", "sessions"),
            column("sessions_fresh_lost", "sessions"),
            column("sessions_unacknowledged", "sessions"),
        ],
        rows: all.iter().enumerate().map(row).collect(),
    }]
}

fn answer(all: &[Taken]) -> String {
    let Some(first) = all.iter().find_map(|one| one.takeover.as_ref()) else {
        return "No standby took over.".into();
    };
    let times: Vec<f64> = all
        .iter()
        .filter_map(|one| one.takeover.as_ref())
        .map(|one| one.silence_ns as f64)
        .collect();
    let time = over_repetitions("failover_time", "ns", &times).map_or(0.0, |figure| figure.value);
    let sum = |of: fn(&Taken) -> u64| all.iter().map(of).sum::<u64>();
    let (opened, lost) = (sum(|one| one.opened), sum(|one| one.lost));
    let fate = match lost {
        0 => "none are lost".to_owned(),
        lost => format!("{} are lost", sessions_words(lost)),
    };
    let fresh = match sum(|one| one.fresh_lost) {
        0 => String::new(),
        lost => format!("; of those opened just before it, {lost} are lost"),
    };
    let times = if all.len() == 1 { "once".to_owned() } else { format!("{} times", all.len()) };
    format!(
        "Take-over by {}, {times}: of {} acknowledged by the standby {fate}{fresh}; the outage is \
         {}.",
        first.what,
        sessions_words(opened),
        Nanos(time)
    )
}
