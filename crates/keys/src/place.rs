//! Keys against a JSON Schema: which are known, which are near, and which hold lists by nature.

use serde_json::{Map, Value};

/// Returns the candidate that a typing error most probably meant, if one is similar enough.
pub fn nearest<'a, S: AsRef<str> + ?Sized + 'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a S>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(AsRef::as_ref)
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|&(distance, candidate)| {
            distance <= word.chars().count().max(candidate.chars().count()).div_ceil(3)
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the remedy for an unknown key: the nearest valid key, or those that have a word in
/// common with it, or all of them.
pub fn remedy_for_unknown(word: &str, valid: &[&str]) -> String {
    if let Some(near) = nearest(word, valid.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    let shares = |key: &&&str| words(key).any(|one| words(word).any(|other| one == other));
    let alike: Vec<String> = valid.iter().filter(shares).map(|key| format!("`{key}`")).collect();
    match alike.as_slice() {
        [] => format!("valid keys here: {}", valid.join(", ")),
        some if some.len() > ALIKE_MAX => format!("valid keys here: {}", valid.join(", ")),
        some => format!("did you mean {}?", some.join(" or ")),
    }
}

/// The words of a key, in the singular.
fn words(key: &str) -> impl Iterator<Item = &str> {
    key.split(['-', '_', ' ']).map(|word| word.strip_suffix('s').unwrap_or(word))
}

/// A key that the schema does not have.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// Path of the key below the section: `events.handovr`.
    pub path: String,
    /// Remedy.
    pub remedy: String,
}

/// A place in a schema, with the root for its references.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub(crate) root: &'a Value,
    pub(crate) here: &'a Value,
}

impl<'a> Place<'a> {
    /// Returns the root of a schema.
    pub fn root(schema: &'a schemars::Schema) -> Place<'a> {
        let root = schema.as_value();
        Place { root, here: root }
    }

    /// Returns the first key of `value`, or of a mapping in it, that the schema does not have.
    pub fn unknown_key(self, value: &Map<String, Value>) -> Option<UnknownKey> {
        let branches = self.branches();
        if branches.iter().any(|branch| branch.is_open_to_other_keys()) {
            return None;
        }
        let valid = self.keys();
        if valid.is_empty() {
            return None;
        }
        for (key, inner) in value {
            let Some(place) = self.key(key) else {
                let remedy = remedy_for_unknown(key, &valid);
                return Some(UnknownKey { path: key.clone(), remedy });
            };
            if let Value::Object(inner) = inner
                && let Some(unknown) = place.unknown_key(inner)
            {
                return Some(UnknownKey { path: format!("{key}.{}", unknown.path), ..unknown });
            }
        }
        None
    }

    /// Returns the schema of a key if it is known.
    pub fn key(self, key: &str) -> Option<Place<'a>> {
        self.branches().into_iter().find_map(|branch| {
            let here = branch.here.get("properties")?.get(key)?;
            Some(self.at(here))
        })
    }

