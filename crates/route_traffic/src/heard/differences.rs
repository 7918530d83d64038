//! What is wrong with the table of a client, in a few words.

use std::fmt::Write;

use protocol_bgp::text::Route;

use crate::attributes;
use crate::heard::table::Table;
use crate::heard::values::Values;
use crate::known::Expected;

/// Says what a table has that it is not to have, and the other way round; none if that is nothing.
pub(crate) fn words(
    table: &Table,
    values: &Values,
    expected: &Expected,
    (own, targets): (Option<u16>, Option<&[u32]>),
) -> Option<String> {
    let (mut missing, mut extra, mut different) = (Kind::new(), Kind::new(), Kind::new());
    let is_for = |view: &u32| {
        let (feeder, target) = expected.place(*view);
        Some(feeder) != own && targets.is_none_or(|some| some.contains(&target))
    };
    let count = values.known().fed().routes().count();
    for route in 0..count {
        let wanted = expected.view(route).filter(is_for);
        match (wanted, table.get(route, values)) {
            (Some(_), None) => missing.add(|| name(route, values)),
            (None, Some(_)) => extra.add(|| name(route, values)),
            (Some(wanted), Some(there)) if wanted != there => {
                // Two views may be one set of attributes.
                let (should, is) = (values.set(wanted), values.set(there));
                if values.is_carried_otherwise(there) {
                    let what = "its label or segment is another one";
                    different.add(|| format!("{}: {what}", name(route, values)));
                } else if should != is {
                    let what = attributes::difference(&should, &is);
                    different.add(|| format!("{}: {what}", name(route, values)));
                }
            }
            _ => {}
        }
    }
    for (route, _) in table.others().filter(|(route, _)| *route >= count) {
        extra.add(|| name(route, values));
    }
    let kinds = [
        (missing, "missing"),
        (extra, "there that nobody is to have"),
        (different, "with other attributes"),
    ];
    let mut text = String::new();
    for (kind, words) in kinds.into_iter().filter(|(kind, _)| kind.count > 0) {
        let Kind { count, examples } = kind;
        let (comma, s) =
            (if text.is_empty() { "" } else { "; " }, if count == 1 { "" } else { "s" });
        let more = if count > examples.len() as u64 { ", ..." } else { "" };
        let _ = write!(text, "{comma}{count} route{s} {words} ({}{more})", examples.join(", "));
    }
    (!text.is_empty()).then_some(text)
}

fn name(route: u32, values: &Values) -> String {
    let (family, key) = values.name(route);
    Route(family, &key).to_string()
}

/// Routes of which the same is to be said.
struct Kind {
    count: u64,
    examples: Vec<String>,
}

impl Kind {
    fn new() -> Kind {
        Kind { count: 0, examples: Vec::new() }
    }

    fn add(&mut self, example: impl FnOnce() -> String) {
        self.count += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(example());
        }
    }
}

/// Routes that are named.
const EXAMPLES_MAX: usize = 3;
