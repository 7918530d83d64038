//! The laws of every function, held by the router over noise and damaged frames.

use std::sync::OnceLock;

use function_kit::{NetworkFunction, Shard};
use function_l3_router::config::{Config, PuntRates};
use model_kit::{Model, load};
use model_l3_router::{L3Router, Section};
use packet::PortId;
use proptest::prelude::*;
use testkit::frames::hostile;
use testkit::laws::{Input, hold, hold_whatever_the_batches};

use crate::frames::{kinds, sample_frames};

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]
    #[test]
    fn the_router_obeys_the_laws(
        kind in 0..kinds().len(),
        frames in proptest::collection::vec(hostile(corpus()), 1..300),
        port in 0..12u8,
    ) {
        let config = &without_limits(&kinds()[kind]);
        let ports = function_l3_router::L3Router::ports(&config.config).len();
        let input = Input { port: PortId(port % ports as u8), frames: &frames, now: 1 << 40 };
        let make = || {
            let made = L3Router::config(config);
            load::<L3Router>(config, &made, Shard::WHOLE, testkit::pair::clock(), 1 << 30)
                .expect("a small router")
        };
        // What a neighbour answers counts for its whole batch, for packets before it too.
        if config.config.resolve {
            let _ = hold_whatever_the_batches(make, ports, input);
        } else {
            hold(make, ports, input);
        }
    }
}

/// With limits it matters which of several packets comes first, and stages of a batch change that.
fn without_limits(section: &Section) -> Section {
    let config = section.config.clone();
    let icmp_errors_per_s = if config.icmp_errors_per_s > 0 { 1_000_000 } else { 0 };
    let config = Config {
        icmp_errors_per_s,
        icmp_error_burst: 1_000_000,
        punt_rates: PuntRates::default(),
        reassembly_capacity: 4096,
        ..config
    };
    Section { generated: section.generated.clone(), config }
}

/// The frames of the samples of all kinds, made once.
fn corpus() -> &'static [Vec<u8>] {
    static CORPUS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CORPUS.get_or_init(|| kinds().iter().flat_map(sample_frames).collect())
}
