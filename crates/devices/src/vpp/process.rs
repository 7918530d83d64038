//! A process of VPP with a folder of its own, and its CLI.
//!
//! The kernel kills it with this process. What it leaves below `/dev/shm`, which VPP itself never
//! removes, goes when this is dropped; that of programs that were killed goes at the next start.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use measure::WorkerTime;
use netns::{Child, Namespace, NamespaceError};

use super::options::Options;
use super::plan::{Plan, name_of};
use super::show;
use super::startup::{self, CLI, Startup};
use crate::driver::DriverError;
use crate::folder::Folder;
use crate::output::Output;

/// A running VPP. Fields drop in their order: the program before its folder.
pub(super) struct Process {
    child: Child,
    output: Output,
    control: PathBuf,
    device: Namespace,
    version: String,
    /// Text of its `startup.conf`.
    startup: String,
    _shared: Shared,
    folder: Folder,
}

/// Cores and size of a process.
pub(super) struct Size<'a> {
    /// Cores of the workers.
    pub worker_cores: &'a [usize],
    /// Number of routes.
    pub routes: usize,
    /// Time limit for the start.
    pub patience: Duration,
}

impl Process {
    /// Starts VPP in a namespace of its own, and waits until its CLI answers.
    ///
    /// # Errors
    /// When it does not start, or does not answer in time; the text has the last lines of its
    /// output.
    pub fn start(
        options: &Options,
        size: &Size<'_>,
        stop: &AtomicBool,
    ) -> Result<Process, DriverError> {
        let device = Namespace::new()?;
        // The kernel is to say nothing of its own.
        device.sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
        let folder = Folder::new().map_err(|error| {
            let what = format!("no folder for VPP in {}: {error}", std::env::temp_dir().display());
            DriverError::new(what, "make room there, or set TMPDIR")
        })?;
        let shared = Shared::new();
        let available = machine::cpu::available_cores();
        let startup = Startup {
            options,
            folder: folder.path(),
            prefix: &shared.prefix,
            main_core: startup::main_core(&available, size.worker_cores),
            worker_cores: size.worker_cores,
            routes: size.routes,
        };
        let startup = startup.text();
        write(&folder, "startup.conf", &startup)?;
        let mut command = Command::new(options.vpp());
        command.arg("-c").arg(folder.file("startup.conf")).current_dir(folder.path());
        let mut child = device.spawn(command)?;
        let output = Output::of(&mut child);
        let mut process = Process {
            child,
            output,
            control: options.control(),
            device,
            version: String::new(),
            startup,
            _shared: shared,
            folder,
        };
        process.wait_for_cli(size.patience, stop)?;
        Ok(process)
    }

    fn wait_for_cli(&mut self, patience: Duration, stop: &AtomicBool) -> Result<(), DriverError> {
        let begun = Instant::now();
        loop {
            self.health()?;
            let why = match Path::new(&self.folder.file(CLI)).exists() {
                false => "its CLI does not listen".to_owned(),
                true => match self.ask(&["show", "version"], patience.min(PATIENCE_TO_BEGIN)) {
                    Ok(text) => {
                        self.version = show::version(&text);
                        return Ok(());
                    }
                    Err(error) => error.what,
                },
            };
            self.health()?;
            if stop.load(Ordering::Relaxed) {
                return Err(DriverError::new("stopped while VPP was being set up", "start again"));
            }
            if begun.elapsed() > patience {
                let last = self.output.last();
                let what = format!("VPP is not ready after {patience:?}: {why}; {last}");
                return Err(DriverError::new(what, REMEDY));
            }
            std::thread::park_timeout(POLL);
        }
    }

    /// Runs a command of the CLI and returns what it prints; VPP does not tell whether that is an
    /// error.
    ///
    /// # Errors
    /// When the CLI does not answer.
    pub fn cli(&mut self, command: &str) -> Result<String, DriverError> {
        let words: Vec<&str> = command.split_whitespace().collect();
        self.ask(&words, PATIENCE)
    }

    /// Runs a command of the CLI that prints nothing if it is done.
    ///
    /// # Errors
    /// What it prints.
    pub fn order(&mut self, command: &str) -> Result<(), DriverError> {
        let said = self.cli(command)?;
        if said.trim().is_empty() {
            return Ok(());
        }
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let what = format!("VPP refuses `{command}`: {said}");
        Err(DriverError::new(what, "report this with the version of VPP"))
    }

