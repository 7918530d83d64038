//! Selects the daemon that a command talks to.

use std::fs;
use std::path::PathBuf;

use daemon::client::{Client, ClientError};
use daemon::default_socket;

use crate::problem::Problem;

/// Flags that select a daemon.
#[derive(clap::Args)]
pub struct Which {
    /// The daemon with this name; not needed if only one daemon is running
    #[arg(long, global = true, value_name = "NAME")]
    name: Option<String>,
    /// The daemon with this control socket
    #[arg(long, global = true, value_name = "PATH", conflicts_with = "name")]
    socket: Option<PathBuf>,
}

impl Which {
    /// Connects to the selected daemon.
    ///
    /// # Errors
    /// When no daemon is running, or several are and none was selected.
    pub fn connect(&self) -> Result<Client, Problem> {
        Ok(match (&self.socket, &self.name) {
            (Some(path), _) => Client::connect(path)?,
            (None, Some(name)) => Client::of_name(name)?,
            (None, None) => Client::connect(&only_one()?)?,
        })
    }
}

/// The control socket of the only running daemon.
fn only_one() -> Result<PathBuf, Problem> {
    let any = default_socket("any");
    let folder = any.parent().unwrap_or(&any);
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sockets: Vec<PathBuf> = found
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "sock"))
        .filter(|path| Client::connect(path).is_ok())
        .collect();
    sockets.sort();
    let names: Vec<String> = sockets
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    match sockets.len() {
        1 => Ok(sockets.remove(0)),
        0 => Err(Problem::of_environment(
            format!("no daemon is running with its socket in {}", folder.display()),
            "start one with `plumbline run`, or give the socket with --socket",
        )),
        _ => Err(Problem::of_usage(
            "several daemons are running here",
            format!("choose one with --name: {}", names.join(", ")),
        )),
    }
}

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Problem {
        match &error {
            ClientError::Refused(refused) => Problem::of_usage(&refused.what, &refused.remedy),
            ClientError::Unreachable { path, what, remedy } => {
                Problem::of_environment(what, remedy).at("socket", path.display())
            }
        }
    }
}

impl From<daemon::RunError> for Problem {
    fn from(error: daemon::RunError) -> Problem {
        use daemon::RunError;
        match error {
            RunError::File(error) => error.into(),
            RunError::Path { path, what, remedy } => {
                Problem::of_environment(what, remedy).at("file", path.display())
            }
            other => Problem::of_environment(&other, other.remedy()),
        }
    }
}
