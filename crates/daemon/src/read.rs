//! From a file to a configuration that is complete and valid; nothing is opened yet.
//!
//! Every key is checked against the schema of its section before its value is read, so an error
//! names file, line, key and the nearest valid key.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use controller_kit::erased::Kind as ControllerKind;
use document::{Document, DocumentError, Kind, kind, read_text};
use function_kit::PortName;
use functions::{Configured, Kind as FunctionKind};
use keys::{nearest, remedy_for_unknown};
use machine::cpu::available_cores;
use ports::Kind as PortKind;
use serde_json::{Map, Value, json};

use crate::config::{Control, Log, Metrics, Punt, Reload, Workers};
use crate::controllers::controllers;
use crate::nothing::{NOTHING, is_nothing};
use crate::sections::{SEE_SCHEMA, check_keys, no_mapping, section, value};

/// The functions and ports that a file can name.
#[derive(Clone, Copy)]
pub struct Parts {
    /// The available functions.
    pub functions: &'static [&'static dyn FunctionKind],
    /// The available port types.
    pub ports: &'static [&'static dyn PortKind],
    /// The available controllers.
    pub controllers: &'static [&'static dyn ControllerKind],
}

impl Parts {
    /// All functions and ports of this program.
    pub fn all() -> Parts {
        let (functions, ports) = (functions::FUNCTIONS, ports::PORTS);
        Parts { functions, ports, controllers: controllers::CONTROLLERS }
    }
}

/// A daemon's configuration with all defaults.
pub struct Configuration {
    /// The name of the daemon.
    pub name: String,
    /// The function and its configuration; one that is nothing where the file has none.
    pub function: Function,
    /// The function's ports, in the order of their numbers.
    pub ports: Vec<PortChoice>,
    /// Settings of the worker threads.
    pub workers: Workers,
    /// The core of each worker.
    pub cores: Vec<usize>,
    /// Limits of what goes to the host.
    pub punt: Punt,
    /// The controllers, each by another name.
    pub controllers: Vec<Arc<dyn controller_kit::erased::Configured>>,
    /// Settings of the control socket.
    pub control: Control,
    /// Settings of metrics; `None` if the file has no such section.
    pub metrics: Option<Metrics>,
    /// Settings of the log.
    pub log: Log,
    /// Path of the state file; `None` without one.
    pub state: Option<PathBuf>,
    /// Condition for reloading a changed file.
    pub reload: Reload,
}

/// The function that a file names.
pub struct Function {
    /// Kind of the function.
    pub kind: &'static dyn FunctionKind,
    /// The function's configuration.
    pub configured: Arc<dyn Configured>,
}

/// A port that a file configures.
pub struct PortChoice {
    /// Name of the port at the function.
    pub name: PortName,
    /// The port's `type`.
    pub kind: &'static str,
    /// The port's configuration.
    pub configured: Arc<dyn ports::Configured>,
}

impl std::fmt::Debug for Configuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.effective())
    }
}

impl Configuration {
    /// Says in the log what of the function's files was left out.
    pub(crate) fn tell_remarks(&self) {
        for remark in self.function.configured.remarks() {
            tracing::warn!("{remark}");
        }
    }

    /// Reads a configuration file.
    ///
    /// # Errors
    /// Any error in the file, with its line and key.
    pub fn read(path: &Path, parts: Parts) -> Result<Configuration, DocumentError> {
        let text = read_text(path, &FILE, FILE_BYTES_MAX)?;
        Configuration::parse(&path.display().to_string(), &text, parts)
    }

