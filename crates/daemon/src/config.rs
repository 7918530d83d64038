//! What a file for `plumbline run` says, section by section, with the defaults.
//!
//! The keys of the function and of the ports are their own; these are the daemon's.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use engine::Idle;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The threads that forward.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workers {
    /// The core of each worker, one worker a core. Without it, as many workers as the function asks
    /// for, on the last cores this process may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<Vec<usize>>,
    /// What a worker does while no packet comes.
    pub idle: Rest,
    /// Most packets that go through the stages together.
    #[schemars(range(min = 1, max = 256))]
    pub batch: usize,
    /// The longest frame, in bytes without check sequence; longer ones are dropped and counted by
    /// the port.
    #[schemars(range(min = 60, max = 9216))]
    pub frame_bytes_max: usize,
}

/// What a worker does while no packet comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    /// Asks again at once: least latency, a core always busy.
    #[default]
    Poll,
    /// Lets other threads of its core go first.
    Yield,
    /// Gives the core back for up to half a millisecond.
    Sleep,
}

/// The local control socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Control {
    /// Its path. Without it, `<name>.sock` in `$XDG_RUNTIME_DIR/plumbline`, else in
    /// `/run/plumbline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// Who may use it, as the octal mode of the file: "0660" adds the group.
    pub mode: String,
}

/// Prometheus metrics and health over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metrics {
    /// Address and port to listen at; port 0 takes any that is free.
    pub listen: SocketAddr,
    /// Listen at an address that other machines reach; there is no password.
    pub allow_remote: bool,
}

/// The log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Log {
    /// The least that is written.
    pub level: Level,
    /// Lines for people, or an object a line for programs.
    pub format: Format,
    /// A file that lines are appended to; standard error without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// How important a line is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Something does not work.
    Error,
    /// Something needs a look.
    Warn,
    /// What happens: start, stop, change.
    #[default]
    Info,
    /// Every request.
    Debug,
}

/// How a line is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// When a changed file is read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reload {
    /// On SIGHUP and `plumbline set reload`.
    #[default]
    OnRequest,
    /// As soon as it changes, too.
    OnChange,
}

impl From<Rest> for Idle {
    fn from(rest: Rest) -> Idle {
        match rest {
            Rest::Poll => Idle::Poll,
            Rest::Yield => Idle::Yield,
            Rest::Sleep => Idle::Sleep,
        }
    }
}

impl Default for Workers {
    fn default() -> Workers {
        let frame_bytes_max = packet::Room::default().frame;
        Workers { cores: None, idle: Rest::Poll, batch: packet::BATCH_MAX, frame_bytes_max }
    }
}

impl Default for Control {
    fn default() -> Control {
        Control { socket: None, mode: "0600".to_owned() }
    }
}

impl Control {
    /// The mode as a number, where it is one.
    pub fn mode_bits(&self) -> Option<u32> {
        let digits = self.mode.strip_prefix("0o").unwrap_or(&self.mode);
        u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o777)
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 9475)), allow_remote: false }
    }
}

impl Default for Log {
    fn default() -> Log {
        Log { level: Level::Info, format: Format::Text, file: None }
    }
}
