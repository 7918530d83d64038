//! A daemon of BGP in a process of its own: started in a private folder, killed, started again.
//!
//! It runs in the network namespace of this process, bound to it: the kernel kills it when this
//! process ends. Ready is a daemon that listens, by the kernel's word, and has said what it says
//! then.

use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use netns::{Child, Programs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::driver::{RoutingRunning, RoutingStart};
use super::{place, usage};
use crate::driver::{DeviceFacts, DriverError, Unavailable, Usage};
use crate::folder::Folder;
use crate::output::Output;

/// The key of devices that have this one alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// The program to start; by default the installed one.
    pub program: Option<PathBuf>,
}

/// How a daemon is started, each time that it is.
pub(super) struct Recipe {
    /// Its name in messages.
    pub name: &'static str,
    /// Its version, as it tells it.
    pub version: String,
    /// Where it is to listen.
    pub address: SocketAddr,
    /// Its folder.
    pub folder: Folder,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Further arguments of a daemon that was there before.
    pub again: Vec<String>,
    /// What it says, in a line, when it does what it was told.
    pub says: Option<&'static str>,
    /// Whether it knows its peers, once it listens.
    pub knows_peers: Box<dyn Fn() -> bool + Send>,
}

/// A running daemon. Fields drop in their order: the process before its folder.
pub(super) struct Daemon {
    child: Option<Child>,
    output: Output,
    processes: Vec<u32>,
    /// CPU time of the lives before this one.
    spent_ns: u64,
    programs: Programs,
    recipe: Recipe,
    cores: Vec<usize>,
    stop: Arc<AtomicBool>,
}

impl Daemon {
    /// Starts a daemon, and waits until it listens.
    ///
    /// # Errors
    /// When it does not; the text has the last lines of its output.
    pub fn start(
        recipe: Recipe,
        request: &RoutingStart<'_>,
    ) -> Result<Box<dyn RoutingRunning>, DriverError> {
        let programs = Programs::new().map_err(|error| {
            DriverError::new(format!("no thread for programs: {error}"), "stop other programs")
        })?;
        let mut daemon = Daemon {
            child: None,
            output: Output::default(),
            processes: Vec::new(),
            spent_ns: 0,
            programs,
            recipe,
            cores: request.cores.to_vec(),
            stop: request.stop.clone(),
        };
        daemon.launch(&[])?;
        Ok(Box::new(daemon))
    }

    fn launch(&mut self, further: &[String]) -> Result<(), DriverError> {
        let begun = Instant::now();
        // The kernel takes a moment to end what was killed.
        while place::is_taken(self.recipe.address) {
            self.go_on(begun, "the address is in use still")?;
        }
        remove_sockets(self.recipe.folder.path());
        let words = [&self.recipe.words, further].concat();
        let mut child = self.programs.spawn(pinned(&words, &self.cores)).map_err(|error| {
            DriverError::new(error.to_string(), "see `plumbline doctor` for what devices need")
        })?;
        self.output = Output::until(&mut child, self.recipe.says);
        self.child = Some(child);
        while !place::is_taken(self.recipe.address) {
            self.go_on(begun, "it does not listen")?;
        }
        while !self.output.is_ready() {
            self.go_on(begun, "it does not say that it is")?;
        }
        while !(self.recipe.knows_peers)() {
            self.go_on(begun, "it does not know its peers")?;
        }
        self.processes = self.child.iter().flat_map(Child::family).collect();
        Ok(())
    }

    /// Waits for a short time; returns an error if waiting is pointless.
    fn go_on(&mut self, begun: Instant, why: &str) -> Result<(), DriverError> {
        if self.child.is_some() {
            self.health()?;
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(DriverError::new("stopped while the device was set up", "start it again"));
        }
        if begun.elapsed() > PATIENCE {
            let (name, said) = (self.recipe.name, self.output.last());
            let what = format!("{name} is not ready after {PATIENCE:?}: {why}; {said}");
            return Err(DriverError::new(what, "run it by itself and read its output"));
        }
        std::thread::park_timeout(POLL);
        Ok(())
    }
}

impl RoutingRunning for Daemon {
    fn address(&self) -> SocketAddr {
        self.recipe.address
    }

