//! The closed loop: VPP's packet generator as source, and its interfaces as sink, in a process of
//! their own with the same commands.
//!
//! A stream of the generator repeats a capture file. `pg-input` copies each frame into a buffer and
//! hands it to `ethernet-input`, as a port would; what leaves by an interface of the generator is
//! freed by the node `portN-tx`. Both are stages of the bench. Ticks are those of `show runtime`.
//! Whoever runs it pauses the process of the check, whose workers poll on the same cores.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::{Stage, StageRole, Watch};

use super::options::Options;
use super::plan::{Plan, name_of};
use super::process::{PATIENCE, Process, Size, worker_times};
use super::show::{self, Node, Thread};
use crate::closed_loop::{LoopCounts, LoopFrames, tell};
use crate::driver::{self, DriverError};

/// The process of the closed loop, once there is one.
pub(super) struct Loop {
    options: Options,
    plan: Plan,
    workers: Vec<usize>,
    ports: usize,
    running: Option<Generating>,
}

/// A process that has its streams.
struct Generating {
    process: Process,
    /// The frames of its streams.
    frames: Vec<LoopFrames>,
}

impl Loop {
    /// Creates a loop that has not run yet.
    pub fn new(options: Options, plan: Plan, workers: &[usize], ports: usize) -> Loop {
        Loop { options, plan, workers: workers.to_vec(), ports, running: None }
    }

    /// Returns a process with streams of these frames.
    fn with(
        &mut self,
        frames: &[LoopFrames],
        stop: &AtomicBool,
    ) -> Result<&mut Process, DriverError> {
        if !self.running.as_ref().is_some_and(|running| same(&running.frames, frames)) {
            self.running = None;
            let process = self.start(frames, stop)?;
            self.running = Some(Generating { process, frames: frames.to_vec() });
        }
        match &mut self.running {
            Some(running) => Ok(&mut running.process),
            None => Err(DriverError::new("VPP's packet generator did not start", "try again")),
        }
    }

    fn start(&self, frames: &[LoopFrames], stop: &AtomicBool) -> Result<Process, DriverError> {
        let size = Size {
            worker_cores: &self.workers,
            routes: self.plan.ipv4_routes + self.plan.ipv6_routes,
            patience: PATIENCE,
        };
        let mut process = Process::start(&self.options, &size, stop)?;
        for port in 0..self.ports {
            process.order(&format!("create packet-generator interface pg{port}"))?;
            process.order(&format!("set interface name pg{port} {}", name_of(port)))?;
        }
        process.carry_out(&self.plan, self.ports)?;
        for (number, one) in frames.iter().enumerate() {
            let file = process.file(&format!("stream{number}.pcap"));
            std::fs::write(&file, pcap(&one.frames)).map_err(|error| {
                let what = format!("cannot write {file}: {error}");
                DriverError::new(what, "make room there, or set TMPDIR")
            })?;
            for worker in 0..self.workers.len().max(1) {
                process.order(&stream(number, worker, one, &file))?;
            }
        }
        Ok(process)
    }
}

/// Returns the command that makes a stream of a worker, which is then not yet running.
fn stream(number: usize, worker: usize, frames: &LoopFrames, file: &str) -> String {
    // Without a limit, it would be one round of the file.
    format!(
        "packet-generator new name s{number}w{worker} source pg{} worker {worker} limit \
         {UNLIMITED} pcap {file}",
        frames.from.0
    )
}

/// Returns true if two lists have the same frames but for the time in their stamps.
fn same(one: &[LoopFrames], other: &[LoopFrames]) -> bool {
    let of = |all: &[LoopFrames]| -> Vec<(u8, u8, usize, usize)> {
        let each = |one: &LoopFrames| {
            let bytes = one.frames.iter().map(Vec::len).sum();
            (one.from.0, one.to.0, one.frames.len(), bytes)
        };
        all.iter().map(each).collect()
    };
    of(one) == of(other)
}

