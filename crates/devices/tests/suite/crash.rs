//! A program that is killed leaves nothing behind: no namespace, no interface, no process.
//!
//! The test starts itself as another process that sets a device up, sees what that process has,
//! kills it without a warning, and waits until all of it is gone. Every driver that can run here is
//! tried, so a new one needs no line here. The external box has nothing that could be left.
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use devices::driver::{Driver, Start};
use devices::registry::DRIVERS;
use function_kit::NetworkFunction;
use functions::l2_switch::config::Mode;
use machine::clock::Clock;
use model_kit::Model;
use models::l2_switch::{L2Switch, Section};
use serde_json::Map;

#[test]
fn a_killed_program_leaves_nothing_of_any_device() {
    if let Ok(name) = std::env::var(CHILD) {
        let driver = DRIVERS.iter().find(|driver| driver.name() == name).expect("a driver");
        return run_until_killed(*driver);
    }
    for driver in DRIVERS.iter().filter(|driver| driver.name() != "external") {
        match driver.available() {
            Ok(()) if driver.name() == "process" && program().is_none() => {
                eprintln!("skipped: process: plumbline is not built");
            }
            Ok(()) => kill_one(driver.name()),
            Err(error) => eprintln!("skipped: {}: {error}; {}", driver.name(), error.remedy),
        }
    }
}

/// The child's part.
fn run_until_killed(driver: &dyn Driver) {
    let configurations = [Mode::Bridge, Mode::Patch].map(|mode| {
        let mut config = Section::default();
        config.config.mode = mode;
        let mut traffic = models::l2_switch::Traffic::default();
        L2Switch::validate(&mut config, &mut traffic).expect("the defaults are valid");
        config
    });
    let can =
        |config: &&Section| driver.limitations(&L2Switch::service(config), &Map::new()).is_ok();
    let config = configurations.iter().find(can).expect("it can do one of them");
    let mut options = Map::new();
    if let Some(program) = program().filter(|_| driver.name() == "process") {
        options.insert("program".to_owned(), program.to_string_lossy().into());
    }
    let cores = machine::cpu::available_cores();
    let mut running = driver
        .start(&Start {
            service: &L2Switch::service(config),
            function: functions::l2_switch::L2Switch::NAME,
            port_names: &functions::l2_switch::L2Switch::ports(&config.config),
            configuration: &serde_json::to_value(&config.config).expect("a configuration"),
            initial: &|| Ok(Vec::new()),
            beside: &[],
            standby: None,
            options: &options,
            workers: 1,
            cores: &cores[cores.len() - 1..],
            frame_bytes_max: 1514,
            clock: Clock::calibrate(Duration::from_millis(10)),
            stop: Arc::new(AtomicBool::new(false)),
        })
        .unwrap_or_else(|error| panic!("{}: {error}; {}", driver.name(), error.remedy));
    let ports = running.ports();
    println!("\n{READY}");
    // It is killed long before; a life without an end would outlast a parent that failed.
    let start = Instant::now();
    while start.elapsed() < 2 * PATIENCE {
        std::thread::park_timeout(POLL);
    }
    drop(ports);
    drop(running);
}

/// The program, where it was built beside this test.
pub fn program() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let program = this.parent()?.parent()?.join("plumbline");
    program.is_file().then_some(program)
}

/// What a process has that must not outlive it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Belongings {
    /// Network namespaces other than this test's, by inode.
    namespaces: BTreeSet<String>,
    /// Processes in them or started by it, other than itself.
    processes: BTreeSet<u32>,
    /// Kernel threads of its interfaces.
    threads: BTreeSet<u32>,
}

fn kill_one(name: &str) {
    let this = std::env::current_exe().expect("this test");
    let mut child = Command::new(this)
        .args(["--exact", "crash::a_killed_program_leaves_nothing_of_any_device", "--nocapture"])
        .env(CHILD, name)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs once already");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let is_ready = output.lines().map_while(Result::ok).any(|line| line == READY);
    assert!(is_ready, "{name} was not set up");
    let pid = child.id();
    let had = belongings(pid, &namespaces_of(pid));
    assert!(!had.namespaces.is_empty(), "{name} has a namespace of its own: {had:?}");
    child.kill().expect("it runs");
    child.wait().expect("it was started here");
    let end = Instant::now() + PATIENCE;
    loop {
        let left = belongings(pid, &had.namespaces);
        let alive: Vec<&u32> = had.processes.iter().filter(|id| is_alive(**id)).collect();
        if left == Belongings::default() && alive.is_empty() {
            break;
        }
        assert!(Instant::now() < end, "{name} left {left:?}, still alive {alive:?}, of {had:?}");
        std::thread::park_timeout(POLL);
    }
}

/// The namespaces that threads of a process are in, but for this test's own.
fn namespaces_of(pid: u32) -> BTreeSet<String> {
    let own = namespace("self");
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let inside = tasks.filter_map(|task| {
        let id = task.file_name();
        namespace(&format!("{pid}/task/{}", id.to_string_lossy()))
    });
    inside.filter(|found| Some(found) != own.as_ref()).collect()
}

/// What there is of these namespaces and of this process at this moment.
fn belongings(pid: u32, namespaces: &BTreeSet<String>) -> Belongings {
    let mut found = Belongings::default();
    for id in processes() {
        let inside = namespace(&id.to_string()).filter(|inside| namespaces.contains(inside));
        if id == pid {
            found.namespaces.extend(namespaces_of(pid));
            continue;
        }
        let comm = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        if comm.starts_with(&format!("napi/d{pid}x")) {
            found.threads.insert(id);
        }
        if inside.is_some() || parent(id) == Some(pid) {
            found.processes.insert(id);
            found.namespaces.extend(inside);
        }
    }
    found
}

pub fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn namespace(process: &str) -> Option<String> {
    let link = fs::read_link(format!("/proc/{process}/ns/net")).ok()?;
    Some(link.to_string_lossy().into_owned())
}

pub fn parent(id: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// Whether a process lives; one that only waits to be counted does not.
pub fn is_alive(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.trim_start().starts_with('Z'))
}

/// Names the driver to the child.
const CHILD: &str = "PLUMBLINE_TEST_DEVICE_TO_KILL";
const READY: &str = "the device is ready";
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);
