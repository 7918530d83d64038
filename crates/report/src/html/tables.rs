//! Tables: a caption, column heads, rows; numbers to the right, and a frame that scrolls by itself
//! so that the page does not. Tables of several rows can be sorted by the page's script: each
//! number carries its value in a form that needs no reading of units.

use maud::{Markup, html};

use crate::terminal::split;

/// A column: its heading, and whether it holds numbers.
#[derive(Clone)]
pub(super) struct Column {
    head: String,
    number: bool,
}

/// A column of texts.
pub(super) fn words(head: &str) -> Column {
    Column { head: head.into(), number: false }
}

/// A column of numbers.
pub(super) fn numbers(head: &str) -> Column {
    Column { head: head.into(), number: true }
}

/// Columns by their contents: numeric if every cell is a number or empty.
pub(super) fn fitting(heads: &[String], rows: &[Vec<String>]) -> Vec<Column> {
    let is_number = |text: &String| text.is_empty() || text == "none" || sort_value(text).is_some();
    // What names a row is a number only where it has no unit or words.
    let is_bare = |text: &String| text.replace(',', "").parse::<f64>().is_ok();
    let column = |(index, head): (usize, &String)| {
        let mut cells = rows.iter().filter_map(|row| row.get(index));
        let number = if index == 0 { cells.all(is_bare) } else { cells.all(is_number) };
        Column { head: head.clone(), number }
    };
    heads.iter().enumerate().map(column).collect()
}

/// Renders a table whose first column names the row.
pub(super) fn table(caption: &str, columns: &[Column], rows: &[Vec<String>]) -> Markup {
    marked(caption, columns, rows, |_| false)
}

/// Renders a table in as many parts as fit beside each other's first column on a page.
pub(super) fn fitted(caption: &str, columns: &[Column], rows: &[Vec<String>]) -> Markup {
    // Numbers stand in one line, and words wrap.
    let width = |at: usize| {
        let lengths = rows.iter().filter_map(|row| row.get(at)).map(|t| t.chars().count());
        let longest = lengths.max().unwrap_or(0);
        let words = columns[at].head.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
        let content = if columns[at].number { longest } else { longest.min(TEXT_WIDTH) };
        content.max(words) + PADDING
    };
    let parts = split(columns.len(), width, PAGE_WIDTH);
    html! {
        @for (index, chosen) in parts.iter().enumerate() {
            @let caption = match parts.len() {
                1 => caption.to_owned(),
                count => format!("{caption}, part {} of {count}", index + 1),
            };
            @let heads: Vec<Column> = chosen.iter().map(|at| columns[*at].clone()).collect();
            @let rows: Vec<Vec<String>> = rows.iter().map(|row| {
                chosen.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect()
            }).collect();
            (table(&caption, &heads, &rows))
        }
    }
}

/// Renders a table in which some rows are marked as ours.
pub(super) fn marked(
    caption: &str,
    columns: &[Column],
    rows: &[Vec<String>],
    ours: impl Fn(usize) -> bool,
) -> Markup {
    let wide = match columns.len() {
        10.. => "scroll wide",
        8.. => "scroll dense",
        _ => "scroll",
    };
    html! {
        div class=(wide) tabindex="0" role="region" aria-label=(caption) {
            table class=[(rows.len() > 2).then_some("sortable")] {
                caption { (caption) }
                thead { tr {
                    @for column in columns {
                        th scope="col" class=[column.number.then_some("number")] { (column.head) }
                    }
                } }
                tbody {
                    @for (index, row) in rows.iter().enumerate() {
                        tr class=[ours(index).then_some("ours")] {
                            @for (place, (text, column)) in row.iter().zip(columns).enumerate() {
                                (cell(text, column, place == 0))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(text: &str, column: &Column, is_first: bool) -> Markup {
    let value = sort_value(text);
    html! {
        @if is_first && !column.number {
            th scope="row" data-sort=[value] { (text) }
        } @else {
            td class=[class(text, column)] data-sort=[value] { (text) }
        }
    }
}

/// The class of a cell: long texts get room on a narrow screen, where the frame scrolls, so that no
/// row is higher than the screen.
fn class(text: &str, column: &Column) -> Option<&'static str> {
    match text.chars().count() {
        _ if column.number => Some("number"),
        LONGER.. => Some("longer"),
        LONG.. => Some("long"),
        _ => None,
    }
}

/// Width of a page in characters, that of a column of words, and the room between two columns.
const PAGE_WIDTH: usize = 140;
const TEXT_WIDTH: usize = 24;
const PADDING: usize = 4;

/// From how many letters on a text is long, and longer.
const LONG: usize = 60;
const LONGER: usize = 300;

/// The number at the beginning of a cell, including the prefix of its unit; none for texts.
fn sort_value(text: &str) -> Option<f64> {
    let text = text.trim_start_matches(['±', '≥', ' ']);
    let is_digit = |c: char| c.is_ascii_digit() || ",.+-e".contains(c);
    let end = text.find(|c: char| !is_digit(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.replace(',', "").parse().ok()?;
    let unit = unit.trim_start().split(' ').next().unwrap_or("");
    let factor = match unit {
        "%" => 1e-2,
        "ppm" => 1e-6,
        _ => match (unit.chars().next(), unit.chars().count()) {
            (Some(prefix), 2..) if PREFIXED.iter().any(|u| unit[prefix.len_utf8()..] == **u) => {
                prefix_factor(prefix)
            }
            _ => 1.0,
        },
    };
    number.is_finite().then_some(number * factor)
}

fn prefix_factor(prefix: char) -> f64 {
    match prefix {
        'n' => 1e-9,
        'µ' => 1e-6,
        'm' => 1e-3,
        'k' | 'K' => 1e3,
        'M' => 1e6,
        'G' => 1e9,
        'T' => 1e12,
        _ => 1.0,
    }
}

/// Units with prefixes.
const PREFIXED: &[&str] = &["pps", "bit/s", "B", "iB", "B/s", "s"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_by_what_they_are_worth() {
        let same = |text: &str, value: f64| {
            let found = sort_value(text).unwrap_or(f64::NAN);
            assert!((found - value).abs() <= 1e-9 * value.abs(), "{text}: {found}");
        };
        same("5.37 Mpps", 5.37e6);
        same("980 kpps", 9.8e5);
        same("12.3 µs", 12.3e-6);
        same("1.60 ms", 1.6e-3);
        same("2 s", 2.0);
        same("40 ppm", 40e-6);
        same("0.5 %", 5e-3);
        same("12,345,678", 12_345_678.0);
        same("60.0 ticks", 60.0);
        same("-5.7 .. +3.1 %", -5.7);
        same("64", 64.0);
        same("± 1.7 %", 0.017);
        same("≥ 8.50 Mpps", 8.5e6);
        for words in ["", "none", "valid", "e", "-", "uplink 5"] {
            assert_eq!(sort_value(words), None, "{words}");
        }
    }
}
