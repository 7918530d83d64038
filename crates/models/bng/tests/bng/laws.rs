//! The laws of every function, held by the gateway over noise and damaged frames.

use function_bng::Pipeline;
use function_kit::Shard;
use model_bng::{BroadbandGateway, Section};
use model_kit::Model;
use packet::PortId;
use proptest::prelude::*;
use testkit::frames::hostile;
use testkit::laws::{Input, hold};

use crate::frames::{kinds, sample_frames};

fn gateway(section: &Section) -> Pipeline {
    let clock = testkit::pair::clock();
    let config = BroadbandGateway::config(section);
    model_kit::load::<BroadbandGateway>(section, &config, Shard::WHOLE, clock, 1 << 30)
        .expect("a small gateway")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]
    #[test]
    fn the_gateway_obeys_the_laws(
        kind in 0..kinds().len(),
        frames in corpus_of_kind().prop_flat_map(|corpus| {
            proptest::collection::vec(hostile(corpus), 1..300)
        }),
        port in 0..2u8,
    ) {
        let mut section = kinds()[kind].clone();
        // How many errors leave at once depends on the batch where there is a limit.
        section.config.icmp_error_burst = 1_000_000;
        let input = Input { port: PortId(port), frames: &frames, now: 1 << 40 };
        hold(|| gateway(&section), PORTS, input);
    }
}

/// The frames of the samples of all kinds, made once.
fn corpus_of_kind() -> impl Strategy<Value = &'static [Vec<u8>]> {
    use std::sync::OnceLock;
    static CORPUS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let corpus = CORPUS.get_or_init(|| kinds().iter().flat_map(sample_frames).collect());
    Just(corpus.as_slice())
}

/// Ports of a gateway.
const PORTS: usize = 2;
