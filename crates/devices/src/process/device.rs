//! The device itself: daemons, and the tester's ports to them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use daemon::config::Rest;
use daemon::protocol::{Ask, View};
use engine::{Monitor, Opened};
use measure::TableUse;
use netns::Namespace;
use serde_json::{Value, json};

use super::child::{Daemon, FILE, Ready, SOCKET, folder, health, of_folder};
use super::file::Wanted;
use super::links::Links;
use super::options::Options;
use super::standby::Standby;
use super::{file, standby, usage};
use crate::driver::{Control, DeviceFacts, DriverError, Running, Start, TakenOver, Usage};
use crate::testpmd::guest::Guest;

/// Daemons that forward: one, or one for each pass of a guest topology. Fields drop in their order:
/// the tester's ports before the processes, and the processes before folders and namespaces.
pub(super) struct Device {
    pub ports: Vec<Opened>,
    /// Monitors of the tester's ports.
    pub monitors: Vec<Arc<dyn Monitor>>,
    pub guests: Vec<Guest>,
    pub daemons: Vec<Daemon>,
    /// Standby of the only daemon; `None` if there is none, or it has taken over.
    pub standby: Option<Standby>,
    pub options: Options,
    pub program: PathBuf,
    pub stop: Arc<AtomicBool>,
    pub links: Vec<Links>,
    pub namespace: Namespace,
    pub folder: tempfile::TempDir,
}

/// Parameters with which daemons are started.
pub(super) struct Making<'a> {
    pub request: &'a Start<'a>,
    pub options: &'a Options,
    pub program: &'a Path,
    pub namespace: &'a Namespace,
    /// Folder of the device.
    pub folder: &'a Path,
}

/// A daemon that forwards, with direct links to the tester.
struct Made {
    pub ports: Vec<Opened>,
    pub daemon: Daemon,
    pub links: Links,
}

impl Making<'_> {
    /// Starts a daemon with a section of the function, in a separate folder.
    fn daemon(&self, folder: &Path, section: &Value, rest: Rest) -> Result<Made, DriverError> {
        let Making { request, options, program, namespace, .. } = *self;
        std::fs::create_dir_all(folder).map_err(|error| of_folder(&error))?;
        let links = Links::make(options, namespace, folder, request.port_names.len(), request)?;
        let socket = folder.join(SOCKET);
        let state = file::state(request, folder, section)?;
        let wanted = Wanted { section, socket: &socket, state: state.as_deref(), rest };
        let text = file::text(request, &links, &wanted);
        std::fs::write(folder.join(FILE), text).map_err(|error| of_folder(&error))?;
        let ready = Ready::spawn(program, namespace, folder, &request.stop)?;
        let ports = links.open(request)?;
        let monitors: Vec<_> = ports.iter().map(|port| port.monitor.clone()).collect();
        Ok(Made { ports, daemon: Daemon::linked(ready, &socket, &monitors)?, links })
    }
}

impl Device {
    pub fn start(request: &Start<'_>) -> Result<Device, DriverError> {
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
        let active = making.daemon(folder.path(), request.configuration, options.rest())?;
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
        // Guests give up their ports when the other side of them goes, and a standby is there to do
        // without a restart.
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

    fn standby(&mut self) -> Option<function_kit::Standby> {
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

/// Returns the output of `--version` of a program.
fn version(program: &Path) -> String {
    let said = Command::new(program).arg("--version").output();
    let text = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "plumbline".to_owned())
}

/// Folder of the standby in the folder of the device.
const STANDBY: &str = "standby";
