//! Frames through DPDK's AF_XDP driver and back: another implementation of the same rings.

use std::io::Read;
use std::process::Command;
use std::time::{Duration, Instant};

use engine::{Opened, PortKind, PortRequest};
use netns::{Child, Namespace, is_installed, may_make_namespaces};
use packet::{Batch, PortId, Room, Slot};
use port_af_xdp::{AfXdp, Config};

/// Two veth pairs between two namespaces: at the remote ends DPDK's testpmd, which forwards between
/// them.
struct Loop {
    ports: [Opened; 2],
    testpmd: Child,
    _near: Namespace,
    _far: Namespace,
}

impl Loop {
    fn start() -> Option<Loop> {
        if !may_make_namespaces() || !is_installed("dpdk-testpmd") {
            eprintln!("skipped: needs root, and dpdk-testpmd of Debian's package dpdk-dev");
            return None;
        }
        let make = || {
            let namespace = Namespace::new().expect("the right is there");
            let key = "net/ipv6/conf/default/disable_ipv6";
            namespace.sysctl(key, "1").expect("the namespace's own");
            namespace
        };
        let (near, far) = (make(), make());
        for pair in 0..2 {
            near.veth(&format!("near{pair}"), &far, &format!("far{pair}")).expect("veth");
        }
        let mut command = Command::new("dpdk-testpmd");
        command.args(["--lcores=0@0,1@0", "--no-pci", "--no-huge", "-m", "256", "--no-telemetry"]);
        command.arg(format!("--file-prefix=plumbline-xdp-{}", std::process::id()));
        command.args(["--vdev=net_af_xdp0,iface=far0", "--vdev=net_af_xdp1,iface=far1"]);
        command.args(["--", "--forward-mode=io", "--auto-start", "--no-mlockall"]);
        // Without a terminal it runs only as long as it has figures to tell.
        command.args(["--total-num-mbufs=16384", "--stats-period=1"]);
        let mut testpmd = far.spawn(command).expect("it is installed");
        let (output, errors) = testpmd.output();
        read_away(output);
        read_away(errors);
        let open = |name| near.run(|| AfXdp::open(&Config::of(name), &request())).expect("runs");
        let ports = ["near0", "near1"].map(|name| open(name).expect("it opens"));
        Some(Loop { ports, testpmd, _near: near, _far: far })
    }

    fn send(&mut self, port: usize, frames: &[Vec<u8>]) -> usize {
        let mut batch = Batch::new(256, Room::default()).expect("memory");
        for frame in frames {
            batch.append(PortId(0), frame.len()).expect("room").copy_from_slice(frame);
        }
        let slots: Vec<Slot> = batch.slots().collect();
        self.ports[port].queues[0].transmit(&mut batch, &slots, 0)
    }

    fn receive(&mut self, port: usize) -> Vec<Vec<u8>> {
        let mut batch = Batch::new(256, Room::default()).expect("memory");
        self.ports[port].queues[0].receive(&mut batch, 256, 0);
        batch.slots().map(|slot| batch.frame(slot).to_vec()).collect()
    }

    /// Sends probes until one passes in each direction, and no frame is in flight any more.
    fn wait(&mut self) {
        for [from, to] in [[0, 1], [1, 0]] {
            let (mut sent, mut received) = (0, 0);
            until("testpmd forwards", || {
                assert_eq!(self.testpmd.ended(), None, "testpmd runs");
                if received == 0 {
                    sent = self.send(from, &[frame(u32::MAX)]);
                }
                received += self.receive(to).len();
                received > 0 && sent > 0
            });
        }
    }
}

fn request() -> PortRequest {
    PortRequest {
        name: "under test".into(),
        id: PortId(0),
        queues: 1,
        frame_bytes_max: 1514,
        ticks_per_second: 1e9,
    }
}

fn frame(number: u32) -> Vec<u8> {
    let mut frame = vec![number as u8; 60 + number as usize % 1455];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

fn read_away(stream: Option<impl Read + Send + 'static>) {
    if let Some(mut stream) = stream {
        std::thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
    }
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "in vain: {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

#[test]
fn frames_pass_dpdks_driver_whole_and_in_order() {
    let Some(mut testpmd) = Loop::start() else { return };
    testpmd.wait();
    for [from, to] in [[0, 1], [1, 0]] {
        let mut number = 0;
        let mut received = Vec::new();
        for _ in 0..100 {
            let frames: Vec<_> = (number..number + 32).map(frame).collect();
            number += 32;
            assert_eq!(testpmd.send(from, &frames), 32);
            // Few enough at once for the ring of a veth pair.
            until("the burst comes through", || {
                received.extend(testpmd.receive(to));
                received.retain(|got| got[14..18] != [255; 4]);
                received.len() as u32 == number
            });
        }
        for (got, number) in received.iter().zip(0..) {
            assert_eq!(*got, frame(number), "frame {number}");
        }
    }
}
