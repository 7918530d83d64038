//! What a unit's README says, to be compared with what its code says.

/// The first column of the table in a section, as far as it stands in code quotes.
///
/// # Panics
/// When there is no such section.
pub fn first_column<'a>(readme: &'a str, section: &str) -> Vec<&'a str> {
    let start = readme.find(&format!("\n## {section}\n")).expect("the section is there");
    let body = &readme[start + 4..];
    let body = &body[..body.find("\n## ").unwrap_or(body.len())];
    body.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}
