//! How long detection takes, what a stall of one's own does, and what a stranger can do.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol_bfd::packet::Packet;
use protocol_bfd::{Bfd, Command, Config, Diagnostic, Path, Reach, Report, State};
use protocol_kit::{Arrival, Departure, Input, Machine, Opening, Output, Socket, Time};
use simulation::{Quality, World};

const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2))];

/// A session that sends at one interval and takes in at another.
fn config(end: usize, desired_min_tx_ms: u64, required_min_rx_ms: u64) -> Config {
    let reach = Reach::SingleHop(World::<Bfd>::interface(0));
    Config {
        path: Path { reach, local: ADDRESSES[end], peer: ADDRESSES[1 - end] },
        discriminator: None,
        desired_min_tx: Duration::from_millis(desired_min_tx_ms),
        required_min_rx: Duration::from_millis(required_min_rx_ms),
        detect_multiplier: 3,
        required_min_echo_rx: Duration::ZERO,
        echo: None,
        is_passive: false,
        authentication: None,
    }
}

/// Two nodes whose sessions are up.
fn up(seed: u64, configs: [Config; 2]) -> World<Bfd> {
    let mut world = World::new(seed);
    for config in configs {
        world.add_node(move |random| {
            (Bfd::new(1, random.bits()), vec![Command::Add(0, config.clone())])
        });
    }
    world.add_link([(0, ADDRESSES[0]), (1, ADDRESSES[1])], Quality::GOOD);
    [0, 1].into_iter().for_each(|node| world.revive(node));
    // Up in a few slow packets, and announced intervals confirmed by a poll in a few more.
    while world.pass(Time::ZERO.after(Duration::from_secs(10))) {
        world.take_said();
    }
    for node in [0, 1] {
        let view = world.machine(node).and_then(|bfd| bfd.view(0)).expect("it lives");
        assert_eq!(view.state, State::Up, "{view:?}");
    }
    world
}

/// What is said within a time: node, state, diagnostic and when.
fn said(world: &mut World<Bfd>, within: Duration) -> Vec<(usize, State, Diagnostic, Duration)> {
    let (start, mut all) = (world.now(), Vec::new());
    let end = start.after(within);
    while world.pass(end) {
        for said in world.take_said() {
            let Report::Changed { state, diagnostic, .. } = said.report else { panic!("{said:?}") };
            all.push((said.node, state, diagnostic, said.at.since(start)));
        }
    }
    all
}

#[test]
fn a_cut_is_detected_in_the_detection_time() {
    for seed in 0..50 {
        let mut world = up(seed, [config(0, 10, 10), config(1, 10, 10)]);
        world.link(0).is_cut = true;
        let heard = said(&mut world, Duration::from_secs(1));
        assert_eq!(heard.len(), 2, "{heard:?}");
        for (_, state, diagnostic, after) in heard {
            assert_eq!((state, diagnostic), (State::Down, Diagnostic::TIME_EXPIRED));
            // The last packet came up to an interval before the cut, or was on its way.
            let range = Duration::from_millis(19)..Duration::from_micros(30_300);
            assert!(range.contains(&after), "seed {seed}: {after:?}");
        }
    }
}

#[test]
fn a_stall_of_ones_own_takes_no_session_down() {
    // The first node gives up after 30 ms of silence, and gives its peer 300 ms.
    let mut world = up(1, [config(0, 100, 10), config(1, 10, 100)]);
    let detection = world.machine(0).and_then(|bfd| bfd.view(0)).and_then(|v| v.detection_time);
    assert_eq!(detection, Some(Duration::from_millis(30)));
    for _ in 0..10 {
        world.hang(0, Duration::from_millis(200));
        assert_eq!(said(&mut world, Duration::from_secs(1)), []);
    }
    // With nothing that waited, the same stall is a failure.
    world.hang(0, Duration::from_millis(200));
    world.link(0).is_cut = true;
    let heard = said(&mut world, Duration::from_secs(1));
    assert_eq!(heard.first().map(|(node, state, ..)| (*node, *state)), Some((0, State::Down)));
}

