//! Numbers, lists and texts of a section within the limits that the schema of their keys states.

use serde_json::Value;

use crate::Place;
use crate::invalid::{Invalid, joined};

impl Place<'_> {
    /// Returns the first value outside of its limits, if there is one.
    pub(crate) fn out_of_limits(self, value: &Value) -> Option<Invalid> {
        self.find(value, "")
    }

    fn find(self, value: &Value, path: &str) -> Option<Invalid> {
        if let Some(found) = self.referenced().and_then(|place| place.find(value, path)) {
            return Some(found);
        }
        // Of alternatives it is enough that one takes the value.
        for alternatives in ["anyOf", "oneOf"].map(|choice| self.choices(choice)) {
            let single = alternatives.iter().filter_map(|one| one.here.get("const"));
            let or: String = single.map(|value| format!(", or {value}")).collect();
            let may_be = alternatives.into_iter().filter(|one| one.is_of_type(value));
            let found: Option<Vec<_>> = may_be.map(|one| one.find(value, path)).collect();
            if let Some(found) = found.and_then(|all| all.into_iter().next()) {
                return Some(Invalid { remedy: found.remedy + &or, ..found });
            }
        }
        let wrong = |what: String, remedy: &str| Some(Invalid::new(path, what, remedy));
        let choices = self.here.get("enum").and_then(Value::as_array).filter(|_| !value.is_null());
        if let Some(choices) = choices.filter(|choices| !choices.contains(value)) {
            let known = choices.iter().filter(|choice| !choice.is_null());
            let known = known.map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return wrong(format!("must be one of {known}, not {value}"), "Give one of these");
        }
        match value {
            Value::Number(number) => {
                let limits = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
                let within = self.within(limits, number.as_f64()?)?;
                let remedy = match self.here.get("default") {
                    Some(usual @ Value::Number(_)) => format!("; {usual} is the default"),
                    _ => String::new(),
                };
                let remedy = format!("Give a number in this range{remedy}");
                wrong(format!("must be {within}, not {value}"), &remedy)
            }
            Value::String(text) => {
                let count = text.chars().count();
                let within = self.within(["minLength", "", "maxLength", ""], count as f64)?;
                let what = format!("must have {within} characters, not {count}");
                wrong(what, "Give a text of this length")
            }
            Value::Object(keys) => keys.iter().find_map(|(key, value)| {
                let place = self.at(self.here.get("properties")?.get(key)?);
                place.find(value, &joined(path, key))
            }),
            Value::Array(items) => {
                let count = items.len();
                if let Some(within) = self.within(["minItems", "", "maxItems", ""], count as f64) {
                    let what = format!("must have {within} entries, not {count}");
                    return wrong(what, "Give a list of this length");
                }
                let place = self.at(self.here.get("items")?);
                let of_item = |(number, value)| place.find(value, &format!("{path}[{number}]"));
                items.iter().enumerate().find_map(of_item)
            }
            Value::Null | Value::Bool(_) => None,
        }
    }

    /// Returns the limits that these words state in the schema, if `found` is outside of them: the
    /// least value, what it must be above, the largest value, and what it must be below.
    fn within(self, words: [&str; 4], found: f64) -> Option<String> {
        let limits = words.map(|word| self.here.get(word).and_then(Value::as_f64));
        let [least, above, most, below] = limits;
        if least.is_none_or(|least| found >= least)
            && above.is_none_or(|above| found > above)
            && most.is_none_or(|most| found <= most)
            && below.is_none_or(|below| found < below)
        {
            return None;
        }
        let lower = match (least, above) {
            (_, Some(above)) => format!("more than {above}"),
            (least, None) if most.is_some() => format!("from {}", least.unwrap_or_default()),
            (least, None) => format!("at least {}", least.unwrap_or_default()),
        };
        let upper = match (most, below, above) {
            (_, Some(below), _) => format!(" and less than {below}"),
            (Some(most), _, Some(_)) => format!(" and at most {most}"),
            (Some(most), ..) => format!(" to {most}"),
            (None, ..) => String::new(),
        };
        Some(lower + &upper)
    }

    /// Whether an alternative is the value or of its kind.
    fn is_of_type(self, value: &Value) -> bool {
        if let Some(single) = self.here.get("const") {
            return single == value;
        }
        let here = self.referenced().map_or(self.here, |place| place.here);
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let is_kind = |stated: &Value| stated == kind || (kind == "number" && stated == "integer");
        match &here["type"] {
            Value::Null => true,
            Value::Array(kinds) => kinds.iter().any(is_kind),
            stated => is_kind(stated),
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "its schema alone is looked at")]
    struct Keys {
        /// A number.
        #[schemars(range(min = 1, max = 64))]
        core: u32,
        /// One that may be absent.
        #[schemars(range(max = 0.5))]
        share: Option<f64>,
        /// Mappings.
        #[schemars(length(max = 3))]
        parts: Vec<Part>,
        /// A time.
        #[schemars(extend("exclusiveMinimum" = 0.0))]
        time: f64,
        /// A part of the whole.
        #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
        part: f64,
        /// A text.
        #[schemars(length(min = 1, max = 5))]
        label: Option<String>,
        /// Zero, or much.
        #[schemars(extend("anyOf" = [{"const": 0}, {"minimum": 576}]))]
        mtu: u16,
        /// A power of two.
        #[schemars(extend("enum" = [2048, 4096, null]))]
        bytes: Option<u32>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "its schema alone is looked at")]
    struct Part {
        /// A number.
        #[schemars(range(min = 7))]
        number: Option<u16>,
    }

    fn found(value: &Value) -> Option<Invalid> {
        Place::root(&schemars::schema_for!(Keys)).out_of_limits(value)
    }

    #[test]
    fn a_value_outside_of_its_limits_is_told_by_its_path() {
        for fine in [
            json!({"core": 1, "share": null, "parts": [{"number": 7}, {"number": null}]}),
            json!({"core": 64, "share": 0.5}),
            json!({"core": "many", "other": 1_000}),
            json!({"parts": [{}, {}, {}], "label": "fünf!"}),
            json!({"mtu": 0, "bytes": null}),
            json!({"mtu": 576, "bytes": 4096}),
        ] {
            assert_eq!(found(&fine), None, "{fine}");
        }
        for (wrong, path, what) in [
            (json!({"core": 65}), "core", "must be from 1 to 64, not 65"),
            (json!({"core": 0}), "core", "must be from 1 to 64, not 0"),
            (json!({"share": 0.6}), "share", "must be from 0 to 0.5, not 0.6"),
            (json!({"parts": [{}, {"number": 6}]}), "parts[1].number", "must be"),
            (json!({"parts": [{}, {}, {}, {}]}), "parts", "must have from 0 to 3 entries, not 4"),
            (json!({"time": 0}), "time", "must be more than 0, not 0"),
            (json!({"part": 1.0}), "part", "must be more than 0 and less than 1, not 1"),
            (json!({"label": ""}), "label", "must have from 1 to 5 characters, not 0"),
            (json!({"mtu": 575}), "mtu", "must be at least 576, not 575"),
            (json!({"bytes": 0}), "bytes", "must be one of 2048, 4096, not 0"),
        ] {
            let invalid = found(&wrong).expect("it is outside of its limits");
            assert_eq!(invalid.key, path);
            assert!(invalid.what.starts_with(what), "{invalid}");
        }
        let invalid = found(&json!({"mtu": 1})).expect("it is outside of its limits");
        assert_eq!(invalid.remedy, "Give a number in this range, or 0");
    }
}
