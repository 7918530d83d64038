//! A chart in the page: drawing, caption, and its data one click away - as a table and as a file.

use maud::{Markup, PreEscaped, html};

use super::charts::{Chart, Data, Group};
use super::tables::{fitted, fitting};

/// Renders the charts by group; diagnostic charts are folded.
pub(super) fn charts(charts: &[Chart]) -> Markup {
    let of = |group: Group| charts.iter().filter(move |chart| chart.group == group);
    html! {
        @if !charts.is_empty() {
            section id="charts" {
                h2 { "Charts" }
                @for chart in of(Group::Result) { (figure(chart)) }
                @if of(Group::Diagnosis).next().is_some() {
                    details class="diagnosis" {
                        summary { "Diagnostic charts: " (of(Group::Diagnosis).count()) " charts of searches and single trials" }
                        @for chart in of(Group::Diagnosis) { (figure(chart)) }
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
