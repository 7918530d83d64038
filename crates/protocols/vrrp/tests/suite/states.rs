//! The states of RFC 9568 section 6.4, one by one.

use std::time::Duration;

use protocol_kit::{Arrival, Departure, Machine, Opening, Socket};
use protocol_vrrp::packet::{Coverage, Ends, Packet};
use protocol_vrrp::{Command, Effect, Reason, State, Tracked, frames};

use crate::bench::{Bench, LINK, config, ms};

#[test]
fn an_owner_is_active_at_once_and_gives_way_to_nobody() {
    let mut bench = Bench::new([Command::Add(0, config(7, 255))]);
    assert_eq!(bench.take_changes(), [(State::Active, Reason::Started, true)]);
    bench.departures.retain(|departure| !matches!(departure, Departure::Open { .. }));
    let first = bench.departures.first().cloned();
    let Some(Departure::Frame { bytes, .. }) = first else { panic!("{first:?}") };
    assert_eq!(bytes[..12], [1, 0, 0x5e, 0, 0, 0x12, 0, 0, 0x5e, 0, 1, 7]);
    assert_eq!(bench.take_sent(), [255]);
    bench.hear(9, 255);
    assert_eq!((bench.state(), bench.take_sent()), (State::Active, vec![]));
    bench.hear(9, 200);
    assert_eq!((bench.state(), bench.take_sent()), (State::Active, vec![255]));
    // What it tracks does not make it another's (section 6.1).
    let mut owner = config(7, 255);
    owner.tracked = vec![Tracked { object: 1, effect: Effect::Decrement(200) }];
    bench.tell(Command::Change(0, owner));
    bench.tell(Command::Track { object: 1, is_up: false });
    assert_eq!(bench.vrrp.view(0).map(|view| view.priority), Some(255));
}

#[test]
fn nobody_heard_makes_a_router_active_after_the_interval_of_the_standard() {
    let mut bench = Bench::new([Command::Add(0, config(7, 156))]);
    assert_eq!(bench.take_changes(), [(State::Backup, Reason::Started, false)]);
    // 300 ms, and 100 of 256 parts of 100 ms.
    bench.pass(Duration::from_nanos(339_062_500));
    assert_eq!(bench.state(), State::Backup);
    bench.pass(Duration::from_micros(70));
    assert_eq!(bench.take_changes(), [(State::Active, Reason::Silence, false)]);
    assert_eq!(bench.take_sent(), [156]);
    bench.pass(ms(1_000));
    assert_eq!(bench.take_sent(), [156; 10], "every 100 ms");
}

#[test]
fn addresses_are_announced_as_often_as_configured() {
    for (is_v6, count) in [(false, 5), (true, 3), (false, 0)] {
        let mut config = config(7, 100);
        if is_v6 {
            config.key.is_v6 = true;
            config.primary = "fe80::5".parse().expect("an address");
            config.addresses = ["fe80::100", "2001:db8::100"]
                .map(|text| text.parse().expect("an address"))
                .to_vec();
        }
        (config.announcements, config.has_accept_mode) = (count, true);
        let expected: Vec<_> = (0..count)
            .flat_map(|_| config.addresses.clone())
            .map(|address| frames::announcement(config.key.mac(), address))
            .collect();
        let mut bench = Bench::new([Command::Add(0, config)]);
        bench.pass(ms(3_000));
        assert_eq!(bench.take_announced(), expected);
        let accepts = (State::Active, Reason::Silence, true);
        assert_eq!(bench.take_changes().last(), Some(&accepts));
    }
}

#[test]
fn the_interval_of_the_active_router_is_followed() {
    let mut bench = Bench::new([Command::Add(0, config(7, 128))]);
    bench.hear_other(9, 128, 50, &config(7, 1).addresses);
    let view = bench.vrrp.view(0).expect("it is there");
    assert_eq!((view.active_interval, view.down_interval), (ms(500), ms(1_750)));
    bench.pass(ms(1_749));
    assert_eq!(bench.state(), State::Backup);
    bench.pass(ms(2));
    assert_eq!(bench.state(), State::Active);
}

#[test]
fn the_higher_priority_is_active_and_of_equals_the_greater_address() {
    for (from, priority, yields) in
        [(1, 101, true), (9, 99, false), (9, 100, true), (4, 100, false), (1, 255, true)]
    {
        let mut bench = Bench::active(100);
        bench.hear(from, priority);
        let answered = if yields { vec![] } else { vec![100] };
        assert_eq!(bench.take_sent(), answered, "from 10.0.0.{from} with {priority}");
        let changes = [(State::Backup, Reason::Outranked, false)];
        assert_eq!(bench.take_changes(), changes[usize::from(!yields)..]);
        // It was heard as the active one: from now on the time counts.
        bench.pass(ms(300));
        assert_eq!(bench.state(), if yields { State::Backup } else { State::Active });
    }
}

