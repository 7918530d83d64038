//! The functional check itself, over chains of every kind; and how chains are read.
use std::collections::BTreeSet;

use function_chain::Update;
use function_kit::{NetworkFunction, Shard};
use model_chain::{Section, Traffic};
use model_kit::Model;
use model_kit::check::{Expected, Step};
use model_kit::erased::{Kind, Unit};
use models::Chain;
use packet::PortId;
use serde_json::{Value, json};
use testkit::pair::Pair;
use traffic::{Delivery, Frames, Stamp};

use crate::frames::{bridge, chain, kinds, router, router_of_four_ports};

#[test]
fn pipeline_and_oracle_agree_on_the_sample_and_it_reaches_what_can_be_reached() {
    for config in kinds() {
        let steps = Chain::sample(&config, &Traffic::default());
        let mut pair = Pair::<Chain>::new(&config, Shard::WHOLE);
        pair.take(&steps).unwrap_or_else(|what| panic!("{:?}:\n{what}", config.chain));
        let mut uncovered: BTreeSet<&str> = pair.uncovered().into_iter().collect();
        assert!(uncovered.remove("unhandled"), "that is no verdict to be reached");
        let unreachable = Chain::unreachable(&config).into_iter();
        assert_eq!(uncovered, unreachable.map(|(name, _)| name).collect(), "{:?}", config.chain);
        assert!(pair.coverage["downlink"] > 0 && pair.coverage["uplink"] > 0);
    }
}

#[test]
fn a_chain_of_one_is_that_function() {
    let alone = chain(json!([router()]));
    let mut pair = Pair::<Chain>::new(&alone, Shard::WHOLE);
    pair.take(&Chain::sample(&alone, &Traffic::default())).expect("they agree");
    // Everything but the chain's own reason is reached or excused by the router itself.
    let excused = Chain::unreachable(&alone);
    let before = excused.iter().filter(|(_, cause)| cause.contains("functions before"));
    assert_eq!(before.count(), 0, "{excused:?}");
}

#[test]
fn further_ports_of_the_functions_are_ports_of_the_chain() {
    let switch = json!({"name": "l2-switch", "ports": 3});
    let config = chain(json!([switch, router_of_four_ports()]));
    let mut pair = Pair::<Chain>::new(&config, Shard::WHOLE);
    let names: Vec<&str> = pair.ports().iter().map(|name| &**name).collect();
    assert_eq!(names, ["downlink", "uplink", "1-port-3", "2-peer-1", "2-peer-2"]);
    // A question for all from the second peer: nobody but the router hears it.
    let arp = |target: u8| {
        let said = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9, 10, 3, 0, 9];
        [&[0xff; 6][..], &[2, 0, 0, 0, 0, 9, 8, 6], &said, &[0; 6], &[10, target, 0, 1]].concat()
    };
    let verdict = pair.frame(PortId(4), &arp(3)).expect("they agree");
    assert!(matches!(verdict, Expected::Forward { port: PortId(4), .. }), "{verdict:?}");
    // One by the switch's third port reaches users and the router, which answers for its own.
    let verdict = pair.frame(PortId(2), &arp(0)).expect("they agree");
    assert!(matches!(verdict, Expected::Forward { port: PortId(0), .. }), "{verdict:?}");
    let answered = |made: &Expected| matches!(made, Expected::Forward { port: PortId(2), .. });
    assert!(pair.made.iter().any(answered), "{:?}", pair.made);
}

