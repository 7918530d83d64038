//! The tap port does what every port must, and the kernel's stack talks through it.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Link, Monitor, Opened, PortError, PortKind, PortRequest};
use netns::{Namespace, is_installed, may_make_namespaces};
use packet::{Batch, Room};
use port_af_packet::{AfPacket, AfPacketConfig, Ring};
use port_conformance::{Bench, LostBetween, Order, PortPeer, Promises, request, run};
use port_tap::{Tap, TapConfig};

/// The port in a namespace, with packet sockets on its interface as the peer.
struct Kernel {
    space: Namespace,
    peer: Option<PortPeer>,
    port: Option<Arc<dyn Monitor>>,
    /// Frames dropped towards the kernel before the interface was created again.
    gone: LostBetween,
}

fn namespace() -> Option<Namespace> {
    if !may_make_namespaces() || Tap::available().is_err() {
        eprintln!("skipped: no right to make network namespaces, or no /dev/net/tun; run as root");
        return None;
    }
    let space = Namespace::new().expect("the right is there");
    for scope in ["all", "default"] {
        space.sysctl(&format!("net/ipv6/conf/{scope}/disable_ipv6"), "1").expect("its own");
    }
    Some(space)
}

fn drops(monitor: &Arc<dyn Monitor>, why: &str) -> u64 {
    let counts = monitor.counts();
    counts.drops.iter().filter(|(kind, _)| kind.why == why).map(|(_, count)| count).sum()
}

impl Bench for Kernel {
    fn promises(&self) -> Promises {
        Promises {
            frame_bytes_max: 9014,
            frame_bytes_min: 14,
            queues_max: 3,
            order: Order::Flow,
            peer_survives_reopening: true,
            link_goes_down: true,
            takes_long: true,
            ..Promises::default()
        }
    }

    fn open(&mut self, request: &PortRequest) -> Result<Opened, PortError> {
        self.gone = self.lost_between();
        (self.peer, self.port) = (None, None);
        let config = TapConfig { mtu_bytes: 9000, ..TapConfig::new("tap0") };
        let opened = self.space.run(|| Tap::open(&config, request)).expect("runs")?;
        if request.queues == 0 {
            return Ok(opened);
        }
        let config = AfPacketConfig { ring: Ring::Frames, ..AfPacketConfig::new("tap0") };
        let peer = port_conformance::request(1, 9014);
        let peer = self.space.run(|| AfPacket::open(&config, &peer)).expect("runs");
        self.port = Some(opened.monitor.clone());
        self.peer = Some(PortPeer::new(peer.expect("it opens"), 9014));
        Ok(opened)
    }

    /// Sends frames; frames that the interface's queue refuses count as sent, because the kernel
    /// counts them among its drops.
    fn peer_send(&mut self, frames: &[Vec<u8>]) -> usize {
        let Some(peer) = &mut self.peer else { return 0 };
        let mut sent = 0;
        while sent < frames.len() {
            let before = drops(peer.monitor(), "device-full");
            sent += peer.send(&frames[sent..]);
            if drops(peer.monitor(), "device-full") == before {
                break;
            }
            sent += 1;
        }
        sent
    }

    fn peer_receive(&mut self, sink: &mut dyn FnMut(&[u8])) {
        if let Some(peer) = &mut self.peer {
            peer.receive(sink);
        }
    }

    fn lost_between(&mut self) -> LostBetween {
        let text = self.space.run(|| std::fs::read_to_string("/proc/thread-self/net/dev"));
        let text = text.expect("runs").expect("every kernel has it");
        let numbers = text.lines().find_map(|line| line.trim().strip_prefix("tap0:"));
        let mut numbers = numbers.unwrap_or("").split_whitespace().map(|word| word.parse::<u64>());
        let dropped = numbers.nth(3).and_then(Result::ok).unwrap_or(0);
        let lost_in = self.peer.as_ref().map_or(0, PortPeer::lost_in);
        // What a port that is down refuses, the kernel counts among its drops: it was never sent.
        let refused = self.port.as_ref().map_or(0, |port| drops(port, "link-down"));
        let dropped = dropped.saturating_sub(refused);
        LostBetween { from_port: self.gone.from_port + dropped + lost_in, ..self.gone }
    }

    fn set_link(&mut self, up: bool) {
        let state = if up { "up" } else { "down" };
        self.space.ip(&format!("link set tap0 {state}")).expect("it is there");
    }
}

#[test]
fn the_tap_port_conforms() {
    let gone = LostBetween::default();
    run("tap", || Some(Kernel { space: namespace()?, peer: None, port: None, gone }));
}

