//! What links need of a Markdown text: the targets of its links, and the anchors of its headings.
//!
//! It knows what the documents of this project use: links in one line, headings with `#`, code
//! between backquotes or fences. Not here: links by reference, headings that are underlined.

use std::collections::BTreeSet;
use std::ops::Range;

/// Where the targets of all `[text](target)` outside code stand in a text, in bytes.
pub fn targets(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (start, line) in prose(text) {
        // Every other part of a line lies between backquotes.
        let mut at = start;
        for (number, part) in line.split('`').enumerate() {
            let opened = part.match_indices("](").filter(|_| number % 2 == 0);
            for (place, _) in opened {
                let begin = place + 2;
                if let Some(length) = part[begin..].find(')') {
                    found.push(at + begin..at + begin + length);
                }
            }
            at += part.len() + 1;
        }
    }
    found
}

/// The headings of a text as a reader sees them, but for backquotes.
pub fn headings(text: &str) -> Vec<String> {
    let words = |(_, line): (usize, &str)| {
        let words = line.trim_start_matches('#');
        let is_heading = (1..=6).contains(&(line.len() - words.len()));
        let words = words.strip_prefix(' ').filter(|_| is_heading)?;
        Some(shown(words).trim().replace('`', ""))
    };
    prose(text).filter_map(words).collect()
}

/// The anchors of the headings of a text, as forges and mdBook form them: letters, digits, `-` and
/// `_` of the heading in small, a `-` for each space, and a number behind one that was there.
pub fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for heading in headings(text) {
        let kept = |letter: char| match letter {
            ' ' => Some('-'),
            letter if letter.is_alphanumeric() || "-_".contains(letter) => Some(letter),
            _ => None,
        };
        let own: String = heading.to_lowercase().chars().filter_map(kept).collect();
        let numbered = (1..).map(|number| format!("{own}-{number}"));
        let free = std::iter::once(own.clone()).chain(numbered).find(|one| !found.contains(one));
        found.extend(free);
    }
    found
}

/// The lines outside fenced and indented code, each with its place in the text, in bytes.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    let mut next = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = next;
        next += line.len();
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence && !line.starts_with("    ")).then_some((start, line.trim_end()))
    })
}

/// A text with the words of its links in their place.
fn shown(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("](") {
        let (head, words) = before.rsplit_once('[').unwrap_or((before, ""));
        out += head;
        out += words;
        rest = link.split_once(')').map_or("", |(_, rest)| rest);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# The `plumbline` of [names](other.md#a), _all_
[one](a.md) and `[none](b.md)` and ![picture](c.svg)
```text
# no heading [none](d.md)
```
    [none](e.md)
## Twice
## Twice
## RFC 2544, *section* 26.1 – what?
#none
";

    #[test]
    fn targets_are_those_outside_code() {
        let found: Vec<&str> = targets(TEXT).into_iter().map(|range| &TEXT[range]).collect();
        assert_eq!(found, ["other.md#a", "a.md", "c.svg"]);
    }

    #[test]
    fn anchors_are_those_of_forges() {
        let expected =
            ["rfc-2544-section-261--what", "the-plumbline-of-names-_all_", "twice", "twice-1"];
        assert_eq!(anchors(TEXT).into_iter().collect::<Vec<_>>(), expected);
        assert_eq!(headings(TEXT)[0], "The plumbline of names, _all_");
    }
}
