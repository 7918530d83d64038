//! The command line of testpmd.

use super::options::Options;
use super::way::{Way, buffer_bytes};
use crate::driver::Start;

/// Returns all arguments, those of DPDK's environment abstraction layer first.
pub(super) fn all(options: &Options, way: &Way, request: &Start<'_>) -> Vec<String> {
    let devices = way.devices(options, buffer_bytes(request.frame_bytes_max));
    // A stream for each of the two ports: more threads would have nothing to do.
    let threads = request.workers.clamp(1, STREAMS);
    of_devices(options, &devices, (request.cores, threads), request.frame_bytes_max)
}

/// Returns all arguments for two ports that are given by their DPDK device names.
pub(super) fn of_devices(
    options: &Options,
    devices: &[String],
    (cores, threads): (&[usize], usize),
    frame_bytes_max: usize,
) -> Vec<String> {
    let cores = if cores.is_empty() { &[0] } else { cores };
    let mut lcores = vec![format!("0@{}", cores[0])];
    lcores.extend(
        (0..threads).map(|thread| format!("{}@{}", thread + 1, cores[thread % cores.len()])),
    );

    let buffer_bytes = buffer_bytes(frame_bytes_max);
    let mib = (BUFFERS * (buffer_bytes + OBJECT_BYTES)).div_ceil(1 << 20) + MEMORY_MIB;
    let mut words = Vec::new();
    let mut add = |all: &[&str]| words.extend(all.iter().map(|&word| word.to_owned()));
    add(&["-v", "--no-pci", "--no-telemetry", "--lcores", &lcores.join(","), "--main-lcore", "0"]);
    add(&["-m", &mib.to_string(), "--file-prefix", &format!("p{}", std::process::id())]);
    match options.huge_pages {
        true => add(&["--in-memory", "--single-file-segments"]),
        false => add(&["--no-huge", "--no-shconf"]),
    }
    for device in devices {
        add(&["--vdev", device]);
    }
    // Statistics each second are how it runs without a terminal, and how it says that it runs.
    add(&["--", "--forward-mode=io", "--port-topology=paired", "--stats-period=1"]);
    add(&["--no-flush-rx", "--no-lsc-interrupt", &format!("--burst={}", options.burst)]);
    add(&[&format!("--nb-cores={threads}"), &format!("--total-num-mbufs={BUFFERS}")]);
    add(&[&format!("--mbuf-size={}", buffer_bytes + HEADROOM)]);
    let ring_size = options.ring_size.min(RING_SIZE_MAX);
    add(&[&format!("--rxd={ring_size}"), &format!("--txd={ring_size}")]);
    words
}

/// Number of forwarding streams: one per port.
const STREAMS: usize = 2;

/// Number of buffers in the pool, for the rings of both ports, bursts and caches.
const BUFFERS: usize = 16_384;

/// Bytes of a buffer object in addition to the frame.
const OBJECT_BYTES: usize = 384;

/// Memory that DPDK needs in addition to buffers, in MiB.
const MEMORY_MIB: usize = 96;

/// Bytes in front of each frame in a buffer (`RTE_PKTMBUF_HEADROOM`).
const HEADROOM: usize = 128;

/// Largest ring size; ports with a ring size of their own (memif) ignore it.
const RING_SIZE_MAX: u32 = 1024;
