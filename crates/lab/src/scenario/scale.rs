//! The method `scale`: any method along any key, without sweeping the other methods along it.

use serde_json::{Map, Value, json};

use super::kind;
use super::method::{MethodChoice, SCALE, one_method};
use super::plan::in_record;
use super::sweep::{CELLS_MAX, Combination};
use super::{Document, ScenarioError};
use keys::{Place, remedy_for_unknown};

/// The keys of the entry.
pub(crate) const KEYS: [&str; 7] = ["name", "along", "values", "from", "to", "factor", "method"];

/// A method that sweeps a key of its own.
pub(super) struct Scaling {
    /// The swept key: `function.user`.
    pub along: String,
    /// The values of the key, in the order of measurement.
    pub values: Vec<Value>,
    /// The method that measures at each value.
    pub method: MethodChoice,
}

/// Reads an entry of `methods` whose name is `scale`.
///
/// # Errors
/// A key that is unknown, absent, or not a key of the function and its traffic.
pub(super) fn read(
    document: &Document,
    path: &str,
    options: &Map<String, Value>,
    schemas: [(&str, Place<'_>); 2],
) -> Result<Scaling, ScenarioError> {
    if let Some(key) = options.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let what = format!("unknown key `{key}`");
        let remedy = remedy_for_unknown(key, &KEYS);
        return Err(document.error(&format!("{path}.{key}"), what, remedy));
    }
    let along = along(document, path, options, schemas)?;
    let values = values(document, path, options)?;
    let method = match options.get("method") {
        None | Some(Value::Null) => Value::String("capacity".into()),
        Some(value) => value.clone(),
    };
    let method = one_method(document, &format!("{path}.method"), &method)?;
    Ok(Scaling { along, values, method })
}

fn along(
    document: &Document,
    path: &str,
    options: &Map<String, Value>,
    schemas: [(&str, Place<'_>); 2],
) -> Result<String, ScenarioError> {
    let place = format!("{path}.along");
    let example = "write for example `along: function.user`";
    let Some(Value::String(written)) = options.get("along") else {
        let what = "`scale` needs the key to sweep";
        return Err(document.error(
            if options.contains_key("along") { &place } else { path },
            what,
            example,
        ));
    };
    let key = in_record(written);
    let (section, rest) = key.split_once('.').unwrap_or((&key, ""));
    let Some((_, schema)) = schemas.into_iter().find(|(name, _)| *name == section) else {
        let what = format!("`{written}` is not a key of `function` or `traffic`");
        return Err(document.error(&place, what, example));
    };
    let mut here = Some(schema);
    for part in rest.split('.') {
        here = here.and_then(|schema| schema.key(part));
    }
    if here.is_none() {
        let known = schema.keys();
        let what = format!("`{section}` has no key `{rest}`");
        return Err(document.error(&place, what, remedy_for_unknown(rest, &known)));
    }
    Ok(key)
}

fn values(
    document: &Document,
    path: &str,
    options: &Map<String, Value>,
) -> Result<Vec<Value>, ScenarioError> {
    let place = format!("{path}.values");
    match options.get("values") {
        Some(_) if ["from", "to", "factor"].iter().any(|key| options.contains_key(*key)) => {
            let what = "`values` and `from` exclude each other";
            Err(document.error(&place, what, "keep one of the two"))
        }
        Some(Value::Array(values)) if values.len() > CELLS_MAX => {
            let what = format!("more than {CELLS_MAX} values");
            Err(document.error(&place, what, "shorten the list"))
        }
        Some(Value::Array(values)) if !values.is_empty() => {
            match values.iter().enumerate().find(|(at, one)| values[..*at].contains(one)) {
                Some((_, twin)) => {
                    let what = format!("{twin} occurs twice");
                    Err(document.error(&place, what, "list each value once"))
                }
                None => Ok(values.clone()),
            }
        }
        Some(other) => {
            let what = format!("expected a list of values, not {}", empty_or(other));
            Err(document.error(&place, what, "write for example `values: [1, 10, 100]`"))
        }
        None => steps(document, path, options),
    }
}

fn empty_or(value: &Value) -> &'static str {
    if value.as_array().is_some_and(Vec::is_empty) { "an empty one" } else { kind(value) }
}

/// The values from one number to another, each `factor` times the previous.
fn steps(
    document: &Document,
    path: &str,
    options: &Map<String, Value>,
) -> Result<Vec<Value>, ScenarioError> {
    let number = |key: &str| -> Result<f64, ScenarioError> {
        let place = format!("{path}.{key}");
        match options.get(key).map(|value| (value, value.as_f64())) {
            Some((_, Some(number))) if number > 0.0 => Ok(number),
            Some((value, _)) => {
                let what = format!("expected a number above 0, not {value}");
                Err(document.error(&place, what, "write for example `from: 1`, `to: 1e6`"))
            }
            None if key == "factor" => Ok(10.0),
            None => {
                let remedy =
                    "give `values: [1, 10, 100]`, or `from: 1`, `to: 1e6` and `factor: 10`";
                Err(document.error(path, format!("`scale` needs `{key}`"), remedy))
            }
        }
    };
    let (from, to, factor) = (number("from")?, number("to")?, number("factor")?);
    if factor <= 1.0 {
        let what = format!("must be above 1, not {factor}");
        return Err(document.error(
            &format!("{path}.factor"),
            what,
            "10 gives one value per decade",
        ));
    }
    if to < from {
        let what = format!("must not be below `from`: {to} < {from}");
        return Err(document.error(&format!("{path}.to"), what, "swap both values"));
    }
    let whole = [from, to, factor].iter().all(|number| number.fract() == 0.0);
    let mut values = Vec::new();
    let mut next = from;
    // A little more than `to` is `to`: powers of a fraction are not exact.
    while next <= to * (1.0 + 1e-9) {
        if values.len() == CELLS_MAX {
            let what = format!("more than {CELLS_MAX} values");
            return Err(document.error(&format!("{path}.factor"), what, "use a larger factor"));
        }
        values.push(if whole && next <= EXACT_IN_F64_MAX {
            json!(next as u64)
        } else {
            json!(next)
        });
        next *= factor;
    }
    Ok(values)
}

/// The cells of a method along a key: each of `cells` with each of the values.
pub(super) fn cells(
    document: &Document,
    scaling: &Scaling,
    cells: &[Combination],
) -> Result<Vec<Combination>, ScenarioError> {
    if cells.iter().any(|cell| cell.parameters.contains_key(&scaling.along)) {
        let what = format!("`{}` is already swept", scaling.along);
        let remedy = "give it a single value there, or remove the method `scale`";
        return Err(document.error(&scaling.along, what, remedy));
    }
    if cells.len().saturating_mul(scaling.values.len()) > CELLS_MAX {
        let what = format!("`scale` makes more than {CELLS_MAX} cells");
        return Err(document.error("methods", what, "shorten the lists"));
    }
    let along = |cell: &Combination| {
        scaling
            .values
            .iter()
            .map(|value| cell.with_value(&scaling.along, value))
            .collect::<Vec<_>>()
    };
    Ok(cells.iter().flat_map(along).collect())
}

/// Suffix of benchmark names from the last part of the key: `scale-user`.
pub(super) fn label(scaling: &Scaling) -> String {
    format!("{SCALE}-{}", scaling.along.rsplit('.').next().unwrap_or_default())
}

/// JSON Schema of an entry `scale`; `method` is a reference to the schema of methods.
pub(crate) fn schema(method: &Value) -> Value {
    let number = json!({"type": "number", "exclusiveMinimum": 0});
    json!({
        "type": "object",
        "properties": {
            "name": {"description": SUMMARY, "const": SCALE},
            "along": {"description": "The swept key: `function.user`.", "type": "string"},
            "values": {"description": "Values of the swept key.", "type": "array", "minItems": 1},
            "from": {"description": "First value, if `values` is absent.",
                "anyOf": [number]},
            "to": {"description": "Upper limit of the values.", "anyOf": [number]},
            "factor": {"description": "Ratio of each value to the previous one.",
                "default": 10, "type": "number", "exclusiveMinimum": 1},
            "method": {"description": "Method that measures at each value.", "default": "capacity",
                "anyOf": [method, {"type": "null"}]},
        },
        "required": ["name", "along"],
        "additionalProperties": false,
    })
}

/// Summary for the help text.
const SUMMARY: &str = ALONG.1;

/// Name and summary of the entry, for lists of methods.
pub const ALONG: (&str, &str) =
    (SCALE, "sweeps any key for any method, without a sweep of the other methods");

const EXACT_IN_F64_MAX: f64 = 9_007_199_254_740_992.0;
