//! The controller of this program in this process, on a thread of its own with real sockets.
//!
//! It is driven as the daemon drives it, without a function and without a control socket. A restart
//! closes its sockets and forgets its routes, as the end of a process would; memory is that of this
//! process and not told.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use controller_kit::Setup;
use controllers::{Configured, Running};
use host::Host;
use keys::Invalid;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::driver::{RoutingDriver, RoutingRunning, RoutingService, RoutingStart};
use super::{own, place, usage};
use crate::driver::{DeviceFacts, DriverError, Limitation, SECTION, Unavailable, Usage};

/// The driver.
pub struct Embedded;

/// Name of the device that is built into this program, whatever it forwards or reflects.
pub const NAME: &str = "embedded";

/// Its one-line summary.
pub const SUMMARY: &str = "the function built into this program, on threads of this machine";

/// It has no keys of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Options {}

impl RoutingDriver for Embedded {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        SUMMARY
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(Options)
    }

    fn available(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    fn limitations(
        &self,
        service: &RoutingService,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid> {
        let Options {} = keys::read(SECTION, options.clone())?;
        own::limitations(service)
    }

    fn start(&self, request: &RoutingStart<'_>) -> Result<Box<dyn RoutingRunning>, DriverError> {
        self.limitations(request.service, request.options)?;
        let address = place::free()?;
        let keys = own::read(own::keys(request.service, address))?;
        let cores = request.cores.to_vec();
        let stop = request.stop.clone();
        let mut reflector = Reflector { address, keys, cores, stop, life: None, spent_ns: 0 };
        reflector.launch()?;
        Ok(Box::new(reflector))
    }
}

struct Reflector {
    address: SocketAddr,
    keys: Arc<dyn Configured>,
    cores: Vec<usize>,
    stop: Arc<AtomicBool>,
    life: Option<Life>,
    /// CPU time of the lives before this one.
    spent_ns: u64,
}

/// A controller that runs, until this is dropped.
struct Life {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// The thread's folder below `/proc`.
    task: PathBuf,
    /// What went wrong last.
    trouble: Arc<Mutex<String>>,
}

impl Reflector {
    fn launch(&mut self) -> Result<(), DriverError> {
        self.life = Some(Life::start(&*self.keys, &self.cores)?);
        let begun = Instant::now();
        while !place::is_taken(self.address) {
            self.health()?;
            if self.stop.load(Ordering::Relaxed) {
                let what = "stopped while the device was set up";
                return Err(DriverError::new(what, "start it again"));
            }
            if begun.elapsed() > PATIENCE {
                let why = self.life.as_ref().map(Life::trouble).unwrap_or_default();
                let what = format!("the controller does not listen after {PATIENCE:?}: {why}");
                return Err(DriverError::new(what, "see what uses the port"));
            }
            std::thread::park_timeout(POLL);
        }
        Ok(())
    }

    fn cpu_ns(&self) -> Option<u64> {
        usage::thread_ns(&self.life.as_ref()?.task)
    }
}

impl RoutingRunning for Reflector {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn facts(&self) -> DeviceFacts {
        let memory = json!("that of the tester's process, not told");
        let details = vec![("threads".to_owned(), json!(1)), ("memory".to_owned(), memory)];
        DeviceFacts { version: format!("plumbline {}", env!("CARGO_PKG_VERSION")), details }
    }

    fn usage(&mut self) -> Usage {
        Usage {
            cpu_ns: self.cpu_ns().map(|now| now + self.spent_ns),
            cpu_of: "the controller's thread".to_owned(),
            ..Usage::default()
        }
    }

    fn health(&mut self) -> Result<(), DriverError> {
        match &self.life {
            Some(life) if life.thread.as_ref().is_some_and(|thread| !thread.is_finished()) => {
                Ok(())
            }
            life => {
                let why = life.as_ref().map(Life::trouble).unwrap_or_default();
                let what = format!("the controller's thread has ended: {why}");
                Err(DriverError::new(what, "report it with the scenario"))
            }
        }
    }

    fn restart(&mut self) -> Result<(), DriverError> {
        self.spent_ns += self.cpu_ns().unwrap_or(0);
        self.life = None;
        self.launch()
    }
}

impl Life {
    fn start(keys: &dyn Configured, cores: &[usize]) -> Result<Life, DriverError> {
        let seed = RandomState::new().build_hasher().finish();
        let setup = Setup { function: None, state: Vec::new(), seed };
        let controller = keys.create(setup)?;
        let (ends, trouble) = (Arc::<AtomicBool>::default(), Arc::<Mutex<String>>::default());
        let (tell, told) = channel();
        let (seen, troubled) = (Arc::clone(&ends), Arc::clone(&trouble));
        let core = cores.first().copied();
        let body = move || {
            core.map(machine::cpu::pin_current_thread);
            if let Err(error) = drive(controller, &tell, &seen, &troubled) {
                note(&troubled, error.to_string());
            }
        };
        let failed = |error: std::io::Error| {
            let what = format!("no thread for the controller: {error}");
            DriverError::new(what, "stop other programs")
        };
        let thread = std::thread::Builder::new().name(own::NAME.to_owned()).spawn(body);
        let thread = thread.map_err(failed)?;
        let task = told.recv().unwrap_or_default();
        Ok(Life { ends, thread: Some(thread), task, trouble })
    }

    fn trouble(&self) -> String {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It panics only with a defect, which is told already.
            let _ = thread.join();
        }
    }
}

/// Drives a controller until it is to end, and tells first where the thread's time is counted.
fn drive(
    controller: Box<dyn Running>,
    tell: &Sender<PathBuf>,
    ends: &AtomicBool,
    trouble: &Mutex<String>,
) -> std::io::Result<()> {
    let _ = tell.send(PathBuf::from("/proc").join(std::fs::read_link("/proc/thread-self")?));
    let mut host = Host::new(controller)?;
    while !ends.load(Ordering::Relaxed) {
        // It has no function whose state it could change, and nobody to raise alarms for.
        host.turn(TURN_MAX)?;
        if let Some(error) = host.take_failures().last() {
            note(trouble, error.to_string());
        }
    }
    Ok(())
}

fn note(trouble: &Mutex<String>, what: String) {
    *trouble.lock().unwrap_or_else(PoisonError::into_inner) = what;
}

/// Longest turn without anything to do, which is how soon it ends.
const TURN_MAX: Duration = Duration::from_millis(20);

const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(2);
