//! Probes with a link between them.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{Departure, Endpoint, Interface, Opening, STREAM_ROOM, Secret, Socket};
use protocol_kit::{StreamOptions, Takes, Time};
use simulation::{Probe, Quality, Seen, World};

const STREAM: Socket = Socket(3);
const LISTENER: Socket = Socket(9);

fn address(node: u8) -> IpAddr {
    [10, 0, 0, node].into()
}

/// Two nodes with a link.
fn linked(seed: u64) -> World<Probe> {
    let mut world = World::new(seed);
    for _ in 0..2 {
        world.add_node(|_| (Probe::default(), Vec::new()));
    }
    world.add_link([(0, address(1)), (1, address(2))], Quality::GOOD);
    [0, 1].iter().for_each(|node| world.revive(*node));
    world
}

/// What the nodes say until nothing happens for a time.
fn said_in(world: &mut World<Probe>, span: Duration) -> Vec<(usize, Seen)> {
    let end = world.now().after(span);
    let mut all: Vec<(usize, Seen)> = Vec::new();
    loop {
        all.extend(world.take_said().into_iter().map(|said| (said.node, said.report)));
        if !world.pass(end) {
            return all;
        }
    }
}

fn said(world: &mut World<Probe>) -> Vec<(usize, Seen)> {
    said_in(world, Duration::from_secs(1))
}

fn open(world: &mut World<Probe>, node: usize, socket: Socket, opening: Opening) {
    world.command(node, Departure::Open { socket, opening });
}

fn listen(world: &mut World<Probe>, count: u32, options: StreamOptions) {
    let at = Endpoint::Tcp(SocketAddr::new(address(2), 179));
    let streams = 100..100 + count;
    open(world, 1, LISTENER, Opening::Listener { at, options, streams });
}

fn connect(world: &mut World<Probe>, socket: Socket, options: StreamOptions) {
    let to = Endpoint::Tcp(SocketAddr::new(address(2), 179));
    open(world, 0, socket, Opening::Stream { from: None, to, options });
}

/// A stream of the first node to the second, where it has number 100.
fn connected(world: &mut World<Probe>) {
    listen(world, 1, StreamOptions::default());
    connect(world, STREAM, StreamOptions::default());
    let all = said(world);
    let ends = all.iter().filter_map(|(node, seen)| match seen {
        Seen::Connected { socket, local, peer } => Some((*node, *socket, *local, *peer)),
        _ => None,
    });
    let mut ends: Vec<_> = ends.collect();
    ends.sort();
    let [(0, STREAM, local, peer), (1, Socket(100), far_local, far_peer)] = ends[..] else {
        panic!("{all:?}");
    };
    assert_eq!((local, peer), (far_peer, far_local));
    assert_eq!(peer, Some(SocketAddr::new(address(2), 179)));
}

fn send(world: &mut World<Probe>, node: usize, socket: Socket, bytes: &[u8]) {
    world.command(node, Departure::Bytes { socket, bytes: bytes.to_vec().into() });
}

/// The bytes that a node has got, and the number of pieces.
fn bytes_of(all: &[(usize, Seen)], node: usize) -> (Vec<u8>, usize) {
    let pieces = all.iter().filter_map(|(at, seen)| match seen {
        Seen::Bytes { bytes, .. } if *at == node => Some(&bytes[..]),
        _ => None,
    });
    let pieces: Vec<&[u8]> = pieces.collect();
    (pieces.concat(), pieces.len())
}

fn taken(all: &[(usize, Seen)]) -> usize {
    let counts = all.iter().map(|(_, seen)| match seen {
        Seen::Taken { count, .. } => *count,
        _ => 0,
    });
    counts.sum()
}

