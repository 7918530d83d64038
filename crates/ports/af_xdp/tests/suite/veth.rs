//! The port on veth pairs between namespaces, with the kernel's own stack at the other end.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use engine::{Link, Opened, PortCounts, PortKind, PortRequest, Way};
use netns::{Namespace, may_make_namespaces};
use packet::{Batch, PortId, Room, Slot};
use port_af_xdp::{AfXdp, Config, Mode, ZeroCopy};

/// Two namespaces connected by a veth pair: the port uses `near0`, the kernel has an address on
/// `far0`.
struct Pair {
    near: Namespace,
    far: Namespace,
}

const FAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const NEAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const NEAR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const FAR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

impl Pair {
    fn new() -> Option<Pair> {
        if !may_make_namespaces() {
            eprintln!("skipped: no right to make network namespaces; run as root");
            return None;
        }
        let make = || Namespace::new().expect("the right is there");
        let pair = Pair { near: make(), far: make() };
        pair.join();
        Some(pair)
    }

    /// Creates the veth pair; may be called again.
    fn join(&self) {
        let Pair { near, far } = self;
        far.sysctl("net/ipv6/conf/default/disable_ipv6", "1").expect("the namespace's own");
        near.sysctl("net/ipv6/conf/default/disable_ipv6", "1").expect("the namespace's own");
        near.veth("near0", far, "far0").expect("veth");
        near.ip("link set near0 address 02:00:00:00:00:01").expect("address");
        far.ip("link set far0 address 02:00:00:00:00:02").expect("address");
        far.ip(&format!("addr add {FAR}/24 dev far0")).expect("address");
        far.ip(&format!("neigh replace {NEAR} lladdr 02:00:00:00:00:01 dev far0")).expect("neigh");
    }

    fn open(&self, config: &Config, queues: usize) -> Result<Opened, engine::PortError> {
        self.near.run(|| AfXdp::open(config, &request(queues))).expect("the namespace is there")
    }

    /// Returns a socket of the kernel at the other end.
    fn socket(&self) -> UdpSocket {
        let socket = self.far.run(|| UdpSocket::bind((FAR, 7000)));
        let socket = socket.expect("runs").expect("the address is there");
        socket.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        socket
    }
}

fn request(queues: usize) -> PortRequest {
    PortRequest {
        name: "uplink".into(),
        id: PortId(3),
        queues,
        frame_bytes_max: 1514,
        ticks_per_second: 1e9,
    }
}

fn batch() -> Batch {
    Batch::new(256, Room::default()).expect("memory")
}

