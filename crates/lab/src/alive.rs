//! Whether the bench that wrote a `progress.json` still runs.
//!
//! A bench that was killed leaves a file that says `running`. Its process then is gone, or another
//! one has its number since; that one began after the file was written.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustix::process::{Pid, test_kill_process};

use crate::live::{FILE, Live};

/// State of a run according to its progress file.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// The file does not exist or is invalid.
    Unknown,
    /// The bench ended normally.
    Ended(Live),
    /// The bench was killed, or the machine restarted, before the run ended.
    Gone(Live),
    /// The bench is still measuring.
    Running(Live),
}

/// Reads the state of the run in a folder.
pub fn state(folder: &Path) -> State {
    let path = folder.join(FILE);
    let is_small = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() < BYTES_MAX);
    let text = if is_small { fs::read(&path).unwrap_or_default() } else { Vec::new() };
    match serde_json::from_slice::<Live>(&text) {
        Err(_) => State::Unknown,
        Ok(live) if !live.running => State::Ended(live),
        Ok(live) if wrote(&live) => State::Running(live),
        Ok(live) => State::Gone(live),
    }
}

/// Whether the process that wrote the file is still running.
fn wrote(live: &Live) -> bool {
    let Some(pid) = i32::try_from(live.pid).ok().and_then(Pid::from_raw) else { return false };
    let exists = match test_kill_process(pid) {
        Ok(()) => true,
        Err(error) => error == rustix::io::Errno::PERM,
    };
    let Ok(updated) = live.updated.parse::<Timestamp>() else { return false };
    exists && began(live.pid).is_none_or(|began| began <= updated + ROUNDING)
}

/// Start time of a process; none if the system does not report it.
fn began(pid: u32) -> Option<Timestamp> {
    let now = Timestamp::now();
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let up: f64 = uptime.split(' ').next()?.parse().ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may itself hold blanks; the time stands 20 words after it.
    let ticks: f64 = stat.rsplit(')').next()?.split_whitespace().nth(19)?.parse().ok()?;
    let after_boot = ticks / rustix::param::clock_ticks_per_second() as f64;
    let age = Duration::try_from_secs_f64((up - after_boot).max(0.0)).ok()?;
    now.checked_sub(SignedDuration::try_from(age).ok()?).ok()
}

/// Tolerance for start times: the kernel counts them in hundredths of a second, and clocks are
/// adjusted.
const ROUNDING: SignedDuration = SignedDuration::from_secs(2);

const BYTES_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn written(live: &Live) -> State {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text = serde_json::to_vec(live).expect("plain data");
        fs::write(folder.path().join(FILE), text).expect("writable");
        state(folder.path())
    }

    fn live(pid: u32) -> Live {
        let updated = Timestamp::now().to_string();
        Live { pid, running: true, updated, ..Live::default() }
    }

    #[test]
    fn a_process_that_is_there_runs() {
        let live = live(std::process::id());
        assert_eq!(written(&live), State::Running(live.clone()));
        let ended = Live { running: false, ..live };
        assert_eq!(written(&ended), State::Ended(ended.clone()));
    }

    #[test]
    fn a_process_that_ended_or_is_younger_than_the_file_is_gone() {
        let mut child = std::process::Command::new("true").spawn().expect("it is everywhere");
        let pid = child.id();
        child.wait().expect("it is our child");
        assert!(matches!(written(&live(pid)), State::Gone(_)));
        assert!(matches!(written(&live(0)), State::Gone(_)));
        assert!(matches!(written(&live(u32::MAX)), State::Gone(_)));
        let old = Live { updated: "2001-01-01T00:00:00Z".into(), ..live(std::process::id()) };
        assert_eq!(written(&old), State::Gone(old.clone()));
    }

    #[test]
    fn what_is_no_progress_is_unknown() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(state(folder.path()), State::Unknown);
        fs::write(folder.path().join(FILE), "{\"pid\": ").expect("writable");
        assert_eq!(state(folder.path()), State::Unknown);
    }
}
