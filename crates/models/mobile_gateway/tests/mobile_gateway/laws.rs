//! The laws of every function, held by the gateway over noise and damaged frames.

use function_kit::Shard;
use function_mobile_gateway::Pipeline;
use function_mobile_gateway::config::Fragment;
use model_mobile_gateway::{MobileGateway, Section};
use packet::PortId;
use proptest::prelude::*;
use testkit::frames::hostile;
use testkit::laws::{Input, hold};
use units::BytesPerSec;

use crate::frames::{kinds, sample_frames};

fn gateway(config: &Section) -> Pipeline {
    let clock = testkit::pair::clock();
    model_kit::load::<MobileGateway>(config, &config.config(), Shard::WHOLE, clock, 1 << 30)
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
        let mut config = kinds()[kind].clone();
        if config.ipv6 || !config.user_networks.is_empty() {
            // Downlink packets of one user and one batch are charged IPv4 first, so that which of
            // them exceeds a rate depends on the batch; how many bytes pass does not. Packets of
            // other users are charged last.
            config.rate_limit = BytesPerSec(1e12);
            // And so is which tunnel packet that is cut has which identification.
            config.fragment = Fragment::Packet;
        }
        // How many errors leave at once depends on the batch, too, where there is a limit.
        config.icmp_error_burst = 1_000_000;
        config.gtp_errors_per_s = 1_000_000;
        let input = Input { port: PortId(port), frames: &frames, now: 1 << 40 };
        hold(|| gateway(&config), PORTS, input);
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
