//! The laws of every function, held by the bridge over noise and damaged frames.

use std::sync::OnceLock;

use function_kit::{NetworkFunction, Shard};
use model_kit::Model;
use model_l2_switch::L2Switch;
use packet::PortId;
use proptest::prelude::*;
use testkit::frames::hostile;
use testkit::laws::{Input, hold};

use crate::frames::{kinds, sample_frames};

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]
    #[test]
    fn the_bridge_obeys_the_laws(
        kind in 0..kinds().len(),
        frames in proptest::collection::vec(hostile(corpus()), 1..300),
        port in 0..4u8,
    ) {
        let section = &kinds()[kind];
        let config = L2Switch::config(section);
        let ports = function_l2_switch::L2Switch::ports(&config).len();
        let input = Input { port: PortId(port % ports as u8), frames: &frames, now: 1 << 40 };
        let make = || {
            model_kit::load::<L2Switch>(section, &config, Shard::WHOLE, testkit::pair::clock(), 1 << 30)
                .expect("a small bridge")
        };
        hold(make, ports, input);
    }
}

/// The frames of the samples of all kinds, made once.
fn corpus() -> &'static [Vec<u8>] {
    static CORPUS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CORPUS.get_or_init(|| kinds().iter().flat_map(sample_frames).collect())
}
