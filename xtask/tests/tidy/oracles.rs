//! What an oracle may name of the function that it judges: what is configured, what is told, and
//! numbers. Code of the function would be wrong in both.

use crate::none;
use crate::tree::files;

/// Modules of a function of which an oracle may name types: the configuration, changes at run time,
/// and the names of reasons.
const TYPES_OF: &[&str] = &["config", "control", "reasons"];

#[test]
fn an_oracle_shares_no_code_with_its_function() {
    let mut findings = Vec::new();
    let is_oracle = |path: &str| {
        let of_model =
            path.strip_prefix("crates/models/").and_then(|path| path.split_once("/src/"));
        of_model.is_some_and(|(_, path)| path.split(['/', '.']).any(|part| part == "oracle"))
    };
    let oracles: Vec<_> = files(".rs").filter(|file| is_oracle(&file.path)).collect();
    assert!(oracles.len() > 20, "{} files of oracles", oracles.len());
    for file in oracles {
        let code = named(&file.text).into_iter().filter(|named| !is_plain(named));
        findings.extend(code.map(|named| format!("{} names {named}", file.path)));
    }
    none("oracles that share code with their function: write it slow and plain", &findings);
}

#[test]
fn what_an_oracle_may_name_is_told_apart() {
    let named = |text: &str| named(text).join(" ");
    let text = "use function_a::config::{Config, b::{C, D as E}, self};\n// function_b::state\n\
                fn f() { function_a::state::g::<u8>(); }\nuse function_a as unit;\n\
                use function_kit::Shard;\n";
    let all = "function_a::config::Config function_a::config::b::C function_a::config::b::D \
               function_a::config function_a::state::g function_a";
    assert_eq!(named(text), all);
    for plain in ["config::Config", "config::b::C", "control::Update", "alg::UNITS_MAX", "Update"] {
        assert!(is_plain(&format!("function_a::{plain}")), "{plain}");
    }
    for other in ["config", "config::holds", "state::State", "Pipeline", "config::*", "state::g"] {
        assert!(!is_plain(&format!("function_a::{other}")), "{other}");
    }
    assert!(!is_plain("function_a"));
}

/// Whether a path leads to no code: a constant, or a type of what is configured or told.
fn is_plain(path: &str) -> bool {
    let mut parts = path.split("::").skip(1);
    let (first, last) = (parts.next().unwrap_or(""), parts.last().unwrap_or(""));
    let is_constant = |name: &str| {
        name.len() > 1 && name.chars().all(|one| matches!(one, 'A'..='Z' | '0'..='9' | '_'))
    };
    let is_type = |name: &str| name.starts_with(|one: char| one.is_ascii_uppercase());
    match last {
        "" => matches!(first, "Config" | "Update"),
        last => is_constant(last) || is_type(last) && TYPES_OF.contains(&first),
    }
}

/// Every path into a function's crate that code names.
fn named(text: &str) -> Vec<String> {
    let code: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let begins = code.match_indices("function_").map(|(at, _)| at);
    let begins = begins.filter(|&at| !code[..at].ends_with(|one: char| is_of_name(one)));
    let mut named = Vec::new();
    for at in begins.filter(|&at| !code[at..].starts_with("function_kit")) {
        flatten("", &code[at..], &mut named);
    }
    named
}

/// The paths that a tree of imports has, each behind the beginning; what follows the tree.
fn flatten<'a>(begin: &str, tree: &'a str, named: &mut Vec<String>) -> &'a str {
    let len = tree.find(|one: char| !is_of_name(one) && one != '*').unwrap_or(tree.len());
    let (name, rest) = tree.split_at(len);
    if name.is_empty() {
        return "";
    }
    let path = match (begin, name) {
        ("", name) => name.to_owned(),
        (begin, "self") => begin.to_owned(),
        (begin, name) => format!("{begin}::{name}"),
    };
    let Some(below) = rest.strip_prefix("::").filter(|below| !below.starts_with('<')) else {
        named.push(path);
        let alias = rest.strip_prefix(" as ").map(|rest| rest.trim_start_matches(is_of_name));
        return alias.unwrap_or(rest);
    };
    let Some(mut list) = below.strip_prefix('{') else { return flatten(&path, below, named) };
    loop {
        list = list.trim_start_matches(|one: char| one.is_whitespace() || one == ',');
        match list.strip_prefix('}') {
            Some(rest) => return rest,
            None if list.is_empty() => return list,
            None => list = flatten(&path, list, named),
        }
    }
}

fn is_of_name(one: char) -> bool {
    one.is_ascii_alphanumeric() || one == '_'
}
