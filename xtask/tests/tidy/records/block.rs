//! What stands between markers: tables of a record's cells, ratios of two records, lists, and
//! figures within sentences.
//!
//! The comment that begins a block says what is in it, a line each: `HEADING = TERM` for a column
//! (`figure.rs` has the terms), `where KEY = VALUE` for the cells that are rows, and
//! `row LABEL = CELL` for rows with names of their own, in that order.

use std::fmt::Write;

use measure::figure_words;
use measure::record::{Cell, RunRecord};
use report::references::{self, Reference};
use serde_json::Value;

use super::figure::{self, grouped, value_words};
use super::source;

/// A document with every block and every figure as its records have them; `base` leads from its
/// folder to that of the records.
///
/// # Errors
/// When a marker says something that no record has; the text names it.
pub fn filled(text: &str, base: &str) -> Result<String, String> {
    in_sentences(&blocks(text, base)?)
}

/// The beginning of each kind of block.
const KINDS: &[&str] = &["figures", "ratios", "records", "references", "terminal"];

/// What the first line of a block's comment ends with.
const WRITER: &str = ": written by `cargo xtask results`";

fn blocks(text: &str, base: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((at, kind)) = next_block(rest) {
        let (before, block) = rest.split_at(at);
        let end = format!("<!-- end of {kind} -->");
        let head = block.split("-->").next().unwrap_or_default();
        let behind = block.split_once(&end).map(|(_, behind)| behind);
        let behind = behind.ok_or_else(|| format!("a block has no `{end}`"))?;
        let mut lines = head.lines().map(str::trim_end);
        let first = lines.next().unwrap_or_default();
        let subject = first.split(WRITER).next().unwrap_or_default();
        let subject = subject.trim_start_matches("<!-- ").trim_start_matches(kind).trim();
        let subject = subject.strip_prefix("of ").unwrap_or(subject);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let body =
            body(kind, subject, &lines, base).map_err(|e| format!("{kind} of {subject}: {e}"))?;
        write!(out, "{before}{head}-->\n\n{body}\n{end}").map_err(|e| e.to_string())?;
        rest = behind;
    }
    Ok(out + rest)
}

/// The place and the kind of the next block.
fn next_block(text: &str) -> Option<(usize, &'static str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find("<!-- ").map(|at| at + from) {
        let line = text[at..].lines().next().unwrap_or_default();
        let kind = KINDS.iter().find(|kind| line[5..].starts_with(**kind));
        match kind {
            Some(kind) if line.contains(WRITER) => return Some((at, kind)),
            _ => from = at + 5,
        }
    }
    None
}

fn body(kind: &str, subject: &str, lines: &[&str], base: &str) -> Result<String, String> {
    match kind {
        "figures" => match subject.split_once(".json ") {
            Some((file, pointer)) => {
                of_file(&source::file(&format!("{file}.json"))?, pointer, lines)
            }
            None => {
                let table = of_run(&*source::run(subject)?, lines)?;
                Ok(format!("{table}\n{}", from(subject, lines, base)))
            }
        },
        "ratios" => ratios(subject, lines, base),
        "records" => records(base),
        "references" => published(subject),
        _ => terminal(&*source::run(subject)?, lines),
    }
}

/// Where the figures of a table are from: its run, and the others that its columns name.
fn from(run: &str, lines: &[&str], base: &str) -> String {
    let others = lines.iter().filter_map(|line| line.split_once(" = "));
    let others = others.filter_map(|(_, term)| {
        let name = term.rsplit_once(' ')?.1;
        (term.contains(" in ") || term.starts_with("ratio ")).then_some(name)
    });
    let mut runs = vec![run];
    for other in others {
        if !runs.contains(&other) {
            runs.push(other);
        }
    }
    runs.iter().map(|run| format!("- [{run}]({base}{run}/run.json.gz)\n")).collect()
}

/// A table with a row for each cell.
fn of_run(record: &RunRecord, lines: &[&str]) -> Result<String, String> {
    let spec = Spec::read(lines)?;
    let named: Vec<(Option<&str>, &Cell)> = if spec.rows.is_empty() {
        record.cells.iter().filter(|cell| spec.holds(cell)).map(|cell| (None, cell)).collect()
    } else {
        let named =
            spec.rows.iter().map(|(label, id)| Ok((Some(*label), source::cell(record, id)?)));
        named.collect::<Result<_, String>>()?
    };
    if named.is_empty() {
        return Err("no cell is a row".into());
    }
    let mut rows = Vec::new();
    for (label, cell) in named {
        let each = spec.columns.iter().map(|(_, term)| match (*term, label) {
            ("label", Some(label)) => Ok(label.to_owned()),
            (term, _) => figure::words(record, cell, term),
        });
        rows.push(each.collect::<Result<Vec<String>, String>>()?);
    }
    Ok(table(&spec.columns.iter().map(|(heading, _)| *heading).collect::<Vec<_>>(), &rows))
}

