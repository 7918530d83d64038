//! Programs in the network namespace of their owner, which end with it.

use std::process::Command;
use std::sync::mpsc;
use std::thread;

use crate::command::{Child, Failed};

/// Starts programs in the network namespace of the thread that has created it. The kernel kills
/// them when it is dropped, and when this program ends for any reason. It needs no rights.
pub struct Programs {
    /// Channel to the thread with which the kernel kills the programs.
    work: Option<mpsc::Sender<Order>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// A program to be started, and where to tell what became of that.
type Order = (Command, mpsc::Sender<Result<Child, Failed>>);

impl Programs {
    /// Creates one without programs.
    ///
    /// # Errors
    /// When the kernel has no thread.
    pub fn new() -> std::io::Result<Programs> {
        let (work, inbox) = mpsc::channel::<Order>();
        let body = move || {
            for (command, done) in inbox {
                let _ = done.send(Child::start(command));
            }
        };
        let thread = thread::Builder::new().name("programs".into()).spawn(body)?;
        Ok(Programs { work: Some(work), thread: Some(thread) })
    }

    /// Starts a program.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(&self, command: Command) -> Result<Child, Failed> {
        let name = command.get_program().to_string_lossy().into_owned();
        let gone = || Failed::new(&name, "the thread that starts programs has ended");
        let (done, result) = mpsc::channel();
        let work = self.work.as_ref().ok_or_else(gone)?;
        work.send((command, done)).map_err(|_| gone())?;
        result.recv().map_err(|_| gone())?
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        drop(self.work.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
