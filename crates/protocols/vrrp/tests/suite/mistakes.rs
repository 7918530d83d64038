//! What must not pass, what is told of others' mistakes, and what is refused.

use std::net::IpAddr;

use protocol_vrrp::packet::{self, Addresses, Coverage, Ends, Packet};
use protocol_vrrp::{
    Command, Config, Counters, Effect, Report, State, Told, Tracked, Unusable, frames,
};

use crate::bench::{Bench, config, ms};

/// A frame of virtual router 7 with the highest priority.
fn frame(from: u8, to: IpAddr, vrid: u8) -> Vec<u8> {
    let ends = Ends { from: [10, 0, 0, from].into(), to };
    let config = config(7, 100);
    let octets = packet::octets(&config.addresses);
    let addresses = Addresses::new(false, &octets);
    let packet = Packet { vrid, priority: 254, interval_cs: 10, addresses };
    frames::advertisement(config.key.mac(), ends, &packet.emit(ends, Coverage::Message))
}

/// A frame with one byte of its packet changed, and the checksum of its IP header made right.
fn changed(at: usize, value: u8) -> Vec<u8> {
    let mut bytes = frame(9, frames::group(false), 7);
    bytes[at] = value;
    bytes[24..26].fill(0);
    let checksum = wire::checksum::checksum(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

#[test]
fn what_is_wrong_is_counted_by_its_reason_and_changes_nothing() {
    let group = frames::group(false);
    let none = Counters::default();
    for (what, bytes, expected) in [
        ("another format", vec![0; 60], Counters { malformed: 1, ..none }),
        ("a checksum", changed(49, 9), Counters { checksum: 1, ..none }),
        ("a TTL", changed(22, 254), Counters { ttl: 1, ..none }),
        ("a version", changed(34, 0x21), Counters { version: 1, ..none }),
        ("a type", changed(34, 0x32), Counters { malformed: 1, ..none }),
        ("a length", changed(37, 3), Counters { malformed: 1, ..none }),
        ("a destination", frame(9, [10, 0, 0, 5].into(), 7), Counters { destination: 1, ..none }),
        ("another VRID", frame(9, group, 8), Counters { unknown: 1, ..none }),
        ("its own", frame(5, group, 7), Counters { looped: 1, ..none }),
    ] {
        let mut bench = Bench::active(100);
        let Counters { sent, announced, .. } = bench.vrrp.counters();
        let before = bench.vrrp.view(0);
        bench.frame(&bytes);
        assert_eq!(bench.vrrp.counters(), Counters { sent, announced, ..expected }, "{what}");
        assert_eq!(bench.vrrp.view(0), before, "{what}");
        bench.frame(&frame(9, group, 7));
        assert_eq!(bench.state(), State::Backup, "a right one is taken");
    }
}

#[test]
fn differences_are_told_once_a_minute() {
    let mut bench = Bench::new([Command::Add(0, config(7, 100))]);
    let told = |bench: &mut Bench| {
        let all =
            std::mem::take(&mut bench.reports).into_iter().filter_map(|report| match report {
                Report::Misconfigured { what, peer, .. } => Some((what, peer)),
                _ => None,
            });
        all.collect::<Vec<_>>()
    };
    let right = config(7, 100).addresses;
    let other: Vec<IpAddr> = vec![[10, 0, 0, 100].into(), [10, 0, 0, 102].into()];
    let from: IpAddr = [10, 0, 0, 9].into();
    for (interval_cs, addresses, expected) in [
        (10, &right[..], vec![]),
        (10, &[right[1], right[0]], vec![]),
        (10, &other, vec![(Told::Addresses, from)]),
        (20, &right[..1], vec![(Told::Interval, from)]),
        (20, &right, vec![]),
    ] {
        bench.hear_other(9, 200, interval_cs, addresses);
        assert_eq!(told(&mut bench), expected);
    }
    assert_eq!((bench.vrrp.counters().received, bench.vrrp.counters().differing), (5, 2));
    for _ in 0..590 {
        bench.pass(ms(100));
        bench.hear_other(9, 200, 20, &other);
    }
    assert_eq!(told(&mut bench), []);
    bench.pass(ms(1_001));
    bench.hear_other(9, 200, 20, &other);
    assert_eq!(told(&mut bench), [(Told::Addresses, from), (Told::Interval, from)]);
    // Two owners.
    let mut bench = Bench::new([Command::Add(0, config(7, 255))]);
    bench.hear(9, 255);
    assert_eq!(told(&mut bench), [(Told::Owner, from)]);
}

#[test]
fn two_active_routers_are_told_and_healing_is_followed_by_announcements() {
    let peer: IpAddr = [10, 0, 0, 9].into();
    let split = |bench: &mut Bench| {
        let all = std::mem::take(&mut bench.reports);
        all.into_iter()
            .filter(|report| matches!(report, Report::Split { .. } | Report::Healed { .. }))
            .collect::<Vec<_>>()
    };
    let mut bench = Bench::active(200);
    // The first may have crossed the own one.
    bench.hear(9, 100);
    assert_eq!(split(&mut bench), []);
    bench.pass(ms(100));
    bench.hear(9, 100);
    assert_eq!(split(&mut bench), [Report::Split { router: 0, peer }]);
    bench.hear(9, 100);
    assert!(bench.vrrp.view(0).is_some_and(|view| view.is_split));
    bench.forget();
    // Silent for four intervals.
    bench.pass(ms(399));
    assert_eq!((split(&mut bench), bench.take_announced()), (vec![], vec![]));
    bench.pass(ms(2));
    assert_eq!(split(&mut bench), [Report::Healed { router: 0 }]);
    bench.pass(ms(2_000));
    assert_eq!(bench.take_announced().len(), 10, "five times two addresses");
    // It resigns, which is enough.
    bench.hear(9, 100);
    bench.hear(9, 100);
    bench.forget();
    bench.hear(9, 0);
    assert_eq!(split(&mut bench), [Report::Healed { router: 0 }]);
    // It becomes the higher one, and this one yields.
    bench.hear(9, 100);
    bench.hear(9, 100);
    bench.forget();
    bench.hear(9, 250);
    assert_eq!(bench.state(), State::Backup);
    assert_eq!(split(&mut bench), [Report::Healed { router: 0 }]);
}

#[test]
fn what_cannot_be_used_is_refused() {
    let with = |change: &dyn Fn(&mut Config)| {
        let mut config = config(7, 100);
        change(&mut config);
        Command::Add(0, config)
    };
    let object = |object| Tracked { object, effect: Effect::Fault };
    let link_local = |text: &str| text.parse::<IpAddr>().expect("an address");
    for (command, why) in [
        (with(&|config| config.key.vrid = 0), Unusable::Vrid),
        (with(&|config| config.addresses.clear()), Unusable::Addresses),
        (with(&|config| config.addresses[1] = config.addresses[0]), Unusable::Addresses),
        (with(&|config| config.addresses.push(link_local("fe80::1"))), Unusable::Addresses),
        (with(&|config| config.primary = [0; 4].into()), Unusable::Addresses),
        (with(&|config| config.key.is_v6 = true), Unusable::Addresses),
        (
            with(&|config| {
                config.key.is_v6 = true;
                config.primary = link_local("fe80::5");
                config.addresses = vec![link_local("2001:db8::1")];
            }),
            Unusable::Addresses,
        ),
        (with(&|config| config.priority = 0), Unusable::Priority),
        (with(&|config| config.interval = ms(5)), Unusable::Interval),
        (with(&|config| config.interval = ms(15)), Unusable::Interval),
        (with(&|config| config.interval = ms(40_960)), Unusable::Interval),
        (with(&|config| config.peers = vec![config.primary]), Unusable::Peers),
        (with(&|config| config.tracked = vec![object(4)]), Unusable::Tracked),
        (Command::Add(4, config(7, 100)), Unusable::Router),
        (Command::Remove(0), Unusable::Router),
        (Command::Track { object: 4, is_up: false }, Unusable::Tracked),
    ] {
        let mut bench = Bench::new([command.clone()]);
        assert!(
            matches!(bench.reports[..], [Report::Refused { why: told, .. }] if told == why),
            "{command:?}: {:?}",
            bench.reports
        );
        bench.pass(ms(5_000));
        assert_eq!((bench.vrrp.view(0), bench.departures.len()), (None, 0));
    }
    // One key is one virtual router, and some of it stays as it is.
    let mut bench = Bench::new([Command::Add(0, config(7, 100)), Command::Add(1, config(7, 90))]);
    assert!(bench.vrrp.view(1).is_none());
    let mut moved = config(7, 100);
    moved.primary = [10, 0, 0, 6].into();
    for (command, why) in [
        (Command::Change(0, config(8, 100)), Unusable::Fixed),
        (Command::Change(0, moved), Unusable::Fixed),
        (Command::Change(0, config(7, 255)), Unusable::Fixed),
        (Command::SetPriority(0, 255), Unusable::Priority),
        (Command::SetPriority(0, 0), Unusable::Priority),
    ] {
        bench.reports.clear();
        bench.tell(command);
        assert!(matches!(bench.reports[..], [Report::Refused { why: told, .. }] if told == why));
    }
    let mut other = config(7, 90);
    other.addresses.pop();
    bench.pass(ms(2_000));
    bench.forget();
    bench.tell(Command::Change(0, other));
    assert_eq!(bench.vrrp.view(0).map(|view| view.priority), Some(90));
    assert_eq!(bench.take_announced().len(), 1, "the address that is left");
}