    /// Returns the schema of a key by its path: `next-hops[0].vlan`.
    pub(crate) fn below(self, path: &str) -> Option<Place<'a>> {
        path.split(['.', '[']).try_fold(self, |place, step| match step.ends_with(']') {
            true => place.branches().iter().find_map(|one| Some(one.at(one.here.get("items")?))),
            false => place.key(step),
        })
    }

    /// Returns the description of this place, its first sentence.
    fn said(self) -> &'a str {
        let text = self.here.get("description").and_then(Value::as_str).unwrap_or_default();
        text.split(". ").next().unwrap_or_default()
    }

    /// Returns the remedy for a number in place of the list `list`: the keys that make so many of
    /// what it lists, told by descriptions like "Generated routes"; `section` stands before each
    /// key. None if there are no such keys.
    pub fn remedy_for_count(self, list: &str, section: &str) -> Option<String> {
        let wanted = words(list).last()?;
        let makes = |key: &&str| {
            let place = self.key(key);
            place.is_some_and(|place| {
                let subject = place.said().split([';', ',']).next().unwrap_or_default();
                let is_of = |word: &str| word.eq_ignore_ascii_case(wanted);
                subject.starts_with("Generated ")
                    && place.takes_count()
                    && words(subject).any(is_of)
            })
        };
        let keys = self.keys().into_iter().filter(makes);
        let keys: Vec<String> = keys.map(|key| format!("`{section}{key}`")).collect();
        let keys = (!keys.is_empty()).then(|| keys.join(" or "))?;
        Some(format!("`{section}{list}` lists each; so many are made by {keys}"))
    }

    /// Returns the schema of the items of a list, if they are mappings of known keys.
    pub fn items(self) -> Option<Place<'a>> {
        let items = |branch: &Place<'a>| Some(branch.at(branch.here.get("items")?));
        self.branches().iter().find_map(items).filter(|items| items.has_keys())
    }

    /// Returns true if a whole number is a value of this key.
    fn takes_count(self) -> bool {
        self.branches().iter().any(|branch| branch.here.has_type("integer"))
    }

    /// Returns the known keys of a mapping.
    pub fn keys(self) -> Vec<&'a str> {
        self.branches().iter().flat_map(|branch| branch.own_keys()).collect()
    }

    /// Returns true if a list is a value of this key and not a sweep over its values.
    pub fn takes_list(self) -> bool {
        self.branches().iter().any(|branch| branch.here.has_type("array"))
    }

    /// Returns the smallest and the largest value of a number, if the schema has both.
    pub fn range(self) -> Option<(&'a Value, &'a Value)> {
        let of =
            |branch: &Place<'a>| Some((branch.here.get("minimum")?, branch.here.get("maximum")?));
        self.branches().iter().find_map(of)
    }

    /// Returns the values that the schema takes, in words: `a list`, `a number or a text`; none if
    /// it takes any.
    pub(crate) fn expected(self) -> Option<String> {
        let mut forms: Vec<String> = Vec::new();
        let mut words: Vec<String> = Vec::new();
        for branch in self.branches() {
            let choices = branch.here.get("enum").and_then(Value::as_array).into_iter().flatten();
            let choices = choices.chain(branch.here.get("const")).filter(|one| !one.is_null());
            let known = choices.map(|one| format!("`{}`", one.to_string().trim_matches('"')));
            let before = words.len();
            words.extend(known);
            if words.len() > before {
                continue;
            }
            for kind in KINDS.iter().filter(|kind| branch.here.has_type(kind)) {
                let form = branch.form(kind);
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
        }
        words.extend(forms);
        let last = words.pop()?;
        Some(match words.as_slice() {
            [] => last,
            before => format!("{} or {last}", before.join(", ")),
        })
    }

    /// A type of JSON in words, with what the schema says of it.
    fn form(self, kind: &str) -> String {
        let whole = |number: &Value| number.as_f64().is_some_and(|it| it.fract() == 0.0);
        match kind {
            "boolean" => "true or false".to_owned(),
            "array" => "a list".to_owned(),
            "string" => "a text".to_owned(),
            "number" => "a number".to_owned(),
            "integer" => match self.range() {
                Some((least, most)) if whole(least) && whole(most) => {
                    format!("a whole number from {least} to {most}")
                }
                _ => "a whole number".to_owned(),
            },
            _ => {
                let keys: Vec<String> = self.own_keys().map(|key| format!("`{key}`")).collect();
                match keys.as_slice() {
                    [] => "a mapping of keys to values".to_owned(),
                    [key] => format!("a mapping with the key {key}"),
                    _ => format!("a mapping with the keys {}", keys.join(", ")),
                }
            }
        }
    }

    /// Returns true if this is a mapping with known keys, whose values can be swept separately.
    pub fn has_keys(self) -> bool {
        self.branches().iter().any(|branch| branch.own_keys().next().is_some())
    }

    /// Returns this schema and all alternatives and references in it, resolved.
    fn branches(self) -> Vec<Place<'a>> {
        let mut found = Vec::new();
        self.collect(&mut found, 0);
        found
    }

    fn collect(self, found: &mut Vec<Place<'a>>, depth: usize) {
        if depth > REFERENCE_DEPTH_MAX {
            return;
        }
        found.push(self);
        if let Some(target) = self.referenced() {
            target.collect(found, depth + 1);
        }
        for choice in ["allOf", "anyOf", "oneOf"] {
            self.choices(choice).into_iter().for_each(|one| one.collect(found, depth + 1));
        }
    }

    /// Returns another place of the same schema.
    pub(crate) fn at(self, here: &'a Value) -> Place<'a> {
        Place { root: self.root, here }
    }

    /// Returns the place that this one refers to.
    pub(crate) fn referenced(self) -> Option<Place<'a>> {
        let name = self.here.get("$ref").and_then(Value::as_str)?;
        self.root.pointer(name.strip_prefix('#')?).map(|here| self.at(here))
    }

    /// Returns the alternatives under one of the words for them.
    pub(crate) fn choices(self, choice: &str) -> Vec<Place<'a>> {
        let choices = self.here.get(choice).and_then(Value::as_array);
        choices.into_iter().flatten().map(|here| self.at(here)).collect()
    }

    fn own_keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let properties = self.here.get("properties").and_then(Value::as_object);
        properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str))
    }

    fn is_open_to_other_keys(&self) -> bool {
        self.here.get("additionalProperties").is_some_and(|other| *other != Value::Bool(false))
    }
}

