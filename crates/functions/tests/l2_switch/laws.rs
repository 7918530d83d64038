//! The laws of every function, held by the bridge over noise and damaged frames.

use std::sync::OnceLock;

use functions::l2_switch::L2Switch;
use functions::{NetworkFunction, Shard};
use packet::PortId;
use proptest::prelude::*;
use testkit::laws::{Input, hold};
use testkit::mutate::mutate;
use testkit::random::Random;

use crate::frames::{kinds, sample_frames};

/// The longest frame that a worker has room for.
const FRAME_LEN_MAX: usize = 2014;

/// A frame: noise, or one of the sample, damaged or not.
fn frame(corpus: &'static [Vec<u8>]) -> impl Strategy<Value = Vec<u8>> {
    let noise = proptest::collection::vec(any::<u8>(), 1..200);
    let whole = (0..corpus.len()).prop_map(|index| corpus[index].clone());
    let damaged = (0..corpus.len(), any::<u64>()).prop_map(|(index, seed)| {
        let mut frame = corpus[index].clone();
        mutate(&mut frame, corpus, FRAME_LEN_MAX, &mut Random::new(seed));
        // The ports of this test take no frame without bytes.
        if frame.is_empty() { vec![0] } else { frame }
    });
    prop_oneof![1 => noise, 2 => whole, 3 => damaged]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]
    #[test]
    fn the_bridge_obeys_the_laws(
        kind in 0..kinds().len(),
        frames in proptest::collection::vec(frame(corpus()), 1..300),
        port in 0..4u8,
    ) {
        let config = &kinds()[kind];
        let ports = L2Switch::ports(config).len();
        let input = Input { port: PortId(port % ports as u8), frames: &frames, now: 1 << 40 };
        let make = || {
            L2Switch::function(config, Shard::WHOLE, testkit::check::clock(), 1 << 30)
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
