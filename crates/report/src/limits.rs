//! What limits the figures, for people: remarks that say the same are told once, with the results
//! they belong to, and remarks that differ in more than their numbers are all told.

use measure::record::{Limit, RunRecord};

use crate::names::Names;
use crate::words::{grouped, outcomes};

/// A remark, and the results to which it applies.
pub(crate) struct Remark {
    /// The first limit of its kind, with grouped digits.
    pub(crate) limit: Limit,
    /// Cell and method of each result, in the order of the record.
    pub(crate) places: Vec<String>,
}

/// All remarks of a record; those that invalidate come first.
pub(crate) fn remarks(record: &RunRecord) -> Vec<Remark> {
    let names = Names::of(record);
    let mut remarks: Vec<(String, Remark)> = Vec::new();
    for (cell, outcome) in outcomes(record) {
        for limit in &outcome.validity.limits {
            let place = format!("{}, {}", names.of_cell(cell), outcome.method);
            let skeleton = skeleton(&limit.what);
            let same = |(other, remark): &&mut (String, Remark)| {
                remark.limit.kind == limit.kind
                    && remark.limit.invalidates == limit.invalidates
                    && *other == skeleton
            };
            match remarks.iter_mut().find(same) {
                Some((_, remark)) => remark.places.push(place),
                None => {
                    let mut limit = limit.clone();
                    limit.what = grouped_in(&limit.what);
                    remarks.push((skeleton, Remark { limit, places: vec![place] }));
                }
            }
        }
    }
    remarks.sort_by_key(|(_, remark)| !remark.limit.invalidates);
    remarks.into_iter().map(|(_, remark)| remark).collect()
}

/// The text with digits grouped by three in numbers of more than four digits.
pub(crate) fn grouped_in(text: &str) -> String {
    let mut grown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (digits, after) = from.split_at(end);
        grown.push_str(before);
        // Digits behind a point, and those of a name or a hash, are no count.
        let is_part = grown.ends_with(|c: char| c.is_alphanumeric() || ".,_-".contains(c))
            || after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        match digits.parse() {
            Ok(number) if digits.len() > 4 && !is_part && !digits.starts_with('0') => {
                grown.push_str(&grouped(number));
            }
            _ => grown.push_str(digits),
        }
        rest = after;
    }
    grown + rest
}

/// The text without its numbers and units, which identifies remarks of one kind.
fn skeleton(text: &str) -> String {
    // The summary of several trials precedes the text of one; older records word it differently.
    let summaries = ["; for example: ", "; one of them: "];
    let text =
        summaries.iter().find_map(|one| text.rsplit_once(one)).map_or(text, |(_, what)| what);
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit = words.last().is_some_and(|last| last.ends_with('#'))
            && UNITS.contains(&word.trim_end_matches(|c: char| !c.is_alphabetic() && c != '%'));
        if is_unit {
            continue;
        }
        let bare = word.trim_end_matches([',', ';', ')', ':']);
        let number = bare.chars().any(|c| c.is_ascii_digit());
        words.push(if number { "#".into() } else { bare.into() });
    }
    words.join(" ")
}

/// Units that follow a number and depend on its size.
const UNITS: &[&str] = &[
    "ns", "µs", "ms", "s", "ppm", "%", "pps", "kpps", "Mpps", "Gpps", "B", "KiB", "MiB", "GiB",
    "kB", "MB", "GB", "bit/s", "kbit/s", "Mbit/s", "Gbit/s",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_counts_are_grouped_and_others_left() {
        assert_eq!(grouped_in("20033433 of 50000000 frames"), "20,033,433 of 50,000,000 frames");
        assert_eq!(grouped_in("in 2 of 3 trials, 1234 frames"), "in 2 of 3 trials, 1234 frames");
        assert_eq!(grouped_in("0.123456 s, blake3:99999aa"), "0.123456 s, blake3:99999aa");
        assert_eq!(grouped_in("teid-12345 at 2026-11-21"), "teid-12345 at 2026-11-21");
        assert_eq!(grouped_in("µ 99999999999999999999999 §"), "µ 99999999999999999999999 §");
        assert_eq!(grouped_in(""), "");
    }

    #[test]
    fn remarks_are_alike_when_only_their_numbers_differ() {
        let a = "in 2 of 3 trials; for example: 492 frames were lost (worker 0: gaps 1, 1.60 ms)";
        let b = "in 1 of 9 trials; one of them: 12 frames were lost (worker 1: gaps 7, 980 µs)";
        assert_eq!(skeleton(a), skeleton(b));
        let c = "5 frames were lost (worker 0: gaps 1, 2 µs)";
        assert_eq!(skeleton(a), skeleton(c), "the number of trials is a number, too");
        assert_ne!(skeleton(a), skeleton("the confirmation failed at 12 Mpps"));
        assert_ne!(skeleton("no load passed"), skeleton("every load passed"));
    }
}
