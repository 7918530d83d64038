//! The state file: what a function came to know, kept over a restart.
//!
//! It holds the function's section and the changes since; it is written as a whole or not at all,
//! and a file of another version, function or making is refused with what to do.

use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::RunError;

/// Stored state of a function: the changes from its configured state to the present one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Section of the function to which the changes apply.
    pub function: Value,
    /// The changes, in order.
    pub updates: Vec<Value>,
}

/// A state file as it was read.
pub struct Saved {
    /// When it was written, by which what follows it knows it.
    pub written: String,
    /// The state.
    pub memory: Memory,
}

/// Contents of the state file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    plumbline_state: u32,
    function_name: String,
    written: String,
    memory: Memory,
}

/// Writes the state file, and returns when it was written, as [`Saved`] has it.
///
/// # Errors
/// When the file cannot be written; an older file then remains.
pub fn write(path: &Path, function: &str, memory: Memory) -> Result<String, RunError> {
    let written = jiff::Timestamp::now().to_string();
    let file = File {
        plumbline_state: VERSION,
        function_name: function.to_owned(),
        written: written.clone(),
        memory,
    };
    let failed = |error: std::io::Error| {
        let remedy = "choose a path that this process may write to, on a disk with free space";
        RunError::path(path, format!("the state cannot be written: {error}"), remedy)
    };
    let text = serde_json::to_vec(&file).map_err(|error| failed(error.into()))?;
    files::write_whole(path, &text).map_err(failed)?;
    Ok(written)
}

/// Reads the state file; `None` if it does not exist.
///
/// # Errors
/// When the file is damaged, or belongs to another function.
pub fn read(path: &Path, function: &str) -> Result<Option<Saved>, RunError> {
    let failed = |what: String| Err(RunError::path(path, what, WITHOUT));
    let bytes = match files::read_limited(path, SIZE_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return failed(format!("the state file cannot be read: {error}")),
    };
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(error) => return failed(format!("the state file is damaged: {error}")),
    };
    match value.get("plumbline_state").and_then(Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        Some(version) => {
            return failed(format!("the state file has version {version}, not {VERSION}"));
        }
        None => return failed("this is not a state file of plumbline".to_owned()),
    }
    let file: File = match serde_json::from_value(value) {
        Ok(file) => file,
        Err(error) => return failed(format!("the state file is damaged: {error}")),
    };
    if file.function_name != function {
        return failed(format!(
            "the state file belongs to {}, not to {function}",
            file.function_name
        ));
    }
    Ok(Some(Saved { written: file.written, memory: file.memory }))
}

const VERSION: u32 = 1;

const WITHOUT: &str = "configure the right file, or start with `--without-state`: the file is \
                       replaced at the latest when the daemon stops";

/// Largest size of a state file in bytes: ten million users with a few hundred bytes each.
const SIZE_BYTES_MAX: u64 = 4 << 30;
