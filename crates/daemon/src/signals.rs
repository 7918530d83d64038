//! Signals: SIGINT and SIGTERM end the daemon well, a second one at once; SIGHUP reads the file
//! again.
//!
//! They are blocked in every thread and taken by one that waits for them, so that no code runs in a
//! signal handler.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use nix::sys::signal::{SigSet, Signal};

use crate::error::RunError;
use crate::inbox::Remote;

/// Blocked signals that wait to be handled.
pub struct Signals(SigSet);

/// Files that a second signal removes before it ends the program.
pub type Leftovers = Arc<Mutex<Vec<PathBuf>>>;

impl Signals {
    /// Blocks the signals in this thread and in all threads that it creates later.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn block() -> Result<Signals, RunError> {
        let set = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
        set.thread_block()
            .map_err(|error| RunError::setup(format!("signals cannot be blocked: {error}"), ""))?;
        Ok(Signals(set))
    }

    /// Starts to pass the signals to a daemon.
    ///
    /// # Errors
    /// When no thread can be created.
    pub fn pass_on(self, remote: Remote, leftovers: Leftovers) -> Result<(), RunError> {
        let body = move || {
            let mut asked = false;
            while let Ok(signal) = self.0.wait() {
                match signal {
                    Signal::SIGHUP => remote.reload(),
                    _ if !asked => {
                        asked = true;
                        remote.stop();
                    }
                    _ => {
                        for path in leftovers.lock().iter().flat_map(|paths| paths.iter()) {
                            let _ = std::fs::remove_file(path);
                        }
                        std::process::exit(AT_ONCE);
                    }
                }
            }
        };
        let started = thread::Builder::new().name("signals".to_owned()).spawn(body);
        started
            .map(drop)
            .map_err(|error| RunError::setup(format!("cannot create a thread: {error}"), ""))
    }
}

/// Exit code of a program that Ctrl-C ended.
const AT_ONCE: i32 = 130;