/// A table with a row for each entry of a list in another file.
fn of_file(file: &Value, pointer: &str, lines: &[&str]) -> Result<String, String> {
    let spec = Spec::read(lines)?;
    let entries = file.pointer(pointer).and_then(Value::as_array).ok_or("no list is there")?;
    let row = |entry: &Value| {
        let each = spec.columns.iter().map(|(_, term)| of_json(entry, term));
        each.collect::<Result<Vec<String>, String>>()
    };
    let rows = entries.iter().map(row).collect::<Result<Vec<_>, String>>()?;
    Ok(table(&spec.columns.iter().map(|(heading, _)| *heading).collect::<Vec<_>>(), &rows))
}

/// What `/pointer UNIT` says of a value: a number with its unit, a list by its median and extremes.
fn of_json(value: &Value, term: &str) -> Result<String, String> {
    let (pointer, unit) = term.split_once(' ').unwrap_or((term, ""));
    let found = value.pointer(pointer).ok_or_else(|| format!("nothing at {pointer}"))?;
    match (found, unit) {
        (Value::Array(numbers), unit) => {
            let mut all: Vec<f64> = numbers.iter().filter_map(Value::as_f64).collect();
            all.sort_by(f64::total_cmp);
            let [Some(min), Some(max)] = [all.first(), all.last()] else {
                return Err(format!("no numbers at {pointer}"));
            };
            let median = (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0;
            let [median, min, max] = [median, *min, *max].map(|value| scaled(value, unit).0);
            Ok(figure::range_words(median, min, max, scaled(0.0, unit).1))
        }
        (Value::Number(number), "ratio") => {
            Ok(format!("{:.2}", number.as_f64().unwrap_or_default()))
        }
        (Value::Number(number), unit) if !unit.is_empty() => {
            let (value, unit) = scaled(number.as_f64().unwrap_or_default(), unit);
            Ok(figure_words(value, unit))
        }
        (value, _) => Ok(value_words(value)),
    }
}

/// Seconds as records of runs have times: in nanoseconds.
fn scaled(value: f64, unit: &str) -> (f64, &str) {
    if unit == "s" { (value * 1e9, "ns") } else { (value, unit) }
}

/// A table of pairs of runs: `NAME = RUN / RUN`, and the extremes over their cells.
fn ratios(subject: &str, lines: &[&str], base: &str) -> Result<String, String> {
    let (one, other) = subject.split_once(" to ").ok_or("it is `ratios of A to B`")?;
    let mut rows = Vec::new();
    for line in lines {
        let (name, pair) = line.split_once(" = ").ok_or_else(|| format!("no pair: {line}"))?;
        let (of_one, of_other) =
            pair.split_once(" / ").ok_or_else(|| format!("no pair: {line}"))?;
        let (one, other) = (source::run(of_one)?, source::run(of_other)?);
        let mut row = vec![name.to_owned(), link(&one, of_one, base), link(&other, of_other, base)];
        for figure in ["function_pps", "total_pps"] {
            row.push(figure::ratios(&one, &other, figure)?);
        }
        rows.push(row);
    }
    let head = [
        "what",
        one,
        other,
        &format!("function, {one} / {other}"),
        &format!("including generator and sink, {one} / {other}"),
    ];
    Ok(table(&head, &rows))
}

/// The link to a record, by the commit of its program.
fn link(record: &RunRecord, run: &str, base: &str) -> String {
    format!("[{}]({base}{run}/run.json.gz)", commit(record))
}

fn commit(record: &RunRecord) -> String {
    let (commit, changed) = match record.tool.commit.split_once('-') {
        Some((commit, _)) => (commit, ", changed"),
        None => (record.tool.commit.as_str(), ""),
    };
    format!("{}{changed}", commit.chars().take(8).collect::<String>())
}

/// All records: when, by which program, on what, and how it ended.
fn records(base: &str) -> Result<String, String> {
    let mut rows = Vec::new();
    for run in crate::tree::folders("results") {
        let record = source::run(&run)?;
        let mut devices: Vec<&str> = record.cells.iter().map(|cell| cell.device.as_str()).collect();
        devices.sort_unstable();
        devices.dedup();
        let status = serde_json::to_value(record.status).map_err(|e| e.to_string())?;
        rows.push(vec![
            format!("[{run}]({base}{run}/run.json.gz)"),
            commit(&record),
            format!("{}, {} cores", record.host.cpu_model.replace("(R)", ""), record.host.cores),
            devices.join(", "),
            record.cells.len().to_string(),
            value_words(&status),
        ]);
    }
    Ok(table(&["run", "commit", "host", "devices", "cells", "status"], &rows))
}

/// Figures of others whose name, or whose function and system, begins so.
fn published(subject: &str) -> Result<String, String> {
    let (function, system) = subject.split_once(": ").unwrap_or((subject, ""));
    let is_wanted = |r: &Reference| {
        let named = !r.id.is_empty() && system.is_empty() && r.id.starts_with(function);
        named || r.function == function && !system.is_empty() && r.system.starts_with(system)
    };
    let value = |value: f64, r: &Reference| {
        let number = if value.fract() == 0.0 && value >= 1e3 {
            grouped(value as u64)
        } else {
            figure_words(value, "fraction")
        };
        format!("{number} {}", r.unit)
    };
    let all = references::all();
    let wanted: Vec<&Reference> = all.iter().filter(|r| is_wanted(r)).collect();
    let mut sources: Vec<&str> = Vec::new();
    for reference in &wanted {
        if !sources.contains(&reference.source.as_str()) {
            sources.push(&reference.source);
        }
    }
    let number = |r: &Reference| sources.iter().position(|one| *one == r.source);
    let row = |r: &&Reference| {
        vec![
            r.system.clone(),
            format!(
                "{}{}",
                r.what,
                r.user.map_or(String::new(), |u| format!("; {}", grouped(u as u64)))
            ),
            value(r.value, r),
            r.cores.map_or("not stated".into(), |cores| format!("{cores}")),
            r.per_core().map_or(figure::NONE.into(), |per_core| value(per_core, r)),
            r.host.clone(),
            number(r).map_or(String::new(), |at| format!("[{}]", at + 1)),
        ]
    };
    let rows: Vec<_> = wanted.iter().map(row).collect();
    if rows.is_empty() {
        return Err("no reference has this name".into());
    }
    let head =
        ["system", "what; users or addresses", "value", "cores", "per core", "host", "source"];
    let list: Vec<String> = sources
        .iter()
        .enumerate()
        .map(|(at, one)| lines_of(&format!("{}. {one}", at + 1)))
        .collect();
    Ok(format!("{}\n{}", table(&head, &rows), list.concat()))
}

/// An entry of a list, broken where prose is.
fn lines_of(entry: &str) -> String {
    let mut out = String::new();
    let mut columns = 0;
    for word in entry.split(' ') {
        let more = word.chars().count() + 1;
        let is_full = columns > 0 && columns + more > usize::from(COLUMNS);
        if is_full {
            out += "\n  ";
            columns = 2;
        }
        out += if columns == 0 { "" } else { " " };
        out += word;
        columns += more;
    }
    out + "\n"
}

/// What the program prints of a run: the paragraphs that begin with what `keep` names.
fn terminal(record: &RunRecord, lines: &[&str]) -> Result<String, String> {
    let text = report::terminal::render(record, COLUMNS);
    let mut kept = Vec::new();
    for line in lines {
        let begin = line.strip_prefix("keep ").ok_or_else(|| format!("not `keep`: {line}"))?;
        let mut paragraphs = text.split("\n\n").map(|part| part.trim_matches('\n'));
        let found = paragraphs.find(|paragraph| paragraph.starts_with(begin));
        kept.push(found.ok_or_else(|| format!("no paragraph begins with {begin}"))?);
    }
    let text = kept.join("\n\n");
    // A table's last column is padded.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    Ok(format!("```text\n{}\n```\n", lines.join("\n")))
}

/// Width of the terminal whose output a document shows.
const COLUMNS: u16 = 100;

/// The lines of a block's comment.
struct Spec<'a> {
    columns: Vec<(&'a str, &'a str)>,
    conditions: Vec<(&'a str, &'a str)>,
    rows: Vec<(&'a str, &'a str)>,
}

