//! Keys against a JSON Schema: which are known, which are near, and which hold lists by nature.
//!
//! The schema comes from the unit's own configuration type, so that no second list of keys exists.
//! Only keys are judged here; values are the unit's to judge, when it parses them.

use serde_json::{Map, Value};

/// The candidate that a typing mistake most probably meant, if one is near enough.
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

/// What to say of an unknown key: the nearest valid one, or all of them.
pub fn remedy_for_unknown(word: &str, valid: &[&str]) -> String {
    match nearest(word, valid.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("valid keys here: {}", valid.join(", ")),
    }
}

/// A key the schema does not know.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// Its path below the section: `events.handovr`.
    pub path: String,
    /// What to do.
    pub remedy: String,
}

/// A place in a schema, with the root for its references.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    root: &'a Value,
    here: &'a Value,
}

impl<'a> Place<'a> {
    /// The root of a schema.
    pub fn root(schema: &'a schemars::Schema) -> Place<'a> {
        let root = schema.as_value();
        Place { root, here: root }
    }

    /// The first key of `value`, or of a mapping in it, that the schema does not know.
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

    /// The schema of a key, if it is a known one.
    pub fn key(self, key: &str) -> Option<Place<'a>> {
        self.branches().into_iter().find_map(|branch| {
            let here = branch.here.get("properties")?.get(key)?;
            Some(Place { root: self.root, here })
        })
    }

    /// The keys that are known here.
    pub fn keys(self) -> Vec<&'a str> {
        self.branches().iter().flat_map(|branch| branch.own_keys()).collect()
    }

    /// Whether a list is a value of this key, not a sweep over its values.
    pub fn takes_list(self) -> bool {
        self.branches().iter().any(|branch| branch.here.has_type("array"))
    }

    /// The least and the greatest value of a number, where both are told.
    pub fn range(self) -> Option<(&'a Value, &'a Value)> {
        let of =
            |branch: &Place<'a>| Some((branch.here.get("minimum")?, branch.here.get("maximum")?));
        self.branches().iter().find_map(of)
    }

    /// Whether this is a mapping with known keys, whose values may be swept one by one.
    pub fn has_keys(self) -> bool {
        self.branches().iter().any(|branch| branch.own_keys().next().is_some())
    }

    /// This schema and all it refers to or chooses from, references followed.
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
        let at = |here| Place { root: self.root, here };
        if let Some(reference) = self.here.get("$ref").and_then(Value::as_str)
            && let Some(target) =
                reference.strip_prefix('#').and_then(|path| self.root.pointer(path))
        {
            at(target).collect(found, depth + 1);
        }
        for choice in ["allOf", "anyOf", "oneOf"] {
            let choices = self.here.get(choice).and_then(Value::as_array);
            choices.into_iter().flatten().for_each(|here| at(here).collect(found, depth + 1));
        }
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
