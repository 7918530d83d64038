//! From a file to a configuration that is complete and valid; nothing is opened yet.
//!
//! Every key is checked against the schema of its section before its value is read, so an error names
//! file, line, key and the nearest valid key.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use document::keys::{Place, nearest, remedy_for_unknown};
use document::{Document, DocumentError, Kind, SIZE_BYTES_MAX, kind, read_text};
use machine::cpu::available_cores;
use ports::Kind as PortKind;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::config::{Control, Log, Metrics, Reload, Workers};
use crate::unit::{BadKey, Configured, FunctionKind, parsed};

/// What can be named in a file.
#[derive(Clone, Copy)]
pub struct Parts {
    /// The functions there are.
    pub functions: &'static [&'static dyn FunctionKind],
    /// The kinds of ports there are.
    pub ports: &'static [&'static dyn PortKind],
}

impl Parts {
    /// All that this program has.
    pub const ALL: Parts = Parts { functions: crate::unit::FUNCTIONS, ports: ports::PORTS };
}

/// What a file says, with all defaults.
pub struct Configuration {
    /// The name of the daemon.
    pub name: String,
    /// The function.
    pub function: Function,
    /// Its ports, in the order of their numbers.
    pub ports: Vec<PortChoice>,
    /// Its threads.
    pub workers: Workers,
    /// The core of each worker.
    pub cores: Vec<usize>,
    /// The control socket.
    pub control: Control,
    /// Metrics, where they are asked for.
    pub metrics: Option<Metrics>,
    /// The log.
    pub log: Log,
    /// The file that keeps the state.
    pub state: Option<PathBuf>,
    /// When a changed file is read again.
    pub reload: Reload,
}

/// The function of a file.
pub struct Function {
    /// Which one.
    pub kind: &'static dyn FunctionKind,
    /// Its keys.
    pub configured: Box<dyn Configured>,
}

/// A port of a file.
pub struct PortChoice {
    /// Its name at the function.
    pub name: &'static str,
    /// Its `type`.
    pub kind: &'static str,
    /// Its keys.
    pub configured: Arc<dyn ports::Configured>,
}

impl std::fmt::Debug for Configuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.effective())
    }
}

impl Configuration {
    /// Reads a file.
    ///
    /// # Errors
    /// Whatever is wrong with it, by file, line and key.
    pub fn read(path: &Path, parts: Parts) -> Result<Configuration, DocumentError> {
        let text = read_text(path, &FILE, SIZE_BYTES_MAX)?;
        Configuration::parse(&path.display().to_string(), &text, parts)
    }