    /// Parses the text of a configuration file with the given name.
    ///
    /// # Errors
    /// Any error in the text, with its line and key.
    pub fn parse(file: &str, text: &str, parts: Parts) -> Result<Configuration, DocumentError> {
        let document = Document::parse(&FILE, file, text)?;
        if let Some(key) = document.root.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let remedy = remedy_for_unknown(key, &KEYS);
            return Err(document.error(key, format!("unknown key `{key}`"), remedy));
        }
        let controllers = controllers(&document, parts.controllers)?;
        let function = match document.root.get("function") {
            None | Some(Value::Null) if !controllers.is_empty() => nothing(&document)?,
            _ => function(&document, parts)?,
        };
        let workers: Workers = section(&document, "workers")?.unwrap_or_default();
        let cores = cores(&document, &workers, &function)?;
        let control: Control = section(&document, "control")?.unwrap_or_default();
        if control.mode_bits().is_none() {
            let what = format!("`{}` is not a file mode", control.mode);
            return Err(document.error(
                "control.mode",
                what,
                "write it in octal, such as \"0660\"",
            ));
        }
        let metrics: Option<Metrics> = section(&document, "metrics")?;
        check_metrics(&document, metrics.as_ref())?;
        let punt = punt(&document, &function)?;
        Ok(Configuration {
            name: name(&document)?,
            ports: ports_of(&document, &function, parts)?,
            function,
            cores,
            workers,
            punt,
            controllers,
            control,
            metrics,
            log: section(&document, "log")?.unwrap_or_default(),
            state: value(&document, "state")?,
            reload: value(&document, "reload")?.unwrap_or_default(),
        })
    }

    /// Returns all keys with their defaults, in the form of a file.
    pub fn effective(&self) -> Value {
        let port = |port: &PortChoice| {
            let mut keys = Map::from_iter([("type".to_owned(), json!(port.kind))]);
            if let Value::Object(own) = port.configured.effective() {
                keys.extend(own);
            }
            (port.name.to_string(), Value::Object(keys))
        };
        let function = match is_nothing(self.function.kind.name()) {
            true => Value::Null,
            false => Value::Object(self.function.configured.section()),
        };
        json!({
            "name": self.name,
            "function": function,
            "ports": self.ports.iter().map(port).collect::<Map<_, _>>(),
            "workers": Workers { cores: Some(self.cores.clone()), ..self.workers.clone() },
            "punt": self.punt,
            "controllers": self.controllers.iter().map(|one| {
                let mut keys = Map::from_iter([("name".to_owned(), one.name().into())]);
                keys.extend(one.keys());
                keys
            }).collect::<Vec<_>>(),
            "control": self.control,
            "metrics": self.metrics,
            "log": self.log,
            "state": self.state,
            "reload": self.reload,
        })
    }
}

fn name(document: &Document) -> Result<String, DocumentError> {
    let stem = Path::new(&document.file).file_stem().unwrap_or_default().to_string_lossy();
    let name: String = value(document, "name")?.unwrap_or_else(|| stem.into_owned());
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty()
        || name.len() > NAME_BYTES_MAX
        || name.starts_with('.')
        || !name.chars().all(fits)
    {
        let what = format!("`{name}` is not a valid name: it is also the name of the socket");
        let remedy = "use up to 64 letters, digits, `-`, `_` and `.`";
        return Err(document.error("name", what, remedy));
    }
    Ok(name)
}

fn function(document: &Document, parts: Parts) -> Result<Function, DocumentError> {
    let names: Vec<&str> = parts.functions.iter().map(|one| one.name()).collect();
    let known = format!("functions: {}", names.join(", "));
    let mut keys = match document.root.get("function") {
        Some(Value::String(name)) => Map::from_iter([("name".to_owned(), name.as_str().into())]),
        Some(Value::Object(keys)) => keys.clone(),
        Some(other) => return Err(no_mapping(document, "function", other)),
        None => {
            let remedy = format!("add `function: {{name: {}}}`", names.first().unwrap_or(&""));
            return Err(document.error("", "no `function` section", remedy));
        }
    };
    let name = match keys.shift_remove("name") {
        Some(Value::String(name)) => name,
        Some(other) => {
            let what = format!("expected the name of a function, not {}", kind(&other));
            return Err(document.error("function.name", what, known));
        }
        None => return Err(document.error("function.name", "the name is missing", known)),
    };
    let is_it = |one: &&&dyn FunctionKind| one.name() == name || one.aliases().contains(&&*name);
    let Some(found) = parts.functions.iter().find(is_it) else {
        let remedy =
            nearest(&name, names.iter()).map_or(known, |near| format!("did you mean `{near}`?"));
        let what = format!("there is no function `{name}`");
        return Err(document.error("function.name", what, remedy));
    };
    for (key, value) in found.meant_by(&name) {
        keys.entry(key).or_insert(value);
    }
    check_keys(document, "function", &keys, &found.schema())?;
    let configured =
        found.read(keys).map_err(|bad| document.invalid("function", bad, SEE_SCHEMA))?;
    Ok(Function { kind: *found, configured })
}