    fn facts(&self) -> DeviceFacts {
        let details = vec![
            ("program".to_owned(), json!(self.recipe.words.join(" "))),
            ("processes".to_owned(), json!(self.processes.len())),
            ("memory".to_owned(), json!("resident memory of all processes")),
        ];
        DeviceFacts { version: self.recipe.version.clone(), details }
    }

    fn usage(&mut self) -> Usage {
        let (cpu_ns, threads) = usage::cpu_ns(&self.processes).unzip();
        Usage {
            cpu_ns: cpu_ns.map(|now| now + self.spent_ns),
            cpu_of: format!("{} threads of {}", threads.unwrap_or_default(), self.recipe.name),
            resident_bytes: usage::resident_bytes(&self.processes),
            ..Usage::default()
        }
    }

    fn health(&mut self) -> Result<(), DriverError> {
        let (name, output) = (self.recipe.name, &self.output);
        match self.child.as_mut().and_then(Child::ended) {
            None => Ok(()),
            Some(status) => {
                let what = format!("{name} ended ({status}): {}", output.last());
                Err(DriverError::new(what, "run it by itself and read its output"))
            }
        }
    }

    fn restart(&mut self) -> Result<(), DriverError> {
        self.spent_ns += usage::cpu_ns(&self.processes).map_or(0, |(time, _)| time);
        if let Some(child) = self.child.take() {
            child.kill_all();
        }
        self.launch(&self.recipe.again.clone())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            child.kill_all();
        }
    }
}

/// Writes a file that only its owner can read into a daemon's folder; returns its path.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(folder: &Folder, name: &str, text: &str) -> Result<String, DriverError> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let path = folder.file(name);
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map(|()| path).map_err(|error| of_folder(&error))
}

/// Makes a folder for one daemon.
///
/// # Errors
/// When there is no room.
pub(super) fn folder() -> Result<Folder, DriverError> {
    Folder::new().map_err(|error| of_folder(&error))
}

fn of_folder(error: &std::io::Error) -> DriverError {
    let what = format!("no folder for the daemon: {error}");
    DriverError::new(what, "make room in the folder for temporary files, or set TMPDIR")
}

/// Checks that programs are installed.
///
/// # Errors
/// The first that is not, and how to install it.
pub(super) fn installed(programs: &[(&str, &str)]) -> Result<(), Unavailable> {
    let is_there = |program: &str| Path::new(program).is_file() || netns::is_installed(program);
    match programs.iter().find(|(program, _)| !is_there(program)) {
        None => Ok(()),
        Some((program, package)) => Err(Unavailable {
            why: format!("{program} is not installed"),
            remedy: format!("sudo apt-get install {package}"),
        }),
    }
}

/// Returns the program to start.
///
/// # Errors
/// When there is none at the configured path, or it is not installed.
pub(super) fn program(
    wanted: Option<&PathBuf>,
    (usual, package): (&str, &str),
) -> Result<String, DriverError> {
    match wanted {
        Some(path) if path.is_file() => Ok(path.display().to_string()),
        Some(path) => {
            let what = format!("the program {} does not exist", path.display());
            Err(DriverError::new(what, "set its path in `program`"))
        }
        None => installed(&[(usual, package)])
            .map(|()| usual.to_owned())
            .map_err(|missing| DriverError::new(missing.why, missing.remedy)),
    }
}

/// Returns the first line that a program prints of its version.
pub(super) fn version(program: &str, argument: &str) -> String {
    let Ok(said) = Command::new(program).arg(argument).output() else { return String::new() };
    let text = if said.stdout.is_empty() { said.stderr } else { said.stdout };
    let text = String::from_utf8_lossy(&text);
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// A command on these cores, or on all of them.
fn pinned(words: &[String], cores: &[usize]) -> Command {
    let mut all: Vec<String> = Vec::new();
    if !cores.is_empty() {
        let list: Vec<String> = cores.iter().map(usize::to_string).collect();
        all.extend(["taskset".to_owned(), "-c".to_owned(), list.join(",")]);
    }
    all.extend_from_slice(words);
    let mut all = all.into_iter();
    let mut command = Command::new(all.next().unwrap_or_default());
    command.args(all);
    command
}

/// Removes the sockets that a killed daemon has left.
fn remove_sockets(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_socket()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// What starts a program without rights, and its package.
pub(super) const SETPRIV: (&str, &str) = ("setpriv", "util-linux");

/// Time limit until a daemon listens; one with thousands of peers takes time.
const PATIENCE: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(2);
