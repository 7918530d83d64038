//! Reading a capture into memory.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use port_pcap::{CaptureError, CaptureFile};
use traffic::recording::BYTES_MAX;
use traffic::{Recording, Times};

use crate::test_packets::FRAME_BYTES_MAX;

/// A capture that was read.
pub(super) struct Captured {
    pub recording: Recording,
}

/// Why a capture cannot be used, and what to do.
#[derive(Debug)]
pub(super) struct Unusable {
    pub what: String,
    pub remedy: &'static str,
}

impl Captured {
    /// Reads the first frames of a file, 0 for all, which may take so many bytes; with `to`, that
    /// becomes the destination of each.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged, has no frames, or one of them is not whole, no
    /// Ethernet frame, or longer than any that a port carries; when it takes too much memory.
    pub fn read(
        path: &Path,
        (limit, room): (u64, usize),
        to: Option<[u8; 6]>,
    ) -> Result<Captured, Unusable> {
        let unusable = |what: String, remedy| Unusable {
            what: format!("names {}, which {what}", path.display()),
            remedy,
        };
        let opened =
            File::open(path).map_err(|error| unusable(format!("cannot be read: {error}"), PATH))?;
        if opened.metadata().is_ok_and(|it| it.is_dir()) {
            return Err(unusable("is a folder".to_owned(), PATH));
        }
        let damaged = |error: CaptureError| match error {
            CaptureError::Io(error) => unusable(format!("cannot be read: {error}"), PATH),
            error => unusable(error.to_string(), DAMAGED),
        };
        let mut file = CaptureFile::new(BufReader::new(opened)).map_err(damaged)?;
        let mut recording = Recording::default();
        let mut time = 0;
        for number in 1.. {
            if limit > 0 && number > limit {
                break;
            }
            let Some(record) = file.next_record().map_err(damaged)? else { break };
            let of_frame = |what: String| format!("has as frame {number} {what}");
            let len = record.frame.len();
            if !record.is_ethernet {
                let what = of_frame(format!("one of link type {}", record.link_name()));
                return Err(unusable(what, ETHERNET));
            }
            if len < record.whole_len {
                let what = format!("the first {len} bytes of {} only", record.whole_len);
                return Err(unusable(of_frame(what), WHOLE));
            }
            if len < ETHERNET_HEADER_LEN {
                let what = format!("one of {len} bytes, which is no Ethernet frame");
                return Err(unusable(of_frame(what), DAMAGED));
            }
            if len > usize::from(FRAME_BYTES_MAX) {
                let what = format!("one of {len} bytes; at most {FRAME_BYTES_MAX} are sent");
                return Err(unusable(of_frame(what), OFFLOAD));
            }
            time = record.at_ns.unwrap_or(time).max(time);
            if recording.memory_bytes() + len + 64 > room
                || !recording.push(time, &record.frame, to)
            {
                let what = format!(
                    "takes more than {} MiB of memory, the most there is for all captures of a \
                     scenario, from frame {number} on",
                    BYTES_MAX >> 20
                );
                return Err(unusable(what, SHORTEN));
            }
        }
        if recording.is_empty() {
            return Err(unusable("has no frames".to_owned(), DAMAGED));
        }
        Ok(Captured { recording })
    }
}

/// Returns when the frames of each capture are sent: captures that overlap in time stay as they
/// were to each other, and others begin together. `None` if all frames have the same time.
pub(super) fn times(captured: &[Captured]) -> Option<Vec<Times>> {
    let spans = captured.iter().map(|one| {
        let at = one.recording.at_ns();
        Some((*at.first()?, *at.last()?))
    });
    let spans: Vec<(u64, u64)> = spans.collect::<Option<_>>()?;
    let latest_start = spans.iter().map(|span| span.0).max()?;
    let earliest_start = spans.iter().map(|span| span.0).min()?;
    let do_overlap = spans.iter().all(|span| span.1 >= latest_start);
    let start = |own: u64| if do_overlap { earliest_start } else { own };
    let long = spans.iter().map(|span| span.1 - start(span.0)).max().filter(|&long| long > 0)?;
    let most = captured.iter().map(|one| one.recording.len()).max()?;
    // Behind the last frame follows the mean interval, as if the capture went on.
    let period_ns = long + (long / most as u64).max(1);
    let most_per_s = most as f64 / (period_ns as f64 / 1e9);
    let of = |(one, span): (&Captured, &(u64, u64))| {
        let start = start(span.0);
        let at_ns: Arc<[u64]> = one.recording.at_ns().iter().map(|at| at - start).collect();
        Times { at_ns, period_ns, most_per_s }
    };
    Some(captured.iter().zip(&spans).map(of).collect())
}

/// Returns a hash of all frames with their times.
pub(super) fn hash(captured: &[Captured]) -> String {
    let mut hasher = blake3::Hasher::new();
    for one in captured {
        one.recording.parts(&mut |part| {
            hasher.update(part);
        });
    }
    format!("blake3:{}", hasher.finalize().to_hex())
}

const ETHERNET_HEADER_LEN: usize = 14;

const PATH: &str = "Check its path and permissions; a relative path is beside the scenario";
const DAMAGED: &str = "Use a complete pcap or pcapng file; `capinfos` tells what is in one";
const ETHERNET: &str =
    "Capture on an Ethernet interface (`tcpdump -i eth0`, not `-i any`), or convert the file";
const WHOLE: &str = "Capture whole frames: `tcpdump -s 0`";
const OFFLOAD: &str = "Switch off segmentation offload where it is captured: `ethtool -K eth0 tso \
                       off gso off gro off`";
const SHORTEN: &str = "Set 'pcap-frames', or cut the file: `editcap -r FILE PART 1-1000000`";
