//! Figures that somebody typed: numbers with a unit of results, outside of what is filled.
//!
//! Code is none, links are none, and neither is what a condition says (`CONDITIONS`): how long a
//! trial is, what a rate limit is set to. The document beside the records has results only, so
//! more units count there.

/// Units of results anywhere.
const UNITS: &[&str] = &["Mpps", "kpps", "ticks", "TSC"];

/// Units of results in the document beside the records, which has conditions in words or in code.
const MORE_UNITS: &[&str] = &[
    "pps", "Gbit/s", "Mbit/s", "ms", "us", "µs", "ns", "s", "seconds", "kB", "MB", "GB", "GiB",
    "million", "%", "ppm", "times", "cycles",
];

/// Numbers with such a unit that no run gave, each with its reason.
const CONDITIONS: &[(&str, &str)] = &[
    ("14.88 Mpps", "the rate of a port in TIPSY's scenarios"),
    ("4 ppm", "the loss that EANTC's tests of switches allowed"),
];

/// Lines with a figure and the words of it.
pub fn figures(text: &str, is_beside_records: bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in outside(text).lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            let unit = pair[1].trim_end_matches(|c: char| ",.;:)|".contains(c));
            let is_unit = UNITS.contains(&unit) || is_beside_records && MORE_UNITS.contains(&unit);
            let figure = format!("{} {unit}", pair[0].trim_start_matches(['(', '≥']));
            let is_condition = CONDITIONS.iter().any(|(known, _)| *known == figure);
            if is_unit && is_number(pair[0]) && !is_condition {
                found.push((at + 1, figure));
            }
        }
    }
    found
}

fn is_number(word: &str) -> bool {
    let word = word.trim_start_matches(['(', '≥', '±', '-', '~']);
    !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || ",.".contains(c))
}

/// The text with as many lines, without code, without what is filled, and without links' targets.
fn outside(text: &str) -> String {
    let mut out = String::new();
    let (mut fenced, mut filled) = (false, false);
    for line in without_spans(text).lines() {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        // A block's comment begins with its writer and lasts until its end is named.
        filled |= line.contains("cargo xtask results") || line.contains("cargo xtask golden");
        if !fenced && !is_fence && !filled && !line.starts_with("    ") {
            out += line;
        }
        filled &= !line.contains("<!-- end of ");
        out.push('\n');
    }
    out
}

/// The text without code within sentences and without filled figures; line ends stay.
fn without_spans(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let line_ends = |cut: &str| "\n".repeat(cut.matches('\n').count());
    while let Some(at) = rest.find(['`', '<', '(']) {
        out += &rest[..at];
        rest = &rest[at..];
        let end = if rest.starts_with(super::block::OPEN) {
            rest.find(super::block::CLOSE).map(|end| end + super::block::CLOSE.len())
        } else if out.ends_with(']') && rest.starts_with('(') {
            rest.find(')').map(|end| end + 1)
        } else {
            None
        };
        let end = end.or_else(|| {
            // A fence is for whole lines, and the writer's name marks a block.
            let is_code = rest.starts_with('`') && !rest.starts_with("```");
            let end = is_code.then(|| rest[1..].find('`').map(|end| end + 2)).flatten()?;
            (!rest[..end].contains("cargo xtask") && !rest[..end].contains("\n\n")).then_some(end)
        });
        match end {
            Some(end) => {
                out += &line_ends(&rest[..end]);
                rest = &rest[end..];
            }
            None => {
                let fence = rest.bytes().take_while(|byte| *byte == b'`').count().max(1);
                out += &rest[..fence];
                rest = &rest[fence..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_figure_is_found_and_a_filled_one_is_not() {
        let found = |text: &str| figures(text, true);
        assert_eq!(found("a\nIt is 43.7 Mpps, so."), [(2, "43.7 Mpps".to_owned())]);
        assert_eq!(found("| row | 9.63 GB |").len(), 1);
        assert_eq!(found("(≥ 8.62 Mpps) in up to 13 ms.").len(), 2);
        assert!(found("It is <!--= a b c -->43.7 Mpps<!--/-->, so.").is_empty());
        assert!(found("`--for 13 ms` and\n\n```text\n9 ms\n```\n").is_empty());
        assert_eq!(found("`x`\n```text\n9 ms\n```\n9 ms"), [(5, "9 ms".to_owned())]);
        let block = "<!-- figures of a: written by `cargo xtask results`\nb = c\n-->\n9 ms\n<!-- end of \
                     figures -->\n8 ms";
        assert_eq!(found(block), [(6, "8 ms".to_owned())]);
        assert!(figures("after 30 s at most, 4 cores", false).is_empty());
        assert!(figures("1,000 sessions and 64 byte frames", true).is_empty());
    }
}
