//! The parts of a scenario file, each read into what the run needs, each with its default.

use serde_json::{Map, Value};

use super::kind;
use super::sweep::{Scale, Section};
use super::{Document, ScenarioError, tipsy};
use crate::unit::{FunctionUnit, Functions};
use keys::{Place, nearest, remedy_for_unknown};

/// Keys of the scenario as a whole, in the order of the documentation.
pub(crate) const WHOLE_KEYS: [&str; 8] = [
    "name",
    "description",
    "references",
    "repetitions",
    "seed",
    "compare",
    "thresholds",
    "visualize",
];

/// Keys of a benchmark, in the order of the documentation.
pub(crate) const ENTRY_KEYS: [&str; 12] = [
    "id",
    "name",
    "description",
    "function",
    "pipeline",
    "device",
    "traffic",
    "methods",
    "method",
    "scale",
    "tester",
    "sut",
];

/// Keys that split a file into benchmarks.
pub(crate) const LIST_KEYS: [&str; 2] = ["benchmark", "default"];

/// Checks the top-level keys of a file that is one benchmark.
pub(super) fn check_top_level(document: &Document) -> Result<(), ScenarioError> {
    let known = |key: &str| WHOLE_KEYS.contains(&key) || ENTRY_KEYS[1..].contains(&key);
    if let Some(key) = document.root.keys().find(|key| !known(key)) {
        return Err(unknown_top_level(document, key));
    }
    two_words(document)
}

/// The error for an unknown top-level key.
pub(super) fn unknown_top_level(document: &Document, key: &str) -> ScenarioError {
    let valid: Vec<&str> =
        WHOLE_KEYS.iter().chain(&ENTRY_KEYS[3..]).chain(&LIST_KEYS).copied().collect();
    let remedy =
        tipsy::remedy_for_old(key).map_or_else(|| remedy_for_unknown(key, &valid), str::to_owned);
    document.error(key, format!("unknown key `{key}`"), remedy)
}

/// Refuses a key together with its synonym.
pub(super) fn two_words(document: &Document) -> Result<(), ScenarioError> {
    let has = |key: &str| document.root.get(key).is_some_and(|value| !value.is_null());
    for (one, other) in [("function", "pipeline"), ("methods", "method")] {
        if document.root.contains_key(one) && document.root.contains_key(other) {
            let what = format!("`{one}` and `{other}` are synonyms");
            return Err(document.error(other, what, format!("keep `{one}`")));
        }
    }
    for methods in ["methods", "method"] {
        if has(methods) && has("tester") {
            let what = format!("`{methods}` and `tester` exclude each other");
            return Err(document.error("tester", what, "keep one of the two"));
        }
    }
    Ok(())
}

/// Advice for a key of TIPSY in a file that is not TIPSY's.
fn remedy_for_tipsy(path: &str) -> Option<&'static str> {
    let key = path.strip_prefix("traffic.")?;
    (key == "json" || tipsy::TRAFFIC_ASIDE.contains(&key))
        .then_some("remove it: it is for TIPSY's trace files; `plumbline trace` writes one")
}

/// The `function` section.
pub(super) struct FunctionSection {
    /// Key of the section in the file: `function` or `pipeline`.
    pub key: &'static str,
    /// The function that the section names.
    pub unit: &'static dyn FunctionUnit,
    /// The keys of the section, without the name.
    pub values: Map<String, Value>,
}

pub(super) fn function(
    document: &Document,
    functions: Functions,
) -> Result<FunctionSection, ScenarioError> {
    let key = if document.root.contains_key("pipeline") { "pipeline" } else { "function" };
    let names: Vec<&str> = functions.iter().map(|unit| unit.name()).collect();
    let known = format!("functions: {}", names.join(", "));
    let mut values = match document.root.get(key) {
        None => {
            let what = "no `function` section, so there is nothing to measure";
            let remedy = format!("add `function: {{name: {}}}`", names.first().unwrap_or(&"…"));
            return Err(document.error("", what, remedy));
        }
        Some(Value::String(name)) => Map::from_iter([("name".to_owned(), name.as_str().into())]),
        Some(_) => object(document, key)?.cloned().unwrap_or_default(),
    };
    let name_key = format!("{key}.name");
    let name = match values.shift_remove("name") {
        Some(Value::String(name)) => name,
        Some(other) => {
            let what = format!("expected the name of a function, not {}", kind(&other));
            return Err(document.error(&name_key, what, known));
        }
        None => return Err(document.error(&name_key, "the name is missing", known)),
    };
    let is_it =
        |unit: &&&dyn FunctionUnit| unit.name() == name || unit.aliases().contains(&name.as_str());
    match functions.iter().find(is_it) {
        Some(unit) => {
            for (key, value) in unit.meant_by(&name) {
                values.entry(key).or_insert(value);
            }
            Ok(FunctionSection { key, unit: *unit, values })
        }
        None => {
            if let Some(what) = tipsy::absent(key, &name, functions) {
                return Err(document.error(&name_key, what, known));
            }
            let all = functions
                .iter()
                .flat_map(|unit| [unit.name()].into_iter().chain(unit.aliases().iter().copied()));
            let remedy = match nearest(&name, all) {
                Some(near) => format!("did you mean `{near}`?"),
                None => known,
            };
            Err(document.error(&name_key, format!("there is no function `{name}`"), remedy))
        }
    }
}

