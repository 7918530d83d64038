//! Standard words: the glossary of ARCHITECTURE.md names the forms that nobody writes any more, and
//! no document, comment or message has them.
//!
//! A form is found across line breaks. Names of the record (`blackout_p99`) are no words: a form
//! ends where an underscore begins. In sources, words are those of comments and of strings.

use crate::none;
use crate::tree::{file, files};

#[test]
fn documents_comments_and_messages_use_standard_words() {
    let forms = refused(file("ARCHITECTURE.md"));
    assert!(forms.len() >= 20, "the glossary has a column of refused forms: {forms:?}");
    let mut findings = Vec::new();
    for ending in [".md", ".rs", ".yaml"] {
        for one in files(ending).filter(|one| !one.path.ends_with(THIS)) {
            let text = without_glossary(&one.text);
            for (line, form, word) in found(&text, ending == ".rs", &forms) {
                findings.push(format!("{}:{line}: {form}: write {word}", one.path));
            }
        }
    }
    none("the glossary in ARCHITECTURE.md has other words for this", &findings);
}

/// The refused forms with the word to be written.
fn refused(architecture: &str) -> Vec<(String, String)> {
    let (_, after) = architecture.split_once(HEADING).expect("ARCHITECTURE.md has the glossary");
    let section = after.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let mut forms = Vec::new();
    for row in rows.skip(1) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [word, _, not] = cells[..] else { continue };
        // A form may hold a comma itself: "aggregate, frames".
        let mut parts: Vec<String> = Vec::new();
        for part in not.split(", ").filter(|part| !part.is_empty()) {
            match parts.last_mut().filter(|last| *last == "aggregate") {
                Some(last) => *last = format!("{last}, {part}"),
                None => parts.push(part.to_lowercase()),
            }
        }
        forms.extend(parts.into_iter().map(|form| (form, word.to_owned())));
    }
    forms
}

/// The text with the glossary itself emptied, line by line, so that lines keep their numbers.
fn without_glossary(text: &str) -> String {
    let Some((before, after)) = text.split_once(HEADING) else { return text.to_owned() };
    let (section, rest) = after.split_once("\n## ").unwrap_or((after, ""));
    let empty = "\n".repeat(section.matches('\n').count());
    format!("{before}{empty}\n## {rest}")
}

/// Where a text has one of the forms: line, form, and the word in its place.
fn found<'a>(
    text: &str,
    is_source: bool,
    forms: &'a [(String, String)],
) -> Vec<(usize, &'a str, &'a str)> {
    // The words of all lines as one text, and where each line begins in it.
    let (mut words, mut lines, mut inside) = (String::new(), Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        lines.push((words.len(), index + 1));
        let line = match is_source {
            true => prose(line, &mut inside),
            false => line.trim().trim_start_matches("# ").to_owned(),
        };
        words.push_str(&line.to_lowercase());
        words.push(' ');
    }
    let mut places = Vec::new();
    for (form, word) in forms {
        for (at, _) in words.match_indices(form.as_str()) {
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let before = words[..at].chars().next_back();
            let behind = words[at + form.len()..].chars().next();
            // "blackouts" is the word, too.
            let behind = if behind == Some('s') { None } else { behind };
            if is_part(before) || is_part(behind) {
                continue;
            }
            let line = lines.iter().rev().find(|(start, _)| *start <= at).map_or(0, |l| l.1);
            places.push((line, form.as_str(), word.as_str()));
        }
    }
    places
}

/// What a line of a source says in words: its comment, or its strings. `inside` tells whether a
/// string of the line before goes on, and then whether one goes on behind this line.
fn prose(line: &str, inside: &mut bool) -> String {
    let line = line.trim();
    if !*inside && let Some(comment) = line.strip_prefix("//") {
        return comment.trim_start_matches(['/', '!']).trim().to_owned();
    }
    // A quote as a character, and one in a string, end none.
    let line = line.replace("'\"'", " ").replace("\\\"", " ");
    let (line, goes_on) = match line.strip_suffix('\\') {
        Some(line) => (line, true),
        None => (line.as_str(), false),
    };
    let mut words = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        if index > 0 {
            *inside = !*inside;
        }
        if *inside {
            words.push(part.trim());
        }
    }
    *inside &= goes_on;
    words.join(" ")
}

const HEADING: &str = "### Standard words\n";

/// This file holds the forms for its own test.
const THIS: &str = "tidy/glossary.rs";

#[test]
fn old_forms_are_found_across_lines_and_names_of_records_are_none() {
    let forms = refused(
        "### Standard words\n\n| word | meaning | not |\n|---|---|---|\n\
         | outage time | no forwarding | blackout |\n\
         | excluding Rx/Tx | stages | function alone, bare rate |\n\
         | aggregate L2 rate | bits | aggregate, frames |\n| same | equal | |\n",
    );
    let names: Vec<&str> = forms.iter().map(|(form, _)| form.as_str()).collect();
    assert_eq!(names, ["blackout", "function alone", "bare rate", "aggregate, frames"]);
    let places = |text, is_source| {
        let all = found(text, is_source, &forms);
        all.into_iter().map(|(line, form, _)| (line, form)).collect::<Vec<_>>()
    };
    assert_eq!(places("the function\nalone", false), [(1, "function alone")]);
    assert_eq!(places("/// The function\n/// alone.", true), [(1, "function alone")]);
    assert_eq!(places("x\nlet a = \"of blackouts\";", true), [(2, "blackout")]);
    assert_eq!(places("say(\"the function \\\n     alone\");", true), [(1, "function alone")]);
    assert!(places("let blackout = of(\"blackout_p99_ns\");\npub blackout: u64,", true).is_empty());
    assert!(places("`blackout_p99`, functions alone", false).is_empty());
}
