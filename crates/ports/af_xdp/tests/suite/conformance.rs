//! The AF_XDP port does what every port must, in the driver and behind it, with veth between.

use engine::{Opened, PortError, PortKind, PortRequest};
use netns::{Namespace, may_make_namespaces};
use port_af_xdp::{AfXdp, Config, Mode};
use port_conformance::{Bench, LostBetween, PortPeer, Promises, request, run};

/// A veth pair between two namespaces, with an AF_XDP port at each end. A peer ends together with
/// the pair.
struct Pair {
    near: Namespace,
    far: Namespace,
    mode: Mode,
    peer: Option<PortPeer>,
    /// Frames lost by peers that have ended.
    lost: u64,
}

impl Pair {
    fn new(mode: Mode) -> Option<Pair> {
        if !may_make_namespaces() {
            eprintln!("skipped: no right to make network namespaces; run as root");
            return None;
        }
        let make = || {
            let namespace = Namespace::new().expect("the right is there");
            for key in ["all", "default"] {
                let key = format!("net/ipv6/conf/{key}/disable_ipv6");
                namespace.sysctl(&key, "1").expect("the namespace's own");
            }
            namespace
        };
        let mut pair = Pair { near: make(), far: make(), mode, peer: None, lost: 0 };
        pair.join();
        Some(pair)
    }

    fn join(&mut self) {
        self.near.veth("near0", &self.far, "far0").expect("veth");
        for (namespace, name) in [(&self.near, "near0"), (&self.far, "far0")] {
            let count = QUEUES.to_string();
            let more = ["-L", name, "rx", &count, "tx", &count];
            namespace.command("ethtool", &more, None).expect("veth has as many");
            namespace.ip(&format!("link set {name} mtu {MTU}")).expect("veth carries that");
        }
        let config = Config { mode: self.mode, ..Config::of("far0") };
        let opened = self.far.run(|| AfXdp::open(&config, &request(QUEUES, FRAME_BYTES_MAX)));
        let opened = opened.expect("runs").expect("it opens");
        self.peer = Some(PortPeer::new(opened, FRAME_BYTES_MAX));
    }
}

impl Bench for Pair {
    fn promises(&self) -> Promises {
        Promises {
            frame_bytes_max: FRAME_BYTES_MAX,
            frame_bytes_min: 14,
            queues_max: QUEUES,
            peer_dies: true,
            peer_survives_reopening: true,
            link_goes_down: true,
            ..Promises::default()
        }
    }

    fn open(&mut self, request: &PortRequest) -> Result<Opened, PortError> {
        let config = Config { mode: self.mode, ..Config::of("near0") };
        self.near.run(|| AfXdp::open(&config, request)).expect("runs")
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
        let now = self.peer.as_ref().map_or(0, PortPeer::lost_in);
        LostBetween { to_port: 0, from_port: self.lost + now }
    }

    fn kill_peer(&mut self) {
        if let Some(peer) = self.peer.take() {
            self.far.ip("link del far0").expect("it is there");
            self.lost += peer.lost_in();
        }
    }

    fn revive_peer(&mut self) {
        if self.peer.is_none() {
            self.join();
        }
    }

    fn set_link(&mut self, up: bool) {
        let state = if up { "up" } else { "down" };
        self.far.ip(&format!("link set far0 {state}")).expect("it is there");
    }
}

/// Number of queues of either end; veth has as many as there are processors.
const QUEUES: usize = 2;
const FRAME_BYTES_MAX: usize = 3000;
const MTU: usize = FRAME_BYTES_MAX - 14;

#[test]
fn the_port_conforms_in_the_driver() {
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() < QUEUES) {
        eprintln!("skipped: veth has a queue for each processor, and there is but one");
        return;
    }
    run("af-xdp in the driver", || Pair::new(Mode::Driver));
}

#[test]
fn the_port_conforms_behind_the_driver() {
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() < QUEUES) {
        eprintln!("skipped: veth has a queue for each processor, and there is but one");
        return;
    }
    run("af-xdp behind the driver", || Pair::new(Mode::Generic));
}
