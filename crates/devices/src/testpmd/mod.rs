//! DPDK's testpmd as a device: it moves frames from the one of two ports to the other, unread.
//!
//! It is here so that this program's ports are compared with DPDK's on the same kind of port in the
//! same run: shared memory (memif, vhost-user and its driver's side), or sockets of the kernel on
//! virtual Ethernet. It runs in a network namespace and a folder of its own, and dies with this
//! process. Deliberately absent: everything that testpmd can do beside io forwarding, and physical
//! cards.

mod arguments;
pub(crate) mod guest;
mod options;
mod output;
mod way;

#[cfg(test)]
mod tests;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::{Link, Monitor, Opened};
use function_kit::sections::function_key;
use keys::Invalid;
use model_kit::service::{Bridge, Service};
use netns::{Child, Namespace};
use output::Output;
use schemars::Schema;
use serde_json::{Map, Value, json};
use way::Way;

use crate::driver::{
    DeviceFacts, Driver, DriverError, Limitation, Running, Start, Unavailable, Usage, refuse_beyond,
};

pub use options::{MemifRole, Options, Ports};

/// The driver.
pub struct Testpmd;

impl Driver for Testpmd {
    fn name(&self) -> &'static str {
        "testpmd"
    }

    fn summary(&self) -> &'static str {
        "DPDK's testpmd, io forwarding between two ports of a chosen type"
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(Options)
    }

    fn available(&self) -> Result<(), Unavailable> {
        if !netns::is_installed(PROGRAM) {
            return Err(Unavailable {
                why: format!("{PROGRAM} is not installed"),
                remedy: "sudo apt-get install dpdk-dev".to_owned(),
            });
        }
        if !netns::may_make_namespaces() {
            return Err(Unavailable {
                why: "no right to make network namespaces (CAP_SYS_ADMIN)".to_owned(),
                remedy: "run plumbline with sudo".to_owned(),
            });
        }
        Ok(())
    }

    fn limitations(
        &self,
        service: &Service,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid> {
        let options = Options::read(options)?;
        refuse_beyond("testpmd", service)?;
        match service {
            Service::Bridge(Bridge { ports: 2, patch: Some([None, None]), .. }) => {
                Ok(way::limitation(options.ports).into_iter().collect())
            }
            Service::Bridge(Bridge { patch: Some(_), .. }) => Err(function_key(
                "",
                "testpmd's io forwarding writes no source addresses into frames".to_owned(),
                "leave the function's source addresses out",
            )),
            _ => Err(function_key(
                "",
                "testpmd only joins two ports; it looks nothing up".to_owned(),
                "use the function `l2-switch` with `mode: patch`",
            )),
        }
    }

    fn start(&self, request: &Start<'_>) -> Result<Box<dyn Running>, DriverError> {
        self.limitations(request.service, request.options)?;
        Ok(Box::new(Process::start(request)?))
    }

    /// Starts testpmd, which is itself a wire.
    fn wire(&self, request: &Start<'_>) -> Result<Option<Box<dyn Running>>, DriverError> {
        Ok(Some(Box::new(Process::start(request)?)))
    }
}

/// A testpmd that forwards. Fields drop in their order: the tester's ports before the process.
struct Process {
    ports: Vec<Opened>,
    child: Child,
    output: Output,
    options: Options,
    arguments: Vec<String>,
    _way: Way,
    _device: Namespace,
    /// Folder for DPDK's runtime files.
    _folder: tempfile::TempDir,
}

impl Process {
    fn start(request: &Start<'_>) -> Result<Process, DriverError> {
        let options = Options::read(request.options)?;
        let device = Namespace::new()?;
        let folder = folder()?;
        let way = Way::make(&options, &device, folder.path(), request)?;
        let ports = way.open(&options, &device, request)?;
        let arguments = arguments::all(&options, &way, request);
        let mut command = Command::new(PROGRAM);
        command.args(&arguments).env("RUNTIME_DIRECTORY", folder.path());
        let mut child = device.spawn(command)?;
        let output = Output::of(&mut child);
        let monitors: Vec<_> = ports.iter().map(|port| port.monitor.clone()).collect();
        let mut process = Process {
            ports,
            child,
            output,
            options,
            arguments,
            _way: way,
            _device: device,
            _folder: folder,
        };
        process.wait_until_ready(&monitors, request)?;
        Ok(process)
    }

