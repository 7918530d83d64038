//! ClassBench's rule sets and traces, which carry the rule that each header was made from.
//!
//! They are not part of the project: the variable `PLUMBLINE_DATA` names a folder that has them
//! below `classifier`, as archives or unpacked in folders; without it these tests say so and pass.
//! A header is made to match a rule, and an earlier one may match it too: so the recorded rule must
//! match, and the first match is what a linear search finds, at the recorded rule or before.
//!
//! The rules' last column, flags of TCP, is not looked at, nor is that of the traces.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use tables::classifier::Classifier;
use tables::classifier::five_tuple::{FIELDS_V4, FIELDS_V6, Header, KEY_V6, Rule};
use tables::oracle::Rules;

use super::rules::{widened, widened_header};

#[test]
fn every_header_of_every_trace_finds_its_rule() {
    let Some(folder) =
        env::var_os("PLUMBLINE_DATA").map(|data| PathBuf::from(data).join("classifier"))
    else {
        println!("skipped: PLUMBLINE_DATA names no folder with ClassBench's rule sets");
        return;
    };
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("classbench");
    std::fs::create_dir_all(&unpacked).expect("a folder for temporary files");
    let archive = folder.join("classbench-1k-4k-8k-seed1.tar.xz");
    if !unpack(&archive, &unpacked) {
        println!("skipped: {} is not there or cannot be unpacked", archive.display());
        return;
    }
    let mut sets = 0;
    for size in ["1k_1", "4k_1", "8k_1"] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(unpacked.join(size))
            .expect("the archive has a folder of rules for each size")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        for file in files {
            let name = format!("{}_trace", file.file_name().expect("a name").to_string_lossy());
            check(&file, &unpacked.join("trace_shot").join(size).join(name));
            sets += 1;
        }
    }
    assert_eq!(sets, 36, "rule sets in {}", archive.display());
}

fn unpack(archive: &Path, to: &Path) -> bool {
    archive.exists()
        && Command::new("tar")
            .arg("xJf")
            .arg(archive)
            .current_dir(to)
            .status()
            .is_ok_and(|s| s.success())
}

/// One set, as IPv4 and, with wider addresses, as IPv6.
fn check(rules: &Path, trace: &Path) {
    let text = |path: &Path| std::fs::read_to_string(path).expect("a file of the archive");
    let rules: Vec<Rule<u32>> = text(rules).lines().map(rule).collect();
    let headers: Vec<(Header<u32>, usize)> = text(trace).lines().map(traced).collect();
    assert_eq!(rules.len(), headers.len(), "{}", trace.display());
    let mut fast = Classifier::<13>::new(&FIELDS_V4, rules.len()).expect("memory is to be had");
    let mut wide = Classifier::<KEY_V6>::new(&FIELDS_V6, rules.len()).expect("memory is to be had");
    // Of the small sets every second rule first, then those between them.
    let step = if rules.len() < 1000 { 2 } else { 1 };
    let numbers = (0..step).flat_map(|first| (first..rules.len()).step_by(step));
    for number in numbers {
        let (rule, number) = (&rules[number], number as u32);
        assert_eq!(fast.insert(number, &rule.conditions(), number), Ok(None));
        assert_eq!(wide.insert(number, &widened(rule).conditions(), number), Ok(None));
    }
    for (header, recorded) in &headers {
        let alone = |number: usize| {
            let mut alone = Rules::default();
            alone.insert(0, &rules[number].conditions(), 0);
            alone.classify(&FIELDS_V4, &header.key()).is_some()
        };
        assert!(alone(*recorded), "{}: {header:?}, recorded {recorded}", trace.display());
        let first = (0..rules.len()).find(|&number| matches(&rules[number], header));
        let found = fast.classify(&header.key()).map(|rule| rule as usize);
        assert_eq!(found, first, "{}: {header:?}, recorded {recorded}", trace.display());
        assert!(found <= Some(*recorded));
        let found = wide.classify(&widened_header(header).key()).map(|rule| rule as usize);
        assert_eq!(found, first, "{}: {header:?} as IPv6", trace.display());
    }
    println!("{}: {} rules, {} bytes", trace.display(), rules.len(), fast.bytes());
}

/// The linear search, on addresses rather than keys.
fn matches(rule: &Rule<u32>, header: &Header<u32>) -> bool {
    let covers = |(network, len): (u32, u8), address: u32| {
        (network ^ address).leading_zeros() >= u32::from(len)
    };
    covers(rule.source, header.source)
        && covers(rule.destination, header.destination)
        && rule.source_ports.contains(&header.source_port)
        && rule.destination_ports.contains(&header.destination_port)
        && (rule.protocol.0 ^ header.protocol) & rule.protocol.1 == 0
}

/// `@a.b.c.d/n  a.b.c.d/n  first : last  first : last  0xVV/0xMM  0xVVVV/0xMMMM`
fn rule(line: &str) -> Rule<u32> {
    let parts: Vec<&str> = line.trim_start_matches('@').split_whitespace().collect();
    let prefix = |text: &str| {
        let (address, len) = text.split_once('/').expect("a prefix has a length");
        let address: std::net::Ipv4Addr = address.parse().expect("an address");
        (address.to_bits(), len.parse::<u8>().expect("a length"))
    };
    let ports = |at: usize| {
        let port = |at: usize| parts[at].parse::<u16>().expect("a port");
        port(at)..=port(at + 2)
    };
    let byte = |text: &str| {
        u8::from_str_radix(text.trim_start_matches("0x"), 16).expect("a hexadecimal byte")
    };
    let (value, mask) = parts[8].split_once('/').expect("a protocol has a mask");
    Rule {
        source: prefix(parts[0]),
        destination: prefix(parts[1]),
        source_ports: ports(2),
        destination_ports: ports(5),
        protocol: (byte(value), byte(mask)),
    }
}

/// Source, destination, ports, protocol, flags, and the rule's number from 0.
fn traced(line: &str) -> (Header<u32>, usize) {
    let numbers: Vec<u64> =
        line.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    let header = Header {
        source: numbers[0] as u32,
        destination: numbers[1] as u32,
        source_port: numbers[2] as u16,
        destination_port: numbers[3] as u16,
        protocol: numbers[4] as u8,
    };
    (header, numbers[6] as usize)
}