fn open(space: &Namespace, addresses: &[&str]) -> Opened {
    let addresses = addresses.iter().map(|address| (*address).to_owned()).collect();
    let config = TapConfig { addresses, ..TapConfig::new("tap0") };
    let opened = space.run(|| Tap::open(&config, &request(1, 1514)));
    opened.expect("runs").expect("it opens")
}

/// Returns an ARP reply or an echo reply to a request for 192.0.2.2 (RFC 826, RFC 792).
fn answer(frame: &[u8]) -> Option<Vec<u8>> {
    let mac = [0x02, 0, 0, 0, 0, 2];
    let mut reply = frame.to_vec();
    match frame.get(12..14)? {
        [0x08, 0x06] if frame.get(38..42)? == [192, 0, 2, 2] => {
            reply[..6].copy_from_slice(&frame[6..12]);
            reply[6..12].copy_from_slice(&mac);
            reply[21] = 2;
            reply[22..28].copy_from_slice(&mac);
            reply[28..32].copy_from_slice(&frame[38..42]);
            reply[32..42].copy_from_slice(&frame[22..32]);
            Some(reply)
        }
        [0x08, 0x00] if frame.get(23) == Some(&1) && frame.get(34) == Some(&8) => {
            let (left, right) = reply.split_at_mut(6);
            left.swap_with_slice(&mut right[..6]);
            let (left, right) = reply[26..34].split_at_mut(4);
            left.swap_with_slice(right);
            reply[34] = 0;
            // RFC 1624: the type fell by eight.
            let sum = u32::from(u16::from_be_bytes([reply[36], reply[37]])) + 0x0800;
            let sum = ((sum & 0xffff) + (sum >> 16)) as u16;
            reply[36..38].copy_from_slice(&sum.to_be_bytes());
            Some(reply)
        }
        _ => None,
    }
}

#[test]
fn the_kernel_pings_through_the_tap() {
    let Some(space) = namespace() else { return };
    if !is_installed("busybox") {
        eprintln!("skipped: busybox is not installed");
        return;
    }
    let mut opened = open(&space, &["192.0.2.1/24"]);
    let mut ping = Command::new("busybox");
    ping.args(["ping", "-c", "2", "-W", "10", "192.0.2.2"]);
    let mut child = space.spawn(ping).expect("it starts");
    let mut batch = Batch::new(1, Room { headroom: 0, frame: 1514, long: 0 }).expect("memory");
    let start = Instant::now();
    let ended = loop {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", opened.monitor.counts());
        if let Some(ended) = child.ended() {
            break ended;
        }
        batch.clear();
        if opened.queues[0].receive(&mut batch, 1, 0) == 0 {
            std::thread::park_timeout(Duration::from_millis(1));
            continue;
        }
        if let Some(reply) = answer(batch.frame(0)) {
            batch.frame_mut(0).copy_from_slice(&reply);
            assert_eq!(opened.queues[0].transmit(&mut batch, &[0], 0), 1);
        }
    };
    assert!(ended.success(), "both came back");
}

#[test]
fn a_deleted_interface_is_made_again_with_its_addresses() {
    let Some(space) = namespace() else { return };
    let mut opened = open(&space, &["192.0.2.1/24"]);
    let mut batch = Batch::new(1, Room { headroom: 0, frame: 1514, long: 0 }).expect("memory");
    batch.append(packet::PortId(0), 60).expect("room").fill(2);
    let monitor = opened.monitor.clone();
    for round in 1..=3 {
        space.ip("link del tap0").expect("it was there");
        assert_eq!(monitor.link(), Link::Down("tap0 was deleted".to_owned()));
        assert_eq!(opened.queues[0].transmit(&mut batch, &[0], 0), 0);
        assert_eq!(monitor.counts().lost(engine::Way::Transmit), round);
        // In the namespace, where a worker is; two seconds of the clock that is an argument later.
        space.run(|| opened.queues[0].receive(&mut batch, 0, 2_000_000_000)).expect("runs");
        let start = Instant::now();
        while monitor.link() != Link::Up {
            assert!(start.elapsed() < Duration::from_secs(10), "{:?}", monitor.link());
        }
        assert!(space.ip("addr show tap0").expect("it is there").contains("192.0.2.1/24"));
        assert_eq!(opened.queues[0].transmit(&mut batch, &[0], 0), 1);
        assert_eq!(monitor.counts().sent, round);
    }
}

#[test]
fn an_interface_of_another_kind_is_named() {
    let Some(space) = namespace() else { return };
    let opened = space.run(|| Tap::open(&TapConfig::new("lo"), &request(1, 1514)));
    let error = opened.expect("runs").map(drop).expect_err("it is the loopback");
    assert!(error.what.starts_with("interface lo exists and is not a tap"), "{error:?}");
}
