//! Functions take and give tuples of a few values; more get a struct whose fields have names.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::none;
use crate::tree::files;

/// Most values of a tuple in a signature.
const VALUES_MAX: usize = 4;

#[test]
fn tuples_in_signatures_are_short() {
    let mut findings = Vec::new();
    for file in files(".rs") {
        // Templates are no whole files.
        let Ok(tokens) = file.text.parse::<TokenStream>() else { continue };
        let long = long_tuples(tokens).into_iter();
        findings.extend(long.map(|(name, values)| {
            format!("{}: `{name}` has a tuple of {values} values", file.path)
        }));
    }
    none("tuples to make structs of", &findings);
}

#[test]
fn a_tuple_is_what_stands_in_parentheses_of_its_own() {
    let code = "fn one((a, b, c, d, e): (u8, u8, u8, u8, u8)) {}
        fn two(work: impl Fn(u8, u8, u8, u8, u8) -> u8, (a, b): (u8, u8)) {}
        fn three(more: [(u8, (u8, u8), u8, u8, u8,); 2]) -> u8 { (1, 2, 3, 4, 5).0 }
        impl A { fn four(&self) -> Option<(u8, u8, u8, u8, u8, u8)> where Self: Sized { None } }
        type Five = fn(u8, u8, u8, u8, u8);";
    let found = long_tuples(code.parse().expect("Rust"));
    let names: Vec<_> = found.iter().map(|(name, values)| (name.as_str(), *values)).collect();
    assert_eq!(names, [("one", 5), ("three", 5), ("four", 6)]);
}

/// The functions with a long tuple in their signatures, and how many values that has.
fn long_tuples(tokens: TokenStream) -> Vec<(String, usize)> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match (&tokens[at], tokens.get(at + 1)) {
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if word == "fn" => {
                let rest = &tokens[at + 2..];
                let ends = |token: &TokenTree| match token {
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                    TokenTree::Punct(sign) => sign.as_char() == ';',
                    _ => false,
                };
                let len = rest.iter().position(ends).unwrap_or(rest.len());
                // Parentheses behind the name, generic types or one another are of parameters, the
                // last as macros have them; those behind an arrow are a tuple.
                let are_parameters = |at: usize| match at.checked_sub(1).map(|at| &rest[at]) {
                    None => true,
                    Some(TokenTree::Group(before)) => before.delimiter() == Delimiter::Parenthesis,
                    Some(TokenTree::Punct(sign)) => {
                        sign.as_char() == '>' && !is_arrow(&rest[..len], at - 1)
                    }
                    Some(_) => false,
                };
                let mut signature = Vec::new();
                for (at, token) in rest[..len].iter().enumerate() {
                    match token {
                        TokenTree::Group(group)
                            if group.delimiter() == Delimiter::Parenthesis
                                && are_parameters(at) =>
                        {
                            signature.extend(group.stream());
                        }
                        other => signature.push(other.clone()),
                    }
                }
                if let Some(values) = longest(&signature).filter(|values| *values > VALUES_MAX) {
                    found.push((name.to_string(), values));
                }
                at += 2 + len;
                continue;
            }
            (TokenTree::Group(group), _) => found.extend(long_tuples(group.stream())),
            _ => {}
        }
        at += 1;
    }
    // Bodies may have functions of their own.
    found
}

/// How many values the longest tuple in a part of a signature has.
fn longest(tokens: &[TokenTree]) -> Option<usize> {
    let mut most = None;
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
        // What follows a name is what that takes: `Fn(u8)`, `Some(it)`.
        let is_taken = matches!(at.checked_sub(1).map(|at| &tokens[at]), Some(TokenTree::Ident(_)));
        let is_tuple = group.delimiter() == Delimiter::Parenthesis && !is_taken;
        if is_tuple {
            most = most.max(Some(values(&inner)));
        }
        most = most.max(longest(&inner));
    }
    most
}

/// The values between commas; those of generic types are inside of theirs.
fn values(tokens: &[TokenTree]) -> usize {
    let (mut depth, mut count, mut is_open) = (0, 0, false);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Punct(sign) => match sign.as_char() {
                '<' => depth += 1,
                // The end of an arrow is none.
                '>' if !is_arrow(tokens, at) => depth -= 1,
                ',' if depth == 0 => is_open = false,
                _ => is_open = open(&mut count, is_open),
            },
            _ => is_open = open(&mut count, is_open),
        }
    }
    count
}

/// A value goes on, or begins.
fn open(count: &mut usize, is_open: bool) -> bool {
    *count += usize::from(!is_open);
    true
}

/// Whether the sign at a place is the end of an arrow.
fn is_arrow(tokens: &[TokenTree], at: usize) -> bool {
    let is_end = matches!(&tokens[at], TokenTree::Punct(sign) if sign.as_char() == '>');
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    is_end && matches!(before, Some(TokenTree::Punct(sign)) if sign.as_char() == '-')
}
