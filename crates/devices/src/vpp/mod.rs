//! FD.io VPP as a device: its router, bridge domain or cross-connect, between memif ports.
//!
//! VPP is started as an operator would start it, with a configuration of its own in a private
//! folder and told everything by its CLI. The tester has the other ends of its memif ports. For a
//! closed loop there is a second process with the same commands, whose interfaces are those of
//! VPP's packet generator. Both die with this process; the host's own VPP is not touched.
//! Deliberately absent: DPDK and network cards, VPP's binary API, and any plugin but memif.

mod closed_loop;
mod limits;
mod options;
mod plan;
mod process;
mod show;
mod startup;

#[cfg(test)]
mod tests;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{Link, Opened, PortRequest};
use keys::Invalid;
use measure::Watch;
use model_kit::service::{Bridge, Service};
use packet::PortId;
use schemars::Schema;
use serde_json::{Map, Value, json};

use self::closed_loop::Loop;
use self::plan::{Plan, name_of};
use self::process::{Process, Size};
use crate::closed_loop::{LoopCounts, LoopFrames};
use crate::driver::{
    self, DeviceFacts, Driver, DriverError, Limitation, Running, Start, Unavailable, Usage,
};

pub use options::Options;

/// The driver.
pub struct Vpp;

impl Driver for Vpp {
    fn name(&self) -> &'static str {
        "vpp"
    }

    fn summary(&self) -> &'static str {
        "FD.io VPP, started by the bench between memif ports"
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(Options)
    }

    fn version(&self, options: &Map<String, Value>) -> String {
        Options::read(options).map(|options| version(&options)).unwrap_or_default()
    }

    fn available(&self) -> Result<(), Unavailable> {
        available(&Options::default())
    }

    fn available_with(
        &self,
        _service: &Service,
        options: &Map<String, Value>,
    ) -> Result<(), Unavailable> {
        let options = Options::read(options).map_err(|error| Unavailable {
            why: error.to_string(),
            remedy: error.remedy.clone(),
        })?;
        available(&options)
    }

    fn has_closed_loop(&self) -> bool {
        true
    }

    fn limitations(
        &self,
        service: &Service,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid> {
        Options::read(options)?;
        limits::limitations(service)
    }

    fn start(&self, request: &Start<'_>) -> Result<Box<dyn Running>, DriverError> {
        self.limitations(request.service, request.options)?;
        Ok(Box::new(Device::start(request.service, request)?))
    }

    /// Starts a VPP that cross-connects the two ports.
    fn wire(&self, request: &Start<'_>) -> Result<Option<Box<dyn Running>>, DriverError> {
        let patch = Some([None, None]);
        let wire = Bridge { ports: 2, patch, ..Bridge::default() };
        Ok(Some(Box::new(Device::start(&Service::Bridge(wire), request)?)))
    }
}

