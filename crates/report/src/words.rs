//! Values, keys and cells in words.

use measure::record::{Cell, Outcome, RunRecord};
pub(crate) use measure::value_words;
use serde_json::Value;

/// The text with a capital letter at its beginning.
pub(crate) fn sentence_start(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}

/// Digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The last part of a dotted key; of a name, what it is the name of: `device.name` is the `device`.
pub(crate) fn leaf(key: &str) -> &str {
    let key = key.strip_suffix(".name").unwrap_or(key);
    key.rsplit('.').next().unwrap_or(key)
}

/// All swept keys of a cell: `user 1,000, workers 2`; tables use the shorter [`Names`].
pub(crate) fn cell_words(cell: &Cell) -> String {
    if cell.parameters.is_empty() {
        return cell.function.clone();
    }
    let one = |(key, value): (&String, &Value)| format!("{} {}", leaf(key), value_words(value));
    cell.parameters.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Each text once, in the order of appearance.
pub(crate) fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen
}

/// All cells with their outcomes.
pub(crate) fn outcomes(record: &RunRecord) -> impl Iterator<Item = (&Cell, &Outcome)> {
    record.cells.iter().flat_map(|c| c.outcomes.iter().map(move |o| (c, o)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }

    #[test]
    fn a_key_is_called_by_its_last_part_that_says_something() {
        assert_eq!(["function.core", "device.name", "name"].map(leaf), ["core", "device", "name"]);
    }
}
