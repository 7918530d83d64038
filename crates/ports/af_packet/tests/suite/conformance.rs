//! The af-packet port does what every port must, on pairs of virtual Ethernet interfaces.

use std::sync::Arc;

use engine::{Monitor, Opened, PortCounts, PortError, PortKind, PortRequest};
use netns::{Namespace, may_make_namespaces};
use port_af_packet::{AfPacket, AfPacketConfig, Ring};
use port_conformance::{Bench, LostBetween, Order, PortPeer, Promises, request, run};

/// The port under test at one end of a veth pair, and another port at the other end.
struct Veth {
    near: Namespace,
    far: Namespace,
    ring: Ring,
    mtu: usize,
    peer: Option<PortPeer>,
    /// Monitors of all openings of the port so far.
    openings: Vec<Arc<dyn Monitor>>,
    /// Frames lost on pairs that no longer exist.
    gone: LostBetween,
}

impl Veth {
    fn new(ring: Ring, mtu: usize) -> Option<Veth> {
        if !may_make_namespaces() {
            eprintln!("skipped: no right to make network namespaces; run as root");
            return None;
        }
        let make = || {
            let space = Namespace::new().expect("the right is there");
            // The kernel's own frames are none of the suite's.
            for scope in ["all", "default"] {
                let key = format!("net/ipv6/conf/{scope}/disable_ipv6");
                space.sysctl(&key, "1").expect("the namespace's own");
            }
            space
        };
        let gone = LostBetween::default();
        let mut veth =
            Veth { near: make(), far: make(), ring, mtu, peer: None, openings: Vec::new(), gone };
        veth.revive_peer();
        Some(veth)
    }

    fn frame_bytes_max(&self) -> usize {
        self.mtu + 14
    }

    fn dropped(&self, space: &Namespace, name: &str) -> (u64, u64) {
        let text = space.run(|| std::fs::read_to_string("/proc/thread-self/net/dev"));
        let text = text.expect("the namespace is there").expect("every kernel has it");
        let numbers = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}:")));
        let mut numbers = numbers.unwrap_or("").split_whitespace().map(|word| word.parse());
        let mut number = |index| numbers.nth(index).and_then(Result::ok).unwrap_or(0);
        // Columns 4 and 12 of net/dev: dropped on the way in and out.
        (number(3), number(7))
    }
}

fn refused(counts: &PortCounts) -> u64 {
    let of_device = counts.drops.iter().filter(|(kind, _)| kind.why == "device-full");
    of_device.map(|(_, count)| count).sum()
}

impl Bench for Veth {
    fn promises(&self) -> Promises {
        Promises {
            frame_bytes_max: self.frame_bytes_max(),
            frame_bytes_min: 14,
            queues_max: 4,
            order: Order::Flow,
            in_flight_min: 64,
            peer_dies: true,
            opens_without_peer: false,
            peer_survives_reopening: true,
            link_goes_down: true,
            takes_long: true,
            ..Promises::default()
        }
    }

    fn open(&mut self, request: &PortRequest) -> Result<Opened, PortError> {
        let config = AfPacketConfig { ring: self.ring, ..AfPacketConfig::new("near0") };
        let opened = self.near.run(|| AfPacket::open(&config, request));
        let opened = opened.expect("the namespace is there")?;
        self.openings.push(opened.monitor.clone());
        Ok(opened)
    }

    fn peer_send(&mut self, frames: &[Vec<u8>]) -> usize {
        self.peer.as_mut().map_or(0, |peer| peer.send(frames))
    }

    fn peer_receive(&mut self, sink: &mut dyn FnMut(&[u8])) {
        if let Some(peer) = &mut self.peer {
            peer.receive(sink);
        }
    }

    fn lost_between(&mut self) -> LostBetween {
        let (near, far) = (self.dropped(&self.near, "near0"), self.dropped(&self.far, "far0"));
        let lost_in = self.peer.as_ref().map_or(0, PortPeer::lost_in);
        // What a device refused it counts as dropped, but it was never sent.
        let peer_refused = self.peer.as_ref().map_or(0, |peer| refused(&peer.counts()));
        let ours = self.openings.iter().map(|monitor| refused(&monitor.counts())).sum();
        LostBetween {
            to_port: self.gone.to_port + near.0 + far.1.saturating_sub(peer_refused),
            from_port: self.gone.from_port + near.1.saturating_sub(ours) + far.0 + lost_in,
        }
    }

    /// Deletes the pair, as when a container ends.
    fn kill_peer(&mut self) {
        self.gone = self.lost_between();
        self.openings.clear();
        self.peer = None;
        self.far.ip("link del far0").expect("it was there");
    }

    fn revive_peer(&mut self) {
        self.near.veth("near0", &self.far, "far0").expect("the kernel has veth");
        let mtu = self.mtu;
        self.near.ip(&format!("link set near0 mtu {mtu}")).expect("a length it takes");
        self.far.ip(&format!("link set far0 mtu {mtu}")).expect("a length it takes");
        let config = AfPacketConfig { ring: Ring::Frames, ..AfPacketConfig::new("far0") };
        let request = request(1, self.frame_bytes_max());
        let opened = self.far.run(|| AfPacket::open(&config, &request)).expect("the namespace");
        self.peer = Some(PortPeer::new(opened.expect("it opens"), self.frame_bytes_max()));
    }

    fn set_link(&mut self, up: bool) {
        let state = if up { "up" } else { "down" };
        self.far.ip(&format!("link set far0 {state}")).expect("it is there");
    }
}

#[test]
fn rings_of_blocks_conform() {
    run("af-packet, blocks", || Veth::new(Ring::Blocks, 1500));
}

#[test]
fn rings_of_frames_conform() {
    run("af-packet, frames", || Veth::new(Ring::Frames, 1500));
}

#[test]
fn jumbo_frames_conform() {
    run("af-packet, jumbo", || Veth::new(Ring::Blocks, 9000));
}
