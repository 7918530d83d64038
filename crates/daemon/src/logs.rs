//! The log: lines for people or objects for programs, on standard error or appended to a file.

use std::fs::OpenOptions;
use std::io;
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt;

use crate::config::{Format, Level, Log};
use crate::error::RunError;

/// Directs all log lines of this process to the configured place; only the first call has an
/// effect.
///
/// # Errors
/// When the file cannot be opened.
pub fn install(log: &Log) -> Result<(), RunError> {
    let level = match log.level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    let builder = fmt().with_max_level(level).with_target(false);
    // A second subscriber of the same process is refused; the first one goes on.
    let _ = match (&log.file, log.format) {
        (None, Format::Text) => builder.with_ansi(false).with_writer(io::stderr).try_init(),
        (None, Format::Json) => builder.json().with_writer(io::stderr).try_init(),
        (Some(path), format) => {
            let file =
                OpenOptions::new().append(true).create(true).open(path).map_err(|error| {
                    let what = format!("the log cannot be opened: {error}");
                    RunError::path(path, what, "choose a path that this process may write to")
                })?;
            match format {
                Format::Text => builder.with_ansi(false).with_writer(Mutex::new(file)).try_init(),
                Format::Json => builder.json().with_writer(Mutex::new(file)).try_init(),
            }
        }
    };
    Ok(())
}