    /// Reads the text of a file of this name.
    ///
    /// # Errors
    /// As [`Configuration::read`].
    pub fn parse(file: &str, text: &str, parts: Parts) -> Result<Configuration, DocumentError> {
        let document = Document::parse(&FILE, file, text)?;
        if let Some(key) = document.root.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let remedy = remedy_for_unknown(key, &KEYS);
            return Err(document.error(key, format!("unknown key `{key}`"), remedy));
        }
        let function = function(&document, parts)?;
        let workers: Workers = section(&document, "workers")?.unwrap_or_default();
        for (key, value, least, most) in [
            ("workers.batch", workers.batch, 1, packet::BATCH_MAX),
            (
                "workers.frame-bytes-max",
                workers.frame_bytes_max,
                FRAME_BYTES_LEAST,
                FRAME_BYTES_MOST,
            ),
        ] {
            if !(least..=most).contains(&value) {
                let what = format!("must be from {least} to {most}, not {value}");
                return Err(document.error(key, what, SEE_SCHEMA));
            }
        }
        let cores = cores(&document, &workers, &function)?;
        let control: Control = section(&document, "control")?.unwrap_or_default();
        if control.mode_bits().is_none() {
            let what = format!("`{}` is no mode of a file", control.mode);
            return Err(document.error("control.mode", what, "write it octal, as \"0660\""));
        }
        let metrics: Option<Metrics> = section(&document, "metrics")?;
        check_metrics(&document, metrics.as_ref())?;
        Ok(Configuration {
            name: name(&document)?,
            ports: ports_of(&document, &function, parts)?,
            function,
            cores,
            workers,
            control,
            metrics,
            log: section(&document, "log")?.unwrap_or_default(),
            state: value(&document, "state")?,
            reload: value(&document, "reload")?.unwrap_or_default(),
        })
    }

    /// All keys with their defaults, as a file would have them.
    pub fn effective(&self) -> Value {
        let mut function = Map::from_iter([("name".to_owned(), json!(self.function.kind.name()))]);
        if let Value::Object(keys) = self.function.configured.effective() {
            function.extend(keys);
        }
        let port = |port: &PortChoice| {
            let mut keys = Map::from_iter([("type".to_owned(), json!(port.kind))]);
            if let Value::Object(own) = port.configured.effective() {
                keys.extend(own);
            }
            (port.name.to_owned(), Value::Object(keys))
        };
        json!({
            "name": self.name,
            "function": function,
            "ports": self.ports.iter().map(port).collect::<Map<_, _>>(),
            "workers": Workers { cores: Some(self.cores.clone()), ..self.workers.clone() },
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
        let what = format!("`{name}` names no daemon, for its socket is called so");
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
    let configured = found
        .read(Value::Object(keys))
        .map_err(|bad| bad_key(document, "function", &bad, SEE_SCHEMA))?;
    Ok(Function { kind: *found, configured })
}

fn ports_of(
    document: &Document,
    function: &Function,
    parts: Parts,
) -> Result<Vec<PortChoice>, DocumentError> {
    let wanted = function.configured.ports();
    let function = function.kind;
    let given = match document.root.get("ports") {
        Some(Value::Object(given)) => given,
        Some(other) => return Err(no_mapping(document, "ports", other)),
        None => {
            let remedy = format!("give one for each of: {}", wanted.join(", "));
            return Err(document.error("", "no `ports` section", remedy));
        }
    };
    if let Some(name) = given.keys().find(|name| !wanted.contains(&name.as_str())) {
        let what = format!("{} has no port `{name}`", function.name());
        let remedy = remedy_for_unknown(name, wanted).replace("valid keys here", "its ports");
        return Err(document.error(&format!("ports.{name}"), what, remedy));
    }
    let port = |name: &&'static str| {
        let Some(value) = given.get(*name) else {
            let what = format!("the port `{name}` of {} is missing", function.name());
            return Err(document.error("ports", what, format!("add `{name}: {{type: …}}`")));
        };
        port_of(document, name, value, parts)
    };
    wanted.iter().map(port).collect()
}

fn port_of(
    document: &Document,
    name: &'static str,
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
            let what = format!("expected a type of port, not {}", kind(&other));
            return Err(document.error(&at, what, known));
        }
        None => return Err(document.error(&section, "the `type` is missing", known)),
    };
    let Some(found) = parts.ports.iter().find(|one| one.name() == wanted) else {
        let remedy =
            nearest(&wanted, names.iter()).map_or(known, |near| format!("did you mean `{near}`?"));
        return Err(document.error(&at, format!("there is no type of port `{wanted}`"), remedy));
    };
    check_keys(document, &section, &keys, &found.schema())?;
    let configured = found.read(Value::Object(keys)).map_err(|error| {
        let what = document::in_plain_words(&error.what);
        let bad = BadKey { key: error.key, what, remedy: String::new() };
        bad_key(document, &section, &bad, SEE_SCHEMA)
    })?;
    Ok(PortChoice { name, kind: found.name(), configured: Arc::from(configured) })
}

/// The core of each worker, and with them how many workers there are.
fn cores(
    document: &Document,
    workers: &Workers,
    function: &Function,
) -> Result<Vec<usize>, DocumentError> {
    let available = available_cores();
    let listed = available.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let count = workers.cores.as_ref().map_or(function.configured.workers(), Vec::len);
    let key = if workers.cores.is_some() { "workers.cores" } else { "function" };
    if !(1..=WORKERS_MAX).contains(&count) {
        let what = format!("must name 1 to {WORKERS_MAX} cores, not {count}");
        return Err(document.error(key, what, format!("cores here: {listed}")));
    }
    if function.kind.is_sharded() && count > 1 {
        let name = function.kind.name();
        if function.configured.frame_steering().is_none() {
            let what = format!(
                "{name} divides its state among workers, and no port here can bring each frame to the \
                 worker that has its part"
            );
            let remedy = "use one worker; for more, run a daemon for each part of the users";
            return Err(document.error(key, what, remedy));
        }
        let asked = function.configured.workers();
        if asked != count {
            let what = format!("{name} is asked for {asked} workers, and there are {count} cores");
            let remedy = format!("set `core: {count}` in `function`, or name as many cores");
            return Err(document.error(key, what, remedy));
        }
    }
    match &workers.cores {
        Some(cores) => match cores.iter().find(|core| !available.contains(core)) {
            Some(core) => {
                let what = format!("this process may not use core {core}");
                Err(document.error(key, what, format!("cores here: {listed}")))
            }
            None => Ok(cores.clone()),
        },
        None if count > available.len() => {
            let what = format!("{count} workers on {} cores", available.len());
            Err(document.error(key, what, "ask for fewer, or list `workers.cores`"))
        }
        None => Ok(available[available.len() - count..].to_vec()),
    }
}