    /// Runs commands of the CLI from a file, one a line; the first one that fails is the last.
    ///
    /// # Errors
    /// What VPP prints about that one.
    pub fn orders(&mut self, lines: &str) -> Result<(), DriverError> {
        if lines.is_empty() {
            return Ok(());
        }
        write(&self.folder, "orders.cli", lines)?;
        let said = self.ask(&["exec", &self.folder.file("orders.cli")], PATIENCE_WITH_ORDERS)?;
        if said.trim().is_empty() {
            return Ok(());
        }
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let what = format!("VPP refuses its configuration: {said}; {}", self.output.last());
        Err(DriverError::new(what, "report this with the version of VPP"))
    }

    /// Brings the interfaces up and runs the plan's commands, and sees that all of it is there.
    ///
    /// # Errors
    /// When VPP refuses one, or has not all prefixes.
    pub fn carry_out(&mut self, plan: &Plan, ports: usize) -> Result<(), DriverError> {
        for port in 0..ports {
            self.order(&format!("set interface state {} up", name_of(port)))?;
        }
        self.orders(&plan.commands)?;
        for (command, wanted) in
            [("show ip fib summary", plan.ipv4_routes), ("show ip6 fib summary", plan.ipv6_routes)]
        {
            let found = if wanted > 0 { show::prefixes(&self.cli(command)?) } else { 0 };
            if found < wanted {
                let what = format!("`{command}` of VPP has {found} prefixes, not {wanted}");
                return Err(DriverError::new(what, "report this with the version of VPP"));
            }
        }
        Ok(())
    }

    fn ask(&mut self, words: &[&str], patience: Duration) -> Result<String, DriverError> {
        // It waits for ever for a process that hangs.
        let (seconds, control) =
            (patience.as_secs().to_string(), self.control.display().to_string());
        let socket = self.folder.file(CLI);
        let mut all = vec!["--kill-after=1", &seconds, &control, "-s", &socket];
        all.extend(words);
        let answer = self.device.command("timeout", &all, None);
        if answer.is_err() {
            // A program that has ended has a better reason.
            self.health()?;
        }
        let answer = answer.map_err(|error| {
            let why = error.to_string();
            let what = match why.ends_with(TIMED_OUT) {
                true => format!("VPP's CLI does not answer `{}` in {seconds} s", words.join(" ")),
                false => format!("VPP's CLI: {why}"),
            };
            DriverError::new(what, REMEDY)
        })?;
        Ok(answer.replace('\r', ""))
    }

    /// Checks that it runs.
    ///
    /// # Errors
    /// How it ended, with the last lines of its output.
    pub fn health(&mut self) -> Result<(), DriverError> {
        self.child.ended().map_or(Ok(()), |status| {
            let last = self.output.last_words();
            let remedy = if last.contains(STARVED) { STARVED_REMEDY } else { REMEDY };
            Err(DriverError::new(format!("VPP ended ({status}): {last}"), remedy))
        })
    }

    /// Stops the process, which then uses no core, until it is told to go on.
    ///
    /// # Errors
    /// When it has ended.
    pub fn pause(&mut self) -> Result<(), DriverError> {
        self.health()?;
        Ok(self.child.pause().map_err(NamespaceError::from)?)
    }

    /// Lets the process go on.
    ///
    /// # Errors
    /// When it has ended.
    pub fn go_on(&mut self) -> Result<(), DriverError> {
        self.health()?;
        Ok(self.child.go_on().map_err(NamespaceError::from)?)
    }

    /// Returns the version that it reports: `VPP v24.06-release`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the text of its `startup.conf`, as one line.
    pub fn startup(&self) -> String {
        self.startup.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns the path of a file in its folder.
    pub fn file(&self, name: &str) -> String {
        self.folder.file(name)
    }

    /// Returns the network namespace in which it runs.
    pub fn device(&self) -> &Namespace {
        &self.device
    }

    /// Returns the workers' CPU time in nanoseconds, in the order of the workers; that of the main
    /// thread if there are none (`/proc/PID/task/TID/schedstat`).
    pub fn worker_ns(&self) -> Vec<u64> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let of = |task: std::fs::DirEntry| -> Option<(String, u64)> {
            let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
            let schedstat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            Some((name.trim().to_owned(), schedstat.split_whitespace().next()?.parse().ok()?))
        };
        let all: Vec<_> = tasks.into_iter().flatten().flatten().filter_map(of).collect();
        let named = |prefix: &str| -> Vec<(String, u64)> {
            all.iter().filter(|(name, _)| name.starts_with(prefix)).cloned().collect()
        };
        let mut workers = named(WORKER);
        if workers.is_empty() {
            workers = named("vpp_main");
        }
        workers
            .sort_by_key(|(name, _)| name.rsplit('_').next().and_then(|n| n.parse::<u32>().ok()));
        workers.into_iter().map(|(_, used)| used).collect()
    }

