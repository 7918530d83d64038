//! Checksums as remainders: what a sum is modulo 65,535 is all that matters of it.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The pseudo-header of RFC 768 and RFC 9293.
pub(super) fn pseudo_ipv4(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    len: usize,
) -> Vec<u8> {
    let mut bytes = [source.octets(), destination.octets()].concat();
    bytes.extend([0, protocol]);
    bytes.extend((len as u16).to_be_bytes());
    bytes
}

/// The pseudo-header of RFC 8200 section 8.1.
pub(super) fn pseudo_ipv6(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    protocol: u8,
    len: usize,
) -> Vec<u8> {
    let mut bytes = [source.octets(), destination.octets()].concat();
    bytes.extend((len as u32).to_be_bytes());
    bytes.extend([0, 0, 0, protocol]);
    bytes
}

/// The ones'-complement sum of pieces of even length, but for the last.
pub(super) fn folded(pieces: &[&[u8]]) -> u16 {
    match pieces.iter().map(|piece| sum(piece)).sum::<u64>() {
        0 => 0,
        sum => ((sum - 1) % 0xffff + 1) as u16,
    }
}

/// The checksum of `new`, if it is to be as right or wrong as that of `old`, which stands at `at`;
/// from 0 to 0xfffe.
pub(super) fn moved(
    old_pseudo: &[u8],
    old: &[u8],
    new_pseudo: &[u8],
    new: &[u8],
    at: usize,
) -> u16 {
    let without = |message: &[u8]| {
        let mut message = message.to_vec();
        message[at..at + 2].fill(0);
        sum(&message)
    };
    let checksum = u64::from(old[at]) << 8 | u64::from(old[at + 1]);
    let before = sum(old_pseudo) + without(old) + checksum;
    let after = (sum(new_pseudo) + without(new)) % 0xffff;
    ((before % 0xffff + 0xffff - after) % 0xffff) as u16
}

fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2).map(|pair| [pair[0], pair.get(1).copied().unwrap_or(0)]);
    words.map(|word| u64::from(u16::from_be_bytes(word))).sum()
}