fn check_metrics(document: &Document, metrics: Option<&Metrics>) -> Result<(), DocumentError> {
    let is_remote = |listen: &SocketAddr| !listen.ip().is_loopback();
    match metrics {
        Some(metrics) if is_remote(&metrics.listen) && !metrics.allow_remote => {
            let what = format!("other machines reach {}, and there is no password", metrics.listen);
            let remedy = "listen at 127.0.0.1, or add `allow-remote: true`";
            Err(document.error("metrics.listen", what, remedy))
        }
        _ => Ok(()),
    }
}

/// A section with known keys; none where the file has none.
fn section<T: DeserializeOwned + JsonSchema + Default>(
    document: &Document,
    name: &str,
) -> Result<Option<T>, DocumentError> {
    match document.root.get(name) {
        None => Ok(None),
        Some(Value::Null) => Ok(Some(T::default())),
        Some(Value::Object(keys)) => {
            check_keys(document, name, keys, &schemars::schema_for!(T))?;
            let read = parsed(Value::Object(keys.clone()));
            read.map(Some).map_err(|bad| bad_key(document, name, &bad, SEE_SCHEMA))
        }
        Some(other) => Err(no_mapping(document, name, other)),
    }
}

/// A single value; none where the file has none.
fn value<T: DeserializeOwned>(document: &Document, name: &str) -> Result<Option<T>, DocumentError> {
    match document.root.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let read = parsed(value.clone()).map(Some);
            read.map_err(|bad| bad_key(document, name, &bad, SEE_SCHEMA))
        }
    }
}

fn check_keys(
    document: &Document,
    section: &str,
    keys: &Map<String, Value>,
    schema: &Schema,
) -> Result<(), DocumentError> {
    match Place::root(schema).unknown_key(keys) {
        None => Ok(()),
        Some(unknown) => {
            let key = unknown.path.rsplit('.').next().unwrap_or_default();
            let path = format!("{section}.{}", unknown.path);
            Err(document.error(&path, format!("unknown key `{key}`"), unknown.remedy))
        }
    }
}

fn bad_key(document: &Document, section: &str, bad: &BadKey, remedy: &str) -> DocumentError {
    let at = if bad.key.is_empty() { section.to_owned() } else { format!("{section}.{}", bad.key) };
    let remedy = if bad.remedy.is_empty() { remedy } else { &bad.remedy };
    document.error(&at, &bad.what, remedy)
}

fn no_mapping(document: &Document, key: &str, found: &Value) -> DocumentError {
    let what = format!("expected a mapping of keys to values, not {}", kind(found));
    document.error(key, what, "indent its keys below it")
}

/// Keys of a file, in the order of the documentation.
pub(crate) const KEYS: [&str; 9] =
    ["name", "function", "ports", "workers", "control", "metrics", "log", "state", "reload"];

/// What messages call such a file.
const FILE: Kind = Kind {
    noun: "function file",
    folder: "docs/examples",
    starting_point: "docs/running.md has examples; `plumbline schema --run` lists every key",
};

const SEE_SCHEMA: &str = "`plumbline schema --run` tells what each key takes";

/// The shortest Ethernet frame without check sequence, and the longest jumbo frame.
const FRAME_BYTES_LEAST: usize = 60;
const FRAME_BYTES_MOST: usize = 9216;

/// A bit for each in the lists of what applied.
const WORKERS_MAX: usize = 64;

/// With a folder and `.sock` it must fit into the 107 bytes of a socket's path.
const NAME_BYTES_MAX: usize = 64;
