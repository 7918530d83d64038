//! A daemon process, from its start until it forwards.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use daemon::client::{Client, ClientError};
use daemon::protocol::{Ask, View};
use engine::{Link, Monitor};
use netns::{Child, Namespace};

use super::control::Speaker;
use crate::driver::DriverError;
use crate::output::Output;

/// A daemon process.
pub(super) struct Daemon {
    pub(super) speaker: Speaker,
    pub(super) client: Client,
    pub(super) child: Child,
    pub(super) output: Output,
}

impl Daemon {
    /// Returns the state of the standby as the daemon reports it.
    pub fn told_standby(&mut self) -> Option<function_kit::Standby> {
        let told = self.client.ask(Ask::Show(View::Tables)).ok()?;
        let standby = told.get("standby")?;
        Some(function_kit::Standby {
            role: "active",
            peer: None,
            is_connected: standby.get("connected")?.as_bool()?,
            is_here: false,
            is_synchronised: standby.get("synchronised")?.as_bool()?,
            unacknowledged: standby.get("unacknowledged")?.as_u64()?,
        })
    }

    /// Connects to a spawned daemon once it forwards.
    pub fn of(mut ready: Ready<'_>, socket: &Path) -> Result<Daemon, DriverError> {
        let client = ready.client(socket)?;
        let error = |error: ClientError| DriverError::new(error.to_string(), "run it again");
        let speaker = Speaker::new(socket).map_err(error)?;
        let Ready { child, output, .. } = ready;
        Ok(Daemon { speaker, client, child, output })
    }

    /// Connects to a spawned daemon once frames can pass the tester's ports too: ports of shared
    /// memory must reconnect to a new process.
    pub fn linked(
        mut ready: Ready<'_>,
        socket: &Path,
        monitors: &[Arc<dyn Monitor>],
    ) -> Result<Daemon, DriverError> {
        ready.client(socket)?;
        ready.links_up(monitors)?;
        Daemon::of(ready, socket)
    }
}

/// A spawned daemon that does not forward yet.
pub(super) struct Ready<'a> {
    pub(super) child: Child,
    pub(super) output: Output,
    begun: Instant,
    stop: &'a AtomicBool,
}

impl<'a> Ready<'a> {
    /// Starts a daemon with the configuration file in its folder.
    pub fn spawn(
        program: &Path,
        device: &Namespace,
        folder: &Path,
        stop: &'a AtomicBool,
    ) -> Result<Ready<'a>, DriverError> {
        let mut command = Command::new(program);
        command.arg("run").arg(folder.join(FILE));
        let mut child = device.spawn(command)?;
        let output = Output::of(&mut child);
        Ok(Ready { child, output, begun: Instant::now(), stop })
    }

    /// Returns a control connection to the daemon once the daemon reports that it forwards.
    pub fn client(&mut self, socket: &Path) -> Result<Client, DriverError> {
        loop {
            let answer = match Client::connect(socket) {
                Ok(mut client) => match client.ask(Ask::Ready) {
                    Ok(_) => return Ok(client),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            self.go_on(&answer.to_string())?;
        }
    }

    /// Waits until frames can pass all ports of the tester.
    pub fn links_up(&mut self, monitors: &[Arc<dyn Monitor>]) -> Result<(), DriverError> {
        loop {
            let down = monitors.iter().find_map(|monitor| match monitor.link() {
                Link::Up => None,
                Link::Down(why) => Some(why),
            });
            match down {
                None => return Ok(()),
                Some(why) => self.go_on(&why)?,
            }
        }
    }

    /// Waits for a short time; returns an error if waiting is pointless: the user stopped, the
    /// daemon ended, or the time is over.
    pub fn go_on(&mut self, why: &str) -> Result<(), DriverError> {
        health(&mut self.child, &self.output)?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(DriverError::new("stopped while the daemon was set up", "start again"));
        }
        if self.begun.elapsed() > PATIENCE {
            let what = format!("`plumbline run` is not ready after {PATIENCE:?}: {why}");
            return Err(DriverError::new(what, "run it by itself and read its output"));
        }
        std::thread::park_timeout(POLL);
        Ok(())
    }
}

pub(super) fn health(child: &mut Child, output: &Output) -> Result<(), DriverError> {
    match child.ended() {
        None => Ok(()),
        Some(status) => {
            let what = format!("`plumbline run` ended ({status}): {}", output.last());
            Err(DriverError::new(what, "see docs/running.md for its keys"))
        }
    }
}

/// Creates a folder for one daemon, and removes folders that a crash left behind.
pub(super) fn folder() -> Result<tempfile::TempDir, DriverError> {
    let all = std::env::temp_dir();
    for entry in std::fs::read_dir(&all).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(FOLDER)?.split('-').next());
        let gone =
            |owner: &str| owner.parse::<u32>().is_ok() && !Path::new("/proc").join(owner).exists();
        if owner.is_some_and(gone) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let prefix = format!("{FOLDER}{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir().map_err(|error| of_folder(&error))
}

pub(super) fn of_folder(error: &std::io::Error) -> DriverError {
    let what = format!("no folder for the daemon: {error}");
    DriverError::new(what, "make room in the folder for temporary files, or set TMPDIR")
}

/// File name of the control socket in the folder.
pub(super) const SOCKET: &str = "control.sock";

pub(super) const FILE: &str = "function.yaml";

const FOLDER: &str = "plumbline-process-";

/// Time limit until a daemon forwards; state for millions of users takes time.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

pub(super) const POLL: Duration = Duration::from_millis(2);
