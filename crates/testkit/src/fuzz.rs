//! Every fuzz target: those of the models and protocols, the laws of the wire formats, that of
//! cutting and joining frames, and readers and machines of other crates.
//!
//! [`targets`] lists them from the registries; the fuzz package runs any of them by its name, and
//! [`smoke`] runs a body over seeded inputs without a fuzzer.

use std::marker::PhantomData;

use controller_route_reflector::fuzz as reflector;
pub use model_kit::fuzz::Body;
use model_kit::fuzz::{self, Fuzzed};
use protocol_bgp::fuzz as bgp;
use protocols::{PROTOCOLS, Protocol};
use wire::{LAWS, Law};

use crate::random::Random;
use examples::examples;

mod examples;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// One of a model.
    Model(&'static fuzz::Target),
    /// That of a protocol.
    Protocol(&'static Protocol),
    /// One of another crate.
    Other(&'static Other),
    /// The law of a wire format, or of what is done with frames.
    Law(&'static Law),
}

/// A target of a crate that is in no list of units, or of a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Other {
    name: &'static str,
    body: fn(&[u8]),
    examples: fn() -> Vec<Vec<u8>>,
}

#[rustfmt::skip] // A line each.
static OTHERS: &[Other] = &[
    Other { name: "bgp_message", body: bgp::bgp_message, examples: || bgp::examples_of(0) },
    Other { name: "bgp_update", body: bgp::bgp_update, examples: || bgp::examples_of(1) },
    Other { name: "bgp_session", body: bgp::bgp_session, examples: || bgp::examples_of(2) },
    Other { name: "ipfix_log", body: logs::fuzz::ipfix_log, examples: logs::fuzz::examples },
    Other { name: "rows_mrt", body: rows::fuzz::mrt, examples: rows::fuzz::examples },
    Other { name: "reflector", body: reflector::reflector, examples: reflector::examples },
];

/// Every target.
pub fn targets() -> impl Iterator<Item = Target> {
    let of_protocols = PROTOCOLS.iter().map(Target::Protocol);
    let laws = LAWS.iter().chain([&offload::LAW]).map(Target::Law);
    let others = OTHERS.iter().map(Target::Other);
    of_models().map(Target::Model).chain(of_protocols).chain(others).chain(laws)
}

/// The targets of the models.
fn of_models() -> impl Iterator<Item = &'static fuzz::Target> {
    MODELS.iter().flat_map(|model| model.targets())
}

static MODELS: &[&dyn Model] = models::with_all!(Unit);

/// A model as the list has it.
trait Model: Sync {
    fn targets(&self) -> &'static [fuzz::Target];
}

struct Unit<M>(PhantomData<fn() -> M>);

impl<M> Unit<M> {
    const fn new() -> Unit<M> {
        Unit(PhantomData)
    }
}

impl<M: Fuzzed> Model for Unit<M> {
    fn targets(&self) -> &'static [fuzz::Target] {
        M::TARGETS
    }
}

impl Target {
    /// The name by which it is chosen: of a protocol `protocol_` with its name, of a wire format
    /// `wire_` with the format's name.
    pub fn name(&self) -> String {
        match self {
            Target::Model(target) => target.name.to_owned(),
            Target::Protocol(protocol) => format!("protocol_{}", protocol.name),
            Target::Other(target) => target.name.to_owned(),
            Target::Law(law) => format!("wire_{}", law.name),
        }
    }

    /// Makes its body.
    pub fn body(&self) -> Body {
        match self {
            Target::Model(target) => (target.body)(),
            Target::Protocol(protocol) => Box::new(protocol.fuzz),
            Target::Other(target) => Box::new(target.body),
            Target::Law(law) => Box::new(law.holds),
        }
    }
}

/// Runs a body over inputs drawn from a seed: half of them noise, half an example with a few
/// bytes changed, cut off or added. The examples are valid packets of every format.
pub fn smoke(target: &Target, seed: u64, iterations: u32) {
    let mut examples = examples();
    examples.extend(of_models().flat_map(|target| (target.examples)()));
    examples.extend(PROTOCOLS.iter().flat_map(|protocol| (protocol.examples)()));
    // Of those that have their own no other is an input.
    if let Target::Other(target) = target {
        examples = (target.examples)();
    }
    let mut body = target.body();
    let mut random = Random::new(seed);
    for _ in 0..iterations {
        let mut input = Vec::new();
        if random.below(2) == 1 {
            input.clone_from(&examples[random.below(examples.len())]);
            mutate(&mut input, &mut random);
        } else {
            input.resize_with(random.below(NOISE_LEN_MAX), || random.byte());
        }
        body(&input);
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