#[test]
fn packets_pass_the_functions_in_order_and_back_in_the_opposite_one() {
    // A patch that marks what comes by with its own address, either way.
    let mark = |number: u8| {
        json!({"name": "portfwd", "mac-swap-upstream": format!("02:00:00:00:00:0{number}"),
               "mac-swap-downstream": format!("02:00:00:00:01:0{number}")})
    };
    let config = chain(json!([mark(1), mark(2), mark(3)]));
    let mut pair = Pair::<Chain>::new(&config, Shard::WHOLE);
    let frame = [[0xaa; 12].as_slice(), &[8, 0], &[0x45; 46]].concat();
    for (from, to, last) in [(0, 1, [0, 3]), (1, 0, [1, 1])] {
        let verdict = pair.frame(PortId(from), &frame).expect("they agree");
        let Expected::Forward { port, frame } = verdict else { panic!("{verdict:?}") };
        assert_eq!((port, &frame[10..12]), (PortId(to), last.as_slice()));
    }
}

#[test]
fn every_frame_of_the_workload_leaves_at_the_other_end() {
    for sections in [json!([bridge(), router()]), json!([router(), bridge()])] {
        let of =
            1 + sections.as_array().expect("a list").iter().take_while(|s| **s != router()).count();
        let mut config: Section =
            serde_json::from_value(json!({"chain": sections, "traffic-of": of})).expect("sections");
        let mut traffic: Traffic<models::Members> =
            serde_json::from_value(json!({"dir": "bidir", "ipv6-share": 0.4})).expect("a section");
        Chain::validate(&mut config, &mut traffic).expect("a valid chain");
        let mut workload = Chain::workload(&config, &traffic, testkit::pair::clock());
        let mut pair = Pair::<Chain>::new(&config, Shard::WHOLE);
        assert_eq!(workload.directions().len(), 2);
        for sequence in 0..500 {
            for (index, direction) in workload.directions().to_vec().iter().enumerate() {
                let draw = workload.draw(index, sequence);
                let mut frame = vec![0; workload.frame_len(&draw)];
                let stamp = Stamp { stream: index as u16, sequence, time: 0 };
                workload.write(&draw, stamp, &mut frame);
                let verdict = pair.frame(direction.from, &frame).expect("they agree");
                let Expected::Forward { port, frame } = verdict else {
                    panic!("{draw:?}: {verdict:?}")
                };
                let found = Stamp::read(&frame).expect("the stamp is still there");
                assert_eq!((found.stream, found.sequence), (index as u16, sequence));
                let delivery = workload.delivery(index, &draw, &stamp, port, &frame);
                assert_eq!(delivery, Delivery::AsExpected);
                let delivery = workload.delivery(index, &draw, &stamp, direction.from, &frame);
                assert_eq!(delivery, Delivery::Misdelivered);
            }
        }
    }
}

#[test]
fn changes_go_to_the_function_of_their_place() {
    let config = chain(json!([{"name": "l2-switch", "unknown": "drop"}, {"name": "portfwd"}]));
    let mut pair = Pair::<Chain>::new(&config, Shard::WHOLE);
    let frame = [[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8].as_slice(), &[8, 0], &[0x45; 46]].concat();
    let verdict = pair.frame(PortId(0), &frame).expect("they agree");
    assert_eq!(verdict, Expected::Drop("1.unknown-station"));
    let station = json!({"set-station": {"mac": "02:00:00:00:00:09", "port": "uplink"}});
    let at = |place| Update::At { place, change: station.clone() };
    for nowhere in [0, 3] {
        assert_eq!(pair.update(&at(nowhere)), Ok(false), "there is no such place");
    }
    let nonsense = Update::At { place: 1, change: json!({"set-nothing": {}}) };
    assert_eq!(pair.update(&nonsense), Ok(false));
    assert_eq!(pair.update(&at(1)), Ok(true));
    let verdict = pair.frame(PortId(0), &frame).expect("they agree");
    assert!(matches!(verdict, Expected::Forward { port: PortId(1), .. }), "{verdict:?}");
    let now = pair.now();
    let remembered = functions::Chain::memory(
        &Chain::config(&config),
        Shard::WHOLE,
        pair.device_mut().function_mut(),
        now,
    );
    assert!(remembered.contains(&at(1)), "{remembered:?}");
}

