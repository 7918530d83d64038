//! The terminal: the answer first, then a table, then what limits it and what to do.
//!
//! Plain text without colours or cursor movement, so that it can be piped and compared; the width
//! is the caller's.

use std::fmt::Write;

use comfy_table::{
    Cell as TableCell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table,
    Width as ColumnWidth, presets,
};
use measure::Nanos;
use measure::record::{Cell, Check, Distribution, RunRecord, Status, TrialRecord};

use crate::bends;
use crate::compared_values;
use crate::details;
use crate::limits::{Remark, grouped_in, remarks};
use crate::names::Names;
use crate::pivot::{Pivot, pivots};
use crate::summary::{self, answers, status_words};
use crate::words::{grouped, outcomes};

/// Renders the report of a run in at most `width` columns.
pub fn render(record: &RunRecord, width: u16) -> String {
    let mut text = String::new();
    for answer in answers(record) {
        line(&mut text, &grouped_in(&answer));
    }
    if let Some(words) = summary::explained(record) {
        line(&mut text, &words);
    }
    if let Some(compared) = compared_values::of(record) {
        for verdict in &compared.verdicts {
            line(&mut text, verdict);
        }
        line(&mut text, "");
        line(&mut text, &compared.headlines.caption);
        table(&mut text, &compared.headlines, width);
    }
    let names = Names::of(record);
    for words in names.together().into_iter().chain(bends::sentences(&record.cells)) {
        line(&mut text, &words);
    }
    let behind = [details::goals(record).map(Pivot::without_last), details::baselines(record)];
    for pivot in pivots(record).into_iter().chain(behind.into_iter().flatten()) {
        line(&mut text, "");
        line(&mut text, &pivot.caption);
        table(&mut text, &pivot, width);
    }
    if let Some(words) = details::from_cache(record) {
        line(&mut text, "");
        line(&mut text, &words);
    }
    events(&mut text, record, &names);
    checks(&mut text, record, &names);
    limits(&mut text, record);
    thresholds(&mut text, record);
    claims(&mut text, record);
    line(&mut text, "");
    line(&mut text, &verdict(record));
    text
}

/// Renders a table, in several parts if it is wider than `width`.
pub(crate) fn table(text: &mut String, pivot: &Pivot, width: u16) {
    for columns in side_by_side(pivot, width) {
        line(text, &results(pivot, &columns, width).to_string());
    }
}

/// One line about a functional check, for the command `check` and for reports.
pub fn check_words(check: &Check) -> String {
    let mut words = outcome_words(check);
    if !check.uncovered.is_empty() {
        let _ = write!(words, "; not exercised: {}", uncovered_words(check));
    }
    words
}

/// What a check did not exercise: those of one cause stand together before it.
fn uncovered_words(check: &Check) -> String {
    let mut by_cause: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in &check.uncovered {
        let (name, cause) = one.split_once(' ').unwrap_or((one, ""));
        match by_cause.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, names)) => names.push(name),
            None => by_cause.push((cause, vec![name])),
        }
    }
    let words = by_cause.iter().map(|(cause, names)| match *cause {
        "" => names.join(", "),
        cause => format!("{} {cause}", names.join(", ")),
    });
    words.collect::<Vec<_>>().join("; ")
}

