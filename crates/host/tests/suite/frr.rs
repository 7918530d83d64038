//! FRR's daemons in a namespace of their own, with a `/run` of their own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use netns::{Child, Namespace};

/// FRR in a namespace.
pub struct Frr {
    folder: tempfile::TempDir,
    /// Daemons by their names, the one that others need first.
    daemons: Vec<(String, Child)>,
}

impl Frr {
    /// Starts zebra and these daemons with a configuration, which all but zebra read.
    pub fn start(namespace: &Namespace, daemons: &[&str], configuration: &str) -> Frr {
        let mut frr = Frr::without_daemons();
        let daemons: Vec<_> = daemons.iter().map(|name| (*name, configuration)).collect();
        frr.run_all(namespace, (&[], ""), &daemons);
        frr
    }

    /// FRR with nothing that runs yet.
    pub fn without_daemons() -> Frr {
        Frr { folder: tempfile::tempdir().expect("a folder"), daemons: Vec::new() }
    }

    /// The path of a file of its own.
    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    /// Starts a daemon with further arguments and a configuration of its own.
    pub fn run(
        &mut self,
        namespace: &Namespace,
        name: &str,
        arguments: &[&str],
        configuration: &str,
    ) {
        self.launch(namespace, name, arguments, configuration);
        self.wait(name);
    }

    /// Starts zebra with further arguments and a configuration, and all of these daemons with
    /// theirs at once.
    pub fn run_all(
        &mut self,
        namespace: &Namespace,
        (arguments, configuration): (&[&str], &str),
        daemons: &[(&str, &str)],
    ) {
        self.run(namespace, "zebra", arguments, configuration);
        for (name, configuration) in daemons {
            self.launch(namespace, name, &[], configuration);
        }
        daemons.iter().for_each(|(name, _)| self.wait(name));
    }

    fn launch(
        &mut self,
        namespace: &Namespace,
        name: &str,
        arguments: &[&str],
        configuration: &str,
    ) {
        let [file, socket, vty, pid] =
            ["conf", "api", "vty", "pid"].map(|kind| self.path(&format!("{name}.{kind}")));
        fs::write(&file, configuration).expect("writable");
        // What one that was killed has left.
        drop(fs::remove_file(&vty));
        let socket = socket.replace(name, "zserv");
        let mut command = Command::new(program(name));
        // A pipe that nobody reads would hold it up once it is full.
        let log = format!("file:{}", self.path(&format!("{name}.log")));
        command.args(["-u", "root", "-g", "frrvty", "--log", &log, "-f", &file]);
        command.arg("--vty_socket").arg(self.folder.path()).args(["-z", &socket, "-i", &pid]);
        command.args(arguments);
        let child = namespace.spawn(command).expect("it starts");
        self.daemons.push((name.to_owned(), child));
    }

    fn wait(&self, name: &str) {
        let vty = self.path(&format!("{name}.vty"));
        until("FRR", || Path::new(&vty).exists().then_some(()));
    }

    /// Kills a daemon, which can say nothing more.
    pub fn kill(&mut self, name: &str) {
        let before = self.daemons.len();
        self.daemons.retain(|(daemon, _)| daemon != name);
        assert_eq!(self.daemons.len() + 1, before, "{name} runs once");
    }

    /// Runs a command of FRR's shell; returns what it prints.
    pub fn show(&self, command: &str) -> String {
        let output = self.shell(&[command]).output().expect("it starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// As [`Frr::show`], while something else goes on that the daemon may wait for.
    pub fn show_while(&self, command: &str, mut meanwhile: impl FnMut()) -> String {
        let mut shell = self.shell(&[command]);
        let mut child = shell.stdout(Stdio::piped()).spawn().expect("it starts");
        until("FRR's shell", || {
            meanwhile();
            child.try_wait().expect("it is ours")
        });
        let output = child.wait_with_output().expect("it has ended");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Changes the configuration by these lines.
    pub fn configure(&self, lines: &[&str]) {
        let output = self.shell(&[&["configure terminal"], lines].concat()).output();
        let output = output.expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !said.contains('%'), "{lines:?}: {said}");
    }

    fn shell(&self, commands: &[&str]) -> Command {
        let mut shell = Command::new("vtysh");
        shell.arg("--vty_socket").arg(self.folder.path());
        for command in commands {
            shell.args(["-c", command]);
        }
        shell
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
