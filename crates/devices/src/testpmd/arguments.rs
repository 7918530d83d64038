//! The command line of testpmd.

use super::options::Options;
use super::way::Way;
use crate::driver::Start;

/// All arguments, those of DPDK's environment first.
pub(super) fn all(options: &Options, way: &Way, request: &Start<'_>) -> Vec<String> {
    let devices = way.devices(options, buffer_bytes(request.frame_bytes_max));
    // A stream for each of the two ports: more threads would have nothing to do.
    let threads = request.workers.clamp(1, STREAMS);
    of_devices(options, &devices, (request.cores, threads), request.frame_bytes_max)
}

/// The same for two ports that are given as DPDK names them.
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

/// Bytes of a buffer that holds the longest frame; DPDK's own default where that is enough.
pub(super) fn buffer_bytes(frame_bytes_max: usize) -> usize {
    frame_bytes_max.next_multiple_of(1024).clamp(2048, 16_384)
}

/// Two ports, each read by one stream.
const STREAMS: usize = 2;

/// Buffers of the pool: rings of both ports, bursts and caches.
const BUFFERS: usize = 16_384;

/// What a buffer has beside its bytes.
const OBJECT_BYTES: usize = 384;

/// What DPDK needs beside buffers, in MiB.
const MEMORY_MIB: usize = 96;

/// In front of each frame in a buffer (`RTE_PKTMBUF_HEADROOM`).
const HEADROOM: usize = 128;

/// Kinds of ports with rings of their own size (memif) ignore it.
const RING_SIZE_MAX: u32 = 1024;