/// Returns a frame from the port to the kernel's socket.
fn frame(payload: &[u8]) -> Vec<u8> {
    let udp_len = (8 + payload.len()) as u16;
    let mut frame = [FAR_MAC, NEAR_MAC].concat();
    frame.extend([8, 0, 0x45, 0]);
    frame.extend((20 + udp_len).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(NEAR.octets());
    frame.extend(FAR.octets());
    let sum: u32 =
        frame[14..].chunks(2).map(|half| u32::from(half[0]) << 8 | u32::from(half[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    // No UDP checksum (RFC 768).
    frame.extend([0x1b, 0x59, 0x1b, 0x58]);
    frame.extend(udp_len.to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(payload);
    frame
}

/// Sends frames as one batch; returns the number that the port accepted.
fn send(opened: &mut Opened, queue: usize, frames: &[Vec<u8>]) -> usize {
    let mut batch = batch();
    for frame in frames {
        batch.append(PortId(0), frame.len()).expect("room").copy_from_slice(frame);
    }
    let slots: Vec<Slot> = batch.slots().collect();
    opened.queues[queue].transmit(&mut batch, &slots, 0)
}

/// Receives from all queues until this number of UDP payloads has arrived.
fn receive(opened: &mut Opened, count: usize) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    until(|| {
        for queue in &mut opened.queues {
            let mut batch = batch();
            queue.receive(&mut batch, 256, 0);
            for slot in batch.slots() {
                assert_eq!(batch.port(slot), PortId(3));
                let frame = batch.frame(slot);
                if frame.len() > 42 && frame[12..14] == [8, 0] && frame[23] == 17 {
                    payloads.push(frame[42..].to_vec());
                }
            }
        }
        payloads.len() >= count
    });
    payloads
}

const DEADLINE: Duration = Duration::from_secs(20);

/// Polls a condition until it holds.
fn until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < DEADLINE, "it did not come");
        std::thread::yield_now();
    }
}

fn drops(counts: &PortCounts, way: Way, why: &str) -> u64 {
    counts
        .drops
        .iter()
        .filter(|(kind, _)| kind.way == way && kind.why == why)
        .map(|drop| drop.1)
        .sum()
}

fn fact(opened: &Opened, key: &str) -> String {
    let facts = opened.monitor.facts();
    facts
        .iter()
        .find(|(found, _)| *found == key)
        .map(|(_, value)| value.clone())
        .unwrap_or_default()
}

/// Sends frames in both directions, and checks that they arrive complete, in order, and are
/// counted.
fn exchange(pair: &Pair, opened: &mut Opened, rounds: u32) {
    let socket = pair.socket();
    let before = opened.monitor.counts();
    let mut text = [0; 2000];
    let mut bytes = 0;
    for round in 0..rounds {
        let payload = |index: u32| {
            let mut payload = vec![round as u8; 4 + (index as usize * 37 + round as usize) % 1400];
            payload[..4].copy_from_slice(&(round * 100 + index).to_be_bytes());
            payload
        };
        let frames: Vec<_> = (0..50).map(|index| frame(&payload(index))).collect();
        bytes += frames.iter().map(Vec::len).sum::<usize>();
        assert_eq!(send(opened, 0, &frames), frames.len());
        for index in 0..50 {
            let len = socket.recv(&mut text).expect("it comes");
            assert_eq!(text[..len], payload(index), "round {round}, frame {index}");
        }
        (0..50).for_each(|index| {
            socket.send_to(&payload(index), (NEAR, 7001)).expect("the neighbour is known");
        });
        let received = receive(opened, 50);
        assert_eq!(received, (0..50).map(payload).collect::<Vec<_>>(), "round {round}");
    }
    let counts = opened.monitor.counts();
    let frames = u64::from(rounds) * 50;
    assert_eq!(counts.sent - before.sent, frames);
    assert_eq!(counts.sent_bytes - before.sent_bytes, bytes as u64);
    // The kernel may say something of its own, such as a report of a neighbour.
    assert!(counts.received - before.received >= frames);
}

#[test]
fn frames_go_both_ways_in_every_mode() {
    let Some(pair) = Pair::new() else { return };
    for (mode, ran) in
        [(Mode::Auto, "driver"), (Mode::Driver, "driver"), (Mode::Generic, "generic")]
    {
        for zero_copy in [ZeroCopy::Auto, ZeroCopy::No] {
            let config = Config { mode, zero_copy, ring_frames: 64, ..Config::of("near0") };
            let mut opened = pair.open(&config, 1).expect("it opens");
            assert_eq!(fact(&opened, "mode"), ran);
            assert_eq!(fact(&opened, "zero-copy"), "no", "veth has none");
            assert_eq!(fact(&opened, "driver"), "veth");
            assert_eq!(fact(&opened, "program-held-by"), "BPF link");
            assert_eq!(opened.monitor.link(), Link::Up);
            exchange(&pair, &mut opened, 20);
            let counts = opened.monitor.counts();
            assert_eq!(counts.lost(Way::Receive) + counts.lost(Way::Transmit), 0, "{counts:?}");
        }
    }
    let left = pair.near.ip("link show near0").expect("it is there");
    assert!(!left.contains("xdp"), "the program goes with the port: {left}");
}

#[test]
fn what_cannot_be_had_is_an_error_with_a_remedy() {
    let Some(pair) = Pair::new() else { return };
    let error = |config: &Config, queues| match pair.open(config, queues) {
        Ok(_) => panic!("{config:?} with {queues} queues must not open"),
        Err(error) => (error.what, error.remedy),
    };
    let near = Config::of("near0");
    let (what, remedy) = error(&Config::of("absent0"), 1);
    assert!(what.contains("absent0") && remedy.contains("ip link"), "{what}; {remedy}");
    let (what, remedy) = error(&near, 5);
    assert!(what.contains("near0 has no queue"), "{what}");
    assert!(remedy.contains("ethtool -L near0"), "{remedy}");
    let (what, remedy) = error(&Config { zero_copy: ZeroCopy::Yes, ..near.clone() }, 1);
    assert!(what.contains("near0: its driver does not support zero copy"), "{what}");
    assert!(remedy.contains("zero-copy: auto"), "{remedy}");

    pair.far.ip("link set far0 mtu 9000").expect("veth carries that");
    let (what, remedy) = error(&Config { mode: Mode::Driver, ..near.clone() }, 1);
    assert!(what.contains("near0: its MTU, or"), "{what}");
    assert!(remedy.contains("mode: generic"), "{remedy}");
    let opened = pair.open(&near, 1).expect("auto falls back");
    assert_eq!(fact(&opened, "mode"), "generic");
    assert!(!fact(&opened, "driver-mode-refused").is_empty(), "the record says why");
    drop(opened);
    pair.far.ip("link set far0 mtu 1500").expect("veth carries that");

    let opened = pair.open(&near, 1).expect("it opens");
    for mode in [Mode::Auto, Mode::Driver, Mode::Generic] {
        let (what, remedy) = error(&Config { mode, ..near.clone() }, 1);
        assert!(what.contains("near0: an XDP program is attached already"), "{what}");
        assert!(remedy.contains("ip link set near0 xdp off"), "{remedy}");
    }
    drop(opened);
    pair.open(&near, 1).expect("the refused ones left nothing behind");
}

#[test]
fn a_link_that_goes_down_and_comes_back_needs_no_restart() {
    let Some(pair) = Pair::new() else { return };
    let mut opened = pair.open(&Config::of("near0"), 1).expect("it opens");
    for round in 1..=3 {
        exchange(&pair, &mut opened, 2);
        let (namespace, name, why) = match round {
            1 => (&pair.near, "near0", "administratively down"),
            _ => (&pair.far, "far0", "no carrier"),
        };
        namespace.ip(&format!("link set {name} down")).expect("it goes down");
        until(|| matches!(opened.monitor.link(), Link::Down(what) if what.contains(why)));
        let lost = drops(&opened.monitor.counts(), Way::Transmit, "link-down");
        assert_eq!(send(&mut opened, 0, &[frame(b"lost"), frame(b"too")]), 0);
        assert_eq!(drops(&opened.monitor.counts(), Way::Transmit, "link-down"), lost + 2);
        namespace.ip(&format!("link set {name} up")).expect("it comes back");
        // The address of a neighbour is forgotten with the link.
        pair.far
            .ip(&format!("neigh replace {NEAR} lladdr 02:00:00:00:00:01 dev far0"))
            .expect("known");
        until(|| opened.monitor.link() == Link::Up);
    }
    exchange(&pair, &mut opened, 2);
}

#[test]
fn an_interface_that_is_made_again_is_taken_up_again() {
    let Some(pair) = Pair::new() else { return };
    let mut opened = pair.open(&Config::of("near0"), 1).expect("it opens");
    exchange(&pair, &mut opened, 2);
    for _ in 0..3 {
        let before = opened.monitor.counts();
        pair.near.ip("link del near0").expect("it goes");
        until(
            || matches!(opened.monitor.link(), Link::Down(what) if what.contains("no interface")),
        );
        assert_eq!(send(&mut opened, 0, &[frame(b"lost")]), 0);
        assert_eq!(receive(&mut opened, 0), Vec::<Vec<u8>>::new());
        pair.join();
        until(|| opened.monitor.link() == Link::Up);
        exchange(&pair, &mut opened, 2);
        let counts = opened.monitor.counts();
        assert_eq!(counts.sent, before.sent + 100, "the counts go on");
        assert_eq!(counts.lost(Way::Transmit), before.lost(Way::Transmit) + 1);
    }
}

#[test]
fn every_frame_of_an_overload_is_received_or_counted() {
    let Some(pair) = Pair::new() else { return };
    let (peer, near) = (Config::of("far0"), Config { ring_frames: 64, ..Config::of("near0") });
    for mode in [Mode::Driver, Mode::Generic] {
        let mut opened = pair.open(&Config { mode, ..near.clone() }, 1).expect("it opens");
        let from = pair.far.run(|| AfXdp::open(&Config { mode, ..peer.clone() }, &request(1)));
        let mut from = from.expect("runs").expect("it opens");
        let frames: Vec<_> = (0..250u32).map(|index| frame(&index.to_be_bytes())).collect();
        let start = opened.monitor.counts();
        let (mut taken, mut received) = (0, Vec::new());
        for round in 0..40 {
            taken += send(&mut from, 0, &frames);
            // The receiver looks seldom, so its 64 chunks run out.
            if round % 8 == 0 {
                received.extend(receive(&mut opened, 1));
            }
        }
        let counts = from.monitor.counts();
        assert_eq!(counts.sent + counts.lost(Way::Transmit), 40 * 250, "{counts:?}");
        assert_eq!(counts.sent as usize, taken);
        let mut seen = received.len() as u64;
        until(|| {
            seen += receive(&mut opened, 0).len() as u64;
            let counts = opened.monitor.counts();
            let foreign = counts.received - start.received - seen;
            seen + counts.lost(Way::Receive) - start.lost(Way::Receive) + foreign >= taken as u64
        });
        let counts = opened.monitor.counts();
        assert!(drops(&counts, Way::Receive, "no-free-chunk") > 0, "{counts:?}");
        let lost = counts.lost(Way::Receive);
        assert_eq!(seen + lost, taken as u64, "every frame once: {counts:?}");
    }
}

#[test]
fn frames_that_do_not_fit_are_counted_as_such() {
    let Some(pair) = Pair::new() else { return };
    let config = Config { mode: Mode::Generic, ..Config::of("near0") };
    let mut opened = pair.open(&config, 1).expect("it opens");
    pair.near.ip("link set near0 mtu 4000").expect("veth carries that");
    pair.far.ip("link set far0 mtu 4000").expect("veth carries that");
    let socket = pair.socket();
    socket.send_to(&[1; 3000], (NEAR, 7001)).expect("it is sent");
    until(|| drops(&opened.monitor.counts(), Way::Receive, "too-long") == 1);
    assert_eq!(send(&mut opened, 0, &[vec![0; 13], Vec::new()]), 0);
    assert_eq!(drops(&opened.monitor.counts(), Way::Transmit, "too-short"), 2);

    // Longer than the port's memory for a frame is no loss of the frames around it.
    let mut large = Batch::new(4, Room { headroom: 0, frame: 4000, long: 0 }).expect("memory");
    for len in [60, 2049, 61] {
        let room = large.append(PortId(0), len).expect("room");
        room.fill(0);
        room[..6].copy_from_slice(&FAR_MAC);
    }
    let slots: Vec<Slot> = large.slots().collect();
    assert_eq!(opened.queues[0].transmit(&mut large, &slots, 0), 2);
    let counts = opened.monitor.counts();
    assert_eq!((counts.sent, drops(&counts, Way::Transmit, "too-long")), (2, 1));

    // The device itself refuses what is above the MTU of its peer.
    pair.near.ip("link set near0 mtu 1000").expect("veth carries that");
    pair.far.ip("link set far0 mtu 1000").expect("veth carries that");
    assert_eq!(send(&mut opened, 0, &[frame(&[2; 1400]), frame(b"fits")]), 1);
    let counts = opened.monitor.counts();
    assert_eq!((counts.sent, drops(&counts, Way::Transmit, "refused-by-device")), (3, 1));
    let mut text = [0; 2000];
    let len = socket.recv(&mut text).expect("it comes");
    assert_eq!(text[..len], *b"fits");
}

#[test]
fn each_queue_has_a_worker_and_frames_of_others_go_to_the_kernel() {
    let Some(pair) = Pair::new() else { return };
    pair.near.ip("link del near0").expect("it goes");
    let peer = "numrxqueues 3 numtxqueues 3";
    let made = pair.near.ip(&format!("link add near0 {peer} type veth peer name far0 {peer}"));
    made.expect("veth with queues");
    // Both ends stay in one namespace; what one port sends on a queue comes in at the same queue.
    pair.near.ip("link set near0 up").expect("up");
    pair.near.ip("link set far0 up").expect("up");
    let config = Config { first_queue: 1, ..Config::of("near0") };
    let mut opened = pair.open(&config, 2).expect("it opens");
    assert_eq!(fact(&opened, "queues"), "1-2 of 3");
    let mut from = pair.open(&Config::of("far0"), 3).expect("it opens");
    assert_eq!(fact(&from, "queues"), "0-2 of 3");
    for queue in 0..3 {
        let mut frame = frame(&[queue as u8; 4]);
        let (to, source) = frame.split_at_mut(6);
        to.copy_from_slice(&NEAR_MAC);
        source[..6].copy_from_slice(&FAR_MAC);
        assert_eq!(send(&mut from, queue, &vec![frame; 10]), 10);
    }
    let mut payloads = receive(&mut opened, 20);
    payloads.sort();
    assert_eq!(payloads, [vec![vec![1; 4]; 10], vec![vec![2; 4]; 10]].concat());
    until(|| drops(&opened.monitor.counts(), Way::Receive, "queue-without-worker") >= 10);
    assert_eq!(opened.queues.len(), 2);
}
