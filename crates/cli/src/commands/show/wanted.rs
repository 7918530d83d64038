//! Which entries of a table a person wants.

use std::collections::BTreeMap;

use crate::problem::Problem;

/// Which entries of which table a person wants: its name, what is sought, and by what they are
/// chosen.
pub(super) type Wanted = (String, Option<String>, BTreeMap<String, String>);

/// Reads which entries are wanted. A policy is a table with its name as a filter, and the route in
/// front.
pub(super) fn wanted(
    (name, is_policy): (String, bool),
    sought: Option<&String>,
    words: &[String],
) -> Result<Wanted, Problem> {
    let (mut words, mut sought) = (words.iter().peekable(), sought.cloned());
    if is_policy {
        let route = words.next_if(|word| !word.contains('='));
        sought = route.cloned().or(sought);
    }
    let mut filters: BTreeMap<String, String> =
        words.map(|word| filter(word)).collect::<Result<_, _>>()?;
    if !is_policy {
        return Ok((name, sought, filters));
    }
    if sought.is_none() {
        let what = format!("`show policy {name}` is about one route");
        return Err(Problem::of_usage(what, "write it behind the name: `198.51.100.0/24`"));
    }
    filters.insert("policy".to_owned(), name);
    Ok(("policy".to_owned(), sought, filters))
}

/// What a word says of the entries that are shown.
fn filter(word: &str) -> Result<(String, String), Problem> {
    let parts = word.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = parts.ok_or_else(|| {
        let what = format!("`{word}` is no KEY=VALUE");
        Problem::of_usage(what, "write it as `family=ipv4-unicast`, or leave it out")
    })?;
    Ok((key.to_owned(), value.to_owned()))
}
