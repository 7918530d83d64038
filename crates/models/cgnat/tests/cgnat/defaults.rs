//! What holds without a key that says so.

use function_cgnat::config::Config;
use function_kit::{Invalid, Shard};
use model_cgnat::{Cgnat, Traffic};
use model_kit::Model;
use testkit::pair::Pair;

use crate::frames::{INSIDE, STATION, mended, pass, traffic, valid};

fn udp(from: u8, to: u32) -> Vec<u8> {
    let head = [0x45, 0, 0, 28, 0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, from];
    let body = [0x13, 0x88, 0, 53, 0, 8, 0, 0];
    mended([&head[..], &(0x0b00_0000 + to).to_be_bytes(), &body].concat())
}

/// RFC 6888 REQ-5: one mapping takes any number of sessions, so that ports do not limit them.
#[test]
fn one_that_opens_all_it_can_leaves_others_room() {
    let config = Config { sessions: 3000, subscribers: 100, ..Config::default() };
    let (config, _) = valid(&config, &traffic());
    let mut pair: Pair<Cgnat> = Pair::new(&config, Shard::WHOLE);
    let mut opens = |from, to| pass(&mut pair, &config, (INSIDE, STATION), &udp(from, to));
    let opened = (0..600).filter(|&to| {
        // The sender is told of some.
        let became = opens(1, to).map(|(to, _)| to != INSIDE);
        became.unwrap_or_else(|reason| reason != "session-limit")
    });
    assert_eq!(opened.count(), 3000 / 8);
    for from in 2..10 {
        let (to, _) = opens(from, 0).expect("there is room");
        assert_ne!(to, INSIDE);
    }
}

#[test]
fn a_rule_for_who_is_no_subscriber_is_refused() {
    let refused = |text: &str| -> Invalid {
        let mut config: Config = serde_saphyr::from_str(text).expect("a section");
        Cgnat::validate(&mut config, &mut Traffic::default()).expect_err("it works one way")
    };
    let inside = "inside: [10.0.0.0/8, 192.168.1.0/24], ";
    for rule in ["192.168.2.9/32, outside: 192.0.2.9/32", "192.168.0.0/23, outside: 11.0.2.0/23"] {
        let refused = refused(&format!("{{{inside}static: [{{inside: {rule}}}]}}"));
        assert_eq!(refused.key, "static");
        assert!(refused.remedy.contains("`inside`"), "{refused:?}");
    }
}
