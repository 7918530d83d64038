//! This program as a daemon in another process: `plumbline run` in a network namespace of its own.
//!
//! The function is the embedded one, but its ports are real: sockets of the kernel on virtual Ethernet,
//! or memory shared by a socket. What it counts, its time by stage and its changes go over its control
//! socket. Process, namespace and folder are bound to this process and vanish with it. Deliberately
//! absent: tuning of the daemon beyond its ports.

mod control;
mod file;
mod guests;
mod links;
mod options;
mod output;
mod standby;
mod usage;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use daemon::client::{Client, ClientError};
use daemon::config::Rest;
use daemon::protocol::{Ask, View};
use engine::{Link, Monitor, Opened};
use functions::service::Service;
use measure::TableUse;
use netns::{Child, Namespace};
use schemars::Schema;
use serde_json::{Map, Value, json};

use crate::driver::{
    Control, DeviceFacts, Driver, DriverError, Limitation, Running, Start, TakenOver, Unavailable,
    Usage,
};
use control::Speaker;
use file::Wanted;
use links::Links;
use output::Output;
use standby::Standby;

use crate::testpmd::guest::Guest;

pub use options::{Options, Ports, Topology};

/// The driver.
pub struct Process;

impl Driver for Process {
    fn name(&self) -> &'static str {
        "process"
    }

    fn summary(&self) -> &'static str {
        "`plumbline run` in a process of its own, over real ports"
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(Options)
    }

    fn available(&self) -> Result<(), Unavailable> {
        for (program, package) in [("ip", "iproute2"), ("setpriv", "util-linux")] {
            if !netns::is_installed(program) {
                return Err(Unavailable {
                    why: format!("{program} is not installed"),
                    remedy: format!("sudo apt-get install {package}"),
                });
            }
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
    ) -> Result<Vec<Limitation>, DriverError> {
        let short = Limitation {
            what: "a link carries no frame shorter than an Ethernet header".to_owned(),
            verdicts: vec!["truncated"],
            ..Limitation::default()
        };
        let options = Options::read(options)?;
        guests::possible(options.topology, service)?;
        Ok(match options.ports {
            Ports::AfPacket | Ports::AfXdp => vec![short],
            Ports::Memif | Ports::VhostUser | Ports::VirtioUser => Vec::new(),
        })
    }

    fn start(&self, request: &Start<'_>) -> Result<Box<dyn Running>, DriverError> {
        match Options::read(request.options)?.topology {
            Topology::Direct => Ok(Box::new(Device::start(request)?)),
            topology => Ok(Box::new(guests::start(topology, request)?)),
        }
    }

    fn wire(&self, request: &Start<'_>) -> Result<Option<Box<dyn Running>>, DriverError> {
        let options = Options::read(request.options)?;
        if options.topology != Topology::Direct {
            return Ok(None);
        }
        Ok(Some(Box::new(links::Wire::make(&options, request)?)))
    }
}

/// Daemons that forward: one, or one for each way past a guest. Fields drop in their order: the tester's
/// ports before the processes, and these before what they stand on.
struct Device {
    ports: Vec<Opened>,
    /// Of the same ports, which are the tester's by now.
    monitors: Vec<Arc<dyn Monitor>>,
    guests: Vec<Guest>,
    daemons: Vec<Daemon>,
    /// It follows the only one of these; none where there is none, or it has taken over.
    standby: Option<Standby>,
    options: Options,
    program: PathBuf,
    stop: Arc<AtomicBool>,
    links: Vec<Links>,
    namespace: Namespace,
    folder: tempfile::TempDir,
}

/// One process.
struct Daemon {
    speaker: Speaker,
    client: Client,
    child: Child,
    output: Output,
}

impl Daemon {
    /// How it says that its standby stands.
    fn told_standby(&mut self) -> Option<functions::Standby> {
        let told = self.client.ask(Ask::Show(View::Tables)).ok()?;
        let standby = told.get("standby")?;
        Some(functions::Standby {
            is_here: false,
            is_synchronised: standby.get("synchronised")?.as_bool()?,
            unacknowledged: standby.get("unacknowledged")?.as_u64()?,
        })
    }

    /// What a spawned one becomes once it forwards.
    fn of(mut ready: Ready<'_>, socket: &Path) -> Result<Daemon, DriverError> {
        let client = ready.client(socket)?;
        let error = |error: ClientError| DriverError::new(error.to_string(), "run it again");
        let speaker = Speaker::new(socket).map_err(error)?;
        let Ready { child, output, .. } = ready;
        Ok(Daemon { speaker, client, child, output })
    }

