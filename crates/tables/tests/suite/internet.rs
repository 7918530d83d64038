//! The Internet's routing table: right at every place asked, and small enough.
//!
//! The real one is read where the variable `PLUMBLINE_DATA` names a folder that has it; else a line
//! says `skipped: no data`. The one made from a seed is there for everybody.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;

use tables::internet;
use tables::lpm::{Address, Limits, Lpm, NONE};

#[test]
fn a_table_like_the_internets_is_right_and_takes_at_most_16_mib() {
    let ipv4 = internet::ipv4(901_899, 1);
    assert_eq!(ipv4.len(), 901_899);
    compare::<u32>(&ipv4, 16 << 20);
    compare::<u128>(&internet::ipv6(160_147, 1), 8 << 20);
}

#[test]
fn the_internets_table_is_right_and_takes_at_most_16_mib() {
    let Some(text) = real() else {
        println!("skipped: no data (bgp/tables in the folder that PLUMBLINE_DATA names)");
        return;
    };
    let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let (address, len) = line.split_once('/').expect("a prefix");
        let len = len.parse().expect("a length");
        match address.parse().expect("an address") {
            IpAddr::V4(address) => ipv4.push((address.to_bits(), len)),
            IpAddr::V6(address) => ipv6.push((address.to_bits(), len)),
        }
    }
    assert_eq!((ipv4.len(), ipv6.len()), (901_899, 160_147));
    compare::<u32>(&ipv4, 16 << 20);
    compare::<u128>(&ipv6, 8 << 20);
}

/// Loads a table, asks at the first and last address of some prefixes and beside them, removes half
/// of the prefixes, and asks again; the twin is a map that is asked length by length.
fn compare<A: Address + std::hash::Hash + TryFrom<u128>>(prefixes: &[(A, u8)], bytes_max: usize) {
    let mut fast = Lpm::<A>::new(Limits::for_any::<A>(prefixes.len())).expect("memory");
    let mut slow = HashMap::new();
    for (value, &(prefix, len)) in (0..).zip(prefixes) {
        assert_eq!(fast.insert(prefix, len, value), Ok(None));
        slow.insert((prefix.into(), len), value);
    }
    assert!(fast.bytes() <= bytes_max, "{} bytes", fast.bytes());
    ask(&fast, &slow, prefixes);
    for &(prefix, len) in prefixes.iter().step_by(2) {
        assert_eq!(fast.remove(prefix, len), slow.remove(&(prefix.into(), len)));
    }
    ask(&fast, &slow, prefixes);
    assert_eq!(fast.iter().count(), slow.len());
    for (prefix, len, value) in fast.iter() {
        assert_eq!(slow.get(&(prefix.into(), len)), Some(&value));
    }
    assert!(fast.bytes() <= bytes_max, "{} bytes", fast.bytes());
}

fn ask<A: Address + TryFrom<u128>>(
    fast: &Lpm<A>,
    slow: &HashMap<(u128, u8), u32>,
    prefixes: &[(A, u8)],
) {
    let all = u128::MAX >> (128 - A::BITS);
    let address = |bits: u128| A::try_from(bits & all).unwrap_or_else(|_| panic!("an address"));
    let (mut asked, mut expected) = (Vec::new(), Vec::new());
    for &(prefix, len) in prefixes.iter().step_by(499) {
        let first: u128 = prefix.into();
        let last = first | all.checked_shr(len.into()).unwrap_or(0);
        for at in [first, last, first.wrapping_sub(1) & all, last.wrapping_add(1) & all] {
            let covering = (0..=A::BITS).rev().find_map(|len| {
                let host = u32::from(A::BITS - len);
                let network = at.checked_shr(host).unwrap_or(0).checked_shl(host).unwrap_or(0);
                slow.get(&(network, len)).copied()
            });
            assert_eq!(fast.lookup(address(at)), covering, "{at:#x}");
            asked.push(address(at));
            expected.push(covering.unwrap_or(NONE));
        }
    }
    let mut found = vec![0; asked.len()];
    fast.lookup_batch(&asked, &mut found);
    assert!(found == expected, "a batch finds what single look-ups find");
}

/// The text of the real table.
fn real() -> Option<String> {
    let folder = PathBuf::from(std::env::var_os("PLUMBLINE_DATA")?);
    let file = folder.join("bgp/tables/bart-tier1-fulltable-2025.txt.gz");
    let unpacked = Command::new("gzip").arg("-dc").arg(file).output().ok()?;
    String::from_utf8(unpacked.stdout).ok().filter(|text| !text.is_empty())
}
