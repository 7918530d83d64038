//! What a file for `plumbline run` says, section by section, with the defaults.
//!
//! The keys of the function and of the ports are their own; these are the daemon's.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use engine::{Idle, PuntLimit};
use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Section `workers`: the threads that forward packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workers {
    /// The core of each worker, with one worker per core. By default there are as many workers as
    /// the function uses, on the last cores that the process may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<Vec<usize>>,
    /// Behaviour of a worker while no packets arrive.
    pub idle: Rest,
    /// Largest number of packets that pass through the stages together.
    #[schemars(range(min = 1, max = 256))]
    pub batch: usize,
    /// The longest frame, in bytes without frame check sequence. The port drops and counts longer
    /// frames.
    #[schemars(range(min = 60, max = 9216))]
    pub frame_bytes_max: usize,
}

/// Behaviour of a worker while no packets arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    /// Polls again at once: lowest latency, the core is always busy.
    #[default]
    Poll,
    /// Lets other threads of the core run first (`sched_yield`).
    Yield,
    /// Sleeps for up to half a millisecond.
    Sleep,
}

/// Section `punt`: limits of what goes to the host, by the function's punt reasons (`local`, `arp`
/// …), for each worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Punt(BTreeMap<String, Rate>);

/// What of one reason comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rate {
    /// Frames per second; 0 for no limit.
    pub per_s: u32,
    /// Frames per second of one source; 0 for no limit.
    pub per_s_and_source: u32,
    /// KiB of frames that wait for the thread of the host's interfaces, for each worker.
    #[schemars(range(min = 16, max = 65_536))]
    pub ring_kib: u32,
}

/// Section `control`: the local control socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Control {
    /// Path of the control socket. The default is `<name>.sock` in `$XDG_RUNTIME_DIR/plumbline`, or
    /// in `/run/plumbline` if the variable is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// File mode of the control socket, in octal: "0660" also admits the group.
    pub mode: String,
}

/// Section `metrics`: Prometheus metrics and health over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metrics {
    /// Address and port to listen on; port 0 takes any free port.
    pub listen: SocketAddr,
    /// Allow an address that other machines can reach. There is no password.
    pub allow_remote: bool,
    /// Names of this machine under which it is asked, beside its addresses and `localhost`.
    #[schemars(length(max = 64))]
    pub hosts: Vec<String>,
}

/// Section `log`: the daemon's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Log {
    /// Lowest level that is logged.
    pub level: Level,
    /// Format of log lines: text for people, or one JSON object per line for programs.
    pub format: Format,
    /// File to which log lines are appended; by default standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// Level of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// A failure.
    Error,
    /// A condition that needs attention.
    Warn,
    /// Normal events: start, stop, change.
    #[default]
    Info,
    /// Each request.
    Debug,
}

/// Format of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// Condition for reloading a changed file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reload {
    /// On SIGHUP and `plumbline set reload` only.
    #[default]
    OnRequest,
    /// Also as soon as the file changes.
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

/// KiB that a ring of packets for the host may have, as its schema says, too.
const RING_KIB: RangeInclusive<u32> = 16..=65_536;

impl Default for Rate {
    fn default() -> Rate {
        let PuntLimit { per_s, per_s_and_source, ring_bytes } = PuntLimit::default();
        Rate { per_s, per_s_and_source, ring_kib: (ring_bytes >> 10) as u32 }
    }
}

impl Punt {
    /// Returns the limit of a reason.
    pub(crate) fn limit(&self, reason: &str) -> PuntLimit {
        let Rate { per_s, per_s_and_source, ring_kib } =
            self.0.get(reason).copied().unwrap_or_default();
        PuntLimit { per_s, per_s_and_source, ring_bytes: (ring_kib as usize) << 10 }
    }

    /// Checks that the function has each reason, and rings their bounds.
    ///
    /// # Errors
    /// The first one that it does not have, or whose ring is too small or too large.
    pub(crate) fn check(&self, reasons: &[&str]) -> Result<(), Invalid> {
        for (reason, rate) in &self.0 {
            if !reasons.contains(&reason.as_str()) {
                let what = format!("the function has no punt reason `{reason}`");
                return Err(Invalid::new(reason, what, keys::remedy_for_unknown(reason, reasons)));
            }
            if !RING_KIB.contains(&rate.ring_kib) {
                let [least, most] = [RING_KIB.start(), RING_KIB.end()];
                let what = format!("must be from {least} to {most}, not {}", rate.ring_kib);
                let remedy = "write a number of KiB within these bounds";
                return Err(Invalid::new(format!("{reason}.ring-kib"), what, remedy));
            }
        }
        Ok(())
    }
}

impl Default for Control {
    fn default() -> Control {
        Control { socket: None, mode: "0600".to_owned() }
    }
}

impl Control {
    /// The file mode as a number; none if the text is not a valid mode.
    pub fn mode_bits(&self) -> Option<u32> {
        let digits = self.mode.strip_prefix("0o").unwrap_or(&self.mode);
        u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o777)
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 9475));
        Metrics { listen, allow_remote: false, hosts: Vec::new() }
    }
}

impl Default for Log {
    fn default() -> Log {
        Log { level: Level::Info, format: Format::Text, file: None }
    }
}
