//! The log: lines for people or objects for programs, on standard error or appended to a file.

use std::fs::OpenOptions;
use std::io;
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt;

use crate::config::{Format, Level, Log};
use crate::error::RunError;

/// What was logged last, so that it is logged once as long as it is the same.
#[derive(Debug, Default)]
pub struct Last(String);

impl Last {
    /// Whether a text is another one than before.
    pub fn is_new(&mut self, text: &str) -> bool {
        let is_new = self.0 != text;
        if is_new {
            text.clone_into(&mut self.0);
        }
        is_new
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_is_new_once() {
        let mut last = Last::default();
        assert_eq!(
            ["a", "a", "b", "b", "a"].map(|text| last.is_new(text)),
            [true, false, true, false, true]
        );
    }
}
