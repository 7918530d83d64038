//! Facts of the host: what the kernel tells of processor, memory and huge pages.
//!
//! Nothing here measures; the probes are in `doctor`. A fact that cannot be read is left empty or
//! called unknown, never guessed. The host's name is deliberately not recorded: records are made to
//! be handed on.

use std::fs;

use machine::clock::Clock;
use machine::{clock, cpu, memory};
use measure::record::{HostFacts, Tsc};

/// Facts of this machine as reported by the kernel, and the calibrated rate of its clock.
pub fn facts(clock: &Clock) -> HostFacts {
    let cpuinfo = read("/proc/cpuinfo");
    HostFacts {
        kernel: format!(
            "{} {}",
            read("/proc/sys/kernel/ostype"),
            read("/proc/sys/kernel/osrelease")
        ),
        cpu_model: field(&cpuinfo, "model name")
            .map_or_else(|| format!("unknown {}", std::env::consts::ARCH), str::to_owned),
        cores: cpu::available_cores().len(),
        memory_bytes: memory::available().total_bytes,
        huge_pages: huge_pages(),
        tsc: Tsc { invariant: clock::is_invariant(), ticks_per_second: clock.ticks_per_second() },
        cpu_flags: useful_flags(&cpuinfo),
        ..HostFacts::default()
    }
}

fn huge_pages() -> String {
    let transparent = read("/sys/kernel/mm/transparent_hugepage/enabled");
    let transparent = transparent
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or("not supported", |(setting, _)| setting);
    let reserved = read("/proc/sys/vm/nr_hugepages");
    let reserved = if reserved.is_empty() { "unknown" } else { &reserved };
    format!("transparent: {transparent}; reserved: {reserved}")
}

fn useful_flags(cpuinfo: &str) -> Vec<String> {
    let flags = field(cpuinfo, "flags").or_else(|| field(cpuinfo, "Features")).unwrap_or_default();
    flags.split_whitespace().filter(|flag| USEFUL_FLAGS.contains(flag)).map(str::to_owned).collect()
}

/// The value of the first line of the form `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// CPU flags for which the data path has variants, or that explain differences between machines.
const USEFUL_FLAGS: [&str; 14] = [
    "sse4_2",
    "avx",
    "avx2",
    "bmi2",
    "aes",
    "vaes",
    "sha_ni",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512_vbmi",
    "asimd",
    "crc32",
    "hypervisor",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_kernels_files_are_read() {
        let text = "processor\t: 0\nmodel name\t: A CPU @ 2 GHz: fast\nflags : fpu avx2 foo\n";
        assert_eq!(field(text, "model name"), Some("A CPU @ 2 GHz: fast"));
        assert_eq!(useful_flags(text), ["avx2"]);
        assert_eq!(field(text, "absent"), None);
    }

    #[test]
    fn this_machine_has_cores_and_memory() {
        let facts = facts(&Clock::with_rate(2e9));
        assert!(facts.cores > 0 && facts.memory_bytes > 0, "{facts:?}");
    }
}