/// What came of a check, without what it did not exercise.
fn outcome_words(check: &Check) -> String {
    let left_out = check.left_out();
    let mut words = if check.passed {
        let extent = if left_out.is_some() { "partially passed" } else { "passed" };
        format!("{extent}: {} {} match the oracle", grouped(check.frames), check.of.plural())
    } else {
        format!(
            "FAILED: {} of {} {} differ from the oracle",
            grouped(check.mismatch_count),
            grouped(check.frames),
            check.of.plural()
        )
    };
    if !check.captured.is_empty() {
        let frames: u64 = check.captured.iter().map(|one| one.frames).sum();
        let each = check.captured.iter().map(|one| format!("{} {}", one.name, grouped(one.frames)));
        let each = each.collect::<Vec<_>>().join(", ");
        let _ = write!(words, "; of the first {} captured frames: {each}", grouped(frames));
    }
    if let Some(left_out) = left_out {
        let _ = write!(words, "; excluded for this device: {left_out}");
    }
    if check.either > 0 {
        let _ =
            write!(words, "; {} frames with two valid verdicts, depending on timing", check.either);
    }
    words
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Splits the columns of a table into parts that fit into the width without breaking words.
fn side_by_side(pivot: &Pivot, width: u16) -> Vec<Vec<usize>> {
    split(pivot.head.len(), |column| column_width(pivot, column), usize::from(width))
}

/// Splits columns into parts of at most a width, if one column is not wider; each part begins with
/// the column that names the rows.
pub(crate) fn split(count: usize, of: impl Fn(usize) -> usize, width: usize) -> Vec<Vec<usize>> {
    let first = of(0);
    let (mut parts, mut part, mut used) = (Vec::new(), vec![0], first);
    for column in 1..count {
        let needed = of(column);
        if used + needed > width && part.len() > 1 {
            parts.push(std::mem::replace(&mut part, vec![0]));
            used = first;
        }
        used += needed;
        part.push(column);
    }
    parts.push(part);
    parts
}

/// The smallest width of a column including padding. Headings may wrap between words, and long
/// names of rows at a third of the page; figures do not wrap.
fn column_width(pivot: &Pivot, column: usize) -> usize {
    let word = |text: &String| text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
    let cells = pivot.rows.iter().filter_map(|row| row.get(column));
    let cells = cells.map(|text| match (column, text.chars().count()) {
        (0, length) => word(text).max(length.min(NAME_WIDTH)),
        (_, length) => length,
    });
    let least = cells.chain([word(&pivot.head[column])]).max().unwrap_or(0);
    least + PADDING
}

fn results(pivot: &Pivot, columns: &[usize], width: u16) -> Table {
    let mut table = Table::new();
    let chosen = |texts: &[String]| {
        let texts = columns.iter().map(|column| texts.get(*column).cloned().unwrap_or_default());
        aligned(&texts.collect::<Vec<_>>())
    };
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(chosen(&pivot.head));
    for row in &pivot.rows {
        table.add_row(chosen(row));
    }
    let least = columns.iter().map(|column| (column_width(pivot, *column) - GAP) as u16);
    table.set_constraints(
        least.map(|width| ColumnConstraint::LowerBoundary(ColumnWidth::Fixed(width))),
    );
    table
}

/// Aligns the first cell left, and the others right.
fn aligned(texts: &[String]) -> Vec<TableCell> {
    let cell = |(index, text): (usize, &String)| match index {
        0 => TableCell::new(text),
        _ => TableCell::new(text).set_alignment(CellAlignment::Right),
    };
    texts.iter().enumerate().map(cell).collect()
}

/// Renders changes at run time, from the last trial with changes of each result.
fn events(text: &mut String, record: &RunRecord, names: &Names) {
    let p99 = |times: &Option<Distribution>| {
        times.as_ref().map_or("(not seen)".into(), |t| Nanos(t.p99_ns as f64).to_string())
    };
    let mut lines = Vec::new();
    for (cell, outcome) in outcomes(record) {
        let changed = |t: &&TrialRecord| t.events.iter().any(|e| e.requested > 0);
        let Some(trial) = outcome.trials.iter().rev().find(changed) else { continue };
        for e in trial.events.iter().filter(|e| e.requested > 0) {
            lines.push(format!(
                "  {}, {}, {}: {} requested, {} acknowledged, {} refused; 99 % accepted within {} \
                 and visible within {}; late frames: {}",
                names.of_cell(cell),
                outcome.method,
                e.kind,
                grouped(e.requested),
                grouped(e.acknowledged),
                grouped(e.refused),
                p99(&e.accepted),
                p99(&e.visible),
                grouped(e.late_frames),
            ));
        }
    }
    if !lines.is_empty() {
        line(text, "");
        line(text, "Changes at run time, in the last trial:");
    }
    for words in lines {
        line(text, &words);
    }
}

fn checks(text: &mut String, record: &RunRecord, names: &Names) {
    let checked: Vec<(&Cell, &Check)> =
        record.cells.iter().filter_map(|c| c.check.as_ref().map(|check| (c, check))).collect();
    let Some((_, first)) = checked.first() else { return };
    line(text, "");
    // One line for all where all are alike.
    if checked.iter().all(|(_, check)| check == first) {
        line(text, &format!("Functional check: {}", check_words(first)));
    } else {
        for (cell, check) in &checked {
            let (name, words) = (names.of_cell(cell), outcome_words(check));
            line(text, &format!("Functional check, {name}: {words}"));
        }
        uncovered(text, &checked, names);
    }
    for (_, check) in checked.iter().filter(|(_, check)| !check.passed) {
        for m in check.mismatches.iter().take(3) {
            line(text, &format!("  {}", check.named(m)));
            line(text, &format!("    expected {}", m.expected));
            line(text, &format!("    got      {}", m.got));
        }
    }
}

/// Renders what the checks of cells did not exercise, once for all cells of which it is the same.
fn uncovered(text: &mut String, checked: &[(&Cell, &Check)], names: &Names) {
    let mut all: Vec<(String, Vec<&Cell>)> = Vec::new();
    for (cell, check) in checked.iter().filter(|(_, check)| !check.uncovered.is_empty()) {
        let words = uncovered_words(check);
        match all.iter_mut().find(|(known, _)| *known == words) {
            Some((_, cells)) => cells.push(cell),
            None => all.push((words, vec![cell])),
        }
    }
    for (words, cells) in all {
        let places = match cells.len() {
            count if count == checked.len() => "in all cells".to_owned(),
            1 => names.of_cell(cells[0]),
            count => format!("{} (and {} more)", names.of_cell(cells[0]), count - 1),
        };
        line(text, &format!("  not exercised, {places}: {words}"));
    }
}

/// Renders remarks, with equal ones merged and their places listed.
fn limits(text: &mut String, record: &RunRecord) {
    let remarks = remarks(record);
    if !remarks.is_empty() {
        line(text, "");
        line(text, "Limits of the figures:");
    }
    for Remark { limit, places } in remarks {
        let severity = if limit.invalidates { "NOT VALID" } else { "remark" };
        let more = match places.len() - 1 {
            0 => String::new(),
            n => format!(" (and {n} more)"),
        };
        line(text, &format!("  {severity}: {}: {}{more}", places[0], limit.what));
        line(text, &format!("    {}", limit.advice));
    }
}

fn thresholds(text: &mut String, record: &RunRecord) {
    let Some(pivot) = details::thresholds(record) else { return };
    line(text, "");
    line(text, &format!("{}:", pivot.caption));
    for row in pivot.rows {
        line(text, &format!("  {}", row.join(", ")));
    }
}

fn claims(text: &mut String, record: &RunRecord) {
    let claims = summary::claims(record);
    if !claims.is_empty() {
        line(text, "");
        line(text, "Claims:");
    }
    for (claim, of) in claims {
        let reason = match claim.reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        line(text, &format!("  {}, {of}: {}{reason}", claim.clause, claim.level));
    }
}

fn verdict(record: &RunRecord) -> String {
    let words = status_words(record.status);
    match record.status {
        Status::Passed => format!("Run: {words}."),
        Status::CheckFailed => format!("Run: {words}; see the differences above."),
        Status::Invalid => format!("Run: {words}; do not rely on the figures above."),
        Status::ThresholdMissed | Status::Failed | Status::Interrupted => {
            format!("Run: {words}.")
        }
    }
}

/// Padding on both sides of a column's contents, plus the gap to the next column.
const PADDING: usize = 2 + GAP;

/// Smallest width at which names of rows wrap: a third of a page.
const NAME_WIDTH: usize = 32;

/// Gap that the table's style leaves between columns.
const GAP: usize = 1;