#[test]
fn preemption_waits_for_its_delay_from_when_it_could_begin() {
    let mut delayed = config(7, 200);
    delayed.preempt_delay = ms(1_000);
    let mut bench = Bench::new([Command::Add(0, delayed.clone())]);
    // A higher one first: nothing to wait for.
    for _ in 0..30 {
        bench.hear(9, 210);
        bench.pass(ms(100));
    }
    for _ in 0..10 {
        bench.hear(9, 150);
        bench.pass(ms(100));
        assert_eq!(bench.state(), State::Backup);
    }
    bench.hear(9, 150);
    bench.pass(ms(330));
    assert_eq!(bench.take_changes().last(), Some(&(State::Active, Reason::Preemption, false)));
    // A router that is gone is replaced without delay.
    let mut bench = Bench::new([Command::Add(0, delayed.clone())]);
    bench.hear(9, 150);
    bench.pass(ms(330));
    assert_eq!(bench.take_changes().last(), Some(&(State::Active, Reason::Silence, false)));
    // A higher one in between: what was waited for does not count.
    bench.hear(9, 250);
    for (priority, count) in [(150, 9), (250, 1), (150, 10)] {
        for _ in 0..count {
            bench.hear(9, priority);
            bench.pass(ms(100));
            assert_eq!(bench.state(), State::Backup);
        }
    }
    // Nor does the time without preemption.
    let mut bench = Bench::new([Command::Add(0, delayed.clone())]);
    for has_preemption in [true, false, true] {
        delayed.has_preemption = has_preemption;
        bench.tell(Command::Change(0, delayed.clone()));
        for _ in 0..9 {
            bench.hear(9, 150);
            bench.pass(ms(100));
            assert_eq!(bench.state(), State::Backup);
        }
    }
    // Without preemption a lower one stays as long as it likes.
    let mut patient = config(7, 200);
    patient.has_preemption = false;
    let mut bench = Bench::new([Command::Add(0, patient)]);
    for _ in 0..100 {
        bench.hear(9, 1);
        bench.pass(ms(100));
    }
    assert_eq!(bench.state(), State::Backup);
}

#[test]
fn a_resigning_router_is_replaced_after_the_skew_time_however_often_it_says_so() {
    let mut bench = Bench::new([Command::Add(0, config(7, 128))]);
    bench.hear(9, 200);
    for _ in 0..4 {
        bench.hear(9, 0);
        assert_eq!(bench.state(), State::Backup);
        bench.pass(ms(13));
    }
    assert_eq!(bench.take_changes().last(), Some(&(State::Active, Reason::Resigned, false)));
    // An active router answers it at once (section 6.4.3), but not again and again.
    bench.forget();
    for _ in 0..5 {
        bench.hear(9, 0);
    }
    assert_eq!(bench.take_sent(), [128]);
    bench.pass(ms(100));
    for _ in 0..5 {
        bench.hear(9, 100);
    }
    assert_eq!(bench.take_sent(), [128, 128]);
    // When another one has followed it, its end is one of its own.
    let mut bench = Bench::new([Command::Add(0, config(7, 128))]);
    bench.hear(9, 0);
    bench.hear(8, 200);
    bench.pass(ms(2_000));
    assert_eq!(bench.take_changes().last(), Some(&(State::Active, Reason::Silence, false)));
}

#[test]
fn tracked_objects_lower_the_priority_or_are_a_fault() {
    let mut tracking = config(7, 100);
    tracking.tracked = vec![
        Tracked { object: 0, effect: Effect::Decrement(30) },
        Tracked { object: 1, effect: Effect::Decrement(90) },
        Tracked { object: 2, effect: Effect::Fault },
    ];
    let mut bench = Bench::new([Command::Add(0, tracking)]);
    bench.pass(ms(2_000));
    bench.forget();
    for (object, is_up, priority) in [(0, false, 70), (1, false, 1), (0, true, 10), (1, true, 100)]
    {
        bench.tell(Command::Track { object, is_up });
        bench.pass(ms(100));
        assert_eq!(bench.take_sent(), [priority]);
    }
    bench.tell(Command::SetPriority(0, 50));
    bench.tell(Command::Track { object: 0, is_up: false });
    assert_eq!(bench.vrrp.view(0).map(|view| view.priority), Some(20));
    // A fault: it resigns, and takes no part until it is over.
    bench.tell(Command::Track { object: 2, is_up: false });
    assert_eq!(bench.take_changes(), [(State::Initialize, Reason::Fault, false)]);
    assert_eq!(bench.take_sent(), [0]);
    bench.hear(9, 1);
    bench.pass(ms(5_000));
    assert_eq!((bench.take_sent(), bench.vrrp.counters().idle), (vec![], 1));
    bench.tell(Command::Track { object: 2, is_up: true });
    assert_eq!(bench.take_changes(), [(State::Backup, Reason::Started, false)]);
}

#[test]
fn without_link_nothing_is_sent_and_with_it_everything_begins_anew() {
    let mut bench = Bench::active(100);
    bench.arrive(Arrival::Link { interface: LINK, is_up: false });
    bench.pass(ms(2_000));
    assert_eq!(bench.take_changes(), [(State::Initialize, Reason::LinkDown, false)]);
    assert_eq!(bench.departures, []);
    // Whoever is added meanwhile waits, too.
    bench.tell(Command::Add(1, config(8, 255)));
    assert_eq!(bench.vrrp.view(1).map(|view| view.state), Some(State::Initialize));
    bench.forget();
    bench.arrive(Arrival::Link { interface: LINK, is_up: true });
    assert_eq!(bench.take_changes(), [(State::Backup, Reason::Started, false)]);
    assert_eq!(bench.vrrp.view(1).map(|view| view.state), Some(State::Active));
}

