//! Comments and prose end at the hundredth column, where rustfmt ends code.
//!
//! Left alone are tables, what stands between fences or indented as code (drawings, commands,
//! output), and a line of a single word, such as a long link.

use crate::none;
use crate::tree::FILES;

/// The last column.
const COLUMNS: usize = 100;

#[test]
fn comments_and_prose_end_at_the_hundredth_column() {
    let mut findings = Vec::new();
    for file in FILES.iter() {
        let lines = too_long(marks(&file.path), &file.text);
        findings.extend(lines.map(|(number, columns)| {
            format!("{}:{number}: {columns} columns, at most {COLUMNS}", file.path)
        }));
    }
    none("lines to break", &findings);
}

#[test]
fn lines_that_cannot_be_broken_are_left_alone() {
    let long = "word ".repeat(21);
    let count = |path: &str, text: String| too_long(marks(path), &text).count();
    assert_eq!(count("a.md", format!("{long}\n- {long}\n   {long}")), 3);
    assert_eq!(count("a.rs", format!("    // {long}\n/// {long}\n//! {long}\n{long}")), 3);
    assert_eq!(count("a.yaml", format!("# {long}\nkey: {long}")), 1);
    let link = "x".repeat(120);
    assert_eq!(count("a.md", format!("| {long} |\n    {long}\n- {link}\n```\n{long}\n```")), 0);
    assert_eq!(count("a.rs", format!("//! ```text\n//! {long}\n//! ```\n//! | {long} |")), 0);
    // A fence ends with the comment around it.
    assert_eq!(count("a.rs", format!("/// ```\nfn f() {{}}\n/// {long}")), 1);
}

/// What lines of prose begin with; none for a file that has no prose.
fn marks(path: &str) -> &'static [&'static str] {
    match path.rsplit_once('.').map_or("", |(_, end)| end) {
        "md" => &[""],
        "rs" => &["///", "//!", "//"],
        "toml" | "yaml" => &["#"],
        _ => &[],
    }
}

/// Lines of prose that are too long: their number and length.
fn too_long(marks: &[&str], text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let start = if marks == [""] { line } else { line.trim_start() };
        let Some(prose) = marks.iter().find_map(|mark| start.strip_prefix(mark)) else {
            fenced = false;
            return None;
        };
        let is_fence = prose.trim_start().starts_with("```");
        fenced ^= is_fence;
        let is_free = fenced || is_fence || prose.starts_with("    ");
        let prose = prose.trim_start().trim_start_matches("- ");
        let columns = line.chars().count();
        let can_break = prose.contains(' ') && !prose.starts_with('|');
        (columns > COLUMNS && !is_free && can_break).then_some((at + 1, columns))
    })
}