#[test]
fn echo_packets_find_a_path_that_only_returns_nothing() {
    let mut configs = [config(0, 10, 10), config(1, 10, 10)];
    configs[0].echo = Some(Duration::from_millis(10));
    configs[1].required_min_echo_rx = Duration::from_millis(10);
    let mut world = up(3, configs);
    let view = world.machine(0).and_then(|bfd| bfd.view(0)).expect("it lives");
    assert!(view.has_echo, "{view:?}");
    // Control packets are slow while Echo packets watch the path (RFC 5880 section 6.8.3).
    let slow = world.machine(1).and_then(|bfd| bfd.view(0)).expect("it lives");
    assert_eq!(slow.transmit_interval, Duration::from_secs(1));
    world.link(0).is_cut = true;
    let heard = said(&mut world, Duration::from_millis(100));
    let of_first = heard.iter().find(|(node, ..)| *node == 0);
    let first = of_first.map(|(_, state, diagnostic, _)| (*state, *diagnostic));
    assert_eq!(first, Some((State::Down, Diagnostic::ECHO_FAILED)));
}

#[test]
fn jitter_leaves_room_for_the_way_where_one_packet_decides() {
    // Found by a seed of the simulation: an Echo packet was sent so late that it came back late.
    let mut configs = [config(0, 10, 50), config(1, 20, 50)];
    configs[0].echo = Some(Duration::from_millis(20));
    configs.iter_mut().for_each(|config| {
        config.detect_multiplier = 1;
        config.required_min_echo_rx = Duration::from_millis(10);
    });
    let mut world = up(6, configs);
    assert_eq!(said(&mut world, Duration::from_secs(60)), []);
}

#[test]
fn an_operator_holds_a_session_down_and_lets_it_up() {
    let mut world = up(4, [config(0, 10, 10), config(1, 10, 10)]);
    world.command(0, Command::Hold(0, Some(Diagnostic::ADMIN_DOWN)));
    let heard = said(&mut world, Duration::from_secs(5));
    let states: Vec<_> = heard.iter().map(|(node, state, why, _)| (*node, *state, *why)).collect();
    let expected = [
        (0, State::AdminDown, Diagnostic::ADMIN_DOWN),
        (1, State::Down, Diagnostic::NEIGHBOR_DOWN),
    ];
    assert_eq!(states, expected);
    world.command(0, Command::Hold(0, None));
    let heard = said(&mut world, Duration::from_secs(10));
    let up = heard.iter().filter(|(_, state, ..)| *state == State::Up).count();
    assert_eq!(up, 2, "{heard:?}");
}

#[test]
fn changed_intervals_hold_when_the_peer_has_confirmed_them() {
    let mut world = up(5, [config(0, 10, 10), config(1, 10, 10)]);
    let detection = |world: &World<Bfd>| {
        [0, 1]
            .map(|node| world.machine(node).and_then(|bfd| bfd.view(0)).expect("up").detection_time)
    };
    world.command(0, Command::Change(0, config(0, 200, 50)));
    assert_eq!(said(&mut world, Duration::from_secs(5)), [], "nobody goes down meanwhile");
    let [own, peer] = detection(&world);
    assert_eq!(own, Some(Duration::from_millis(150)));
    assert_eq!(peer, Some(Duration::from_millis(600)));
    world.command(0, Command::Change(0, config(0, 10, 10)));
    assert_eq!(said(&mut world, Duration::from_secs(5)), []);
    assert_eq!(detection(&world), [Some(Duration::from_millis(30)); 2]);
}

/// A machine with a session at time 0, and what it sends at first.
fn alone() -> (Bfd, Vec<Departure>) {
    let mut bfd = Bfd::new(1, 7);
    bfd.input(Time::ZERO, Input::Command(Command::Add(0, config(0, 10, 10))));
    let departures = std::iter::from_fn(|| bfd.poll(Time::ZERO)).map(|output| match output {
        Output::Departure(departure) => departure,
        Output::Report(report) => panic!("{report:?}"),
    });
    let departures = departures.collect();
    (bfd, departures)
}