impl<'a> Spec<'a> {
    fn read(lines: &[&'a str]) -> Result<Spec<'a>, String> {
        let mut spec = Spec { columns: Vec::new(), conditions: Vec::new(), rows: Vec::new() };
        for line in lines {
            let (name, term) = line.split_once(" = ").ok_or_else(|| format!("no ` = `: {line}"))?;
            match (name.strip_prefix("where "), name.strip_prefix("row ")) {
                (Some(key), _) => spec.conditions.push((key, term)),
                (None, Some(label)) => spec.rows.push((label, term)),
                (None, None) => spec.columns.push((name, term)),
            }
        }
        if spec.columns.is_empty() { Err("it has no column".into()) } else { Ok(spec) }
    }

    /// Whether a cell meets all conditions.
    fn holds(&self, cell: &Cell) -> bool {
        self.conditions.iter().all(|(key, value)| match *key {
            "benchmark" => cell.benchmark == *value,
            "device" => cell.device == *value,
            path => cell.parameters.get(path).map(value_words).as_deref() == Some(*value),
        })
    }
}

fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        out += &format!("| {} |\n", cells.join(" | "));
    }
    out
}

/// Fills figures within sentences: `<!--= RUN CELL TERM -->43.7 Mpps<!--/-->`.
fn in_sentences(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, marked)) = rest.split_once(OPEN) {
        let (term, body) = marked.split_once("-->").ok_or("a figure's marker does not end")?;
        let (_, behind) = body.split_once(CLOSE).ok_or("a figure has no end")?;
        let words = of_sentence(term.trim()).map_err(|e| format!("`{}`: {e}", term.trim()))?;
        out += &format!("{before}{OPEN}{term}-->{words}{CLOSE}");
        rest = behind;
    }
    Ok(out + rest)
}

