//! The `device` section: what implements the function, one device or several side by side.
//!
//! A name, a mapping with the device's own keys, or a list of both. Several devices are cells like
//! those of any other swept key, under `device.name`; a key of theirs that has a list is swept,
//! too. A mapping with several names gives each device the keys that it knows.

use devices::registry::{self, Device, EMBEDDED};
use serde_json::{Map, Value};

use super::sweep::{Scale, Section, expand};
use super::{Document, ScenarioError, kind};
use keys::{Place, nearest, remedy_for_unknown};

/// A device that implements the function, with its keys.
#[derive(Clone, Debug)]
pub struct DeviceChoice {
    /// The device in the registry.
    pub device: Device,
    /// The tester's core; chosen by the run if the file does not set it.
    pub tester_core: Option<usize>,
    /// The workers' cores; chosen by the run if the file does not set them.
    pub worker_cores: Option<Vec<usize>>,
    /// The device's own keys, as in the file.
    pub options: Map<String, Value>,
    /// The swept keys of the section: `device.name`, and keys of the device.
    pub parameters: Map<String, Value>,
}

impl DeviceChoice {
    /// Name of the device.
    pub fn name(&self) -> &'static str {
        self.device.name
    }

    fn new(device: Device) -> DeviceChoice {
        DeviceChoice {
            device,
            tester_core: None,
            worker_cores: None,
            options: Map::new(),
            parameters: Map::new(),
        }
    }
}

/// Reads the section; returns at least one device.
///
/// # Errors
/// A device or key that does not exist, a core that is not available, or two equal devices.
pub(super) fn read(
    document: &Document,
    scale: Scale,
    note: &mut dyn FnMut(String),
) -> Result<Vec<DeviceChoice>, ScenarioError> {
    let mut choices = Vec::new();
    match document.root.get("device") {
        None | Some(Value::Null) => choices.push(DeviceChoice::new(EMBEDDED)),
        Some(Value::Array(list)) if list.is_empty() => {
            let remedy = "name at least one device, or remove the key";
            return Err(document.error("device", "an empty list measures nothing", remedy));
        }
        Some(Value::Array(list)) => {
            for (at, entry) in list.iter().enumerate() {
                choices.extend(entry_of(document, &format!("device[{at}]"), entry, scale, note)?);
            }
        }
        Some(entry) => choices = entry_of(document, "device", entry, scale, note)?,
    }
    if scale == Scale::None && choices.len() > 1 {
        choices.truncate(1);
        note(format!(
            "scale is `none`: only the first device is used ({}); write `scale: outer` to measure all",
            choices[0].name()
        ));
    }
    tell_apart(document, &mut choices)?;
    Ok(choices)
}

/// The devices of one entry of the section.
fn entry_of(
    document: &Document,
    path: &str,
    entry: &Value,
    scale: Scale,
    note: &mut dyn FnMut(String),
) -> Result<Vec<DeviceChoice>, ScenarioError> {
    let map = match entry {
        Value::String(name) => return Ok(vec![DeviceChoice::new(known(document, path, name)?)]),
        Value::Object(map) => map,
        other => {
            let what = format!("expected the name of a device, not {}", kind(other));
            return Err(document.error(path, what, format!("devices: {}", names().join(", "))));
        }
    };
    let devices = named(document, path, map.get("name"))?;
    let mut common = DeviceChoice::new(EMBEDDED);
    let mut own = Map::new();
    for (key, value) in map {
        let path = format!("{path}.{key}");
        match key.as_str() {
            "name" => {}
            "tester-core" => common.tester_core = Some(core(document, &path, value)?),
            "worker-cores" => common.worker_cores = Some(cores(document, &path, value)?),
            _ => {
                own.insert(key.clone(), value.clone());
            }
        }
    }
    if let (Some(tester), Some(workers)) = (common.tester_core, &common.worker_cores)
        && workers.contains(&tester)
    {
        let what = format!("core {tester} cannot serve both the tester and a worker");
        return Err(document.error(
            &format!("{path}.worker-cores"),
            what,
            "give each its own core",
        ));
    }
    let schemas: Vec<Option<schemars::Schema>> =
        devices.iter().map(|device| device.schema()).collect();
    check_keys(document, path, &own, &schemas)?;
    let mut choices = Vec::new();
    for (device, schema) in devices.iter().zip(&schemas) {
        let with = |options, parameters| DeviceChoice {
            device: *device,
            options,
            parameters,
            ..common.clone()
        };
        let Some(schema) = schema else {
            choices.push(with(Map::new(), Map::new()));
            continue;
        };
        let place = Place::root(schema);
        let known = own.iter().filter(|(key, _)| place.key(key).is_some());
        let values: Map<String, Value> = known.map(|(k, v)| (k.clone(), v.clone())).collect();
        let section = Section { key_in_file: path, name: "device", values: &values, schema: place };
        let expansion = expand(document, &[section], scale)?;
        expansion.notes.into_iter().for_each(&mut *note);
        for mut one in expansion.combinations {
            choices.push(with(one.sections.pop().unwrap_or_default(), one.parameters));
        }
    }
    Ok(choices)
}

