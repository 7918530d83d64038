//! Network namespaces for devices and tests, and what stands in them.
//!
//! A [`Namespace`] has no name in the file system: the kernel keeps it as long as a thread, process
//! or socket is in it. So whatever ends this program, a panic, Ctrl-C or SIGKILL, the namespace
//! goes with it, and its interfaces and routes go with the namespace. [`Namespace::spawn`] starts
//! programs that the kernel kills together with this one. The host's own namespace is never
//! touched. [`Programs`] does the same for programs that need no namespace of their own.
//!
//! Interfaces and routes are set up by `ip` of iproute2, whose language every reader knows.

mod command;
mod interface;
mod programs;

use std::fs::File;
use std::io;
use std::sync::mpsc;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

pub use command::{Child, Failed, is_installed};
pub use programs::Programs;

/// Waits until no other test on this machine has what the kernel has once for all namespaces, such
/// as its table of translated connections. It is free again when the file is closed.
///
/// # Errors
/// When there is no file for temporary ones to lock.
pub fn alone_with(what: &str) -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("plumbline-{what}.lock"));
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    file.lock()?;
    Ok(file)
}

/// A network namespace of this program, with its loopback interface up.
pub struct Namespace {
    file: File,
    /// Channel to the thread that runs in the namespace.
    work: Option<mpsc::Sender<Work>>,
    thread: Option<thread::JoinHandle<()>>,
}

type Work = Box<dyn FnOnce() + Send>;

/// Error of a namespace that cannot be created or used.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// The kernel refused.
    #[error("cannot create a network namespace: {0}; it needs CAP_SYS_ADMIN: run with sudo")]
    Refused(io::Error),
    /// A program that configures the namespace failed.
    #[error(transparent)]
    Command(#[from] Failed),
    /// The kernel does not accept this interface name.
    #[error(
        "`{0}` is not a valid interface name: it must have 1 to 15 characters, without space, `/` \
         and `:`"
    )]
    Name(String),
    /// The thread in the namespace has ended.
    #[error("the thread in the network namespace panicked")]
    Gone,
}

impl Namespace {
    /// Creates an empty namespace.
    ///
    /// # Errors
    /// Without permission to create one, or without iproute2.
    pub fn new() -> Result<Namespace, NamespaceError> {
        let (work, inbox) = mpsc::channel::<Work>();
        let (ready, opened) = mpsc::channel();
        let body = move || {
            let entered = unshare(CloneFlags::CLONE_NEWNET)
                .map_err(io::Error::from)
                .and_then(|()| File::open(OWN_NAMESPACE));
            let failed = entered.is_err();
            let _ = ready.send(entered);
            if !failed {
                inbox.into_iter().for_each(|work| work());
            }
        };
        let thread = thread::Builder::new().name("namespace".into()).spawn(body);
        let thread = thread.map_err(NamespaceError::Refused)?;
        let file = opened.recv().map_err(|_| NamespaceError::Gone)?;
        let file = file.map_err(NamespaceError::Refused)?;
        let namespace = Namespace { file, work: Some(work), thread: Some(thread) };
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    /// Runs `work` in the namespace: sockets that it opens stay there; programs that it starts run
    /// there and are killed with this program if they request it, as [`Namespace::spawn`] does.
    ///
    /// # Errors
    /// When the work panicked.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        // A thread of its own each time, so that work may borrow and may block.
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(io::Error::from)?;
                Ok(work())
            });
            match inside.join() {
                Ok(result) => result.map_err(NamespaceError::Refused),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Runs work on the thread that lives as long as the namespace, for resources that the kernel
    /// ties to a thread.
    fn run_within<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NamespaceError> {
        let (done, result) = mpsc::channel();
        let boxed: Work = Box::new(move || {
            let _ = done.send(work());
        });
        let sender = self.work.as_ref().ok_or(NamespaceError::Gone)?;
        sender.send(boxed).map_err(|_| NamespaceError::Gone)?;
        result.recv().map_err(|_| NamespaceError::Gone)
    }

    /// Runs `ip` with these arguments, separated by spaces.
    ///
    /// # Errors
    /// The error output of `ip`.
    pub fn ip(&self, words: &str) -> Result<String, NamespaceError> {
        self.command("ip", &words.split_whitespace().collect::<Vec<_>>(), None)
    }

    /// Runs many commands of `ip` at once, one per line, such as a hundred thousand routes.
    ///
    /// # Errors
    /// The error output of `ip`; the lines before the invalid one took effect.
    pub fn ip_batch(&self, lines: &str) -> Result<String, NamespaceError> {
        self.command("ip", &["-batch", "-"], Some(lines))
    }

    /// Runs a program to its end with `input` on its standard input, and returns its standard
    /// output.
    ///
    /// # Errors
    /// When it does not exist or exits with another code than 0; the error contains its
    /// output.
    pub fn command(
        &self,
        program: &str,
        arguments: &[&str],
        input: Option<&str>,
    ) -> Result<String, NamespaceError> {
        let done = self.run(|| command::run(program, arguments, input))?;
        Ok(done?)
    }

    /// Starts a program that the kernel kills when this program ends for any reason.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(&self, command: std::process::Command) -> Result<Child, NamespaceError> {
        let started = self.run_within(move || Child::start(command))?;
        Ok(started?)
    }

    /// Writes a value below `/proc/sys`, of which `net` belongs to the namespace.
    ///
    /// # Errors
    /// When the key does not exist or the kernel refuses the value.
    pub fn sysctl(&self, key: &str, value: &str) -> Result<(), NamespaceError> {
        let path = format!("/proc/sys/{key}");
        let written = self.run(|| std::fs::write(&path, value))?;
        written.map_err(|error| Failed::new(&format!("write {value} to {path}"), error).into())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.work.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns true if this program may create namespaces; otherwise tests that need them print a
/// message and pass.
pub fn may_make_namespaces() -> bool {
    thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET).is_ok()).join().unwrap_or(false)
}

const OWN_NAMESPACE: &str = "/proc/thread-self/ns/net";
