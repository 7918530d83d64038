//! Packets between subscribers whose filters look at addresses.

use std::collections::BTreeMap;

use function_cgnat::config::{Config, Filtering};
use function_kit::Shard;
use model_cgnat::Cgnat;
use model_kit::check::Expected;
use testkit::pair::Pair;

use crate::frames::{INSIDE, OUTSIDE, kinds};
use crate::laws::datagram;

/// With which address the first packet of a subscriber meets another one's filter is drawn, and
/// nobody sees it of one that is dropped: the oracle agrees with either outcome.
#[test]
fn strangers_meet_the_filter_of_another_subscriber_with_any_address() {
    let filtering = Filtering::AddressDependent;
    let config = Config { filtering, sessions_per_subscriber: Some(0), ..kinds()[0].clone() };
    let mut pair = Pair::<Cgnat>::new(&config, Shard::WHOLE);
    let mut send = |from, to| {
        let outcome = pair.frame(INSIDE, &datagram(&config, (from, 5000), to));
        outcome.unwrap_or_else(|what| panic!("{what}"))
    };
    let (host, server) = (0x0a00_0001, (0xc000_0209, 3478));
    let outside = |frame: &[u8]| {
        let address = u32::from_be_bytes([frame[26], frame[27], frame[28], frame[29]]);
        (address, u16::from_be_bytes([frame[34], frame[35]]))
    };
    let mut end_of = |from| match send(from, server) {
        Expected::Forward { port: OUTSIDE, frame } => outside(&frame),
        other => panic!("{other:?}"),
    };
    let own = end_of(host);
    let friend = (host + 1..).map(&mut end_of).find(|end| end.0 == 0xc612_0000);
    // From now on it takes packets of all who have that address, the first of four.
    send(host, friend.expect("an outside end"));
    let mut met = BTreeMap::new();
    for stranger in host + 1000..host + 1080 {
        let name = match send(stranger, own) {
            Expected::Forward { port: INSIDE, frame } => {
                assert_eq!(outside(&frame).0, 0xc612_0000);
                "arrived"
            }
            Expected::Drop(reason) => reason,
            other => panic!("{other:?}"),
        };
        *met.entry(name).or_insert(0) += 1;
    }
    assert_eq!(met.keys().copied().collect::<Vec<_>>(), ["arrived", "filtered"]);
    assert!(met.values().all(|count| *count > 3), "{met:?}");
}
