//! Other programs: run to their end, or kept running for as long as this one.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// A program that failed.
#[derive(Debug, thiserror::Error)]
#[error("`{command}` failed: {why}")]
pub struct Failed {
    /// As a person would type it.
    pub command: String,
    /// What it said.
    pub why: String,
}

impl Failed {
    /// What was tried, and why it failed.
    pub fn new(command: &str, why: impl ToString) -> Failed {
        Failed { command: command.to_owned(), why: why.to_string() }
    }
}

/// Runs a program to its end; gives its standard output.
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

/// The package of Debian that has one of the programs by which devices are set up.
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

/// A program that runs beside this one and is killed with it.
#[derive(Debug)]
pub struct Child {
    child: std::process::Child,
}

impl Child {
    /// Starts it on this thread, with whose end the kernel kills it.
    pub(crate) fn start(command: Command) -> Result<Child, Failed> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut wrapped = Command::new("setpriv");
        wrapped.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program());
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
        let child =
            wrapped.spawn().map_err(|error| Failed::new(&program, said("setpriv", &error)))?;
        let mut child = Child { child };
        child.wait_for_bond(command.get_program());
        Ok(child)
    }

    /// Until the program itself runs: from then on the kernel kills it with this thread.
    fn wait_for_bond(&mut self, program: &OsStr) {
        let file = format!("/proc/{}/comm", self.id());
        let program = Path::new(program).file_name().unwrap_or_default().as_encoded_bytes();
        let short = &program[..program.len().min(COMM_LEN_MAX)];
        let runs = || std::fs::read(&file).is_ok_and(|name| name.trim_ascii_end() == short);
        while !runs() && self.ended().is_none() {
            std::thread::yield_now();
        }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output and standard error, once; whoever takes them must read them.
    pub fn output(
        &mut self,
    ) -> (Option<std::process::ChildStdout>, Option<std::process::ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Asks it to end (SIGTERM) and waits for `patience`, then kills it.
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

/// Whether a program is in the search path.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // System administration's programs are not in every user's path.
    let more = ["/usr/sbin", "/sbin"].map(Into::into);
    std::env::split_paths(&path)
        .chain(more)
        .any(|folder| Path::new(&folder).join(program).is_file())
}

/// The kernel knows a program by so many bytes of its name.
const COMM_LEN_MAX: usize = 15;

const POLL: std::time::Duration = std::time::Duration::from_millis(5);