    /// The same once frames can pass at the tester's ends, too: those of shared memory have to find a new process.
    fn linked(
        mut ready: Ready<'_>,
        socket: &Path,
        monitors: &[Arc<dyn Monitor>],
    ) -> Result<Daemon, DriverError> {
        ready.client(socket)?;
        ready.links_up(monitors)?;
        Daemon::of(ready, socket)
    }
}

/// What daemons are started by.
struct Making<'a> {
    request: &'a Start<'a>,
    options: &'a Options,
    program: &'a Path,
    namespace: &'a Namespace,
    /// That of the device.
    folder: &'a Path,
}

/// A daemon that forwards, with nothing between it and the tester.
struct Made {
    ports: Vec<Opened>,
    daemon: Daemon,
    links: Links,
}

impl Making<'_> {
    /// One of a section of the function, in a folder of its own.
    fn daemon(&self, folder: &Path, section: &Value, rest: Rest) -> Result<Made, DriverError> {
        let Making { request, options, program, namespace, .. } = *self;
        std::fs::create_dir_all(folder).map_err(|error| of_folder(&error))?;
        let names = file::port_names(request.function)?;
        let names = names.get(..request.service.ports()).unwrap_or(names);
        let links = Links::make(options, namespace, folder, names.len(), request)?;
        let socket = folder.join(SOCKET);
        let wanted = Wanted { section, socket: &socket, rest };
        let text = file::text(request, names, &links, &wanted);
        std::fs::write(folder.join(FILE), text).map_err(|error| of_folder(&error))?;
        let ready = Ready::spawn(program, namespace, folder, &request.stop)?;
        let ports = links.open(request)?;
        let monitors: Vec<_> = ports.iter().map(|port| port.monitor.clone()).collect();
        Ok(Made { ports, daemon: Daemon::linked(ready, &socket, &monitors)?, links })
    }
}

impl Device {
    fn start(request: &Start<'_>) -> Result<Device, DriverError> {
        let options = Options::read(request.options)?;
        let program = options.program()?;
        let namespace = Namespace::new()?;
        let folder = folder()?;
        let making = Making {
            request,
            options: &options,
            program: &program,
            namespace: &namespace,
            folder: folder.path(),
        };
        let active = making.daemon(folder.path(), request.configuration, Rest::Poll)?;
        let (mut ports, mut links, mut standby) = (active.ports, vec![active.links], None);
        if let Some(section) = request.standby {
            let made = making.daemon(&folder.path().join(STANDBY), section, Rest::Sleep)?;
            let takes_over = Arc::new(AtomicBool::new(false));
            ports = standby::either(ports, made.ports, &takes_over);
            links.push(made.links);
            standby = Some(Standby { daemon: made.daemon, takes_over });
        }
        let monitors: Vec<_> = ports.iter().map(|port| port.monitor.clone()).collect();
        Ok(Device {
            ports,
            monitors,
            guests: Vec::new(),
            daemons: vec![active.daemon],
            standby,
            options,
            program,
            stop: request.stop.clone(),
            links,
            namespace,
            folder,
        })
    }
}

impl Running for Device {
    fn ports(&mut self) -> Vec<Opened> {
        std::mem::take(&mut self.ports)
    }

    fn facts(&self) -> DeviceFacts {
        let mut details = vec![
            ("ports".to_owned(), json!(self.options.ports)),
            ("program".to_owned(), json!(self.program)),
            ("topology".to_owned(), json!(self.options.topology)),
        ];
        if self.links.len() > 1 && self.guests.is_empty() {
            let standby = "a process of its own, which sleeps while no packet comes";
            details.push(("standby".to_owned(), json!(standby)));
        }
        if let Some(guest) = self.guests.first() {
            details.push(("guests".to_owned(), json!(self.guests.len())));
            details.push(("guest".to_owned(), json!(format!("testpmd, {}", guest.version()))));
        }
        DeviceFacts { version: version(&self.program), details }
    }

    fn usage(&mut self) -> Usage {
        // A standby's work is none of what forwarding costs.
        let all = self.daemons.iter_mut().map(|one| usage::of(&mut one.client, one.child.id()));
        usage::sum(all.collect())
    }

    fn health(&mut self) -> Result<(), DriverError> {
        self.guests.iter_mut().try_for_each(Guest::health)?;
        let standby = self.standby.iter_mut().map(|standby| &mut standby.daemon);
        let mut all = self.daemons.iter_mut().chain(standby);
        all.try_for_each(|one| health(&mut one.child, &one.output))
    }

    fn control(&mut self) -> Option<&mut dyn Control> {
        // A change of one of two daemons would be half a change.
        match self.daemons.as_mut_slice() {
            [only] => Some(&mut only.speaker),
            _ => None,
        }
    }

