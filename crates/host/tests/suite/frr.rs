//! FRR's daemons in a namespace of their own, with a `/run` of their own.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use netns::{Child, Namespace};

/// FRR in a namespace.
pub struct Frr {
    folder: tempfile::TempDir,
    /// Daemons, the one that others need first.
    _daemons: Vec<Child>,
}

impl Frr {
    /// Starts zebra and these daemons with a configuration, which all but zebra read.
    pub fn start(namespace: &Namespace, daemons: &[&str], configuration: &str) -> Frr {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("frr.conf");
        fs::write(&file, configuration).expect("writable");
        let start = |name: &&str| {
            let file = if *name == "zebra" { Path::new("/dev/null") } else { file.as_path() };
            let socket = folder.path().join("zserv.api");
            let mut command = Command::new(program(name));
            command.args(["-u", "root", "-g", "frrvty", "--log", "stdout", "-f"]).arg(file);
            command.arg("--vty_socket").arg(folder.path()).arg("-z").arg(socket);
            command.arg("-i").arg(folder.path().join(format!("{name}.pid")));
            let child = namespace.spawn(command).expect("it starts");
            let vty = folder.path().join(format!("{name}.vty"));
            until("FRR", || vty.exists().then_some(()));
            child
        };
        let daemons = ["zebra"].iter().chain(daemons).map(start).collect();
        Frr { folder, _daemons: daemons }
    }

    /// Runs a command of FRR's shell; returns what it prints.
    pub fn show(&self, command: &str) -> String {
        let mut shell = Command::new("vtysh");
        shell.arg("--vty_socket").arg(self.folder.path()).args(["-c", command]);
        let output = shell.output().expect("it starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Whether FRR can be run here.
pub fn is_there() -> bool {
    let is_there = netns::may_make_namespaces() && Path::new(&program("bfdd")).exists();
    if !is_there {
        println!("skipped: needs root and FRR");
    }
    is_there
}

fn program(name: &str) -> String {
    format!("/usr/lib/frr/{name}")
}

/// What is found before the deadline.
pub fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        if let Some(found) = found() {
            return found;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    panic!("waited in vain for {what}")
}