/// The function of a file that has none, for its controllers alone.
fn nothing(document: &Document) -> Result<Function, DocumentError> {
    if document.root.contains_key("workers") {
        let what = "there is no `function`, and so there are no workers";
        return Err(document.error("workers", what, "remove it, or add a `function`"));
    }
    let configured =
        NOTHING.read(Map::new()).map_err(|bad| document.invalid("function", bad, SEE_SCHEMA))?;
    Ok(Function { kind: NOTHING, configured })
}

fn ports_of(
    document: &Document,
    function: &Function,
    parts: Parts,
) -> Result<Vec<PortChoice>, DocumentError> {
    let wanted = function.configured.ports();
    if wanted.is_empty() && document.root.get("ports").is_none() {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = wanted.iter().map(|name| &**name).collect();
    let function = function.kind;
    let given = match document.root.get("ports") {
        Some(Value::Object(given)) => given,
        Some(other) => return Err(no_mapping(document, "ports", other)),
        None => {
            let remedy = format!("configure one for each of: {}", names.join(", "));
            return Err(document.error("", "no `ports` section", remedy));
        }
    };
    if let Some(name) = given.keys().find(|name| !names.contains(&name.as_str())) {
        let what = format!("{} has no port `{name}`", function.name());
        let remedy = remedy_for_unknown(name, &names).replace("valid keys here", "its ports");
        return Err(document.error(&format!("ports.{name}"), what, remedy));
    }
    let port = |&name: &PortName| {
        let Some(value) = given.get(&*name) else {
            let what = format!("the port `{name}` of {} is missing", function.name());
            return Err(document.error("ports", what, format!("add `{name}: {{type: …}}`")));
        };
        port_of(document, name, value, parts)
    };
    wanted.iter().map(port).collect()
}

fn port_of(
    document: &Document,
    name: PortName,
    value: &Value,
    parts: Parts,
) -> Result<PortChoice, DocumentError> {
    let section = format!("ports.{name}");
    let at = format!("{section}.type");
    let names: Vec<&str> = parts.ports.iter().map(|one| one.name()).collect();
    let known = format!("types: {}", names.join(", "));
    let mut keys = match value {
        Value::Object(keys) => keys.clone(),
        other => return Err(no_mapping(document, &section, other)),
    };
    let wanted = match keys.shift_remove("type") {
        Some(Value::String(wanted)) => wanted,
        Some(other) => {
            let what = format!("expected a port type, not {}", kind(&other));
            return Err(document.error(&at, what, known));
        }
        None => return Err(document.error(&section, "the `type` is missing", known)),
    };
    let Some(found) = parts.ports.iter().find(|one| one.name() == wanted) else {
        let remedy =
            nearest(&wanted, names.iter()).map_or(known, |near| format!("did you mean `{near}`?"));
        return Err(document.error(&at, format!("there is no port type `{wanted}`"), remedy));
    };
    check_keys(document, &section, &keys, &found.schema())?;
    let configured = found.read(Value::Object(keys));
    let configured = configured.map_err(|bad| document.invalid(&section, bad, SEE_SCHEMA))?;
    Ok(PortChoice { name, kind: found.name(), configured: Arc::from(configured) })
}

/// Returns the core of each worker, which also determines the number of workers.
fn cores(
    document: &Document,
    workers: &Workers,
    function: &Function,
) -> Result<Vec<usize>, DocumentError> {
    if is_nothing(function.kind.name()) {
        return Ok(Vec::new());
    }
    let available = available_cores();
    let listed = available.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let count = workers.cores.as_ref().map_or(function.configured.workers(), Vec::len);
    let key = if workers.cores.is_some() { "workers.cores" } else { "function" };
    if !(1..=WORKERS_MAX).contains(&count) {
        let what = format!("must list 1 to {WORKERS_MAX} cores, not {count}");
        return Err(document.error(key, what, format!("available cores: {listed}")));
    }
    if function.configured.is_sharded() && count > 1 {
        let name = function.kind.name();
        if !function.configured.steers_frames() {
            let what = format!(
                "{name} divides its state among workers, and no port type here can deliver each \
                 frame to the worker that has its part"
            );
            let remedy = "use one worker; to use more cores, run several daemons, each for a part \
                          of the users";
            return Err(document.error(key, what, remedy));
        }
        let asked = function.configured.workers();
        if asked != count {
            let what = format!(
                "{name} is configured with {asked} workers, but there are {count} \
                                cores"
            );
            let remedy = format!("set `core: {count}` in `function`, or list as many cores");
            return Err(document.error(key, what, remedy));
        }
    }
    match &workers.cores {
        Some(cores) => match cores.iter().find(|core| !available.contains(core)) {
            Some(core) => {
                let what = format!("this process may not use core {core}");
                Err(document.error(key, what, format!("available cores: {listed}")))
            }
            None => Ok(cores.clone()),
        },
        None if count > available.len() => {
            let what = format!("{count} workers but {} cores", available.len());
            Err(document.error(key, what, "configure fewer workers, or list `workers.cores`"))
        }
        None => Ok(available[available.len() - count..].to_vec()),
    }
}

fn check_metrics(document: &Document, metrics: Option<&Metrics>) -> Result<(), DocumentError> {
    let is_remote = |listen: &SocketAddr| !listen.ip().is_loopback();
    match metrics {
        Some(metrics) if is_remote(&metrics.listen) && !metrics.allow_remote => {
            let what =
                format!("other machines can reach {}, and there is no password", metrics.listen);
            let remedy = "listen on 127.0.0.1, or add `allow-remote: true`";
            Err(document.error("metrics.listen", what, remedy))
        }
        _ => Ok(()),
    }
}

/// Reads the limits of what goes to the host.
fn punt(document: &Document, function: &Function) -> Result<Punt, DocumentError> {
    let punt: Punt = section(document, "punt")?.unwrap_or_default();
    punt.check(function.configured.names().punts)
        .map_err(|bad| document.invalid("punt", bad, SEE_SCHEMA))?;
    Ok(punt)
}

/// Top-level keys of a file, in the order of the documentation.
pub(crate) const KEYS: [&str; 12] = [
    "name",
    "function",
    "ports",
    "workers",
    "punt",
    "controller",
    "controllers",
    "control",
    "metrics",
    "log",
    "state",
    "reload",
];

/// Description of the kind of file, for messages.
const FILE: Kind = Kind {
    noun: "function file",
    folder: "docs",
    starting_point: "docs/running.md has examples; `plumbline schema --run` lists every key",
};

/// Largest number of workers: acknowledgements have a bit for each.
const WORKERS_MAX: usize = 64;

/// Largest length of a daemon's name in bytes: with a folder and `.sock` it must fit into the 107
/// bytes of a socket path.
const NAME_BYTES_MAX: usize = 64;

/// Longest file: a million routes take some 60 MiB.
const FILE_BYTES_MAX: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_a_remedy_names_is_there() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert!(source.join(FILE.folder).is_dir(), "{}", FILE.folder);
    }
}