    fn sessions(&mut self) -> Option<u64> {
        self.tables().into_iter().find(|table| table.name == "sessions").map(|table| table.entries)
    }

    fn tables(&mut self) -> Vec<TableUse> {
        let mut sums: Vec<TableUse> = Vec::new();
        for daemon in &mut self.daemons {
            let told = daemon.client.ask(Ask::Show(View::Tables)).unwrap_or_default();
            let tables = told.get("tables").and_then(Value::as_object).into_iter().flatten();
            for (name, table) in tables {
                let entries = table.get("used").and_then(Value::as_u64).unwrap_or(0);
                match sums.iter_mut().find(|sum| sum.name == *name) {
                    Some(sum) => sum.entries += entries,
                    None => sums.push(TableUse { name: name.clone(), entries }),
                }
            }
        }
        sums
    }

    fn restarts(&self) -> Option<&'static str> {
        // Guests give up their ports when the other side of them goes, and a standby is there to do without a restart.
        let is_alone = self.guests.is_empty() && self.links.len() == 1;
        is_alone.then_some("the process, killed and started again")
    }

    fn restart(&mut self) -> Result<(), DriverError> {
        let Some(daemon) = self.daemons.first_mut() else { return Ok(()) };
        daemon.child.stop(Duration::ZERO);
        let socket = self.folder.path().join(SOCKET);
        let ready = Ready::spawn(&self.program, &self.namespace, self.folder.path(), &self.stop)?;
        *daemon = Daemon::linked(ready, &socket, &self.monitors)?;
        Ok(())
    }

    fn standby(&mut self) -> Option<functions::Standby> {
        self.standby.as_ref()?;
        self.daemons.first_mut()?.told_standby()
    }

    fn fail_over(&mut self) -> Result<TakenOver, DriverError> {
        let (Some(active), Some(standby)) = (self.daemons.first_mut(), self.standby.take()) else {
            return Err(DriverError::new("there is no standby any more", "set it up again"));
        };
        let told = active.told_standby();
        active.child.stop(Duration::ZERO);
        standby.takes_over.store(true, Ordering::Release);
        *active = standby.daemon;
        let Some(told) = told else {
            let what = "the active daemon did not tell how its standby stood";
            return Err(DriverError::new(what, "run it again"));
        };
        let what = "a standby in a process of its own";
        Ok(TakenOver { unacknowledged: told.unacknowledged, what })
    }
}

/// A daemon on its way to forwarding.
struct Ready<'a> {
    child: Child,
    output: Output,
    begun: Instant,
    stop: &'a AtomicBool,
}

impl<'a> Ready<'a> {
    /// Starts it with the file in its folder.
    fn spawn(
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

    /// A conversation with the daemon, once it says that it forwards.
    fn client(&mut self, socket: &Path) -> Result<Client, DriverError> {
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

    /// Until frames can pass at all of the tester's ends.
    fn links_up(&mut self, monitors: &[Arc<dyn Monitor>]) -> Result<(), DriverError> {
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

    /// Waits a little, unless there is nothing more to wait for.
    fn go_on(&mut self, why: &str) -> Result<(), DriverError> {
        health(&mut self.child, &self.output)?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(DriverError::new("stopped while the daemon was set up", "start again"));
        }
        if self.begun.elapsed() > PATIENCE {
            let what = format!("`plumbline run` is not ready after {PATIENCE:?}: {why}");
            return Err(DriverError::new(what, "look at what it says on its own"));
        }
        std::thread::park_timeout(POLL);
        Ok(())
    }
}

fn health(child: &mut Child, output: &Output) -> Result<(), DriverError> {
    match child.ended() {
        None => Ok(()),
        Some(status) => {
            let what = format!("`plumbline run` ended ({status}): {}", output.last());
            Err(DriverError::new(what, "see docs/running.md for its keys"))
        }
    }
}

/// What `plumbline --version` says of a program.
fn version(program: &Path) -> String {
    let said = Command::new(program).arg("--version").output();
    let text = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "plumbline".to_owned())
}

/// A folder for one daemon; those that a crash left behind go first.
fn folder() -> Result<tempfile::TempDir, DriverError> {
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

fn of_folder(error: &std::io::Error) -> DriverError {
    let what = format!("no folder for the daemon: {error}");
    DriverError::new(what, "make room in the folder for temporary files, or set TMPDIR")
}

/// What stands in the folder.
const SOCKET: &str = "control.sock";
const FILE: &str = "function.yaml";
/// The folder of the standby, in that of the device.
const STANDBY: &str = "standby";

const FOLDER: &str = "plumbline-process-";

/// State for millions of users takes its time.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(2);
