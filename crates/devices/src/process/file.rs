//! The daemon's file: JSON, which is YAML.

use std::path::{Path, PathBuf};

use daemon::config::Rest;
use daemon::state::Memory;
use serde_json::{Map, Value, json};

use super::links::Links;
use crate::driver::{DriverError, Start};

/// Writes the initial state of a daemon, which it reads at every start; returns `None` if there is
/// none beyond the configuration.
///
/// # Errors
/// When it cannot be written.
pub(super) fn state(
    request: &Start<'_>,
    folder: &Path,
    section: &Value,
) -> Result<Option<PathBuf>, DriverError> {
    let updates = (request.initial)()?;
    if updates.is_empty() {
        return Ok(None);
    }
    let path = folder.join(STATE);
    let memory = Memory { function: section.clone(), updates };
    daemon::state::write(&path, request.function, memory)
        .map_err(|error| DriverError::new(error.to_string(), error.remedy()))?;
    Ok(Some(path))
}

/// Settings of a daemon apart from its ports.
pub(super) struct Wanted<'a> {
    /// Section of the function.
    pub section: &'a Value,
    /// Path of the control socket.
    pub socket: &'a Path,
    /// Path of the file with the initial state; `None` without one.
    pub state: Option<&'a Path>,
    /// What the workers do while no packet arrives.
    pub rest: Rest,
}

/// Returns the complete configuration file.
pub(super) fn text(request: &Start<'_>, links: &Links, wanted: &Wanted<'_>) -> String {
    let mut function = wanted.section.as_object().cloned().unwrap_or_default();
    function.insert("name".to_owned(), request.function.into());
    let ports = request.port_names.iter().enumerate();
    let ports = ports.map(|(at, name)| (name.to_string(), links.near(at)));
    let mut workers = Map::new();
    // With fewer cores than workers, the daemon shares them out itself.
    if let Some(cores) = request.cores.get(..request.workers).filter(|cores| !cores.is_empty()) {
        workers.insert("cores".to_owned(), json!(cores));
    }
    workers.insert("idle".to_owned(), json!(wanted.rest));
    let frame_bytes_max = request.frame_bytes_max.min(FRAME_BYTES_MAX);
    workers.insert("frame-bytes-max".to_owned(), json!(frame_bytes_max));
    let mut file = json!({
        "name": "device",
        "function": function,
        "ports": ports.collect::<Map<String, Value>>(),
        "workers": workers,
        "control": {"socket": wanted.socket},
        "log": {"level": "warn"},
    });
    if let Some(state) = wanted.state {
        file["state"] = json!(state);
    }
    for (name, section) in request.beside {
        file[*name] = section.clone();
    }
    file.to_string()
}

/// Largest frame size that the daemon accepts, in bytes.
const FRAME_BYTES_MAX: usize = 9216;

/// Name of the state file in a daemon's folder.
const STATE: &str = "state.json";
