//! The laws of every function, held by chains of functions whose verdicts no batch changes.

use function_kit::NetworkFunction;
use function_kit::Shard;
use model_chain::Traffic;
use model_kit::Model;
use model_kit::check::Step;
use models::Chain;
use packet::PortId;
use serde_json::json;
use testkit::laws::{Input, hold};
use testkit::mutate::mutate;
use testkit::random::Random;

use crate::frames::{bridge, chain, router, router_of_four_ports};

/// The longest frame that a worker has room for.
const FRAME_LEN_MAX: usize = 2014;

#[test]
fn chains_obey_the_laws_over_damaged_frames() {
    let mut random = Random::new(7);
    for sections in [
        json!([bridge(), router()]),
        json!([router(), bridge(), bridge()]),
        json!([bridge(), router_of_four_ports(), bridge()]),
    ] {
        let config = chain(sections);
        let corpus: Vec<Vec<u8>> = Chain::sample(&config, &Traffic::default())
            .into_iter()
            .filter_map(|step| match step {
                Step::Frame { frame, .. } if !frame.is_empty() => Some(frame),
                _ => None,
            })
            .collect();
        for round in 0..30 {
            let mut frames: Vec<Vec<u8>> = Vec::new();
            for frame in corpus.iter().cycle().skip(round * 37).take(150) {
                let mut frame = frame.clone();
                if round % 3 > 0 {
                    mutate(&mut frame, &corpus, FRAME_LEN_MAX, &mut random);
                }
                // The ports of this test take no frame without bytes.
                frames.push(if frame.is_empty() { vec![0] } else { frame });
            }
            let ports = functions::Chain::ports(&Chain::config(&config)).len();
            let port = PortId((round % ports) as u8);
            let input = Input { port, frames: &frames, now: 1 << 40 };
            let make = || {
                functions::Chain::function(
                    &Chain::config(&config),
                    Shard::WHOLE,
                    testkit::pair::clock(),
                    1 << 30,
                )
                .expect("a small chain")
            };
            hold(make, ports, input);
        }
    }
}
