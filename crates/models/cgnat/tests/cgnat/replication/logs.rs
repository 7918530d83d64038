//! What a standby exports to its collector of sessions that it takes over.

use model_cgnat::log::oracle::{Collected, Way};
use model_kit::check::Expected;
use testkit::pair::clock;

use super::*;
use crate::frames::{INSIDE, logged};
use crate::log::datagram;

/// Everything that begins there is told, and told once more when it ends: also the blocks and
/// pairings that another NAT has given.
#[test]
fn what_a_standby_takes_over_is_told_as_it_begins_and_ends() {
    let config = &logged()[0];
    let (subscribers, ports) = (16, 5);
    let [active, standby] = two(config);
    let (mut active, mut standby) = (device(&active, BEGIN), device(&standby, BEGIN));
    let mut cable = Cable::between(&mut active, &mut standby);
    for number in 0..subscribers * ports {
        let frame = datagram(config, number / ports, 1000 + (number % ports) as u16);
        active.exchange(INSIDE, &frame, BEGIN);
    }
    let way = Way::new(config, config.logging.as_ref().expect("logs are on"));
    let mut collected = Collected::new(way);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut read = |left: Vec<Expected>| {
        for one in left {
            let Expected::Forward { port, frame } = one else { continue };
            assert!(way.is_message(port, &frame));
            for facts in collected.read_ipfix(&frame).expect("a right message") {
                *counts.entry(facts["event"].clone()).or_default() += 1;
            }
        }
    };
    for _ in 0..1000 {
        active.rest(BEGIN);
        read(standby.rest(BEGIN));
        cable.step();
    }
    assert!(active.function_mut().replication().is_synchronised);
    drop(active);
    for second in 1..200 {
        read(standby.rest(BEGIN + clock().ticks(Duration::from_secs(second))));
    }
    assert_eq!(standby.function_mut().state().sessions.count(), 0, "all are over");
    let sessions = subscribers * ports;
    let expected = [
        ("address-bind", subscribers),
        ("address-unbind", subscribers),
        ("block-allocate", subscribers),
        ("block-release", subscribers),
        ("log-begin", 1),
        ("session-create", sessions),
        ("session-delete", sessions),
    ];
    let expected = expected.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(counts, BTreeMap::from(expected));
}