#[test]
fn a_router_is_shut_down_started_and_removed() {
    let mut bench = Bench::active(100);
    bench.tell(Command::Shutdown(0));
    assert_eq!(bench.take_changes(), [(State::Initialize, Reason::Shutdown, false)]);
    assert_eq!(bench.take_sent(), [0]);
    bench.tell(Command::Start(0));
    bench.pass(ms(1_000));
    assert_eq!(bench.state(), State::Active);
    bench.forget();
    // It resigns by its socket before that is closed, and can be added again at once.
    bench.tell(Command::Remove(0));
    assert!(matches!(
        bench.departures[..],
        [Departure::Frame { .. }, Departure::Close { socket: Socket(0) }]
    ));
    assert_eq!(bench.take_sent(), [0]);
    assert_eq!(bench.vrrp.deadline(), None);
    bench.tell(Command::Add(0, config(7, 100)));
    assert_eq!((bench.state(), bench.take_opened().len()), (State::Backup, 1));
    // One that is not active has nothing to say.
    bench.tell(Command::Remove(0));
    assert_eq!(bench.departures, [Departure::Close { socket: Socket(0) }]);
}

#[test]
fn routers_of_an_interface_share_a_socket_and_a_failed_one_keeps_them_out() {
    let mut bench = Bench::new([Command::Add(0, config(7, 100)), Command::Add(1, config(8, 100))]);
    let opening = Opening::Frames {
        interface: LINK,
        takes: frames::TAKES.to_vec(),
        groups: frames::GROUPS.to_vec(),
    };
    assert_eq!(bench.take_opened(), [(Socket(0), opening.clone())]);
    bench.pass(ms(2_000));
    bench.forget();
    bench.arrive(Arrival::Failed { socket: Socket(0) });
    assert_eq!(bench.take_changes(), [(State::Initialize, Reason::NoSocket, false)]);
    bench.pass(ms(900));
    assert_eq!(bench.departures, []);
    // Tried again, in vain: that is not told again.
    bench.refuses = true;
    bench.pass(ms(2_102));
    assert_eq!(bench.reports, []);
    assert_eq!(bench.take_opened(), vec![(Socket(0), opening.clone()); 3]);
    bench.refuses = false;
    bench.pass(ms(1_000));
    assert_eq!(bench.take_opened(), [(Socket(0), opening)]);
    bench.pass(ms(2_000));
    assert_eq!((bench.state(), bench.take_sent().is_empty()), (State::Active, false));
}

#[test]
fn peers_get_packets_and_nobody_else_is_heard() {
    let mut unicast = config(7, 100);
    unicast.peers = vec![[10, 0, 0, 9].into(), [10, 0, 1, 9].into()];
    let mut bench = Bench::new([Command::Add(0, unicast.clone())]);
    let opened = bench.take_opened();
    let packets =
        Opening::Packets { protocol: 112, local: [10, 0, 0, 5].into(), interface: Some(LINK) };
    let announcing = Opening::Frames { interface: LINK, takes: vec![], groups: vec![] };
    assert_eq!(opened, [(Socket(0), announcing), (Socket(1), packets)]);
    bench.pass(ms(400));
    let mut reached = Vec::new();
    for departure in &bench.departures {
        if let Departure::Packet { socket, interface, from, to, ttl, bytes } = departure {
            let ends = Ends { from: *from, to: *to };
            assert!(Packet::parse(bytes, ends).is_ok_and(|packet| packet.priority == 100));
            assert_eq!((*socket, *interface, *ttl), (Socket(1), Some(LINK), 255));
            reached.push(*to);
        }
    }
    assert_eq!(reached, unicast.peers);
    assert_eq!(bench.take_announced().len(), 2, "and everybody is told of the addresses");
    // By the group, from a stranger, and from a peer.
    bench.hear(9, 200);
    for from in [[10, 0, 0, 8], [10, 0, 1, 9]] {
        let ends = Ends { from: from.into(), to: unicast.primary };
        let octets = protocol_vrrp::packet::octets(&unicast.addresses);
        let addresses = protocol_vrrp::packet::Addresses::new(false, &octets);
        let packet = Packet { vrid: 7, priority: 200, interval_cs: 10, addresses };
        let bytes = packet.emit(ends, Coverage::PseudoHeader);
        bench.arrive(Arrival::Packet {
            socket: Socket(1),
            interface: LINK,
            from: ends.from,
            to: ends.to,
            ttl: 255,
            bytes: &bytes,
        });
    }
    let counters = bench.vrrp.counters();
    assert_eq!((counters.unknown, counters.stranger, counters.received), (1, 1, 1));
    assert_eq!(bench.state(), State::Backup);
}
