//! Opening: files, rings and threads.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::{Opened, Port, PortError, PortKind, PortRequest, QueueCounters};
use keys::Invalid;
use port_memory::{Receiver, Sender, ring};

use crate::config::{Format, PcapConfig, Timing};
use crate::queue::{Epoch, Queue};
use crate::read::{CaptureError, CaptureFile};
use crate::replay::{Replay, Source, tied};
use crate::shared::{DROPS, Shared, Threads};
use crate::write::{Capture, head};

/// Port type `pcap`.
pub struct Pcap;

impl PortKind for Pcap {
    const NAME: &'static str = "pcap";
    const SUMMARY: &'static str = "replays a capture file, or captures to a file";
    type Config = PcapConfig;

    fn available() -> Result<(), PortError> {
        Ok(())
    }

    fn validate(config: &PcapConfig) -> Result<(), Invalid> {
        config.validate()
    }

    fn open(config: &PcapConfig, request: &PortRequest) -> Result<Opened, PortError> {
        let counters: Vec<_> = (0..request.queues + 2).map(|_| QueueCounters::new(DROPS)).collect();
        let shared = Arc::new(Shared {
            counters,
            replay_ended: Mutex::new(None),
            capture_failed: Mutex::new(None),
            has_capture: config.capture.is_some(),
            facts: facts(config),
            stop: AtomicBool::new(false),
            handed_over: AtomicU64::new(0),
            queues: request.queues,
            begun: AtomicU64::new(0),
        });
        let rings = |present: bool| -> Result<Vec<Option<(Sender, Receiver)>>, PortError> {
            let make = |_| present.then(|| ring(config.ring_bytes as usize)).transpose();
            (0..request.queues).map(make).collect::<io::Result<_>>().map_err(|error| {
                PortError::new(format!("{}: {error}", request.name), "lower ring-bytes")
            })
        };
        let (replay_in, replay_out): (Vec<_>, Vec<_>) =
            rings(config.replay.is_some())?.into_iter().map(Option::unzip).unzip();
        let (capture_in, capture_out): (Vec<_>, Vec<_>) =
            rings(config.capture.is_some())?.into_iter().map(Option::unzip).unzip();
        let mut threads = Threads { shared: shared.clone(), reader: None, writer: None };
        if let Some(path) = &config.replay {
            let rings = replay_in.into_iter().flatten().collect();
            threads.reader = Some(start_replay(config, path, rings, &shared, request)?);
        }
        if let Some(path) = &config.capture {
            let rings = capture_out.into_iter().flatten().collect();
            threads.writer = Some(start_capture(config, path, rings, &shared, request)?);
        }
        let threads = Arc::new(threads);
        let ticks_per_file_ns = match config.timing {
            Timing::Kept => request.ticks_per_second / 1e9 / config.speed,
            Timing::Fast => 0.0,
        };
        let epoch = epoch(request);
        let ends = replay_out.into_iter().zip(capture_in).enumerate();
        let queues = ends.map(|(index, (replay, capture))| -> Box<dyn Port> {
            Box::new(Queue {
                id: request.id,
                replay,
                ticks_per_file_ns,
                capture,
                epoch,
                counters: shared.counters[index].clone(),
                shared: shared.clone(),
                _threads: threads.clone(),
            })
        });
        Ok(Opened { queues: queues.collect(), monitor: shared.clone() })
    }
}

fn start_replay(
    config: &PcapConfig,
    path: &Path,
    rings: Vec<Sender>,
    shared: &Arc<Shared>,
    request: &PortRequest,
) -> Result<JoinHandle<()>, PortError> {
    let what = |error: &dyn std::fmt::Display| format!("{} {error}", path.display());
    let remedy = "use a complete pcap or pcapng file of Ethernet frames";
    let source = Source::open(path).map_err(|error| {
        PortError::new(
            format!("{} cannot be read: {error}", path.display()),
            "check its path and permissions",
        )
    })?;
    let file = CaptureFile::new(tied(source, shared.clone())).map_err(|error| match &error {
        CaptureError::Io(error) => PortError::new(what(error), "check its path and permissions"),
        error => PortError::new(what(error), remedy),
    })?;
    if file.is_foreign() {
        return Err(PortError::new(what(&"contains no Ethernet frames"), remedy));
    }
    let replay = Replay {
        shared: shared.clone(),
        path: path.to_owned(),
        repeat: config.repeat,
        frame_bytes_max: request.frame_bytes_max,
        rings,
        counters: shared.counters[request.queues].clone(),
    };
    let has_queues = request.queues > 0;
    start("pcap-replay", move || {
        if has_queues {
            replay.run(file);
        }
    })
}

fn start_capture(
    config: &PcapConfig,
    path: &Path,
    rings: Vec<Receiver>,
    shared: &Arc<Shared>,
    request: &PortRequest,
) -> Result<JoinHandle<()>, PortError> {
    let format = config.format_of(path);
    let failed = |error: &dyn std::fmt::Display| {
        PortError::new(
            format!("{} cannot be written: {error}", path.display()),
            "check its folder, permissions and free disk space",
        )
    };
    let mut file = File::create(path).map_err(|error| failed(&error))?;
    let head = head(format).map_err(|error| failed(&error))?;
    file.write_all(&head).map_err(|error| failed(&error))?;
    let capture = Capture {
        shared: shared.clone(),
        path: path.to_owned(),
        file,
        format,
        rings,
        counters: shared.counters[request.queues + 1].clone(),
    };
    start("pcap-capture", move || capture.run())
}

fn start(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, PortError> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.map_err(|error| {
        PortError::new(format!("cannot create thread {name}: {error}"), "raise `ulimit -u`")
    })
}

fn facts(config: &PcapConfig) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(path) = &config.replay {
        facts.push(("replay", path.display().to_string()));
        let timing = match config.timing {
            Timing::Kept => format!("kept, {} times as fast", config.speed),
            Timing::Fast => "fast".to_owned(),
        };
        facts.push(("timing", timing));
    }
    if let Some(path) = &config.capture {
        facts.push(("capture", path.display().to_string()));
        let format = match config.format_of(path) {
            Format::Pcap => "pcap",
            Format::Pcapng => "pcapng",
        };
        facts.push(("format", format.to_owned()));
    }
    facts
}

/// Returns the wall-clock time at this tick.
fn epoch(request: &PortRequest) -> Epoch {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Epoch {
        tick: machine::clock::now(),
        unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        ns_per_tick: 1e9 / request.ticks_per_second,
    }
}