fn of_sentence(term: &str) -> Result<String, String> {
    let mut words = term.splitn(3, ' ');
    let (run, cell) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let term = words.next().unwrap_or_default();
    if run.ends_with(".json") {
        let term = format!("{cell} {term}");
        return of_json(&source::file(run)?, term.trim_end());
    }
    let record = source::run(run)?;
    figure::words(&record, source::cell(&record, cell)?, term)
}

/// What begins the marker of a figure within a sentence.
pub const OPEN: &str = "<!--=";

/// What ends such a figure.
pub const CLOSE: &str = "<!--/-->";

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "cgnat-capacity-20261124T081712Z";

    #[test]
    fn a_drifted_figure_is_told_and_set_right() {
        let sentence = |figure: &str| {
            format!("It has {OPEN} {RUN} million:base function_pps least -->{figure}{CLOSE}.")
        };
        let fresh = filled(&sentence("1.0 Mpps"), "").expect("the record has it");
        assert_ne!(fresh, sentence("1.0 Mpps"));
        assert!(fresh.contains("Mpps<!--/-->."), "{fresh}");
        assert_eq!(filled(&fresh, "").as_ref(), Ok(&fresh), "what is filled stays");
        let block = format!(
            "a\n<!-- figures of {RUN}{WRITER}\nsessions = name\nMpps = function_pps\nwhere \
             benchmark = thousand\n-->\nold\n<!-- end of figures -->\nb"
        );
        let fresh = filled(&block, "").expect("the record has it");
        assert!(fresh.contains("-->\n\n| sessions | Mpps |\n|---|---|\n| thousand | "), "{fresh}");
        let link = format!("- [{RUN}]({RUN}/run.json.gz)\n\n<!-- end of figures -->\nb");
        assert!(fresh.ends_with(&link), "{fresh}");
        assert_eq!(filled(&fresh, "").as_ref(), Ok(&fresh));
    }

    #[test]
    fn a_marker_that_no_record_meets_is_an_error_that_names_it() {
        let of = |subject: &str, lines: &str| {
            let text = format!("<!-- {subject}{WRITER}\n{lines}\n-->\n<!-- end of figures -->");
            filled(&text, "").expect_err("no record has that")
        };
        assert!(of("figures of no-such-run", "a = name").contains("no-such-run"));
        assert!(of(&format!("figures of {RUN}"), "a = nothing_pps").contains("nothing_pps"));
        assert!(
            of(&format!("figures of {RUN}"), "a = name\nwhere benchmark = x").contains("no cell")
        );
        assert!(of("figures of bulk.json /none", "a = /b").contains("no list"));
        let open = format!("{OPEN} {RUN} - function_pps -->1{CLOSE}");
        assert!(filled(&open, "").is_err_and(|e| e.contains("no cell -")));
    }

    #[test]
    fn lists_in_other_files_are_told_by_median_and_extremes() {
        let value =
            serde_json::json!({"s": [3.0, 1.0, 2.0], "r": 0.799, "n": 1_234_567, "w": "Nat"});
        assert_eq!(of_json(&value, "/s s").as_deref(), Ok("2.00 (1.00 to 3.00) s"));
        assert_eq!(of_json(&value, "/r ratio").as_deref(), Ok("0.80"));
        assert_eq!(of_json(&value, "/n").as_deref(), Ok("1,234,567"));
        assert_eq!(of_json(&value, "/w").as_deref(), Ok("Nat"));
    }
}
