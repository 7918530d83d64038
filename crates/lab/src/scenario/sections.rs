//! The parts of a scenario file, each read into what the run needs, each with its default.

use methods::{DEFAULT_METHODS, Method};
use serde_json::{Map, Value};

use super::keys::{Place, nearest, remedy_for_unknown};
use super::kind;
use super::scale;
use super::{DeviceChoice, Document, Functions, Scale, ScenarioError, in_plain_words, tipsy};
use crate::unit::FunctionUnit;

/// Keys of the scenario as a whole, in the order of its documentation.
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

/// Keys of a benchmark, in the order of its documentation.
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

/// Keys that divide a file into benchmarks.
pub(crate) const LIST_KEYS: [&str; 2] = ["benchmark", "default"];

/// A method with its configuration.
pub struct MethodChoice {
    /// Ready to run.
    pub method: Box<dyn Method>,
}

impl std::fmt::Debug for MethodChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method.name(), self.method.configuration())
    }
}

/// The keys of a file that is one benchmark.
pub(super) fn check_top_level(document: &Document) -> Result<(), ScenarioError> {
    let known = |key: &str| WHOLE_KEYS.contains(&key) || ENTRY_KEYS[1..].contains(&key);
    if let Some(key) = document.root.keys().find(|key| !known(key)) {
        return Err(unknown_top_level(document, key));
    }
    two_words(document)
}

/// An unknown key at the top of a file.
pub(super) fn unknown_top_level(document: &Document, key: &str) -> ScenarioError {
    let valid: Vec<&str> =
        WHOLE_KEYS.iter().chain(&ENTRY_KEYS[3..]).chain(&LIST_KEYS).copied().collect();
    let remedy =
        tipsy::remedy_for_old(key).map_or_else(|| remedy_for_unknown(key, &valid), str::to_owned);
    document.error(key, format!("unknown key `{key}`"), remedy)
}

/// Refuses two keys that say the same.
pub(super) fn two_words(document: &Document) -> Result<(), ScenarioError> {
    let has = |key: &str| document.root.get(key).is_some_and(|value| !value.is_null());
    for (one, other) in [("function", "pipeline"), ("methods", "method")] {
        if document.root.contains_key(one) && document.root.contains_key(other) {
            let what = format!("`{one}` and `{other}` are two words for the same");
            return Err(document.error(other, what, format!("keep `{one}`")));
        }
    }
    for methods in ["methods", "method"] {
        if has(methods) && has("tester") {
            let what = format!("`{methods}` and `tester` both say how to measure");
            return Err(document.error("tester", what, "keep one of the two"));
        }
    }
    Ok(())
}

/// What to do about a key of TIPSY in a file that is not TIPSY's.
fn remedy_for_tipsy(path: &str) -> Option<&'static str> {
    let key = path.strip_prefix("traffic.")?;
    (key == "json" || tipsy::TRAFFIC_ASIDE.contains(&key))
        .then_some("remove it: it is for TIPSY's trace files; `plumbline trace` writes one")
}

/// The `function` section.
pub(super) struct FunctionSection {
    /// The word the file uses for it.
    pub key: &'static str,
    /// The function it names.
    pub unit: &'static dyn FunctionUnit,
    /// Its keys beside the name.
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
            if let Some(what) = tipsy::absent(&name, functions) {
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

/// The first key of a section that its schema does not know.
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
            Err(document.error("scale", format!("`{other}` is no scale"), remedy))
        }
        // TIPSY's own default, for TIPSY's own files.
        None if function_key == "pipeline" => Ok(Scale::None),
        None => Ok(Scale::Outer),
    }
}

/// The name as a folder may have it.
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

/// A text, or a list of texts; none where the key is left out.
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

/// An entry of `methods`, its place and its options beside the name.
pub(super) struct MethodEntry {
    /// Where it stands.
    pub path: String,
    /// The method, or `scale`.
    pub name: String,
    /// Its keys beside the name.
    pub options: Map<String, Value>,
}

