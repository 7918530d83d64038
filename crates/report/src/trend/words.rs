//! A trend as text for a terminal.

use measure::figure_words;

use super::{Line, Point, Step, Trend};

/// Returns the trend as text: a table for each line, with its steps in words above it.
pub fn table(trend: &Trend) -> String {
    let mut text = format!("{}: {}\n", trend.scenario, heading(trend));
    let mut host = "";
    for line in &trend.lines {
        if line.host != host {
            host = &line.host;
            text += &format!("\n{host}\n");
        }
        text += &format!("\n  {}\n", title(line));
        for step in &line.steps {
            text += &format!("    {}\n", step_words(line, step));
        }
        let rows: Vec<[String; 5]> =
            line.points.iter().enumerate().map(|it| row(line, it)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        for row in &rows {
            let padded = row.iter().enumerate().map(|(column, cell)| {
                let width = width(column).unwrap_or(0);
                format!("{cell:<width$}")
            });
            text += &format!("    {}\n", padded.collect::<Vec<_>>().join("  ").trim_end());
        }
    }
    text
}

/// The figure and the cell of a line.
pub(crate) fn title(line: &Line) -> String {
    format!("{}, {} ({})", line.cell, line.figure, line.method)
}

/// What there is, in a sentence.
pub(crate) fn heading(trend: &Trend) -> String {
    let steps: usize = trend.lines.iter().map(|line| line.steps.len()).sum();
    let count = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let mut words = format!("{}, {}", count(trend.runs, "run"), count(steps, "step"));
    if trend.older > 0 {
        words += &format!("; the {} oldest are left out", trend.older);
    }
    if trend.further > 0 {
        words += &format!("; {} further results have no line here", trend.further);
    }
    words + "."
}

/// A step in a sentence.
pub(crate) fn step_words(line: &Line, step: &Step) -> String {
    let [before, after] = [step.before, step.after].map(|value| figure_words(value, &line.unit));
    let percent = (step.after / step.before - 1.0) * 100.0;
    let [old, new] = &step.programs;
    let programs = match old == new {
        true => format!("the same program, {old}"),
        false => format!("from {old} to {new}"),
    };
    let scenario = match step.is_other_scenario {
        true => "; the text of the scenario changed, too",
        false => "",
    };
    let (run, p) = (&line.points[step.at].run, step.p);
    format!(
        "step at {run}: {before} to {after} ({percent:+.1} %, p = {p:.3}), {programs}{scenario}"
    )
}

fn row(line: &Line, (at, point): (usize, &Point)) -> [String; 5] {
    let mark = match line.steps.iter().any(|step| step.at == at) {
        true => "step",
        false => "",
    };
    let remarks = [point.validity.to_owned()].into_iter().filter(|_| !point.is_sure());
    let remarks = remarks.chain(point.baselines.iter().map(|name| format!("baseline {name}")));
    [
        point.started.replace('T', " ").chars().take(16).collect(),
        format!("{}{}", point.words, range_words(line, point)),
        point.program.clone(),
        mark.to_owned(),
        remarks.collect::<Vec<_>>().join(", "),
    ]
}

/// The range of the repetitions as text, with a space before it; empty if measured once.
pub(crate) fn range_words(line: &Line, point: &Point) -> String {
    point.range.map_or(String::new(), |[low, high]| {
        let [low, high] = [low, high].map(|value| figure_words(value, &line.unit));
        format!(" ({low} to {high})")
    })
}
