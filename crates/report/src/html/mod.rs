//! `report.html`: one self-contained page. The first screen has the answer with its validity, what
//! was measured by what, one chart and the host; results, charts and evidence follow, and on paper
//! configuration and trials are an appendix.
//!
//! The page refers to nothing outside itself, so that it can be mailed, archived and printed; its
//! one script sorts tables and is not needed to read them, and its policy forbids any other. It
//! follows the reader's light or dark setting; every chart has its data one click away and a
//! description for those who do not see it.

mod added;
mod charts;
mod comparison;
#[cfg(test)]
mod contrast;
mod evidence;
mod figure;
mod runs;
mod sections;
mod tables;
mod topology;
mod trend;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use measure::record::RunRecord;

use crate::{Exporter, ReportError};

pub use runs::comparison as comparison_page;
pub use trend::page as trend_page;

/// The registry line.
pub(crate) const EXPORTER: Exporter =
    Exporter { name: "html", file: "report.html", summary: "one self-contained page", render };

/// The page.
fn render(record: &RunRecord) -> Result<Vec<u8>, ReportError> {
    Ok(page(record).into_string().into_bytes())
}

fn page(record: &RunRecord) -> Markup {
    let (leading, charts) = charts::leading(record, charts::of(record));
    let sections = [
        ("results", sections::results(record)),
        ("added", added::added(record)),
        ("charts", figure::charts(&charts)),
        ("asked", figure::asked(&charts::asked(record))),
        ("comparison", comparison::comparison(record)),
        ("verdict", sections::verdict(record)),
        ("check", evidence::check(record)),
        ("events", evidence::events(record)),
        ("host", evidence::host(record)),
        ("trials", evidence::trials(record)),
        ("scenario", evidence::scenario(record)),
    ];
    let present: Vec<&str> =
        sections.iter().filter(|(_, s)| !s.0.is_empty()).map(|(id, _)| *id).collect();
    let title = format!("{} - {}", record.scenario.name, record.tool.name);
    let generator = format!("{} {}", record.tool.name, record.tool.version);
    let body = html! {
        (sections::head(record, leading.as_ref(), &present))
        main { @for (_, section) in &sections { (section) } }
        (sections::foot(record))
    };
    document(&title, &generator, &body)
}

/// A page with the given body: style, script, and the content security policy.
fn document(title: &str, generator: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(generator);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// Content security policy: the page loads nothing, and only its own script runs, by its hash. A
/// browser test sorts a table to verify that the hash is that of `script.js`.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'; script-src 'sha256-I9bZGoEASFo/8VQ6uo6kr2ipE36nB4mYY1fArg4S648='";

const SCRIPT: &str = include_str!("script.js");

const STYLE: &str = include_str!("style.css");
