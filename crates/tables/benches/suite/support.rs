//! What the benches share: batches as the data path has them, and sizes that are small when a
//! bench runs as a test.

pub use crate::random::Random;

/// Look-ups of one batch, as in the data path.
pub const BATCH: usize = 256;

/// Whether this is `cargo bench` and not a test run.
pub fn is_measuring() -> bool {
    std::env::args().any(|argument| argument == "--bench")
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