trait HasType {
    fn has_type(&self, name: &str) -> bool;
}

impl HasType for Value {
    fn has_type(&self, name: &str) -> bool {
        match self.get("type") {
            Some(Value::String(only)) => only == name,
            Some(Value::Array(several)) => several.iter().any(|one| one == name),
            _ => false,
        }
    }
}

/// The types of JSON, without that of nothing.
const KINDS: [&str; 6] = ["boolean", "integer", "number", "string", "array", "object"];

/// Most keys that are offered in place of an unknown one.
const ALIKE_MAX: usize = 8;

const REFERENCE_DEPTH_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "user": {"type": "integer"},
                "rate-limit": {"type": ["integer", "string"]},
                "ports": {"type": ["array", "null"]},
                "events": {"anyOf": [{"$ref": "#/$defs/Events"}, {"type": "null"}]},
                "weights": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
            "$defs": {
                "Events": {"type": "object", "properties": {"handover": {"type": "number"}}},
            },
        })
    }

    fn unknown(value: Value) -> Option<UnknownKey> {
        Place::root(&schema()).unknown_key(value.as_object().expect("a mapping"))
    }

    #[test]
    fn a_typing_mistake_finds_its_key() {
        let keys = ["user", "bst", "server", "rate-limit", "fakedrop"];
        for (word, expected) in [
            ("usr", Some("user")),
            ("users", Some("user")),
            ("rate_limit", Some("rate-limit")),
            ("ratelimit", Some("rate-limit")),
            ("fake-drop", Some("fakedrop")),
            ("xyzzy", None),
        ] {
            assert_eq!(nearest(word, keys.iter()), expected, "{word}");
        }
    }

    #[test]
    fn a_word_of_keys_finds_them() {
        let keys = ["ingress-acl", "egress-acl", "route-files", "core"];
        let acl = remedy_for_unknown("acl", &keys);
        assert_eq!(acl, "did you mean `ingress-acl` or `egress-acl`?");
        assert_eq!(remedy_for_unknown("my-routes", &keys), "did you mean `route-files`?");
        assert!(remedy_for_unknown("xyzzy", &keys).starts_with("valid keys here: ingress-acl"));
    }

    #[test]
    fn unknown_keys_are_found_at_every_depth() {
        assert_eq!(unknown(serde_json::json!({"user": 1, "weights": {"64": 7}})), None);
        let expected = UnknownKey { path: "usr".into(), remedy: "did you mean `user`?".into() };
        assert_eq!(unknown(serde_json::json!({"usr": 1})), Some(expected));
        let expected =
            UnknownKey { path: "events.handovr".into(), remedy: "did you mean `handover`?".into() };
        assert_eq!(unknown(serde_json::json!({"events": {"handovr": 1}})), Some(expected));
    }

    #[test]
    fn lists_are_told_from_sweeps() {
        let schema = schema();
        let place = |key| Place::root(&schema).key(key).expect("a known key");
        assert!(place("ports").takes_list());
        assert!(!place("user").takes_list());
        assert!(place("events").has_keys());
        assert!(!place("weights").has_keys());
    }
}
