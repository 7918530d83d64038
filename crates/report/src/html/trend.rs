//! The page of a trend: a chart and a table for each headline figure of a scenario, by host.

use maud::{Markup, html};
use measure::figure_words;

use super::charts::{Chart, trend_chart};
use super::figure::figure;
use super::{document, sections::to_the_second};
use crate::trend::{Line, Trend, heading, range_words, step_words, title};

/// Renders the page of the runs of a scenario.
pub fn page(trend: &Trend) -> Vec<u8> {
    let name = match trend.scenario.as_str() {
        "" => "no scenario",
        name => name,
    };
    let title = format!("Trend of {name}");
    let body = html! {
        header {
            h1 { (title) }
            p class="answer" { (heading(trend)) }
            p class="meta" {
                "In the order of time; a line is of one host. Bars are the range of the repetitions \
                 of a run. Hollow points are imprecise or not valid, triangles are lower bounds. A \
                 solid vertical line is a step: a change of level by Pettitt's test on the ranks of \
                 valid results, decided by permutations (at most 4 % of shuffles differ as much, \
                 and the change is at least 1 %). A dashed one is a baseline."
            }
        }
        main {
            @if trend.lines.is_empty() {
                p { "There is no result yet. Make one with " code { "plumbline bench SCENARIO" } "." }
            }
            @for (index, line) in trend.lines.iter().enumerate() {
                @if index == 0 || trend.lines[index - 1].host != line.host { h2 { (line.host) } }
                (of_line(index, line))
            }
        }
    };
    document(&title, "plumbline", &body).into_string().into_bytes()
}

fn of_line(index: usize, line: &Line) -> Markup {
    let chart: Chart = trend_chart(&format!("line-{}", index + 1), &title(line), line, rows(line));
    html! {
        section {
            (figure(&chart))
            @if !line.steps.is_empty() {
                ul class="steps" { @for step in &line.steps { li { (step_words(line, step)) } } }
            }
        }
    }
}

/// The data of a line: head and rows.
fn rows(line: &Line) -> (Vec<String>, Vec<Vec<String>>) {
    let head = ["run", "began", "value", "range", "validity", "program", "baseline", "step"];
    let row = |(at, point): (usize, &crate::trend::Point)| {
        let step = line.steps.iter().find(|step| step.at == at);
        vec![
            point.run.clone(),
            to_the_second(&point.started),
            point.words.clone(),
            range_words(line, point).trim().trim_matches(['(', ')']).to_owned(),
            point.validity.to_owned(),
            point.program.clone(),
            point.baselines.join(", "),
            step.map_or(String::new(), |step| {
                format!("from {}", figure_words(step.before, &line.unit))
            }),
        ]
    };
    (head.map(str::to_owned).to_vec(), line.points.iter().enumerate().map(row).collect())
}
