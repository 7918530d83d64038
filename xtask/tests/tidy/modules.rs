//! The modules of a crate as its source files declare them, and the file that defines what a path
//! names.
//!
//! Files are read as Rust's own tokens, so strings, comments and lifetimes cannot mislead. Macros
//! are not expanded: a name that a module neither declares nor imports counts as made by a macro of
//! that module. Whatever stands under `#[cfg(test)]` is left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module: a file, or a `mod name { … }` inside one.
#[derive(Default)]
struct Module {
    /// The file in which its text stands.
    file: String,
    /// Where the files of its own modules lie.
    folder: String,
    parent: Option<usize>,
    modules: BTreeMap<String, usize>,
    /// Names of the items that it defines.
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// All paths that are written in it, outside of imports.
    paths: BTreeSet<Vec<String>>,
}

/// One name that a `use` brings.
struct Import {
    /// The name here; `*` for all.
    name: String,
    path: Vec<String>,
    /// Whether others can import it from here.
    is_public: bool,
}

/// The modules of one crate; the first is its root.
pub struct Modules<'a> {
    all: Vec<Module>,
    /// The text of a file.
    text: &'a dyn Fn(&str) -> Option<&'a str>,
}

/// What a path names.
#[derive(Clone, Copy)]
enum Named {
    Module(usize),
    /// An item, by the module that defines it.
    Item(usize),
    /// Something of another crate.
    Outside,
}

