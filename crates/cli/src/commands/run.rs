//! `plumbline run`: a function as a daemon in the foreground.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use daemon::signals::Signals;
use daemon::{Configuration, Daemon, Inbox, Parts, RunError, Source, logs, manager};
use machine::clock::Clock;
use serde_json::json;

use crate::exit::Exit;
use crate::output::{print, print_json, tell};
use crate::problem::Problem;

/// Forwards on real ports with one function, as a daemon in the foreground.
///
/// The file names the function, its ports and the daemon's settings; docs/running.md has every key.
/// `plumbline show`, `set` and `capture` talk to the running daemon. Ctrl-C or SIGTERM stops it
/// cleanly; SIGHUP makes it reload its file.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The file that describes the daemon
    file: PathBuf,
    /// Only validate the file and print what is wrong with it
    #[arg(long)]
    check: bool,
    /// Start without the contents of the state file
    #[arg(long)]
    without_state: bool,
    /// Print `ready` as JSON; with --check, the configuration with all defaults
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline run gateway.yaml
  plumbline run gateway.yaml --check
  plumbline show --name gateway";

/// Runs `plumbline run`.
///
/// # Errors
/// When the file is invalid, or the machine lacks something that it needs.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let configuration = Configuration::read(&args.file, Parts::all())
        .map_err(|error| Problem::from(RunError::from(error)))?;
    if args.check {
        configuration
            .function
            .configured
            .remarks()
            .iter()
            .for_each(|remark| tell(&format!("{remark}\n")));
        match args.json {
            true => print_json(&configuration.effective())?,
            false => print(&format!("{}: valid\n", args.file.display()))?,
        }
        return Ok(Exit::Passed);
    }
    match serve(configuration, args) {
        Err(RunError::Stopped) => Ok(Exit::Interrupted),
        Err(error) => Err(error.into()),
        Ok(()) => Ok(Exit::Passed),
    }
}

fn serve(configuration: Configuration, args: &Args) -> Result<(), RunError> {
    logs::install(&configuration.log)?;
    // Signals are blocked before any other thread starts: that thread would receive them.
    let signals = Signals::block()?;
    let inbox = Inbox::new();
    let leftovers = Arc::new(Mutex::new(Vec::new()));
    signals.pass_on(inbox.remote(), Arc::clone(&leftovers))?;
    let source =
        Source { file: args.file.clone(), parts: Parts::all(), with_state: !args.without_state };
    let clock = Clock::calibrate(Duration::from_millis(100));
    let daemon = Daemon::start(configuration, source, inbox, clock)?;
    if let Ok(mut leftovers) = leftovers.lock() {
        leftovers.push(daemon.socket().to_owned());
    }
    if let Err(problem) = say_ready(&daemon, args.json) {
        // The daemon forwards even if the process that started it does not read its output.
        tell(&problem.to_string());
    }
    manager::ready();
    daemon.run()
}

fn say_ready(daemon: &Daemon, as_json: bool) -> Result<(), Problem> {
    let (name, socket) = (daemon.name(), daemon.socket());
    if as_json {
        return print_json(&json!({"ready": true, "name": name, "socket": socket}));
    }
    print(&format!("ready {name} {}\n", socket.display()))
}
