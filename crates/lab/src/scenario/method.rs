//! The methods of a benchmark, read from `methods` or taken as they are where it names none.

use function_kit::Invalid;
use function_kit::sections::traffic_key;
use measure::Subject;
use methods::{DEFAULT_METHODS, Entry, METHODS, Method};
use model_kit::replay::Loaded;
use serde_json::{Map, Value};

use super::device::DeviceChoice;
use super::sections::check_keys;
use super::{Document, ScenarioError, kind};
use crate::unit::FunctionUnit;
use keys::{Place, nearest};

/// A configured method.
pub struct MethodChoice {
    /// The method, ready to run.
    pub method: Box<dyn Method>,
}

impl std::fmt::Debug for MethodChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method.name(), self.method.configuration())
    }
}

/// An entry of `methods`.
pub(super) struct MethodEntry {
    /// Path of the entry in the file.
    pub path: String,
    /// Name of the method, or `scale`.
    pub name: String,
    /// Keys of the entry, without the name.
    pub options: Map<String, Value>,
}

/// The `methods` section; none if the file has none.
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
            return Err(document.error(key, what, "split them over several scenarios"));
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

/// A method given by its name or as a mapping.
pub(super) fn one_method(
    document: &Document,
    path: &str,
    entry: &Value,
) -> Result<MethodChoice, ScenarioError> {
    let entry = method_entry(document, path.to_owned(), entry)?;
    method(document, &entry.path, &entry.name, &entry.options)
}

/// The default methods of a benchmark, without those that one of its devices does not support.
pub(super) fn default_methods(
    document: &Document,
    subject: Subject,
    devices: &[DeviceChoice],
) -> Result<Vec<MethodChoice>, ScenarioError> {
    let fits = |name: &&&str| {
        methods::find(name).is_some_and(|entry| entry.subject == subject)
            && devices.iter().all(|device| closed_loop(name, device).is_none())
    };
    let names = DEFAULT_METHODS.iter().filter(fits);
    names.map(|name| method(document, "methods", name, &Map::new())).collect()
}

/// Refuses a method that measures something else, or that one of the devices does not support.
pub(super) fn check_methods(
    document: &Document,
    unit: &dyn FunctionUnit,
    methods: &[MethodChoice],
    devices: &[DeviceChoice],
) -> Result<(), ScenarioError> {
    let subject = unit.subject();
    let measures = |one: &&MethodChoice| methods::find(one.method.name()).map(|it| it.subject);
    if let Some(one) = methods.iter().find(|one| measures(one) != Some(subject)) {
        let key = if document.root.contains_key("method") { "method" } else { "methods" };
        let what = format!(
            "`{}` measures {}, and `{}` has none",
            one.method.name(),
            measures(&one).unwrap_or(Subject::Frames).words(),
            unit.name()
        );
        let fit = METHODS.iter().filter(|entry| entry.subject == subject);
        let fit: Vec<&str> = fit.map(|entry| entry.name).collect();
        return Err(document.error(key, what, format!("methods: {}", fit.join(", "))));
    }
    let mut all = methods.iter().flat_map(|one| devices.iter().map(move |device| (one, device)));
    match all.find_map(|(one, device)| closed_loop(one.method.name(), device)) {
        None => Ok(()),
        Some(what) => {
            let key = if document.root.contains_key("method") { "method" } else { "methods" };
            let remedy = "take `throughput`, `loss-curve` or another method with a load from \
                          outside, or measure the devices `embedded` and `vpp` in a benchmark of \
                          their own";
            Err(document.error(key, what, remedy))
        }
    }
}

/// Why a method cannot measure a device: the method needs source and sink inside the worker.
fn closed_loop(method: &str, device: &DeviceChoice) -> Option<String> {
    let has_none = device.device.driver.is_some_and(|driver| !driver.has_closed_loop());
    (method == "capacity" && has_none).then(|| {
        format!(
            "`{method}` runs source and sink inside the worker, which the device `{}` has no place \
             for",
            device.name()
        )
    })
}

/// Refuses methods that measure what captured frames do not have.
pub(super) fn captures_suit(captures: &Loaded, methods: &[MethodChoice]) -> Result<(), Invalid> {
    let (_, stamped) = captures.frames();
    for one in methods {
        let name = one.method.name();
        let (what, remedy) = match name {
            "session-rate" | "session-capacity" | "teardown-rate" | "failover" | "occupancy" => (
                "opens sessions, and the frames of a capture belong to none that the tester knows",
                "Remove 'pcap', or take a method of frames: throughput, latency, soak …",
            ),
            "rate-precision" => (
                "counts the bytes of each subscriber, whom captured frames do not tell",
                "Remove 'pcap' for this method",
            ),
            "capacity" if captures.is_timed() => (
                "sends as fast as it can and keeps no intervals",
                "Set 'pcap-timing: even', or take a method with a load: throughput, soak …",
            ),
            "latency" | "path-failure" if stamped == 0 => (
                "needs stamps, and no captured frame has room for one",
                "Capture UDP or TCP with at least 18 bytes of payload, or take throughput or soak",
            ),
            _ => continue,
        };
        return Err(traffic_key(
            "pcap",
            format!("cannot be measured by `{name}`, which {what}"),
            remedy,
        ));
    }
    Ok(())
}

pub(super) fn method(
    document: &Document,
    path: &str,
    name: &str,
    options: &Map<String, Value>,
) -> Result<MethodChoice, ScenarioError> {
    let Some(entry) = methods::find(name) else {
        let remedy = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => known_methods(),
        };
        return Err(document.error(path, format!("there is no method `{name}`"), remedy));
    };
    check_keys(document, path, options, Place::root(&(entry.schema)()))?;
    let method = (entry.read)(Value::Object(options.clone())).map_err(|invalid| {
        document.invalid(path, invalid, "`plumbline schema` lists the values of each key")
    })?;
    Ok(MethodChoice { method })
}

fn known_methods() -> String {
    format!("methods: {}", names().join(", "))
}

/// The method that is any other one along a key; its keys are in `scale`.
pub(super) const SCALE: &str = "scale";

const METHODS_MAX: usize = 100;

/// The names of all methods, including `scale`.
pub(super) fn names() -> Vec<&'static str> {
    methods::METHODS.iter().map(|entry: &Entry| entry.name).chain([SCALE]).collect()
}
