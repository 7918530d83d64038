//! The bodies of the fuzz targets, callable on the stable toolchain.
//!
//! A body takes any bytes and panics when a promise is broken. [`targets`] lists those of this
//! folder and the laws of the wire formats; the fuzz package runs any of them by its name, and
//! [`smoke`] runs a body over seeded inputs without a fuzzer. What a fuzzer finds becomes a file in
//! the unit's `regressions` folder.
//!
//! A new target is a function here and a line in the list.

use wire::{LAWS, Law};

use crate::random::Random;
use examples::examples;

mod alg;
mod examples;
mod forwarders;
mod gateway;
mod logs;
mod nat;
mod replication;
mod translation;

pub use alg::{fuzz_cgnat_ftp, fuzz_cgnat_pptp, fuzz_cgnat_shifts, fuzz_cgnat_sip};
pub use forwarders::{fuzz_chain, fuzz_l2_switch, fuzz_l3_router};
pub use gateway::fuzz_mobile_gateway;
pub use logs::fuzz_cgnat_log;
pub use nat::fuzz_cgnat;
pub use replication::fuzz_cgnat_replication;
pub use translation::fuzz_translation;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, without what is said of all wire formats.
    name: &'static str,
    /// Whether it is the law of a wire format.
    is_law: bool,
    /// Its body.
    pub run: fn(&[u8]),
}

/// The targets of this folder, by name.
const TARGETS: &[Target] = &[
    target("cgnat", fuzz_cgnat),
    target("cgnat_ftp", fuzz_cgnat_ftp),
    target("cgnat_log", fuzz_cgnat_log),
    target("cgnat_pptp", fuzz_cgnat_pptp),
    target("cgnat_replication", fuzz_cgnat_replication),
    target("cgnat_shifts", fuzz_cgnat_shifts),
    target("cgnat_sip", fuzz_cgnat_sip),
    target("chain", fuzz_chain),
    target("l2_switch", fuzz_l2_switch),
    target("l3_router", fuzz_l3_router),
    target("mobile_gateway", fuzz_mobile_gateway),
    target("translation", fuzz_translation),
];

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, is_law: false, run }
}

/// Every target: those of functions, and for each wire format `wire_` with its name.
pub fn targets() -> impl Iterator<Item = Target> {
    let of = |law: &Law| Target { name: law.name, is_law: true, run: law.holds };
    TARGETS.iter().copied().chain(LAWS.iter().map(of))
}

impl Target {
    /// The name by which it is chosen.
    pub fn name(&self) -> String {
        format!("{}{}", if self.is_law { "wire_" } else { "" }, self.name)
    }
}

/// Runs a body over inputs drawn from a seed: half of them noise, half an example with a few
/// bytes changed, cut off or added. The examples are valid packets of every format.
pub fn smoke(target: &Target, seed: u64, iterations: u32) {
    let examples = examples();
    let mut random = Random::new(seed);
    for _ in 0..iterations {
        let mut input = Vec::new();
        if random.below(2) == 1 {
            input.clone_from(&examples[random.below(examples.len())]);
            mutate(&mut input, &mut random);
        } else {
            input.resize_with(random.below(NOISE_LEN_MAX), || random.byte());
        }
        (target.run)(&input);
    }
}

/// Changes, cuts off or adds a few bytes; sometimes nothing.
fn mutate(input: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.below(4) {
        let at = random.below(input.len() + 1);
        match random.below(8) {
            0 => input.truncate(at),
            1 => input.insert(at, random.byte()),
            2 if at < input.len() => input[at] ^= 1 << random.below(8),
            // Headers stand in front; that is where most changes should go.
            _ if !input.is_empty() => {
                let front = random.below(input.len().min(16));
                input[front] = random.byte();
            }
            _ => {}
        }
    }
}

/// The longest noise in bytes: longer than every header.
const NOISE_LEN_MAX: usize = 128;
