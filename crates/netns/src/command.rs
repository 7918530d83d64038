//! Other programs: run to their end, or kept running for as long as this one.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Error of a program that failed.
#[derive(Debug, thiserror::Error)]
#[error("`{command}` failed: {why}")]
pub struct Failed {
    /// Command line of the program.
    pub command: String,
    /// Error output of the program, or the system's error.
    pub why: String,
}

impl Failed {
    /// Creates the error of a command with its cause.
    pub fn new(command: &str, why: impl ToString) -> Failed {
        Failed { command: command.to_owned(), why: why.to_string() }
    }
}

/// Runs a program to its end; returns its standard output.
pub(crate) fn run(
    program: &str,
    arguments: &[&str],
    input: Option<&str>,
) -> Result<String, Failed> {
    let text = format!("{program} {}", arguments.join(" "));
    let failed = |why: io::Error| Failed::new(&text, said(program, &why));
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn().map_err(failed)?;
    let writer = child.stdin.take().zip(input).map(|(mut pipe, input)| {
        let input = input.to_owned();
        // Beside the reading, so that neither waits for the other; a program that reads no more has
        // its reason, and says it.
        std::thread::spawn(move || {
            let _ = pipe.write_all(input.as_bytes());
        })
    });
    let output = child.wait_with_output().map_err(failed)?;
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failed {
        command: text,
        why: if error.is_empty() { output.status.to_string() } else { error },
    })
}

fn said(program: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => match package(program) {
            Some(package) => {
                format!("{program} is not installed: `sudo apt-get install {package}` on Debian")
            }
            None => format!("{program} is not installed"),
        },
        _ => error.to_string(),
    }
}

/// Returns the Debian package of a program that sets up devices.
fn package(program: &str) -> Option<&'static str> {
    let packages = [
        ("bridge", "iproute2"),
        ("ethtool", "ethtool"),
        ("ip", "iproute2"),
        ("nft", "nftables"),
        ("setpriv", "util-linux"),
        ("tc", "iproute2"),
    ];
    packages.into_iter().find(|&(name, _)| name == program).map(|(_, package)| package)
}

/// A program that runs in the background and is killed when this program ends.
#[derive(Debug)]
pub struct Child {
    child: std::process::Child,
}

impl Child {
    /// Starts a program on this thread; the kernel kills it when the thread ends.
    pub(crate) fn start(command: Command) -> Result<Child, Failed> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut wrapped = Command::new(BOND);
        wrapped.args(BOND_ARGUMENTS).arg(command.get_program());
        wrapped.args(command.get_args());
        if let Some(folder) = command.get_current_dir() {
            wrapped.current_dir(folder);
        }
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => wrapped.env(name, value),
                None => wrapped.env_remove(name),
            };
        }
        wrapped.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = wrapped.spawn().map_err(|error| Failed::new(&program, said(BOND, &error)))?;
        let mut child = Child { child };
        child.wait_for_bond();
        Ok(child)
    }

    /// Waits until the program itself runs: from then on the kernel kills it with this thread.
    ///
    /// Until then the command line is this process's own, for the starting returns before the
    /// kernel has made the new process another program; then it is empty, then it is the bond's.
    fn wait_for_bond(&mut self) {
        let own = std::fs::read("/proc/self/cmdline").unwrap_or_default();
        let file = format!("/proc/{}/cmdline", self.id());
        let waits = || {
            std::fs::read(&file)
                .is_ok_and(|line| line.is_empty() || line == own || line.starts_with(BOND_LINE))
        };
        while waits() && self.ended().is_none() {
            std::thread::yield_now();
        }
    }

    /// Returns the identifier of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the standard output and standard error, once; the caller must read them.
    pub fn output(
        &mut self,
    ) -> (Option<std::process::ChildStdout>, Option<std::process::ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// Kills the program and the programs that it has started, all at once: none of them can say
    /// that another one is gone.
    pub fn kill_all(mut self) {
        use nix::sys::signal::{Signal, kill};
        use nix::unistd::Pid;
        if self.ended().is_some() {
            return;
        }
        for child in children(self.id()) {
            // It cannot be another one by now: its number is its own while its parent has not
            // waited for it.
            if let Ok(id) = i32::try_from(child) {
                let _ = kill(Pid::from_raw(id), Signal::SIGKILL);
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns the identifiers of the process and of those that it has started.
    pub fn family(&self) -> Vec<u32> {
        std::iter::once(self.id()).chain(children(self.id())).collect()
    }

    /// Stops the program (SIGSTOP) until it is told to go on; killing it works meanwhile.
    ///
    /// # Errors
    /// When it has ended.
    pub fn pause(&mut self) -> Result<(), Failed> {
        self.signal(nix::sys::signal::Signal::SIGSTOP, "pause")
    }

    /// Lets a program go on that was paused.
    ///
    /// # Errors
    /// When it has ended.
    pub fn go_on(&mut self) -> Result<(), Failed> {
        self.signal(nix::sys::signal::Signal::SIGCONT, "go on")
    }

    fn signal(&mut self, signal: nix::sys::signal::Signal, what: &str) -> Result<(), Failed> {
        let id = self.child.id();
        let failed =
            |why: &dyn std::fmt::Display| Failed::new(&format!("{what} of process {id}"), why);
        if let Some(status) = self.ended() {
            return Err(failed(&format!("it has ended ({status})")));
        }
        let id = i32::try_from(id).map_err(|error| failed(&error))?;
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), signal)
            .map_err(|error| failed(&error))
    }

    /// Returns the exit status if the program has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Asks the program to end (SIGTERM) and waits for `patience`, then kills it.
    pub fn stop(&mut self, patience: std::time::Duration) -> Option<ExitStatus> {
        use nix::sys::signal::{Signal, kill};
        if let Ok(id) = i32::try_from(self.child.id())
            && self.ended().is_none()
        {
            let _ = kill(nix::unistd::Pid::from_raw(id), Signal::SIGTERM);
        }
        let start = std::time::Instant::now();
        while self.ended().is_none() && start.elapsed() < patience {
            std::thread::park_timeout(POLL);
        }
        if self.ended().is_none() {
            let _ = self.child.kill();
        }
        self.child.wait().ok()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Returns the processes whose parent is this one.
fn children(parent: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |id: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        line.and_then(|line| line.trim().parse().ok()) == Some(parent)
    };
    processes.filter(is_child).collect()
}

/// Returns true if a program is in the search path.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // System administration's programs are not in every user's path.
    let more = ["/usr/sbin", "/sbin"].map(Into::into);
    std::env::split_paths(&path)
        .chain(more)
        .any(|folder| Path::new(&folder).join(program).is_file())
}

/// The program that asks the kernel for it, and becomes the program that is started.
const BOND: &str = "setpriv";
const BOND_ARGUMENTS: [&str; 3] = ["--pdeathsig", "KILL", "--"];

/// Beginning of the bond's command line, as the kernel shows it.
const BOND_LINE: &[u8] = b"setpriv\0--pdeathsig\0";

const POLL: std::time::Duration = std::time::Duration::from_millis(5);
