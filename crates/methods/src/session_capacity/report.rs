//! What the search amounts to: figures, the course of the steps, limits, claims and words.

use measure::record::{
    Claim, Figure, Limit, LimitKind, Outcome, Series, SessionsRecord, TrialRecord, Validity,
};
use measure::{Bytes, Ratio, validity};

use super::{CAPACITY_CLAUSE, Config, Found, Full, NAME, Tried, VALIDATION_CLAUSE};
use crate::Method;
use crate::claims::claim;
use crate::sessions::{VALIDATION, answered, column, held, sessions_words};

impl Config {
    pub(super) fn outcome(&self, records: Vec<TrialRecord>, found: &Found) -> Outcome {
        let validity = Validity::from_limits(self.limits(&records, found));
        let is_bounded = found.upper.is_some() && !found.out_of_time;
        let holds = validity.valid && found.lower.is_some() && is_bounded;
        let memory = Memory::of(&records, found);
        let figures = match (found.lower, &found.full) {
            (Some(capacity), Some(full)) => figures(&records, found, capacity, full, &memory),
            _ => Vec::new(),
        };
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: answer(found, &memory),
            aggregation: "sessions of all clients together, each counted once".into(),
            figures,
            series: vec![series(&records, found)],
            claims: self.claims(holds),
            validity,
            trials: records,
            ..Outcome::default()
        }
    }

    fn limits(&self, records: &[TrialRecord], found: &Found) -> Vec<Limit> {
        let mut limits = validity::summarise(&deciding(records, found));
        // How fast they were opened is no part of the answer.
        limits.retain(|limit| limit.kind != LimitKind::Tester);
        match (found.lower, found.upper) {
            (None, upper) => {
                let last = found.steps.last().and_then(|tried| tried.failure.clone());
                limits.push(Limit::of_search(
                    true,
                    format!(
                        "the device did not hold {}: {}",
                        sessions_words(upper.unwrap_or(self.start)),
                        last.unwrap_or_else(|| "no trial was completed".into())
                    ),
                    "run the functional check, lower rate, raise wait, or look at the drops by reason",
                ));
            }
            (Some(all), None) if !found.out_of_time => limits.push(Limit::of_search(
                false,
                format!("all {} that were tried were held", sessions_words(all)),
                "raise max-sessions, or give the traffic more sessions: the device may hold more",
            )),
            _ => {}
        }
        if found.out_of_time {
            limits.push(Limit::of_search(
                found.lower.is_none(),
                "max-search-time ended the search before the precision was reached".to_owned(),
                "raise max-search-time, precision or start",
            ));
        }
        limits.extend(found.full.iter().flat_map(of_full));
        limits
    }

    fn claims(&self, holds: bool) -> Vec<Claim> {
        let mut capacity = vec![
            "the table counts as full if a session fails, not if sessions open more slowly".into(),
            "the bisection first tries the number that a failed trial had opened".into(),
        ];
        if self.rate.is_none() {
            capacity.push("sessions are opened as fast as they succeed, not at a rate".into());
        }
        let mut proof = Vec::new();
        if self.verify_final < Ratio(1.0) {
            proof.push(format!("{} of the sessions were used, spread evenly", self.verify_final));
        }
        vec![claim(CAPACITY_CLAUSE, holds, &capacity), claim(VALIDATION_CLAUSE, holds, &proof)]
    }
}

/// The trials that represent the result: the one that filled the device at the end, and its
/// verification.
fn deciding<'r>(records: &'r [TrialRecord], found: &Found) -> Vec<&'r TrialRecord> {
    let Some(full) = &found.full else { return records.iter().collect() };
    let is_one = |record: &&TrialRecord| {
        record.index == full.index || (record.index > full.index && record.purpose == VALIDATION)
    };
    records.iter().filter(is_one).collect()
}

/// Limits for a full device that misbehaved.
fn of_full(full: &Full) -> Vec<Limit> {
    let mut limits = Vec::new();
    if full.refused + full.verified.lost > 0 {
        let what = match full.refused {
            0 => format!(
                "{} of {} used did not work",
                sessions_words(full.verified.lost),
                full.verified.used
            ),
            refused => format!("{} that were held before failed later", sessions_words(refused)),
        };
        let advice = "verify a larger fraction at each step, so that the search detects it; repeat";
        limits.push(Limit::of_search(true, what, advice));
    }
    let Some(beyond) = &full.beyond else { return limits };
    if beyond.verified.lost > 0 {
        limits.push(Limit::of_search(
            false,
            format!(
                "when the full device was asked for more sessions, {} of {} that were open were \
                 lost",
                sessions_words(beyond.verified.lost),
                beyond.verified.used
            ),
            "a device must never end a live session for a new one: check its limits and its \
             eviction",
        ));
    }
    if beyond.refused == 0 {
        limits.push(Limit::of_search(
            false,
            format!("none of {} beyond the capacity failed", sessions_words(beyond.opened)),
            "the device ends other sessions for them, or its capacity varies: raise beyond, repeat",
        ));
    }
    limits
}

