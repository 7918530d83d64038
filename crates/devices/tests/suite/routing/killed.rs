//! A program that is killed leaves nothing of a reflector behind: no process, and nobody who
//! listens. Its folder goes when the next one is made.
//!
//! The test starts itself as another process that starts a device, kills it without a warning, and
//! waits until all of it is gone.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use protocol_bgp::families::Family;

use super::client::ASN;
use super::{families, folder_of, peer, processes_with, service, start, usable};
use crate::crash::is_alive;

#[test]
fn a_killed_program_leaves_nothing_of_any_reflector() {
    if let Ok(name) = std::env::var(CHILD) {
        return run_until_killed(&name);
    }
    for (driver, _) in usable() {
        kill_one(driver.name());
    }
}

/// The child's part.
fn run_until_killed(name: &str) {
    let all = usable();
    let (driver, options) =
        all.iter().find(|(driver, _)| driver.name() == name).expect("it is usable");
    let service = service(&[peer(21, ASN, true)], families(&[Family::Ipv4Unicast]));
    let running = start(*driver, &service, options);
    let folder = folder_of(&*running).map(|folder| folder.display().to_string());
    println!("\n{READY} {} {}", running.address(), folder.unwrap_or_default());
    // It is killed long before; a life without an end would outlast a parent that failed.
    let start = Instant::now();
    while start.elapsed() < 2 * PATIENCE {
        std::thread::park_timeout(POLL);
    }
    drop(running);
}

fn kill_one(name: &str) {
    let this = std::env::current_exe().expect("this test");
    let test = "routing::killed::a_killed_program_leaves_nothing_of_any_reflector";
    let mut child = Command::new(this)
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, name)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs once already");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let line = output.lines().map_while(Result::ok).find(|line| line.starts_with(READY));
    let line = line.unwrap_or_else(|| panic!("{name} was not started"));
    let mut words = line[READY.len()..].trim().split(' ');
    let address: SocketAddr = words.next().and_then(|word| word.parse().ok()).expect("an address");
    let folder = words.next().filter(|folder| !folder.is_empty()).map(Path::new);
    let processes = folder.map(processes_with).unwrap_or_default();
    assert_eq!(processes.is_empty(), name == "embedded", "{name}: {processes:?}");
    assert!(TcpListener::bind(address).is_err(), "{name} listens at {address}");
    child.kill().expect("it runs");
    child.wait().expect("it was started here");
    let end = Instant::now() + PATIENCE;
    while processes.iter().any(|process| is_alive(*process)) || TcpListener::bind(address).is_err()
    {
        assert!(Instant::now() < end, "{name} left one of {processes:?} at {address}");
        std::thread::park_timeout(POLL);
    }
}

/// Names the driver to the child.
const CHILD: &str = "PLUMBLINE_TEST_REFLECTOR_TO_KILL";
const READY: &str = "the reflector is ready:";
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);