impl<'a> Modules<'a> {
    /// Reads a crate from the file of its root.
    pub fn read(root: &str, text: &'a dyn Fn(&str) -> Option<&'a str>) -> Modules<'a> {
        let mut modules = Modules { all: Vec::new(), text };
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        modules.add(root.to_owned(), folder.to_owned(), None);
        modules
    }

    /// Which file needs an item that which other one defines, with a path that says so.
    pub fn needs(&self) -> BTreeMap<(&str, &str), String> {
        let mut needs = BTreeMap::new();
        for (at, module) in self.all.iter().enumerate() {
            let imports = module.imports.iter().filter(|import| !import.is_public);
            for path in imports.map(|import| &import.path).chain(&module.paths) {
                if let Some(Named::Item(other)) = self.resolve(at, path, &mut Vec::new()) {
                    let files = (module.file.as_str(), self.all[other].file.as_str());
                    needs.entry(files).or_insert_with(|| path.join("::"));
                }
            }
        }
        needs.retain(|(from, to), _| from != to);
        needs
    }

    /// What a path in a module names; nothing if its first name is that of a variable or a crate.
    fn resolve(&self, from: usize, path: &[String], seen: &mut Seen) -> Option<Named> {
        let (first, mut rest) = path.split_first()?;
        let mut named = match first.as_str() {
            "crate" => Named::Module(0),
            "self" => Named::Module(from),
            "super" => Named::Module(self.all[from].parent?),
            name => self.look_up(from, name, rest.is_empty(), seen)?,
        };
        while let (Named::Module(at), Some((name, behind))) = (named, rest.split_first()) {
            rest = behind;
            named = match name.as_str() {
                "super" => Named::Module(self.all[at].parent?),
                name => self.look_up(at, name, rest.is_empty(), seen).unwrap_or(Named::Item(at)),
            };
        }
        Some(named)
    }

    /// What a name means in a module; nothing if the module neither defines nor imports it.
    fn look_up(&self, at: usize, name: &str, is_last: bool, seen: &mut Seen) -> Option<Named> {
        let module = &self.all[at];
        let child = module.modules.get(name).map(|child| Named::Module(*child));
        let item = module.items.contains(name).then_some(Named::Item(at));
        // A function may have the name of a module.
        let own = if is_last { item.or(child) } else { child.or(item) };
        // Modules may import all of each other.
        let key = (at, name.to_owned());
        if own.is_some() || seen.contains(&key) {
            return own;
        }
        seen.push(key);
        if let Some(import) = module.imports.iter().find(|import| import.name == name) {
            return Some(self.resolve(at, &import.path, seen).unwrap_or(Named::Outside));
        }
        module.imports.iter().filter(|import| import.name == "*").find_map(|import| {
            match self.resolve(at, &import.path, seen)? {
                Named::Module(other) => self.look_up(other, name, is_last, seen),
                Named::Item(_) | Named::Outside => None,
            }
        })
    }

    /// Adds the module of a file.
    fn add(&mut self, path: String, folder: String, parent: Option<usize>) -> usize {
        let text = (self.text)(&path).unwrap_or_else(|| panic!("{path} is absent"));
        let tokens: TokenStream = text.parse().expect("a file that compiles has tokens");
        let at = self.all.len();
        self.all.push(Module { file: path, folder, parent, ..Module::default() });
        self.read_tokens(at, tokens, true);
        at
    }

    /// Reads a part of a module; items are looked for where they stand directly in it.
    fn read_tokens(&mut self, at: usize, tokens: TokenStream, is_direct: bool) {
        let tokens = without_tests(tokens);
        let mut next = 0;
        while let Some(token) = tokens.get(next) {
            let before = &tokens[..next];
            next += 1;
            match token {
                TokenTree::Group(group) => self.read_tokens(at, group.stream(), false),
                TokenTree::Ident(word) if word == "use" => {
                    let end = tokens[next..].iter().take_while(|token| !is(token, ";")).count();
                    let is_public = before.iter().rev().take(2).any(|token| is(token, "pub"));
                    self.all[at].imports(&[], &tokens[next..next + end], is_public);
                    next += end;
                }
                TokenTree::Ident(word) if word == "mod" && is_direct => {
                    if let [name, body, ..] = &tokens[next..] {
                        self.add_child(at, &plain(name), body);
                    }
                    next += 2;
                }
                TokenTree::Ident(word) => {
                    if is_direct {
                        self.all[at].items.extend(item(&plain(word), &tokens[next..]));
                    }
                    if !continues(before) {
                        let (path, len) = path(&tokens[next - 1..]);
                        next += len - 1;
                        self.all[at].paths.insert(path);
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// Adds a module that another declares: by its text, or by its name alone.
    fn add_child(&mut self, at: usize, name: &str, body: &TokenTree) {
        let Module { file, folder, .. } = &self.all[at];
        let (file, folder) = (file.clone(), format!("{folder}/{name}"));
        let child = match body {
            TokenTree::Group(body) => {
                let child = self.all.len();
                self.all.push(Module { file, folder, parent: Some(at), ..Module::default() });
                self.read_tokens(child, body.stream(), true);
                child
            }
            _ => {
                let beside = format!("{folder}.rs");
                let is_beside = (self.text)(&beside).is_some();
                let file = if is_beside { beside } else { format!("{folder}/mod.rs") };
                self.add(file, folder, Some(at))
            }
        };
        self.all[at].modules.insert(name.to_owned(), child);
    }
}

impl Module {
    /// Keeps what the tree of a `use` brings.
    fn imports(&mut self, prefix: &[String], tree: &[TokenTree], is_public: bool) {
        let mut path = prefix.to_vec();
        let mut name = None;
        let mut rest = tree.iter();
        while let Some(token) = rest.next() {
            match token {
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for branch in inner.split(|token| is(token, ",")) {
                        self.imports(&path, branch, is_public);
                    }
                    return;
                }
                TokenTree::Ident(word) if word == "as" => name = rest.next().map(plain),
                TokenTree::Ident(word) if word == "self" && path.len() > prefix.len().min(1) => {}
                token if is(token, "*") => name = Some("*".to_owned()),
                TokenTree::Ident(word) => path.push(plain(word)),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        if let Some(name) = name.or_else(|| path.last().cloned()) {
            self.imports.push(Import { name, path, is_public });
        }
    }
}

/// Names that are being looked up, by module.
type Seen = Vec<(usize, String)>;

/// The tokens that are compiled without tests.
fn without_tests(tokens: TokenStream) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        let is_tests = |next: &TokenTree| next.to_string().replace(' ', "") == "[cfg(test)]";
        if is(&token, "#") && rest.peek().is_some_and(is_tests) {
            let ends = |token: &TokenTree| match token {
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                token => is(token, ";"),
            };
            let _ = rest.by_ref().find(ends);
        } else {
            kept.push(token);
        }
    }
    kept
}

/// The name of the item that a keyword begins.
fn item(keyword: &str, rest: &[TokenTree]) -> Option<String> {
    let name = match keyword {
        "struct" | "enum" | "union" | "trait" | "fn" | "const" | "static" | "type" => rest.first(),
        "macro_rules" => rest.get(1),
        _ => None,
    };
    name.map(plain)
}

/// The path that begins here, and how many tokens it has.
fn path(tokens: &[TokenTree]) -> (Vec<String>, usize) {
    let mut path = vec![plain(&tokens[0])];
    let mut len = 1;
    while let [colon, second, TokenTree::Ident(word), ..] = &tokens[len..]
        && is(colon, ":")
        && is(second, ":")
    {
        path.push(plain(word));
        len += 3;
    }
    (path, len)
}

/// Whether a name behind these tokens is a part of what they begin: a field, a method, or the rest
/// of a path that names something of another crate or of a type.
fn continues(before: &[TokenTree]) -> bool {
    match before {
        [.., first, second] if is(second, ".") => !is(first, "."),
        [.., first, second] => is(first, ":") && is(second, ":"),
        _ => false,
    }
}

fn is(token: &TokenTree, text: &str) -> bool {
    !matches!(token, TokenTree::Group(_)) && token.to_string() == text
}

/// A name without the mark that lets it be a keyword.
fn plain(name: &(impl ToString + ?Sized)) -> String {
    name.to_string().trim_start_matches("r#").to_owned()
}
