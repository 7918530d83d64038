//! `report.html`: one self-contained page - answer first, validity beside it, everything below.
//!
//! The page refers to nothing outside itself and runs no script, so that it can be mailed, archived
//! and printed; it follows the reader's light or dark setting; every chart has its data one click
//! away and a description for those who do not see it.

mod charts;
mod comparison;
mod evidence;
mod sections;
mod tables;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use measure::record::RunRecord;

use crate::ReportError;

/// The page.
pub(crate) fn render(record: &RunRecord) -> Result<Vec<u8>, ReportError> {
    Ok(page(record).into_string().into_bytes())
}

fn page(record: &RunRecord) -> Markup {
    let sections = [
        ("validity", sections::validity(record)),
        ("results", sections::results(record)),
        ("charts", sections::charts(&charts::of(record))),
        ("comparison", comparison::comparison(record)),
        ("check", evidence::check(record)),
        ("events", evidence::events(record)),
        ("host", evidence::host(record)),
        ("trials", evidence::trials(record)),
        ("scenario", evidence::scenario(record)),
    ];
    let present: Vec<&str> =
        sections.iter().filter(|(_, s)| !s.0.is_empty()).map(|(id, _)| *id).collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ (record.tool.name) " " (record.tool.version) };
                title { (record.scenario.name) " - " (record.tool.name) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (sections::head(record, &present))
                main { @for (_, section) in &sections { (section) } }
                (sections::foot(record))
            }
        }
    }
}

const STYLE: &str = include_str!("style.css");