    /// Waits until testpmd reports that it forwards, and all links of the tester are up.
    fn wait_until_ready(
        &mut self,
        monitors: &[std::sync::Arc<dyn Monitor>],
        request: &Start<'_>,
    ) -> Result<(), DriverError> {
        let begun = Instant::now();
        loop {
            let down = monitors.iter().find_map(|monitor| match monitor.link() {
                Link::Up => None,
                Link::Down(why) => Some(why),
            });
            if self.output.forwards() && down.is_none() {
                return Ok(());
            }
            self.health()?;
            if request.stop.load(Ordering::Relaxed) {
                return Err(DriverError::new("stopped while testpmd was set up", "start again"));
            }
            if begun.elapsed() > PATIENCE {
                let why = down.unwrap_or_else(|| "it does not forward".to_owned());
                let last = self.output.last();
                let what = format!("testpmd is not ready after {PATIENCE:?}: {why}; {last}");
                return Err(DriverError::new(what, REMEDY));
            }
            std::thread::park_timeout(POLL);
        }
    }
}

/// Returns the CPU time of testpmd's forwarding threads in nanoseconds, and their number.
fn forwarding_threads(process: u32) -> Option<(u64, usize)> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let of = |task: std::fs::DirEntry| -> Option<u64> {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let schedstat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let used = schedstat.split_whitespace().next()?.parse().ok()?;
        name.contains("worker").then_some(used)
    };
    let used: Vec<u64> = tasks.flatten().filter_map(of).collect();
    Some((used.iter().sum(), used.len()))
}

impl Running for Process {
    fn ports(&mut self) -> Vec<Opened> {
        std::mem::take(&mut self.ports)
    }

    fn facts(&self) -> DeviceFacts {
        let options = &self.options;
        let details = vec![
            ("ports".to_owned(), json!(options.ports)),
            ("memif-role".to_owned(), json!(options.memif_role)),
            ("huge-pages".to_owned(), json!(options.huge_pages)),
            ("arguments".to_owned(), json!(self.arguments.join(" "))),
        ];
        DeviceFacts { version: self.output.version(), details }
    }

    fn usage(&mut self) -> Usage {
        let (cpu_ns, threads) = forwarding_threads(self.child.id()).unzip();
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id()));
        let pages = pages.ok().and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
        Usage {
            cpu_ns,
            cpu_of: format!("{} polling threads of testpmd", threads.unwrap_or_default()),
            resident_bytes: pages.map(|pages| pages * PAGE_BYTES),
            ..Usage::default()
        }
    }

    fn health(&mut self) -> Result<(), DriverError> {
        match self.child.ended() {
            None => Ok(()),
            Some(status) => {
                let what = format!("testpmd ended ({status}): {}", self.output.last());
                Err(DriverError::new(what, REMEDY))
            }
        }
    }
}

/// Creates a folder for one run, and removes folders that a crash left behind.
fn folder() -> Result<tempfile::TempDir, DriverError> {
    let all = std::env::temp_dir();
    for entry in std::fs::read_dir(&all).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(FOLDER)?.split('-').next());
        let gone = |owner: &str| !std::path::Path::new("/proc").join(owner).exists();
        if owner.is_some_and(|owner| owner.parse::<u32>().is_ok() && gone(owner)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let prefix = format!("{FOLDER}{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(&all).map_err(|error| {
        let what = format!("no folder for testpmd in {}: {error}", all.display());
        DriverError::new(what, "point TMPDIR to a folder in which you may write")
    })
}

const PROGRAM: &str = "dpdk-testpmd";
const FOLDER: &str = "plumbline-testpmd-";
const REMEDY: &str = "read what testpmd said; `dpdk-testpmd --no-pci` shows all of it";

/// Time limit for the start; DPDK sets up its memory before it opens ports.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(2);
const PAGE_BYTES: u64 = 4096;
