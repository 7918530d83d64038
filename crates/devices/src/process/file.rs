//! The daemon's file: JSON, which is YAML.

use std::path::Path;

use daemon::config::Rest;
use serde_json::{Map, Value, json};

use super::links::Links;
use crate::driver::{DriverError, Start};

/// The names of a function's ports, in the order of their numbers.
///
/// # Errors
/// When the daemon does not know the function.
pub(super) fn port_names(function: &str) -> Result<&'static [&'static str], DriverError> {
    let known = daemon::FUNCTIONS.iter().find(|kind| kind.name() == function);
    known.map(|kind| kind.ports()).ok_or_else(|| {
        let what = format!("`plumbline run` has no function {function}");
        DriverError::new(what, "choose another device")
    })
}

/// What a daemon is told beside what its function's ports are.
pub(super) struct Wanted<'a> {
    /// The function's section.
    pub section: &'a Value,
    /// Where its control listens.
    pub socket: &'a Path,
    /// What its workers do while no packet comes. Those that share their cores with guests, which never rest, or with the workers
    /// of another daemon, let these go first: one that polls keeps every packet waiting for the end of its own time.
    pub rest: Rest,
}

/// The whole file.
pub(super) fn text(
    request: &Start<'_>,
    names: &[&str],
    links: &Links,
    wanted: &Wanted<'_>,
) -> String {
    let mut function = wanted.section.as_object().cloned().unwrap_or_default();
    function.insert("name".to_owned(), request.function.into());
    let ports = names.iter().enumerate().map(|(at, name)| ((*name).to_owned(), links.near(at)));
    let mut workers = Map::new();
    // With fewer cores than workers, the daemon shares them out itself.
    if let Some(cores) = request.cores.get(..request.workers).filter(|cores| !cores.is_empty()) {
        workers.insert("cores".to_owned(), json!(cores));
    }
    workers.insert("idle".to_owned(), json!(wanted.rest));
    let frame_bytes_max = request.frame_bytes_max.min(FRAME_BYTES_MAX);
    workers.insert("frame-bytes-max".to_owned(), json!(frame_bytes_max));
    let file = json!({
        "name": "device",
        "function": function,
        "ports": ports.collect::<Map<String, Value>>(),
        "workers": workers,
        "control": {"socket": wanted.socket},
        "log": {"level": "warn"},
    });
    file.to_string()
}

/// The most that the daemon takes.
const FRAME_BYTES_MAX: usize = 9216;