#[test]
fn packets_are_sent_as_the_rfcs_ask() {
    let (_, departures) = alone();
    let [listen, open, sent] = departures.try_into().expect("two sockets and a packet");
    let Departure::Open { opening: Opening::Datagrams { local, .. }, .. } = listen else {
        panic!("{listen:?}")
    };
    assert_eq!(local, "0.0.0.0:3784".parse().expect("an address"));
    let Departure::Open { opening: Opening::Datagrams { local, .. }, .. } = open else {
        panic!("{open:?}")
    };
    assert!(local.ip() == ADDRESSES[0] && local.port() >= 49_152, "{local}");
    let Departure::Datagram { to, ttl, bytes, .. } = sent else { panic!("{sent:?}") };
    assert_eq!((to, ttl), (SocketAddr::new(ADDRESSES[1], 3784), 255));
    let packet = Packet::parse(&bytes).expect("a packet");
    assert_eq!((packet.state, packet.your_discriminator), (State::Down, 0));
    assert_eq!(packet.desired_min_tx_us, 1_000_000, "slow until it is up");
}

#[test]
fn what_is_not_the_peers_changes_nothing_but_a_counter() {
    let (mut bfd, departures) = alone();
    let own = match departures.last() {
        Some(Departure::Datagram { bytes, .. }) => Packet::parse(bytes).expect("a packet"),
        other => panic!("{other:?}"),
    };
    let packet = Packet { state: State::Down, my_discriminator: 99, your_discriminator: 0, ..own };
    let good = packet.emit();
    let mut give = |bytes: &[u8], ttl: u8, from: IpAddr| {
        let arrival = Arrival::Datagram {
            socket: Socket(0),
            interface: World::<Bfd>::interface(0),
            from: SocketAddr::new(from, 50_000),
            to: ADDRESSES[0],
            ttl,
            bytes,
        };
        bfd.input(Time(1), Input::Arrival(arrival));
        (bfd.counters(), bfd.view(0).expect("it exists").state)
    };
    let peer = ADDRESSES[1];
    let (counters, state) = give(&good, 254, peer);
    assert_eq!((counters.ttl, state), (1, State::Down), "a router has passed it on");
    let (counters, state) = give(&good[..23], 255, peer);
    assert_eq!((counters.malformed, state), (1, State::Down));
    let (counters, state) = give(&good, 255, [192, 0, 2, 3].into());
    assert_eq!((counters.no_session, state), (1, State::Down));
    let guessed = Packet { your_discriminator: 5, ..packet }.emit();
    let (counters, state) = give(&guessed, 255, peer);
    assert_eq!((counters.no_session, state), (2, State::Down));
    let signed = Packet { authentication: Some(&[1, 4, 1, 1]), ..packet }.emit();
    let (counters, state) = give(&signed, 255, peer);
    assert_eq!((counters.authentication, state), (1, State::Down));
    let (counters, state) = give(&good, 255, peer);
    assert_eq!((counters.received, state), (1, State::Init));
}

#[test]
fn a_session_has_the_discriminator_that_was_asked_for() {
    let asked = |end| Config { discriminator: Some(7), ..config(end, 10, 20) };
    let mut world = up(3, [asked(0), Config { detect_multiplier: 5, ..config(1, 30, 40) }]);
    let views = [0, 1].map(|node| world.machine(node).and_then(|bfd| bfd.view(0)).expect("it"));
    assert_eq!((views[0].discriminators[0], views[1].discriminators[1]), (7, 7));
    let heard = views[0].heard;
    assert_eq!(heard.detect_multiplier, 5);
    assert_eq!([heard.desired_min_tx_us, heard.required_min_rx_us], [30_000, 40_000]);
    world.link(0).is_cut = true;
    said(&mut world, Duration::from_secs(1));
    let view = world.machine(0).and_then(|bfd| bfd.view(0)).expect("it lives");
    assert_eq!((view.discriminators, view.heard.detect_multiplier), ([7, 0], 0));
    // Nobody else has it, and it is not zero.
    let mut bfd = Bfd::new(2, 1);
    let elsewhere = Path { peer: Ipv4Addr::new(192, 0, 2, 3).into(), ..config(0, 1, 1).path };
    let other = |discriminator| Config { path: elsewhere, discriminator, ..config(0, 10, 10) };
    for (number, config) in [(0, asked(0)), (1, other(Some(7))), (1, other(Some(0)))] {
        bfd.input(Time::ZERO, Input::Command(Command::Add(number, config)));
    }
    let refused = || match bfd.poll(Time::ZERO) {
        Some(Output::Report(Report::Refused { session, .. })) => Some(session),
        _ => None,
    };
    assert_eq!(std::iter::from_fn(refused).collect::<Vec<_>>(), [1, 1]);
}
