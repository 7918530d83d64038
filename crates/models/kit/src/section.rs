//! The `function` section of a scenario: keys of the bench beside those of the function.
//!
//! A bench describes a large state by a few numbers (`user: 1000`); an operator's configuration has
//! no such keys. [`Section`] reads both from one map: a key that `G` has is the bench's, every
//! other one is the configuration's.

use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::{Map, Value};

/// Keys `G` by which the bench generates state, and keys `C` of the function's configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section<G, C> {
    /// What the bench generates.
    pub generated: G,
    /// The configuration.
    pub config: C,
}

impl<G, C> Serialize for Section<G, C>
where
    G: Serialize,
    C: Serialize,
{
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut all = object(&self.generated).map_err(ser::Error::custom)?;
        all.extend(object(&self.config).map_err(ser::Error::custom)?);
        all.serialize(to)
    }
}

impl<'de, G, C> Deserialize<'de> for Section<G, C>
where
    G: DeserializeOwned + JsonSchema,
    C: DeserializeOwned,
{
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Section<G, C>, D::Error> {
        let all = Map::deserialize(from)?;
        let schema = schemars::schema_for!(G);
        let of_bench = properties(&schema);
        let is_of_bench = |(key, _): &(String, Value)| of_bench.contains_key(key);
        let (generated, config) = all.into_iter().partition(is_of_bench);
        Ok(Section { generated: typed(generated)?, config: typed(config)? })
    }
}

impl<G: JsonSchema, C: JsonSchema> JsonSchema for Section<G, C> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}{}", G::schema_name(), C::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let generated = G::json_schema(generator);
        let mut schema = C::json_schema(generator);
        let of_bench = properties(&generated).clone();
        if let Some(keys) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            let of_function = std::mem::take(keys);
            keys.extend(of_bench);
            keys.extend(of_function);
        }
        schema
    }
}

fn properties(schema: &Schema) -> &Map<String, Value> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    schema.get("properties").and_then(Value::as_object).unwrap_or(&NONE)
}

fn object(keys: &impl Serialize) -> Result<Map<String, Value>, serde_json::Error> {
    serde_json::to_value(keys).map(|value| match value {
        Value::Object(keys) => keys,
        _ => Map::new(),
    })
}

/// The keys as their type, with the path to one that does not fit.
fn typed<T: DeserializeOwned, E: Error>(keys: Map<String, Value>) -> Result<T, E> {
    keys::parsed("", Value::Object(keys)).map_err(E::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    struct Generated {
        /// Users.
        user_count: u32,
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
    struct Config {
        /// Workers.
        #[schemars(range(min = 1, max = 64))]
        core: u32,
        /// Places.
        places: Vec<Place>,
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Place {
        /// A VLAN.
        #[schemars(range(min = 1, max = 4094))]
        vlan: u16,
    }

    #[test]
    fn keys_of_both_stand_in_one_map() {
        let text = json!({"core": 2, "user-count": 3});
        let section: Section<Generated, Config> = serde_json::from_value(text).expect("keys");
        assert_eq!((section.generated.user_count, section.config.core), (3, 2));
        let written = serde_json::to_value(&section).expect("it can be written");
        assert_eq!(written, json!({"user-count": 3, "core": 2, "places": []}));
        let schema = schemars::schema_for!(Section<Generated, Config>);
        assert_eq!(
            properties(&schema).keys().collect::<Vec<_>>(),
            ["user-count", "core", "places"]
        );
    }

    #[test]
    fn a_key_of_neither_is_refused_by_its_name() {
        let read = serde_json::from_value::<Section<Generated, Config>>;
        let error = read(json!({"coer": 1})).expect_err("no such key").to_string();
        assert!(error.contains("coer") && error.contains("core"), "{error}");
    }

    #[test]
    fn a_key_of_either_is_told_by_its_whole_path() {
        let range = "got `-1`, expected a whole number from";
        for (keys, path, what) in [
            (json!({"user-count": -1}), "user-count", format!("{range} 0 to 4294967295")),
            (json!({"core": -1}), "core", format!("{range} 1 to 64")),
            (
                json!({"places": [{"vlan": 7}, {"vlan": -1}]}),
                "places[1].vlan",
                format!("{range} 1 to 4094"),
            ),
            (
                json!({"core": 1, "places": [{"vlan": 0}]}),
                "places[0].vlan",
                "must be from 1 to 4094, not 0".to_owned(),
            ),
        ] {
            let error = keys::read::<Section<Generated, Config>>("function", keys);
            let error = error.expect_err("it cannot be");
            assert_eq!((error.path(), error.what), (format!("function.{path}"), what));
        }
    }
}
