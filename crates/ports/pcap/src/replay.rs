//! The thread that reads: from the file into the rings of the queues, and again if so configured.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::QueueCounters;
use port_memory::Sender;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::read::{CaptureError, CaptureFile};
use crate::shared::{CUT_SHORT, MALFORMED, NOT_ETHERNET, Shared, TOO_LONG};

/// State of the reading thread.
pub(crate) struct Replay {
    pub(crate) shared: Arc<Shared>,
    pub(crate) path: PathBuf,
    pub(crate) repeat: u64,
    pub(crate) frame_bytes_max: usize,
    pub(crate) rings: Vec<Sender>,
    pub(crate) counters: Arc<QueueCounters>,
}

/// A file whose reader stops waiting when the port is closed, because a pipe may be silent for
/// ever.
pub(crate) struct Source {
    file: File,
    shared: Option<Arc<Shared>>,
}

impl Source {
    /// Opens a file; `follow` then connects it to the port.
    pub(crate) fn open(path: &Path) -> io::Result<Source> {
        Ok(Source { file: File::open(path)?, shared: None })
    }
}

impl Read for Source {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.shared.as_ref().is_some_and(|shared| shared.stop.load(Ordering::Acquire)) {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let wait = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            let mut polled = [PollFd::new(&self.file, PollFlags::IN)];
            if poll(&mut polled, Some(&wait))? > 0 {
                return self.file.read(room);
            }
        }
    }
}

impl Replay {
    /// Replays the file as often as configured; `first` is the file, opened and with its head read.
    pub(crate) fn run(mut self, first: CaptureFile<Source>) {
        // Whatever ends this thread, the monitor tells that nothing more comes.
        Shared::note(&self.shared.replay_ended, None);
        let ended = Ended(self.shared.clone());
        let mut file = Some(first);
        let mut pass = 0;
        let mut time = Time::default();
        let outcome = loop {
            let opened = match file.take() {
                Some(file) => Ok(file),
                None => {
                    Source::open(&self.path).map_err(CaptureError::Io).and_then(CaptureFile::new)
                }
            };
            let frames = opened.and_then(|file| self.pass(file, &mut time));
            pass += 1;
            time.next_pass();
            match frames {
                Err(error) => break format!("{} {error}", self.path.display()),
                _ if self.shared.stop.load(Ordering::Acquire) => {
                    break "the port was closed".into();
                }
                Ok(0) => break format!("{} contains no frames", self.path.display()),
                Ok(_) if pass == self.repeat => {
                    break format!("{} was replayed {pass} times", self.path.display());
                }
                Ok(_) => {}
            }
        };
        Shared::note(&self.shared.replay_ended, Some(outcome));
        std::mem::forget(ended);
    }

    /// Passes all frames of the file to the queues; returns the number of records.
    fn pass(
        &mut self,
        mut file: CaptureFile<Source>,
        time: &mut Time,
    ) -> Result<u64, CaptureError> {
        let mut records = 0;
        loop {
            let record = match file.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => return Ok(records),
                Err(error) => {
                    if !self.shared.stop.load(Ordering::Acquire) {
                        self.counters.dropped(MALFORMED, 1);
                    }
                    return Err(error);
                }
            };
            records += 1;
            let at_ns = time.since_start(record.at_ns);
            let reason = match () {
                () if !record.is_ethernet => NOT_ETHERNET,
                () if record.frame.len() < record.whole_len => CUT_SHORT,
                () if record.frame.len() > self.frame_bytes_max => TOO_LONG,
                () => {
                    if !self.hand_over(&record.frame, at_ns) {
                        return Ok(records);
                    }
                    continue;
                }
            };
            self.counters.dropped(reason, 1);
        }
    }

    /// Waits until a frame's queue has room for it; returns false when the port is closed.
    fn hand_over(&mut self, frame: &[u8], at_ns: u64) -> bool {
        let queue = (flow_of(frame) % self.rings.len() as u64) as usize;
        let ring = &mut self.rings[queue];
        while !self.shared.stop.load(Ordering::Acquire) {
            if let Some(room) = ring.reserve(STAMP_LEN + frame.len()) {
                room[..STAMP_LEN].copy_from_slice(&at_ns.to_le_bytes());
                room[STAMP_LEN..].copy_from_slice(frame);
                self.shared.handed_over.fetch_add(1, Ordering::Release);
                ring.publish();
                return true;
            }
            std::thread::park_timeout(WAIT);
        }
        false
    }
}

/// Records the end of the replay if the thread panics.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        Shared::note(
            &self.0.replay_ended,
            Some("the thread that reads the file failed".to_owned()),
        );
    }
}

/// Connects a file to the port, whose end stops it.
pub(crate) fn tied(mut source: Source, shared: Arc<Shared>) -> Source {
    source.shared = Some(shared);
    source
}

/// Time since the first frame, over all passes; it never decreases.
#[derive(Debug, Default)]
struct Time {
    first: Option<u64>,
    base: u64,
    last: u64,
}

impl Time {
    fn since_start(&mut self, at_ns: Option<u64>) -> u64 {
        if let Some(at_ns) = at_ns {
            let first = *self.first.get_or_insert(at_ns);
            self.last = self.last.max(self.base.saturating_add(at_ns.saturating_sub(first)));
        }
        self.last
    }

    /// Starts the next pass, whose first frame has the time of the last frame of this pass.
    fn next_pass(&mut self) {
        (self.first, self.base) = (None, self.last);
    }
}

/// Returns a hash that is equal for all frames of a flow: of addresses and ports of IPv4 and IPv6,
/// otherwise of MAC addresses.
fn flow_of(frame: &[u8]) -> u64 {
    let key = match frame.get(12..14) {
        Some([0x08, 0x00]) => frame.get(26..38),
        Some([0x86, 0xdd]) => frame.get(22..58),
        _ => None,
    };
    let key = key.or_else(|| frame.get(..12)).unwrap_or(frame);
    // FNV-1a.
    let hash = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash >> 32
}

/// Length of the time stamp in front of a frame in the ring, in bytes: nanoseconds since the first
/// frame.
pub(crate) const STAMP_LEN: usize = 8;
/// Interval between two checks for room in the ring.
const WAIT: Duration = Duration::from_micros(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_over_passes_and_never_back() {
        let mut time = Time::default();
        let stamps = [Some(1000), Some(1500), Some(1200), None, Some(1600)];
        assert_eq!(stamps.map(|at| time.since_start(at)), [0, 500, 500, 500, 600]);
        time.next_pass();
        assert_eq!([Some(1000), Some(1100)].map(|at| time.since_start(at)), [600, 700]);
    }
}