/// Memory of sessions.
struct Memory {
    /// Memory that each session adds, from the first step to the last, in bytes.
    each: Option<f64>,
    /// Resident memory of the whole process per session, in bytes.
    resident: Option<f64>,
}

impl Memory {
    fn of(records: &[TrialRecord], found: &Found) -> Memory {
        let resident = |tried: &Tried| {
            let bytes = records.get(tried.index)?.resident_bytes?;
            Some((tried.count as f64, bytes as f64))
        };
        let passed = || found.steps.iter().filter(|tried| tried.failure.is_none());
        let few = passed().min_by_key(|tried| tried.count).and_then(resident);
        let many = passed().max_by_key(|tried| tried.count).and_then(resident);
        let each = few.zip(many).filter(|(few, many)| many.0 > few.0);
        Memory {
            each: each.map(|(few, many)| (many.1 - few.1).max(0.0) / (many.0 - few.0)),
            resident: many.map(|(sessions, bytes)| bytes / sessions),
        }
    }
}

fn figures(
    records: &[TrialRecord],
    found: &Found,
    capacity: u64,
    full: &Full,
    memory: &Memory,
) -> Vec<Figure> {
    let sessions = |name: &str, count: u64| Figure::single(name, count as f64, "sessions");
    let is_bound = found.upper.is_none();
    let mut figures = vec![sessions("session_capacity", capacity).at_least(is_bound)];
    figures.extend(found.upper.map(|upper| sessions("session_capacity_failed", upper)));
    figures.extend(memory.each.map(|bytes| Figure::single("session_memory", bytes, "bytes")));
    let resident = |bytes| Figure::single("session_memory_resident", bytes, "bytes");
    figures.extend(memory.resident.map(resident));
    figures.push(sessions("sessions_verified", full.verified.used));
    if let Some(beyond) = &full.beyond {
        figures.extend([
            sessions("lost_when_exhausted", beyond.verified.lost),
            sessions("refused_when_exhausted", beyond.refused),
            sessions("opened_when_exhausted", beyond.opened),
        ]);
    }
    if let Some(counts) = counts(records, full.index) {
        figures.push(Figure::single("session_filling_rate", counts.succeeded_per_s, "1/s"));
        figures.extend(held(counts));
        figures.extend(answered(counts));
    }
    figures
}

fn counts(records: &[TrialRecord], index: usize) -> Option<&SessionsRecord> {
    records.get(index)?.sessions.as_ref()
}

fn answer(found: &Found, memory: &Memory) -> String {
    let Some(capacity) = found.lower else {
        return "The device held no number of sessions.".into();
    };
    let least = if found.upper.is_none() { "at least " } else { "" };
    let each = memory.each.filter(|bytes| *bytes > 0.0);
    let each =
        each.map_or(String::new(), |bytes| format!(", with {} of memory each", Bytes(bytes)));
    let beyond = found.full.as_ref().and_then(|full| full.beyond);
    let beyond = beyond.map_or(String::new(), |beyond| match beyond.verified.lost {
        0 if beyond.refused > 0 => {
            format!(
                "; when full, it refuses {} more and loses none",
                sessions_words(beyond.refused)
            )
        }
        0 => "; when full, it nevertheless opens more".into(),
        lost => format!("; when full and asked for more, it loses {}", sessions_words(lost)),
    });
    format!("It holds {least}{}{each}{beyond}.", sessions_words(capacity))
}

fn series(records: &[TrialRecord], found: &Found) -> Series {
    let row = |tried: &Tried| {
        let record = records.get(tried.index);
        let counts = record.and_then(|record| record.sessions.as_ref());
        let ns = |of: fn(&measure::record::Distribution) -> u64| {
            Some(of(counts?.answered.as_ref()?) as f64)
        };
        vec![
            Some(tried.count as f64),
            Some(tried.opened as f64),
            Some(f64::from(u8::from(tried.failure.is_none()))),
            counts.map(|counts| counts.succeeded_per_s),
            ns(|times| times.p50_ns),
            ns(|times| times.p99_9_ns),
            record.and_then(|record| record.resident_bytes).map(|bytes| bytes as f64),
            counts.and_then(|counts| counts.held).map(|held| held as f64),
        ]
    };
    let mut rows: Vec<Vec<Option<f64>>> = found.steps.iter().map(row).collect();
    rows.sort_by(|a, b| a[0].unwrap_or(0.0).total_cmp(&b[0].unwrap_or(0.0)));
    Series {
        name: "session-counts".into(),
        title: "Held sessions by requested sessions".into(),
        columns: vec![
            column("asked", "sessions"),
            column("opened", "sessions"),
            column("passed", "index"),
            column("opened_rate", "1/s"),
            column("answer_p50", "ns"),
            column("answer_p99_9", "ns"),
            column("resident_bytes", "bytes"),
            column("held", "sessions"),
        ],
        rows,
    }
}