impl Loop {
    /// Runs the closed loop; see [`Running::closed_loop`](crate::driver::Running::closed_loop).
    ///
    /// # Errors
    /// When the process failed.
    pub fn run(
        &mut self,
        frames: &[LoopFrames],
        duration: Duration,
        watch: &mut dyn Watch,
        stop: &AtomicBool,
    ) -> Result<LoopCounts, DriverError> {
        let (ports, cores) = (self.ports, self.workers.clone());
        let process = self.with(frames, stop)?;
        for command in ["clear runtime", "clear interfaces", "clear errors"] {
            process.order(command)?;
        }
        let used_before = process.worker_ns();
        process.order("packet-generator enable-stream")?;
        let begun = Instant::now();
        while begun.elapsed() < duration && !stop.load(Ordering::Relaxed) {
            std::thread::park_timeout(INTERVAL.min(duration.saturating_sub(begun.elapsed())));
            tell(watch, begun.elapsed());
        }
        process.order("packet-generator disable-stream")?;
        let effective = begun.elapsed();
        let used = process.worker_ns();
        process.health()?;
        let threads = show::runtime(&process.cli("show runtime")?);
        let interfaces = show::interfaces(&process.cli("show interface")?);
        let drops = show::errors(&process.cli("show errors")?);
        let count = |port: usize, name: &str| -> u64 {
            let found = interfaces.get(&name_of(port)).and_then(|(_, counters)| counters.get(name));
            found.copied().unwrap_or_default()
        };
        let threads = working(&threads);
        let packets: Vec<u64> = threads.iter().map(|thread| made(thread)).collect();
        Ok(LoopCounts {
            effective,
            entered: (0..ports).map(|port| count(port, "rx packets")).collect(),
            left: (0..ports).map(|port| count(port, "tx packets")).collect(),
            stages: stages(&threads),
            workers: worker_times((&used_before, &used), effective, &cores, &packets),
            drops: driver::counted_since(&Default::default(), drops),
        })
    }
}

/// Returns the threads that forward: the workers, or the only thread.
fn working(threads: &[Thread]) -> Vec<&Thread> {
    let is_alone = threads.len() <= 1;
    threads.iter().filter(|thread| is_alone || thread.name.starts_with("vpp_wk_")).collect()
}

/// Returns the number of frames that the generator made on a thread.
fn made(thread: &Thread) -> u64 {
    thread.nodes.iter().filter(|node| node.name == SOURCE).map(|node| node.vectors).sum()
}

/// Returns the stages of all threads together: the source first, the sink last, and between them
/// the nodes that packets passed in VPP's order. What VPP does beside them, without packets, is of
/// the bench, too.
fn stages(threads: &[&Thread]) -> Vec<Stage> {
    let mut all: Vec<Stage> = Vec::new();
    for node in threads.iter().flat_map(|thread| &thread.nodes) {
        let (role, ticks) = (role(node), node.ticks());
        match all.iter_mut().find(|stage| stage.name == node.name) {
            Some(stage) => {
                stage.packets += node.vectors;
                stage.ticks += ticks;
            }
            None => all.push(Stage { name: node.name.clone(), role, packets: node.vectors, ticks }),
        }
    }
    let place = |stage: &Stage| match stage.role {
        StageRole::Bench if stage.name == SOURCE => 0,
        StageRole::Function => 1,
        StageRole::Bench => 2,
    };
    all.sort_by_key(place);
    all
}

fn role(node: &Node) -> StageRole {
    let is_sink = node.name.starts_with("port") && node.name.ends_with("-tx");
    match node.name == SOURCE || is_sink || node.vectors == 0 {
        true => StageRole::Bench,
        false => StageRole::Function,
    }
}

/// Returns a capture file with these frames (pcap 2.4, Ethernet, little-endian).
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let bytes: usize = frames.iter().map(|frame| frame.len() + RECORD_BYTES).sum();
    let mut file = Vec::with_capacity(bytes + RECORD_BYTES);
    file.extend(0xa1b2_c3d4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0]);
    file.extend([0; 8]);
    file.extend(u32::from(u16::MAX).to_le_bytes());
    file.extend(1_u32.to_le_bytes());
    for frame in frames {
        let len = (frame.len() as u32).to_le_bytes();
        file.extend([0; 8]);
        file.extend(len);
        file.extend(len);
        file.extend(frame);
    }
    file
}

/// What the ticks of the closed loop include, for the record.
pub(super) const INCLUDED: &str = "a second process with the same commands; pg-input (which copies \
                                   each frame from a capture into a buffer) and portN-tx (which \
                                   frees it) are source and sink; the function is ethernet-input \
                                   to portN-output as `show runtime` counts them, to three digits; \
                                   there is no memif in it";

/// The node that makes frames.
const SOURCE: &str = "pg-input";

/// More frames than a stream makes in years.
const UNLIMITED: u64 = 1_000_000_000_000_000;
const RECORD_BYTES: usize = 16;
const INTERVAL: Duration = Duration::from_millis(100);