/// Refuses the first key of function or traffic that its section does not have, and tells if the
/// other one has it.
pub(super) fn check_parts(document: &Document, parts: &[Section<'_>]) -> Result<(), ScenarioError> {
    for part in parts {
        let Err(error) = check_keys(document, part.key_in_file, part.values, part.schema) else {
            continue;
        };
        let is_known = |key: &&String| part.schema.key(key).is_some();
        let unknown = part.values.iter().find(|(key, _)| !is_known(key));
        let elsewhere = unknown.and_then(|(key, value)| {
            let mut others = parts.iter().filter(|other| other.name != part.name);
            let other = others.find(|other| other.schema.key(key).is_some())?;
            let section = format!("{}.", other.key_in_file);
            let counted = other.schema.remedy_for_count(key, &section).filter(|_| value.is_u64());
            let remedy = counted.unwrap_or_else(|| format!("it is `{section}{key}`"));
            let path = format!("{}.{key}", part.key_in_file);
            Some(document.error(&path, format!("unknown key `{key}`"), remedy))
        });
        return Err(elsewhere.unwrap_or(error));
    }
    Ok(())
}

/// Refuses the first key of a section that its schema does not have.
pub(super) fn check_keys(
    document: &Document,
    section: &str,
    values: &Map<String, Value>,
    schema: Place<'_>,
) -> Result<(), ScenarioError> {
    match schema.unknown_key(values) {
        None => Ok(()),
        Some(unknown) => {
            let path = format!("{section}.{}", unknown.path);
            let key = unknown.path.rsplit('.').next().unwrap_or_default();
            let remedy = remedy_for_tipsy(&path).map_or(unknown.remedy, str::to_owned);
            Err(document.error(&path, format!("unknown key `{key}`"), remedy))
        }
    }
}

pub(super) fn scale_of(document: &Document, function_key: &str) -> Result<Scale, ScenarioError> {
    match text(document, "scale")?.as_deref() {
        Some("none") => Ok(Scale::None),
        Some("outer") => Ok(Scale::Outer),
        Some("joint") => Ok(Scale::Joint),
        Some(other) => {
            let remedy = "choose `none` (first values only), `outer` (every combination) or \
                          `joint` (lists go together)";
            Err(document.error("scale", format!("`{other}` is not a valid scale"), remedy))
        }
        // TIPSY's own default, for TIPSY's own files.
        None if function_key == "pipeline" => Ok(Scale::None),
        None => Ok(Scale::Outer),
    }
}

/// The scenario's name, if it is usable as a folder name.
pub(super) fn name(document: &Document) -> Result<String, ScenarioError> {
    let given = text(document, "name")?;
    let stem = std::path::Path::new(&document.file).file_stem();
    let raw = given.unwrap_or_else(|| stem.unwrap_or_default().to_string_lossy().into_owned());
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = raw.trim().chars().take(NAME_CHARS_MAX).map(safe).collect();
    let name = name.trim_matches(['-', '.']).to_owned();
    Ok(if name.is_empty() { "scenario".to_owned() } else { name })
}

pub(super) fn text(document: &Document, key: &str) -> Result<Option<String>, ScenarioError> {
    match document.root.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(other) => {
            let what = format!("expected a text, not {}", kind(other));
            Err(document.error(key, what, "write one value"))
        }
    }
}

/// A text, or a list of texts; none if the key is absent.
pub(super) fn texts(document: &Document, key: &str) -> Result<Vec<String>, ScenarioError> {
    let items = match document.root.get(key) {
        Some(Value::Array(items)) => items,
        _ => return Ok(text(document, key)?.into_iter().collect()),
    };
    let one = |item: &Value| {
        item.as_str().map(str::to_owned).ok_or_else(|| {
            document.error(
                key,
                format!("expected texts, not {}", kind(item)),
                "write a list of names",
            )
        })
    };
    items.iter().map(one).collect()
}

pub(super) fn object<'a>(
    document: &'a Document,
    key: &str,
) -> Result<Option<&'a Map<String, Value>>, ScenarioError> {
    match document.root.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) => Ok(Some(map)),
        Some(other) => {
            let what = format!("expected a mapping of keys to values, not {}", kind(other));
            Err(document.error(key, what, "indent its keys below it"))
        }
    }
}

const NAME_CHARS_MAX: usize = 80;
