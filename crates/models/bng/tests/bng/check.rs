//! The functional check itself, over several kinds of gateways.

use std::collections::BTreeSet;

use function_kit::Shard;
use model_bng::sample::{sample, unreachable};
use model_bng::{BroadbandGateway, Generated, Section, Traffic};
use testkit::pair::Pair;
use units::BytesPerSec;

use crate::frames::{kinds, valid};

/// Checks the sample and yields the drop reasons that were not met.
fn run(section: &Section) -> BTreeSet<&'static str> {
    let (section, traffic) = valid(section, &Traffic::default());
    let steps = sample(&section, &traffic);
    let mut pair = Pair::<BroadbandGateway>::new(&section, Shard::WHOLE);
    pair.take(&steps).unwrap_or_else(|what| panic!("{section:?}:\n{what}"));
    assert!(pair.coverage["access"] > 100 && pair.coverage["core"] > 100, "{:?}", pair.coverage);
    pair.uncovered().into_iter().collect()
}

#[test]
fn function_and_oracle_agree_on_the_sample_and_it_reaches_every_drop_reason() {
    for section in kinds().into_iter().chain([slow(), Section::default()]) {
        let expected = unreachable(&section).into_iter().map(|(name, _)| name).collect();
        assert_eq!(run(&section), expected, "not covered by {section:?}");
    }
}

/// Rates that ordinary frames come near.
fn slow() -> Section {
    let generated = Generated {
        subscribers: 2,
        session_rate: BytesPerSec(20_000.0),
        node_rate: BytesPerSec(50_000.0),
        ..Generated::default()
    };
    Section { generated, ..Section::default() }
}

#[test]
fn a_sample_is_of_moderate_size_whatever_the_number_of_subscribers() {
    let steps = |subscribers| {
        let generated = Generated { subscribers, ..Generated::default() };
        sample(&Section { generated, ..Section::default() }, &Traffic::default()).len()
    };
    assert!((1000..10_000).contains(&steps(1)), "{} steps", steps(1));
    assert_eq!(steps(1), steps(100_000));
}