#[test]
fn frames_reach_whom_they_are_for() {
    let mut world = linked(1);
    let group = [1, 0x80, 0xc2, 0, 0, 0x0e];
    let lldp = Takes { ether_type: 0x88cc, protocol: None };
    let vrrp = Takes { ether_type: 0x0800, protocol: Some(112) };
    for node in 0..2 {
        let (takes, groups) = (vec![lldp, vrrp], vec![group]);
        let interface = Interface(0);
        open(&mut world, node, STREAM, Opening::Frames { interface, takes, groups });
    }
    let frame = |to: [u8; 6], ether_type: u16, protocol: u8| {
        let mut frame = [&to[..], &[2; 6], &ether_type.to_be_bytes(), &[0; 20]].concat();
        frame[23] = protocol;
        frame
    };
    let frames = [
        (frame(group, 0x88cc, 0), true),
        (frame([2; 6], 0x88cc, 0), true),
        (frame([0xff; 6], 0x0800, 112), true),
        (frame([1, 0, 0x5e, 0, 0, 18], 0x88cc, 0), false),
        (frame(group, 0x0800, 89), false),
        (frame(group, 0x88b5, 0), false),
    ];
    for (bytes, is_taken) in frames {
        world.command(0, Departure::Frame { socket: STREAM, bytes: bytes.clone() });
        let (socket, interface) = (STREAM, Interface(0));
        let wanted = is_taken.then_some((1, Seen::Frame { socket, interface, bytes }));
        assert_eq!(said(&mut world), Vec::from_iter(wanted));
    }
}

#[test]
fn packets_reach_each_socket_of_their_protocol() {
    let mut world = linked(1);
    world.link(0).routers = 3;
    for (node, socket, protocol) in [(0, 0, 112), (1, 1, 112), (1, 2, 112), (1, 3, 89)] {
        let local = [0, 0, 0, 0].into();
        let opening = Opening::Packets { protocol, local, interface: None };
        open(&mut world, node, Socket(socket), opening);
    }
    let (from, to) = (address(1), address(2));
    let (socket, interface, ttl, bytes) = (Socket(0), None, 255, b"hello".to_vec());
    world.command(0, Departure::Packet { socket, interface, from, to, ttl, bytes });
    let seen = |socket| {
        let (interface, bytes) = (Interface(0), b"hello".to_vec());
        (1, Seen::Packet { socket, interface, from, to, ttl: 252, bytes })
    };
    assert_eq!(said(&mut world), [seen(Socket(1)), seen(Socket(2))]);
}

#[test]
fn bytes_arrive_in_order_in_pieces_of_any_size() {
    let mut pieces_of_seeds = Vec::new();
    for seed in 0..50 {
        let mut world = linked(seed);
        connected(&mut world);
        let quality = Quality { loss_ppm: 200_000, rate: Some(50_000_000), ..Quality::GOOD };
        world.link(0).quality = quality;
        let sent: Vec<u8> = (0..STREAM_ROOM).map(|at| (at * 7 / 3) as u8).collect();
        send(&mut world, 0, STREAM, &sent);
        world.command(0, Departure::Finish { socket: STREAM });
        let all = said_in(&mut world, Duration::from_secs(500));
        let (bytes, pieces) = bytes_of(&all, 1);
        assert!(bytes == sent, "seed {seed}");
        assert_eq!(taken(&all), sent.len());
        assert_eq!(all.last(), Some(&(1, Seen::Finished { socket: Socket(100) })));
        // The other direction still stands.
        send(&mut world, 1, Socket(100), b"and back");
        world.command(1, Departure::Close { socket: Socket(100) });
        let all = said_in(&mut world, Duration::from_secs(100));
        assert_eq!(bytes_of(&all, 0).0, b"and back");
        assert_eq!(all.last(), Some(&(0, Seen::Finished { socket: STREAM })));
        pieces_of_seeds.push(pieces);
    }
    pieces_of_seeds.dedup();
    assert!(pieces_of_seeds.len() > 10, "{pieces_of_seeds:?}");
}

#[test]
fn bytes_that_nobody_reads_make_the_sender_wait() {
    let mut world = linked(2);
    connected(&mut world);
    world.command(1, Departure::Read { socket: Socket(100), is_wanted: false });
    send(&mut world, 0, STREAM, &[7; STREAM_ROOM]);
    let all = said_in(&mut world, Duration::from_secs(1000));
    let before = taken(&all);
    assert!(before > 0 && before < STREAM_ROOM && bytes_of(&all, 1).1 == 0, "{before}");
    world.command(1, Departure::Read { socket: Socket(100), is_wanted: true });
    let all = said(&mut world);
    assert_eq!(before + taken(&all), STREAM_ROOM);
    assert_eq!(bytes_of(&all, 1).0.len(), STREAM_ROOM);
    // A byte more than there is room for.
    world.command(1, Departure::Read { socket: Socket(100), is_wanted: false });
    send(&mut world, 0, STREAM, &[7; STREAM_ROOM]);
    said(&mut world);
    send(&mut world, 0, STREAM, &[7; STREAM_ROOM]);
    let failed = |(_, seen): &(usize, Seen)| matches!(seen, Seen::Failed { .. });
    assert_eq!(said(&mut world).iter().filter(|said| failed(said)).count(), 2);
}