fn available(options: &Options) -> Result<(), Unavailable> {
    for (key, program) in [("program", options.vpp()), ("vppctl", options.control())] {
        if !options::is_there(&program) {
            return Err(Unavailable {
                why: format!("{} is not installed", program.display()),
                remedy: format!(
                    "install FD.io VPP from its project, since Debian has no package of it (see \
                     https://fd.io), or name the program by the key `{key}` of the device"
                ),
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

/// Returns what distinguishes an installed program from another one without starting it: VPP tells
/// its version by its CLI alone.
fn version(options: &Options) -> String {
    let program = options.vpp();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(std::path::PathBuf::new()).chain(std::env::split_paths(&path));
    let file = folders.map(|folder| folder.join(&program)).find(|path| path.is_file());
    let modified = file.and_then(|file| file.metadata().ok()?.modified().ok());
    let since = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.map(|since| format!("VPP of {} s", since.as_secs())).unwrap_or_default()
}

/// A VPP that forwards. Fields drop in their order: the tester's ports before the process.
struct Device {
    ports: Vec<Opened>,
    process: Process,
    closed_loop: Loop,
    plan: Plan,
    options: Options,
    workers: Vec<usize>,
    before: BTreeMap<String, u64>,
}

impl Device {
    fn start(service: &Service, request: &Start<'_>) -> Result<Device, DriverError> {
        let options = Options::read(request.options)?;
        let plan = plan::plan(service)?;
        let workers: Vec<usize> = request.cores.iter().copied().take(request.workers).collect();
        let size = Size {
            worker_cores: &workers,
            routes: plan.ipv4_routes + plan.ipv6_routes,
            patience: process::PATIENCE,
        };
        let mut process = Process::start(&options, &size, &request.stop)?;
        for port in 0..service.ports() {
            let lines = memif(port, &process, &options);
            for line in lines {
                process.order(&line)?;
            }
        }
        process.carry_out(&plan, service.ports())?;
        let ports = open(&process, service.ports(), &options, request)?;
        wait_until_up(&mut process, &ports, request)?;
        for port in 0..service.ports() {
            // The tester's ports poll, too, and wake nobody.
            process.order(&format!("set interface rx-mode {} polling", name_of(port)))?;
        }
        let before = show::errors(&process.cli("show errors")?);
        let closed_loop = Loop::new(options.clone(), plan.clone(), &workers, service.ports());
        Ok(Device { ports, process, closed_loop, plan, options, workers, before })
    }
}

/// Returns the commands that make a memif interface; VPP listens, and the tester owns the memory.
fn memif(port: usize, process: &Process, options: &Options) -> [String; 3] {
    let (id, socket, name) = (port + 1, process.file(&socket(port)), name_of(port));
    [
        format!("create memif socket id {id} filename {socket}"),
        format!(
            "create interface memif id 0 socket-id {id} master ring-size {}",
            options.ring_size
        ),
        format!("set interface name memif{id}/0 {name}"),
    ]
}

fn socket(port: usize) -> String {
    format!("port{port}.sock")
}

/// Opens the tester's ends.
fn open(
    process: &Process,
    ports: usize,
    options: &Options,
    request: &Start<'_>,
) -> Result<Vec<Opened>, DriverError> {
    let kind = ports::find("memif").ok_or_else(|| {
        let what = "this program has no port type memif";
        DriverError::new(what, "choose another device")
    })?;
    kind.available()?;
    let one = |port: usize| -> Result<Opened, DriverError> {
        let keys = json!({
            "socket": process.file(&socket(port)), "role": "slave",
            "ring-size": options.ring_size, "buffer-bytes": BUFFER_BYTES,
        });
        let port = PortRequest {
            name: "tester's memif".to_owned(),
            id: PortId(port as u8),
            queues: 1,
            frame_bytes_max: request.frame_bytes_max,
            ticks_per_second: request.clock.ticks_per_second(),
        };
        let read = kind.read(keys).map_err(|error| {
            DriverError::new(format!("device: tester's memif: {error}"), "choose other values")
        })?;
        Ok(read.open(&port)?)
    };
    process.device().run(|| (0..ports).map(one).collect())?
}

/// Waits until all links are up, at both ends.
fn wait_until_up(
    process: &mut Process,
    ports: &[Opened],
    request: &Start<'_>,
) -> Result<(), DriverError> {
    let begun = Instant::now();
    loop {
        process.health()?;
        let down = ports.iter().find_map(|port| match port.monitor.link() {
            Link::Up => None,
            Link::Down(why) => Some(why),
        });
        if down.is_none() {
            return Ok(());
        }
        if request.stop.load(Ordering::Relaxed) {
            return Err(DriverError::new("stopped while VPP was being set up", "start again"));
        }
        if begun.elapsed() > PATIENCE {
            let what =
                format!("a memif port of VPP does not come up: {}", down.unwrap_or_default());
            return Err(DriverError::new(what, "see `show memif` of VPP's CLI"));
        }
        std::thread::park_timeout(POLL);
    }
}

impl Running for Device {
    fn ports(&mut self) -> Vec<Opened> {
        std::mem::take(&mut self.ports)
    }

    fn facts(&self) -> DeviceFacts {
        let details = vec![
            ("ports".to_owned(), json!("memif")),
            ("ring-size".to_owned(), json!(self.options.ring_size)),
            ("huge-pages".to_owned(), json!(self.options.huge_pages)),
            ("worker-threads".to_owned(), json!(self.workers.len())),
            ("ipv4-routes".to_owned(), json!(self.plan.ipv4_routes)),
            ("ipv6-routes".to_owned(), json!(self.plan.ipv6_routes)),
            ("stations".to_owned(), json!(self.plan.stations)),
            ("plugins".to_owned(), json!(startup::PLUGINS)),
            ("startup".to_owned(), json!(self.process.startup())),
            ("closed-loop".to_owned(), json!(closed_loop::INCLUDED)),
        ];
        DeviceFacts { version: self.process.version().to_owned(), details }
    }

    fn usage(&mut self) -> Usage {
        let used = self.process.worker_ns();
        let drops = self.process.cli("show errors").map(|text| show::errors(&text));
        Usage {
            cpu_ns: (!used.is_empty()).then(|| used.iter().sum()),
            cpu_of: format!("{} polling threads of VPP", used.len()),
            resident_bytes: self.process.resident_bytes(),
            drops: driver::counted_since(&self.before, drops.unwrap_or_default()),
            ..Usage::default()
        }
    }

    fn health(&mut self) -> Result<(), DriverError> {
        self.process.health()
    }

    fn closed_loop(
        &mut self,
        frames: &[LoopFrames],
        duration: Duration,
        watch: &mut dyn Watch,
        stop: &AtomicBool,
    ) -> Result<LoopCounts, DriverError> {
        // Its workers poll on the cores of the loop's.
        self.process.pause()?;
        let done = self.closed_loop.run(frames, duration, watch, stop);
        self.process.go_on()?;
        done
    }
}

/// Size of each of the tester's buffers in bytes: that of VPP's.
const BUFFER_BYTES: u32 = 2048;

/// Time limit for the links to come up.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(2);
