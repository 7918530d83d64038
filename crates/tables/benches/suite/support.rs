//! What the benches share: batches as the data path has them, seeded random numbers, and sizes
//! that are small when a bench runs as a test.

/// Look-ups of one batch, as in the data path.
pub const BATCH: usize = 256;

/// Whether this is `cargo bench` and not a test run.
pub fn is_measuring() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Prefixes of IPv4 and of IPv6 with their lengths.
pub type Prefixes = (Vec<(u32, u8)>, Vec<(u128, u8)>);

/// The routes of a large network in 2025, one a line in a file of the folder that the variable
/// `PLUMBLINE_DATA` names; none where it is not there.
pub fn real_routes() -> Option<Prefixes> {
    let folder = std::path::PathBuf::from(std::env::var_os("PLUMBLINE_DATA")?);
    let file = folder.join("bgp/tables/bart-tier1-fulltable-2025.txt.gz");
    let unpacked = std::process::Command::new("gzip").arg("-dc").arg(file).output().ok()?;
    let text = String::from_utf8(unpacked.stdout).ok().filter(|text| !text.is_empty())?;
    let mut prefixes: Prefixes = (Vec::new(), Vec::new());
    for (address, len) in text.lines().filter_map(|line| line.split_once('/')) {
        let len: u8 = len.parse().ok()?;
        match address.parse().ok()? {
            std::net::IpAddr::V4(address) => prefixes.0.push((address.to_bits(), len)),
            std::net::IpAddr::V6(address) => prefixes.1.push((address.to_bits(), len)),
        }
    }
    Some(prefixes)
}
