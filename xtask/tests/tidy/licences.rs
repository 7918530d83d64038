//! Licences of everything that is linked in or used to build; the list of allowed ones is
//! deny.toml.

use crate::none;
use crate::tree::{file, members, packages, text};

#[test]
fn every_dependency_has_an_allowed_licence() {
    let allowed = allowed();
    let refused = |package: &&serde_json::Value| !satisfied(text(package, "license"), &allowed);
    let say = |package: &serde_json::Value| {
        let [name, version] = [text(package, "name"), text(package, "version")];
        format!("{name} {version}: {:?}", text(package, "license"))
    };
    let findings: Vec<String> = packages().filter(refused).map(say).collect();
    none("licences that deny.toml does not allow", &findings);
}

#[test]
fn our_own_licence_is_there_and_named() {
    assert!(file("LICENSE").contains("Apache License"));
    for package in members() {
        assert_eq!(text(package, "license"), "Apache-2.0", "{}", text(package, "name"));
    }
}

#[test]
fn expressions_are_understood() {
    let allowed = ["MIT".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned()];
    for good in [
        "MIT",
        "GPL-3.0 OR MIT",
        "GPL-3.0/MIT",
        "(MIT OR GPL-3.0) AND MIT",
        "MIT AND Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(satisfied(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", "GPL-3.0 OR ISC"] {
        assert!(!satisfied(bad, &allowed), "{bad}");
    }
}

/// The licences that deny.toml allows.
fn allowed() -> Vec<String> {
    let (_, rest) = file("deny.toml").split_once("\nallow = [").expect("deny.toml allows some");
    let (list, _) = rest.split_once(']').expect("the list ends");
    list.split(',').map(|entry| entry.trim().trim_matches('"').to_owned()).collect()
}

/// Whether an SPDX expression can be satisfied with allowed licences alone.
fn satisfied(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.trim();
    // The operator that binds least, outside brackets, splits first.
    for (operator, any) in [(" OR ", true), ("/", true), (" AND ", false)] {
        let parts = split(expression, operator);
        if parts.len() > 1 {
            let mut results = parts.into_iter().map(|part| satisfied(part, allowed));
            return if any { results.any(|ok| ok) } else { results.all(|ok| ok) };
        }
    }
    match expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => satisfied(inner, allowed),
        None => allowed.iter().any(|licence| licence == expression),
    }
}

/// Splits at an operator wherever it stands outside brackets.
fn split<'a>(expression: &'a str, operator: &str) -> Vec<&'a str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, character) in expression.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 && at >= start && expression[at..].starts_with(operator) {
            parts.push(&expression[start..at]);
            start = at + operator.len();
        }
    }
    parts.push(&expression[start..]);
    parts
}