/// The devices that a mapping names.
fn named(
    document: &Document,
    path: &str,
    name: Option<&Value>,
) -> Result<Vec<Device>, ScenarioError> {
    let path = format!("{path}.name");
    match name {
        None => Ok(vec![EMBEDDED]),
        Some(Value::String(name)) => Ok(vec![known(document, &path, name)?]),
        Some(Value::Array(list)) if !list.is_empty() => {
            let one = |(at, name): (usize, &Value)| {
                let path = format!("{path}[{at}]");
                match name {
                    Value::String(name) => known(document, &path, name),
                    _ => Err(document.error(&path, "expected a name", EMBEDDED.name)),
                }
            };
            list.iter().enumerate().map(one).collect()
        }
        Some(_) => Err(document.error(&path, "expected a name", EMBEDDED.name)),
    }
}

/// Refuses a key that none of the devices knows.
fn check_keys(
    document: &Document,
    path: &str,
    own: &Map<String, Value>,
    schemas: &[Option<schemars::Schema>],
) -> Result<(), ScenarioError> {
    let places: Vec<Place<'_>> = schemas.iter().flatten().map(Place::root).collect();
    for (key, value) in own {
        let Some(place) = places.iter().find_map(|place| place.key(key)) else {
            let valid: Vec<&str> = DEVICE_KEYS
                .into_iter()
                .chain(places.iter().flat_map(|place| place.keys()))
                .collect();
            let remedy = remedy_for_unknown(key, &valid);
            let what = format!("unknown key `{key}`");
            return Err(document.error(&format!("{path}.{key}"), what, remedy));
        };
        if let Value::Object(inner) = value
            && let Some(unknown) = place.unknown_key(inner)
        {
            let path = format!("{path}.{key}.{}", unknown.path);
            return Err(document.error(&path, "unknown key", unknown.remedy));
        }
    }
    Ok(())
}

/// Records the keys in which several devices differ.
fn tell_apart(document: &Document, choices: &mut [DeviceChoice]) -> Result<(), ScenarioError> {
    if choices.len() < 2 {
        return Ok(());
    }
    let facts: Vec<(&str, Map<String, Value>)> =
        choices.iter().map(|one| (one.name(), one.options.clone())).collect();
    for at in 0..choices.len() {
        let (name, options) = &facts[at];
        let twins = || facts.iter().enumerate().filter(|(other, _)| *other != at);
        let same_name = || twins().filter(|(_, (other, _))| other == name);
        if same_name().any(|(_, (_, other))| other == options) {
            let what = format!("two devices are the same: {name}");
            return Err(document.error("device", what, "list each device once"));
        }
        let mut parameters = Map::new();
        if twins().any(|(_, (other, _))| other != name) {
            parameters.insert("device.name".to_owned(), (*name).into());
        }
        for (key, value) in options {
            if same_name().any(|(_, (_, other))| other.get(key) != Some(value)) {
                parameters.insert(format!("device.{key}"), value.clone());
            }
        }
        choices[at].parameters = parameters;
    }
    Ok(())
}

fn names() -> Vec<&'static str> {
    registry::devices().map(|device| device.name).collect()
}

fn known(document: &Document, path: &str, name: &str) -> Result<Device, ScenarioError> {
    registry::find(name).ok_or_else(|| {
        let remedy = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("devices: {}", names().join(", ")),
        };
        document.error(path, format!("there is no device `{name}`"), remedy)
    })
}

fn cores(document: &Document, path: &str, value: &Value) -> Result<Vec<usize>, ScenarioError> {
    match value {
        Value::Array(cores) if cores.is_empty() => {
            let remedy = "name at least one core, or remove the key";
            Err(document.error(path, "an empty list leaves no core", remedy))
        }
        Value::Array(cores) => cores.iter().map(|value| core(document, path, value)).collect(),
        value => Ok(vec![core(document, path, value)?]),
    }
}

fn core(document: &Document, path: &str, value: &Value) -> Result<usize, ScenarioError> {
    let available = machine::cpu::available_cores();
    let core = value.as_u64().and_then(|core| usize::try_from(core).ok());
    core.filter(|core| available.contains(core)).ok_or_else(|| {
        let all: Vec<String> = available.iter().map(usize::to_string).collect();
        let remedy = format!("choose one of {}", all.join(", "));
        document.error(path, format!("{value} is not a core that this process may use"), remedy)
    })
}

/// Keys that all devices have.
pub(crate) const DEVICE_KEYS: [&str; 3] = ["name", "tester-core", "worker-cores"];

#[cfg(test)]
mod tests;
