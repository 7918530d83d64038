//! A chart in the page: drawing, caption, and its data one click away - as a table and as a file.

use maud::{Markup, PreEscaped, html};

use super::charts::{CHARTS_OPEN, CHARTS_SHOWN, Chart, Data, Group};
use super::tables::{fitted, fitting};

/// Renders the charts by group; diagnostic charts are folded, and so is what follows the first few
/// of a kind.
pub(super) fn charts(charts: &[Chart]) -> Markup {
    let of = |group: Group| charts.iter().filter(move |chart| chart.group == group);
    let kinds = |group: Group| {
        let all: Vec<&Chart> = of(group).collect();
        let of_kind = |same: &[&Chart]| kind(same);
        html! { @for same in all.chunk_by(|a, b| a.kind == b.kind) { (of_kind(same)) } }
    };
    let diagnosis = of(Group::Diagnosis).count();
    html! {
        @if !charts.is_empty() {
            section id="charts" {
                h2 { "Charts" }
                (kinds(Group::Result))
                @if diagnosis > 0 {
                    details class="diagnosis" {
                        summary { "Diagnostic charts: " (diagnosis) " charts of searches and single trials" }
                        (kinds(Group::Diagnosis))
                    }
                }
            }
        }
    }
}

/// Renders the charts of a kind.
fn kind(charts: &[&Chart]) -> Markup {
    let (shown, beyond) = charts.split_at(charts.len().min(CHARTS_SHOWN));
    let (open, folded) = shown.split_at(shown.len().min(CHARTS_OPEN));
    html! {
        @for chart in open { (figure(chart)) }
        @if !folded.is_empty() {
            details class="more" {
                summary { (folded.len()) " more charts of this kind" }
                @for chart in folded { (figure(chart)) }
                @if !beyond.is_empty() {
                    p class="note" {
                        "At most " (CHARTS_SHOWN) " charts of a kind are drawn. Further results                          are in the tables of this page, in trials.csv and in run.json."
                    }
                }
            }
        }
    }
}

/// Renders the plots that the scenario requests.
pub(super) fn asked(charts: &[Chart]) -> Markup {
    html! {
        @if !charts.is_empty() {
            section id="asked" {
                h2 { "Plots of the scenario" }
                @for chart in charts { (figure(chart)) }
            }
        }
    }
}

/// Renders the chart of the first screen.
pub(super) fn leading(chart: &Chart) -> Markup {
    classed(chart, Some("leading"))
}

/// Renders one chart.
pub(super) fn figure(chart: &Chart) -> Markup {
    classed(chart, None)
}

fn classed(chart: &Chart, class: Option<&str>) -> Markup {
    html! {
        figure id=(chart.id) class=[class] {
            h3 { (chart.title) }
            @if !chart.svg.is_empty() {
                div class="scroll" tabindex="0" role="region" aria-label=(chart.title) {
                    (PreEscaped(&chart.svg))
                }
            }
            figcaption { (chart.caption) }
            @if !chart.data.rows.is_empty() {
                // A table that stands in the place of a chart is open from the start.
                details class="data" open=[chart.svg.is_empty().then_some("open")] {
                    summary { "Data of this chart" }
                    p { a href=(link(&chart.data)) download={ (chart.id) ".csv" } { "As CSV" } }
                    (fitted(
                        &chart.title,
                        &fitting(&chart.data.head, &chart.data.rows),
                        &chart.data.rows,
                    ))
                }
            }
        }
    }
}

/// The data as a CSV file inside a link.
fn link(data: &Data) -> String {
    let mut csv = String::new();
    for row in std::iter::once(&data.head).chain(&data.rows) {
        let cells: Vec<String> = row.iter().map(|text| field(text)).collect();
        csv.push_str(&cells.join(","));
        csv.push_str("\r\n");
    }
    format!("data:text/csv;charset=utf-8,{}", percent_encoded(&csv))
}

/// A field by RFC 4180: numbers without grouping, texts quoted if necessary. A text that a
/// spreadsheet would interpret as a formula is prefixed with an apostrophe.
fn field(text: &str) -> String {
    let ungrouped = text.replace(',', "");
    if ungrouped.parse::<f64>().is_ok() {
        return ungrouped;
    }
    let guarded = match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.into(),
    };
    match guarded.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", guarded.replace('"', "\"\"")),
        false => guarded,
    }
}

fn percent_encoded(text: &str) -> String {
    use std::fmt::Write;
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many charts of a kind.
    fn of_kind(kind: usize, count: usize) -> impl Iterator<Item = Chart> {
        (0..count).map(move |number| Chart {
            group: Group::Result,
            kind,
            id: format!("chart-{kind}-{number}"),
            title: String::new(),
            caption: String::new(),
            svg: "<svg></svg>".into(),
            data: Data { head: Vec::new(), rows: Vec::new() },
        })
    }

    #[test]
    fn all_charts_of_a_kind_are_there_and_those_after_the_eighth_are_folded() {
        let all: Vec<Chart> = of_kind(0, 12).chain(of_kind(1, 3)).collect();
        let page = charts(&all).into_string();
        assert_eq!(page.matches("<figure").count(), 15);
        let (before, behind) = page.split_once("<details class=\"more\">").expect("it is folded");
        let (folded, next_kind) = behind.split_once("</details>").expect("it ends");
        assert!(folded.contains("4 more charts of this kind") && !folded.contains("At most"));
        let counts = [before, folded, next_kind].map(|part| part.matches("<figure").count());
        assert_eq!(counts, [8, 4, 3]);
    }

    #[test]
    fn a_kind_of_more_charts_than_are_drawn_says_so() {
        let all: Vec<Chart> = of_kind(0, CHARTS_SHOWN + 1).collect();
        let page = charts(&all).into_string();
        assert_eq!(page.matches("<figure").count(), CHARTS_SHOWN);
        assert!(page.contains("56 more charts of this kind"));
        assert!(page.contains("At most 64 charts of a kind are drawn"), "it is told");
        let all: Vec<Chart> = of_kind(0, CHARTS_SHOWN).collect();
        assert!(!charts(&all).into_string().contains("At most"), "all are there");
    }

    #[test]
    fn fields_are_what_a_spreadsheet_expects() {
        assert_eq!(field("1,000,000"), "1000000");
        assert_eq!(field("-5.5"), "-5.5");
        assert_eq!(field("user 1,000"), "\"user 1,000\"");
        assert_eq!(field("say \"no\""), "\"say \"\"no\"\"\"");
        assert_eq!(field("=HYPERLINK(0)"), "'=HYPERLINK(0)");
    }

    #[test]
    fn the_link_is_a_whole_file() {
        let data = Data {
            head: vec!["load, %".into(), "loss".into()],
            rows: vec![vec!["50".into(), "0.1".into()]],
        };
        assert_eq!(
            link(&data),
            "data:text/csv;charset=utf-8,%22load%2C%20%25%22%2Closs%0D%0A50%2C0.1%0D%0A"
        );
    }
}