#[test]
fn a_reload_changes_each_function_and_can_be_undone() {
    let with = |size: u8| {
        let station = |last| json!({"mac": format!("0a:00:00:00:00:0{last}"), "port": "uplink"});
        let stations: Vec<Value> = (0..size).map(station).collect();
        let bridge = json!({"name": "l2-switch", "stations": stations, "station-capacity": 99});
        chain(json!([{"name": "portfwd"}, bridge]))
    };
    let (running, wanted) = (with(2), with(5));
    let changes = functions::Chain::difference(&Chain::config(&running), &Chain::config(&wanted))
        .expect("stations come");
    assert_eq!(changes.len(), 3);
    assert!(changes.iter().all(|Update::At { place, .. }| *place == 2));
    let mut pair = Pair::<Chain>::new(&running, Shard::WHOLE);
    let back = functions::Chain::undoing(&Chain::config(&running), &changes);
    assert_eq!(back.len(), 3);
    for update in changes.iter().chain(&back).chain(&changes) {
        assert_eq!(pair.update(update), Ok(true), "{update:?}");
    }
    let other = chain(json!([{"name": "portfwd"}]));
    let refused = functions::Chain::difference(&Chain::config(&running), &Chain::config(&other))
        .expect_err("another chain");
    assert!(refused.what.contains("cannot change while it runs"), "{refused}");
}

#[test]
fn a_bad_section_is_named_by_its_place() {
    let refused = |value: Value, traffic: Value| {
        let [section, traffic] = [value, traffic].map(|keys| keys.as_object().cloned());
        let read = Unit::<Chain>::new().read(section.expect("keys"), traffic.expect("keys"));
        read.map(drop).expect_err("it is bad")
    };
    for (sections, key, says) in [
        (json!([]), "chain", "from 1 to 4 entries, not 0"),
        (json!([bridge(), {"user": 1}]), "chain[1].name", "is missing"),
        (json!([{"name": "chain", "chain": []}]), "chain[0].name", "no function `chain`"),
        (json!([bridge(), {"name": "l3-router", "ipv7": true}]), "chain[1].ipv7", "`ipv7`"),
        (json!([{"name": "l2-switch", "ageing-s": 0}]), "chain[0].ageing-s", "from 0.1"),
        (json!([bridge(), {"name": "l3-router", "core": -1}]), "chain[1].core", "from 1 to 64"),
        (
            json!([{"name": "portfwd", "core": 2}, {"name": "portfwd"}]),
            "chain",
            "number of workers",
        ),
        (json!([{"name": "mobile-gateway", "core": 2}]), "chain", "cannot share its users"),
        (
            json!([{"name": "l3-router", "interfaces": [{"port": "uplink", "host-interface": "a"}]}]),
            "chain",
            "gives the host interfaces",
        ),
        (
            json!([bridge(), {"name": "l3-router", "next-hops": [
                {"port": "uplink", "mac": "02:00:00:00:00:01", "ip": "10.1.255.7", "bfd": {}}]}]),
            "chain[1].next-hops",
            "the tester does not play behind a chain",
        ),
    ] {
        let error = refused(json!({"chain": sections}), json!({}));
        assert_eq!((error.section, &*error.key), ("function", key), "{error}");
        assert!(error.what.contains(says), "{error}");
    }
    let one = json!({"chain": [bridge()]});
    assert_eq!(refused(one, json!({"ipv6-share": 2})).path(), "traffic.ipv6-share");
    let second = json!({"chain": [bridge()], "traffic-of": 2});
    assert_eq!(refused(second, json!({})).key, "traffic-of");
}

#[test]
fn the_sample_of_a_function_bears_its_place() {
    let config = chain(json!([{"name": "portfwd"}, router()]));
    let places: BTreeSet<usize> = Chain::sample(&config, &Traffic::default())
        .iter()
        .filter_map(|step| match step {
            Step::Update(Update::At { place, .. }) => Some(*place),
            _ => None,
        })
        .collect();
    assert!(places.contains(&2), "{places:?}");
}