#[test]
fn a_listener_accepts_as_many_as_it_has_numbers() {
    let mut world = linked(3);
    listen(&mut world, 2, StreamOptions::default());
    for number in 0..3 {
        connect(&mut world, Socket(number), StreamOptions::default());
        // The third stands for who has begun it, as the kernel has answered.
        let all = said(&mut world);
        assert_eq!(all.len(), if number < 2 { 2 } else { 1 }, "{all:?}");
    }
    send(&mut world, 0, Socket(2), b"early");
    assert_eq!(said(&mut world), [(0, Seen::Taken { socket: Socket(2), count: 5 })]);
    world.command(1, Departure::Close { socket: Socket(100) });
    let all = said(&mut world);
    let is_the_third = |(_, seen): &(usize, Seen)| match seen {
        Seen::Connected { socket, .. } => *socket == Socket(100),
        _ => false,
    };
    assert!(all.iter().any(is_the_third) && bytes_of(&all, 1).0 == b"early", "{all:?}");
    assert!(all.contains(&(0, Seen::Finished { socket: Socket(0) })), "{all:?}");
    // Nobody listens any more.
    world.command(1, Departure::Close { socket: LISTENER });
    connect(&mut world, Socket(7), StreamOptions::default());
    assert_eq!(said(&mut world), [(0, Seen::Failed { socket: Socket(7) })]);
}

#[test]
fn a_stream_within_a_node_has_a_path() {
    let mut world = linked(4);
    let at = Endpoint::Unix("/run/control".into());
    let options = StreamOptions::default();
    let opening = Opening::Listener { at: at.clone(), options: options.clone(), streams: 100..101 };
    open(&mut world, 0, LISTENER, opening);
    let opening = Opening::Stream { from: None, to: at, options };
    open(&mut world, 0, STREAM, opening.clone());
    let all = said(&mut world);
    let (local, peer) = (None, None);
    for socket in [STREAM, Socket(100)] {
        assert!(all.contains(&(0, Seen::Connected { socket, local, peer })), "{all:?}");
    }
    send(&mut world, 0, STREAM, b"hello");
    assert_eq!(bytes_of(&said(&mut world), 0).0, b"hello");
    // Another node has other files.
    open(&mut world, 1, STREAM, opening);
    assert_eq!(said(&mut world), [(1, Seen::Failed { socket: STREAM })]);
}

#[test]
fn the_least_time_to_live_and_signatures_hold() {
    let key = |node, key: &[u8]| (address(node), Secret(key.to_vec()));
    let strict =
        StreamOptions { ttl_min: 254, md5: vec![key(1, b"a secret")], ..StreamOptions::default() };
    for (ttl, md5, routers, is_accepted) in [
        (255, vec![key(2, b"a secret")], 1, true),
        (255, vec![key(2, b"a secret")], 2, false),
        (64, vec![key(2, b"a secret")], 0, false),
        (255, vec![key(2, b"another")], 1, false),
        (255, vec![], 1, false),
    ] {
        let mut world = linked(5);
        world.link(0).routers = routers;
        listen(&mut world, 1, strict.clone());
        let options = StreamOptions { ttl: Some(ttl), md5, ..StreamOptions::default() };
        connect(&mut world, STREAM, options);
        let all = said_in(&mut world, Duration::from_secs(50));
        assert_eq!(all.len(), if is_accepted { 2 } else { 0 }, "{all:?}");
        let all = said_in(&mut world, Duration::from_secs(50));
        let wanted = (!is_accepted).then_some((0, Seen::Failed { socket: STREAM }));
        assert_eq!(all, Vec::from_iter(wanted));
    }
}

