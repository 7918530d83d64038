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
        cpu_model: cpu_model(&cpuinfo),
        cores: cpu::available_cores().len(),
        memory_bytes: memory::available().total_bytes,
        huge_pages: huge_pages(),
        tsc: Tsc { invariant: clock::is_invariant(), ticks_per_second: clock.ticks_per_second() },
        cpu_flags: useful_flags(&cpuinfo),
        ..HostFacts::default()
    }
}

/// The name of the processor with what tells generations of one name apart, which a host that is
/// virtual may hide from the name.
fn cpu_model(cpuinfo: &str) -> String {
    let name = field(cpuinfo, "model name")
        .map_or_else(|| format!("unknown {}", std::env::consts::ARCH), str::to_owned);
    let parts = CPU_PARTS.iter().filter_map(|(key, word)| {
        let value = field(cpuinfo, key)?;
        Some(format!("{word} {value}"))
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { name } else { format!("{name} ({})", parts.join(", ")) }
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

/// Fields of `/proc/cpuinfo` that tell processors apart, and how a record calls them: those of x86,
/// then those of Arm.
const CPU_PARTS: [(&str, &str); 5] = [
    ("cpu family", "family"),
    ("model", "model"),
    ("stepping", "stepping"),
    ("CPU implementer", "implementer"),
    ("CPU part", "part"),
];

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
    fn generations_of_one_name_are_told_apart() {
        let of = |model: &str| {
            let text = format!("cpu family\t: 25\nmodel\t\t: {model}\nmodel name\t: AMD EPYC\n");
            cpu_model(&(text + "stepping\t: 1\n"))
        };
        assert_eq!(of("17"), "AMD EPYC (family 25, model 17, stepping 1)");
        assert_ne!(of("17"), of("1"));
        let arm = "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert!(cpu_model(arm).ends_with(" (implementer 0x41, part 0xd0c)"), "{}", cpu_model(arm));
        assert_eq!(cpu_model("model name : a CPU\n"), "a CPU");
    }

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
