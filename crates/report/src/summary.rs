//! The answer in a few sentences, for every exporter that people read.

use measure::Pps;
pub(crate) use measure::figure_words;
use measure::record::{Cell, Claim, Figure, Outcome, RunRecord, Status};

use crate::names::Names;
use crate::words::{distinct, grouped, outcomes, sentence_start};

/// The answer: one sentence per method, or why there is none.
pub(crate) fn answers(record: &RunRecord) -> Vec<String> {
    if let Some(cell) = record.cells.iter().find(|c| c.check.as_ref().is_some_and(|k| !k.passed)) {
        return vec![check_failed(cell, &Names::of(record))];
    }
    let methods = methods(record);
    let mut answers: Vec<String> =
        methods.iter().filter_map(|method| answer_of(record, method)).collect();
    for cell in &record.cells {
        answers.extend(cell.trouble().map(|trouble| format!("{}: {trouble}", cell.label())));
    }
    if answers.is_empty() {
        answers.push(match (record.status, record.cells.iter().find_map(|c| c.check.as_ref())) {
            (Status::Interrupted, _) => "Interrupted before the first measurement.".into(),
            (_, Some(check)) => {
                let (frames, what) = (check.frames, check.of.plural());
                format!("The functional check passed: {frames} {what} match the oracle.")
            }
            _ => "Nothing was measured.".into(),
        });
    }
    answers
}

/// Text for a status.
pub(crate) fn status_words(status: Status) -> &'static str {
    match status {
        Status::Passed => "valid",
        Status::CheckFailed => "check failed",
        Status::Invalid => "not valid",
        Status::ThresholdMissed => "threshold missed",
        Status::Failed => "failed",
        Status::Interrupted => "interrupted",
    }
}

/// The methods of a record in the order of reading: what users get, with receive and transmit,
/// stands before what a core could do.
pub(crate) fn methods(record: &RunRecord) -> Vec<&str> {
    let mut methods = distinct(outcomes(record).map(|(_, o)| o.method.as_str()));
    methods.sort_by_key(|method| *method == "capacity");
    methods
}

/// The validity of a run in at most five words.
pub(crate) fn validity_in_words(record: &RunRecord) -> String {
    let all = outcomes(record).count();
    let invalid = outcomes(record).filter(|(_, outcome)| !outcome.validity.valid).count();
    let remarked = outcomes(record).filter(|(_, o)| !o.validity.limits.is_empty()).count();
    let imprecise = outcomes(record).filter(|(_, o)| o.validity.imprecision().is_some()).count();
    match (record.status, invalid, remarked) {
        (Status::Passed, ..) if imprecise > 0 => format!("valid, imprecise: {imprecise} of {all}"),
        (Status::Passed, _, 0) if all > 0 => "valid, without remarks".into(),
        (Status::Passed, _, 1) => "valid, remarks on one result".into(),
        (Status::Passed, _, n) if n > 0 => format!("valid, remarks on {n} results"),
        (Status::Invalid, n, _) if n > 0 && n < all => format!("{n} of {all} not valid"),
        (status, _, _) => status_words(status).into(),
    }
}

/// What a figure in brackets beside the headline counts, told once; none without such figures.
pub(crate) fn explained(record: &RunRecord) -> Option<String> {
    let has = |name| outcomes(record).any(|(_, outcome)| outcome.figure(name).is_some());
    let of_rates = has("function_pps").then_some(
        "Including generator and sink is all that a core does for a packet. Excluding Rx/Tx counts \
         the function's stages alone, to compare with published figures that leave out receive \
         and transmit; no port forwards at that rate.",
    );
    let of_frames = has("function_cold_pps").then_some(
        "Cold frames are in no cache when the function gets them, as after a network card; hot ones \
         are in the first-level cache.",
    );
    let all: Vec<&str> = of_rates.into_iter().chain(of_frames).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// The headline figure of an outcome: what users get leads, and then its first.
pub(crate) fn headline(outcome: &Outcome) -> Option<&Figure> {
    let lead = LEADS.iter().find(|(method, _)| *method == outcome.method);
    lead.and_then(|(_, name)| outcome.figure(name)).or_else(|| outcome.figures.first())
}

/// Each claim once, with the results that make it: a method where all its results do.
pub(crate) fn claims(record: &RunRecord) -> Vec<(&Claim, String)> {
    let mut claims: Vec<&Claim> = Vec::new();
    for claim in outcomes(record).flat_map(|(_, o)| &o.claims) {
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    }
    claims.into_iter().map(|claim| (claim, claimants(record, claim))).collect()
}

fn claimants(record: &RunRecord, claim: &Claim) -> String {
    let names = Names::of(record);
    let methods = distinct(outcomes(record).map(|(_, o)| o.method.as_str()));
    let of_method = |method: &str| {
        let all: Vec<_> = outcomes(record).filter(|(_, o)| o.method == method).collect();
        let (with, without): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, o)| o.claims.contains(claim));
        match (with.is_empty(), without.is_empty()) {
            (true, _) => None,
            (false, true) => Some(method.to_string()),
            (false, false) => {
                let cells: Vec<String> = with.iter().map(|(cell, _)| names.of_cell(cell)).collect();
                Some(format!("{method} at {}", cells.join("; ")))
            }
        }
    };
    methods.into_iter().filter_map(of_method).collect::<Vec<_>>().join("; ")
}