#[test]
fn a_cut_delays_or_fails_and_a_death_resets() {
    let mut world = linked(6);
    connected(&mut world);
    // Bytes wait for the link.
    world.link(0).is_cut = true;
    send(&mut world, 0, STREAM, b"late");
    let all = said_in(&mut world, Duration::from_secs(30));
    assert_eq!(all, [(0, Seen::Taken { socket: STREAM, count: 4 })]);
    world.link(0).is_cut = false;
    assert_eq!(bytes_of(&said_in(&mut world, Duration::from_secs(30)), 1).0, b"late");
    // A minute is too long.
    world.link(0).is_cut = true;
    send(&mut world, 0, STREAM, b"too late");
    let all = said_in(&mut world, Duration::from_secs(100));
    let (one, other) =
        ((0, Seen::Failed { socket: STREAM }), (1, Seen::Failed { socket: Socket(100) }));
    assert!(all.contains(&one) && all.contains(&other), "{all:?}");
    // A stream on which nothing is to be sent does not notice.
    world.link(0).is_cut = false;
    world.command(1, Departure::Close { socket: LISTENER });
    connected(&mut world);
    world.link(0).is_cut = true;
    assert_eq!(said_in(&mut world, Duration::from_secs(100)), []);
    world.link(0).is_cut = false;
    // A node that hangs keeps its streams, and what arrives waits.
    world.hang(1, Duration::from_secs(100));
    send(&mut world, 0, STREAM, b"patience");
    assert_eq!(bytes_of(&said_in(&mut world, Duration::from_secs(90)), 1).1, 0);
    assert_eq!(bytes_of(&said_in(&mut world, Duration::from_secs(20)), 1).0, b"patience");
    world.kill(1);
    assert_eq!(said(&mut world), [one]);
    assert!(world.now() > Time::ZERO);
}

#[test]
fn a_node_without_power_tells_nobody_that_its_streams_are_gone() {
    let mut world = linked(8);
    connected(&mut world);
    world.cut_power(1);
    assert_eq!(said_in(&mut world, Duration::from_secs(100)), []);
    // When it is back, what arrives is of no stream that it knows.
    world.revive(1);
    send(&mut world, 0, STREAM, b"who?");
    let failed = (0, Seen::Failed { socket: STREAM });
    assert_eq!(said(&mut world), [(0, Seen::Taken { socket: STREAM, count: 4 }), failed.clone()]);
    // While it is away, nothing answers, for a minute.
    connected(&mut world);
    world.cut_power(1);
    send(&mut world, 0, STREAM, b"anybody?");
    let taken = (0, Seen::Taken { socket: STREAM, count: 8 });
    assert_eq!(said_in(&mut world, Duration::from_secs(50)), [taken]);
    assert_eq!(said_in(&mut world, Duration::from_secs(50)), [failed]);
}

#[test]
fn both_ends_know_that_a_link_is_unplugged() {
    let mut world = linked(7);
    let told = |node, is_up| (node, Seen::Link { interface: Interface(0), is_up });
    world.plug(0, true);
    assert_eq!(said(&mut world), []);
    world.plug(0, false);
    assert_eq!(said(&mut world), [told(0, false), told(1, false)]);
    // A node that is born meanwhile takes it for up until it is told.
    world.kill(1);
    world.revive(1);
    assert_eq!(said(&mut world), [told(1, false)]);
    let (takes, groups) = (vec![Takes { ether_type: 0x88cc, protocol: None }], vec![]);
    for node in 0..2 {
        let (takes, groups) = (takes.clone(), groups.clone());
        let interface = Interface(0);
        open(&mut world, node, STREAM, Opening::Frames { interface, takes, groups });
    }
    let frame = [&[2; 12][..], &0x88cc_u16.to_be_bytes(), &[0; 46]].concat();
    world.command(0, Departure::Frame { socket: STREAM, bytes: frame.clone() });
    assert_eq!(said(&mut world), []);
    // One that hangs is told when it goes on.
    world.hang(1, Duration::from_secs(5));
    world.plug(0, true);
    assert_eq!(said(&mut world), [told(0, true)]);
    assert_eq!(said_in(&mut world, Duration::from_secs(10)), [told(1, true)]);
    world.command(0, Departure::Frame { socket: STREAM, bytes: frame });
    assert_eq!(said(&mut world).len(), 1);
}