    /// Returns the resident memory in bytes (`/proc/PID/statm`).
    pub fn resident_bytes(&self) -> Option<u64> {
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).ok()?;
        Some(pages.split(' ').nth(1)?.parse::<u64>().ok()? * PAGE_BYTES)
    }
}

/// Returns the CPU time of each worker between two readings.
pub(super) fn worker_times(
    (before, after): (&[u64], &[u64]),
    wall: Duration,
    cores: &[usize],
    packets: &[u64],
) -> Vec<WorkerTime> {
    let of = |(worker, (before, after)): (usize, (&u64, &u64))| WorkerTime {
        worker,
        core: cores.get(worker).copied(),
        cpu_ns: after.saturating_sub(*before),
        wall_ns: wall.as_nanos() as u64,
        packets: packets.get(worker).copied().unwrap_or_default(),
    };
    before.iter().zip(after).enumerate().map(of).collect()
}

fn write(folder: &Folder, name: &str, text: &str) -> Result<(), DriverError> {
    std::fs::write(folder.file(name), text).map_err(|error| {
        let what = format!("cannot write {}: {error}", folder.file(name));
        DriverError::new(what, "make room there, or set TMPDIR")
    })
}

/// The files of a process below `/dev/shm`, where VPP keeps what it shares by its binary API.
struct Shared {
    prefix: String,
}

impl Shared {
    fn new() -> Shared {
        sweep(Path::new(SHARED));
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Shared { prefix: format!("{PREFIX}{}-{number}", std::process::id()) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for name in ["global_vm", "vpe-api"] {
            let _ = std::fs::remove_file(format!("{SHARED}/{}-{name}", self.prefix));
        }
    }
}

/// Removes the files of processes that no longer exist.
fn sweep(shared: &Path) {
    for entry in std::fs::read_dir(shared).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let owner = owner.and_then(|owner| owner.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Number of the next process of this program.
static NEXT: AtomicU32 = AtomicU32::new(0);

const SHARED: &str = "/dev/shm";
const PREFIX: &str = "plumbline-vpp-";

/// Beginning of the names of VPP's worker threads.
const WORKER: &str = "vpp_wk_";

/// What a program says in whose place `timeout` ends.
const TIMED_OUT: &str = "exit status: 124";

const REMEDY: &str =
    "see what VPP says when it is started by hand: vpp unix { interactive nosyslog }";

/// What VPP says before it ends because a worker did not get its core for a second.
const STARVED: &str = "worker thread deadlock";
const STARVED_REMEDY: &str =
    "keep other work off the device's cores: VPP ends when a worker does not run for a second";

/// Time limit for the start and for a command.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Time limit for the first answer of a CLI that listens.
const PATIENCE_TO_BEGIN: Duration = Duration::from_secs(5);

/// Time limit for a file of commands; a hundred thousand routes take some seconds.
const PATIENCE_WITH_ORDERS: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(10);
const PAGE_BYTES: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_dead_are_swept_and_those_of_the_living_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut other = Command::new("true").spawn().expect("it is everywhere");
        let dead = folder.path().join(format!("{PREFIX}{}-0-vpe-api", other.id()));
        other.wait().expect("it ends");
        let mine = folder.path().join(format!("{PREFIX}{}-0-vpe-api", std::process::id()));
        let foreign = folder.path().join("vpe-api");
        for path in [&dead, &mine, &foreign] {
            std::fs::write(path, "").expect("a file");
        }
        sweep(folder.path());
        assert!(!dead.exists() && mine.exists() && foreign.exists());
    }

    #[test]
    fn a_workers_time_is_that_between_two_readings() {
        let wall = Duration::from_millis(2);
        let found = worker_times((&[5, 10], &[1_000_005, 10]), wall, &[3], &[7]);
        let of = |one: &WorkerTime| (one.worker, one.core, one.cpu_ns, one.wall_ns, one.packets);
        assert_eq!(of(&found[0]), (0, Some(3), 1_000_000, 2_000_000, 7));
        assert_eq!(of(&found[1]), (1, None, 0, 2_000_000, 0));
    }
}