fn check_failed(cell: &Cell, names: &Names) -> String {
    let check = cell.check.clone().unwrap_or_default();
    format!(
        "The functional check failed: {} of {} {} ({}) did not come out as the oracle says, so no \
         figure is published.",
        grouped(check.mismatch_count),
        grouped(check.frames),
        check.of.plural(),
        names.of_cell(cell)
    )
}

/// One sentence for all cells of a method: the method's own answer for one cell, first and last
/// value for a sweep.
fn answer_of(record: &RunRecord, method: &str) -> Option<String> {
    let found: Vec<(&Cell, &Outcome)> =
        outcomes(record).filter(|(_, o)| o.method == method).collect();
    let (first, last) = (found.first()?, found.last()?);
    let names = Names::of(record);
    // Where one of them lacks the figure of the other, it has none of it.
    let name = headline(first.1).or_else(|| headline(last.1)).map_or("", |f| f.name.as_str());
    let words = |(cell, outcome): &(&Cell, &Outcome)| {
        headline(outcome)?;
        let figure = outcome.figures.iter().find(|f| f.name == name);
        let value = figure.map_or("none".into(), |f| f.words());
        let beside = beside(outcome, name);
        Some(format!("{value}{beside} at {}", names.of_cell(cell)))
    };
    match (found.len(), words(first), words(last)) {
        (1, _, _) | (_, None, _) | (_, _, None) => Some(first.1.answer.clone()),
        (cells, Some(a), Some(b)) => Some(format!(
            "{} of the {} ({}): {a}, {b}; {cells} cells.",
            sentence_start(method),
            first.0.function,
            figure_name(name)
        )),
    }
}

/// The rates excluding Rx/Tx that stand beside another headline, in brackets.
fn beside(outcome: &Outcome, headline: &str) -> String {
    let words = |name| Some(outcome.figure(name).filter(|f| f.name != headline)?.words());
    match (words("function_cold_pps"), words("function_pps")) {
        (Some(cold), Some(hot)) => {
            format!(" ({cold} of cold, {hot} of hot frames excluding Rx/Tx)")
        }
        (None, Some(rate)) => format!(" ({rate} excluding Rx/Tx)"),
        _ => String::new(),
    }
}

/// A figure's name as text.
pub(crate) fn figure_name(name: &str) -> String {
    match name {
        "function_pps" => "excluding Rx/Tx".into(),
        "function_cold_pps" => "excluding Rx/Tx, cold frames".into(),
        "ticks_cold_per_packet" => "TSC cycles per packet, cold frames".into(),
        "total_pps" => "including generator and sink".into(),
        "wall_clock_pps" => "wall clock".into(),
        "longest_batch" => "longest batch".into(),
        "ticks_per_packet" => "TSC cycles per packet".into(),
        "ns_per_packet" => "time per packet".into(),
        "device_cpu_per_packet" => "CPU time per packet".into(),
        "device_busy_per_packet" => "time in stages".into(),
        "throughput" => "per port and direction".into(),
        "throughput_aggregate" => "aggregate".into(),
        "throughput_aggregate_l2" => "aggregate L2 rate".into(),
        "throughput_aggregate_l1" => "aggregate L1 rate".into(),
        "throughput_l2" => "L2 rate".into(),
        "throughput_l1" => "L1 rate".into(),
        "loss_fraction" => "frame loss ratio".into(),
        "loss_percent" => "frame loss rate".into(),
        // The unit stands behind the value.
        other => {
            let bare = ["_percent", "_ns", "_pps"].iter().find_map(|unit| other.strip_suffix(unit));
            bare.unwrap_or(other)
                .replace("blackout_", "outage time_")
                .replace("p99_9", "p99.9")
                .replace('_', " ")
        }
    }
}

/// Methods whose first figure is of a part of the work, with the figure of all of it.
const LEADS: &[(&str, &str)] = &[("capacity", "total_pps")];

/// Packets per second in millions, for axes and tables with one unit.
pub(crate) fn mpps(pps: f64) -> f64 {
    Pps(pps).0 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_named_in_words() {
        assert_eq!(figure_name("latency_p99_9"), "latency p99.9");
        assert_eq!(figure_name("latency_p50"), "latency p50");
    }
}