/// The `methods` section; none where the file has none.
pub(super) fn method_entries(
    document: &Document,
) -> Result<Option<Vec<MethodEntry>>, ScenarioError> {
    let key = if document.root.contains_key("method") { "method" } else { "methods" };
    let entries: Vec<(String, &Value)> = match document.root.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) if list.is_empty() => {
            let remedy = "name at least one method, or remove the key";
            return Err(document.error(key, "an empty list measures nothing", remedy));
        }
        Some(Value::Array(list)) if list.len() > METHODS_MAX => {
            let what = format!("more than {METHODS_MAX} methods");
            return Err(document.error(key, what, "divide them among several scenarios"));
        }
        Some(Value::Array(list)) => {
            list.iter().enumerate().map(|(at, entry)| (format!("{key}[{at}]"), entry)).collect()
        }
        Some(single) => vec![(key.to_owned(), single)],
    };
    let entries = entries.into_iter().map(|(path, entry)| method_entry(document, path, entry));
    entries.collect::<Result<_, _>>().map(Some)
}

fn method_entry(
    document: &Document,
    path: String,
    entry: &Value,
) -> Result<MethodEntry, ScenarioError> {
    match entry {
        Value::String(name) => Ok(MethodEntry { path, name: name.clone(), options: Map::new() }),
        Value::Object(map) => {
            let mut options = map.clone();
            match options.shift_remove("name") {
                Some(Value::String(name)) => Ok(MethodEntry { path, name, options }),
                Some(_) => {
                    Err(document.error(&format!("{path}.name"), "expected a name", known_methods()))
                }
                None => Err(document.error(&path, "the name is missing", known_methods())),
            }
        }
        other => {
            let what = format!("expected the name of a method, not {}", kind(other));
            Err(document.error(&path, what, known_methods()))
        }
    }
}

/// One method, by its name or as a mapping.
pub(super) fn one_method(
    document: &Document,
    path: &str,
    entry: &Value,
) -> Result<MethodChoice, ScenarioError> {
    let entry = method_entry(document, path.to_owned(), entry)?;
    method(document, &entry.path, &entry.name, &entry.options)
}

/// The methods of a benchmark that names none, as far as all its devices can be measured so.
pub(super) fn default_methods(
    document: &Document,
    devices: &[DeviceChoice],
) -> Result<Vec<MethodChoice>, ScenarioError> {
    let fits = |name: &&&str| devices.iter().all(|device| closed_loop(name, device).is_none());
    let names = DEFAULT_METHODS.iter().filter(fits);
    names.map(|name| method(document, "methods", name, &Map::new())).collect()
}

/// Refuses a method that one of the devices cannot be measured by.
pub(super) fn check_methods(
    document: &Document,
    methods: &[MethodChoice],
    devices: &[DeviceChoice],
) -> Result<(), ScenarioError> {
    let mut all = methods.iter().flat_map(|one| devices.iter().map(move |device| (one, device)));
    match all.find_map(|(one, device)| closed_loop(one.method.name(), device)) {
        None => Ok(()),
        Some(what) => {
            let key = if document.root.contains_key("method") { "method" } else { "methods" };
            let remedy = "take `throughput`, `loss-curve` or another method with a load from \
                          outside, or measure the embedded device in a benchmark of its own";
            Err(document.error(key, what, remedy))
        }
    }
}

/// Why a method cannot measure a device: source and sink run inside the worker.
fn closed_loop(method: &str, device: &DeviceChoice) -> Option<String> {
    (method == "capacity" && device.device.driver.is_some()).then(|| {
        format!(
            "`{method}` runs source and sink inside the worker, which the device `{}` has no place \
             for",
            device.name()
        )
    })
}

pub(super) fn method(
    document: &Document,
    path: &str,
    name: &str,
    options: &Map<String, Value>,
) -> Result<MethodChoice, ScenarioError> {
    let Some(entry) = methods::find(name) else {
        let remedy = match nearest(name, scale::names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => known_methods(),
        };
        return Err(document.error(path, format!("there is no method `{name}`"), remedy));
    };
    check_keys(document, path, options, Place::root(&(entry.schema)()))?;
    let method = (entry.read)(Value::Object(options.clone())).map_err(|error| {
        let key =
            if error.key.is_empty() { path.to_owned() } else { format!("{path}.{}", error.key) };
        let remedy = "`plumbline schema` tells what each key takes";
        document.error(&key, in_plain_words(&error.problem), remedy)
    })?;
    Ok(MethodChoice { method })
}

fn known_methods() -> String {
    format!("methods: {}", scale::names().join(", "))
}

const METHODS_MAX: usize = 100;
const NAME_CHARS_MAX: usize = 80;
