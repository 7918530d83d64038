//! Against DPDK's driver: `dpdk-testpmd` forwards what it gets back to where it came from.

use std::io::{BufRead, BufReader};
use std::process::Command;
use std::sync::mpsc;

use netns::{Child, Namespace};
use port_memif::{Config, Role};

use crate::kit::{End, config, frame, frame_of, wait_for};

/// A testpmd that ends when this is dropped.
struct Testpmd {
    child: Child,
    said: mpsc::Receiver<String>,
    _namespace: Namespace,
    /// Folder of DPDK's runtime files.
    _folder: tempfile::TempDir,
}

impl Testpmd {
    /// Starts testpmd with one port, which sends back all frames.
    fn start(role: &str, socket: &str, more: &str, queues: usize) -> Testpmd {
        let namespace = Namespace::new().expect("the caller asked whether it may");
        let prefix = format!("plumbline-{}", socket.replace(['/', '.'], "-"));
        let device =
            format!("net_memif0,role={role},id=7,socket={socket},socket-abstract=no,rsize=6{more}");
        let mut command = Command::new("dpdk-testpmd");
        command.args(["--no-pci", "--no-huge", "--no-shconf", "-m", "64"]);
        command.args(["--no-telemetry", "--file-prefix", &prefix, "--vdev", &device, "--"]);
        command.args(["--forward-mode=io", "--port-topology=loop", "--total-num-mbufs=2048"]);
        command.args(["--no-flush-rx", "--stats-period=1"]);
        command.args([format!("--rxq={queues}"), format!("--txq={queues}")]);
        let folder = tempfile::tempdir().expect("a folder");
        command.env("RUNTIME_DIRECTORY", folder.path());
        let mut child = namespace.spawn(command).expect("testpmd is installed");
        let (stdout, stderr) = child.output();
        let (sender, said) = mpsc::channel();
        let streams: [Option<Box<dyn std::io::Read + Send>>; 2] =
            [stdout.map(|out| Box::new(out) as _), stderr.map(|out| Box::new(out) as _)];
        for stream in streams.into_iter().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        Testpmd { child, said, _namespace: namespace, _folder: folder }
    }

    /// Panics with testpmd's output if it has ended.
    fn check(&mut self) {
        if let Some(status) = self.child.ended() {
            panic!("testpmd: {status}: {}", self.said.iter().collect::<Vec<_>>().join("\n"));
        }
    }
}

fn may_run() -> bool {
    for (missing, what) in [
        (!netns::is_installed("dpdk-testpmd"), "dpdk-testpmd is not installed"),
        (!netns::may_make_namespaces(), "no right to make namespaces"),
    ] {
        if missing {
            println!("skipped: {what}");
            return false;
        }
    }
    true
}

/// Sends frames of many lengths and expects each of them back unchanged.
fn frames_return(end: &mut End, testpmd: &mut Testpmd, queues: usize) {
    wait_for("the link", || {
        testpmd.check();
        (0..queues).for_each(|queue| assert!(end.receive(queue).is_empty()));
        end.monitor.link() == engine::Link::Up
    });
    for queue in 0..queues {
        for round in 0..60 {
            let frames: Vec<_> = (round * 16..round * 16 + 16).map(frame).collect();
            // A master can send when the slave has filled its ring.
            let mut sent = 0;
            wait_for("room", || {
                sent += end.send(queue, &frames[sent..]);
                sent == frames.len()
            });
            assert_eq!(end.receive_all(queue, 16), frames, "queue {queue} round {round}");
        }
    }
}

fn with_testpmd(ours: Role, theirs: &str, more: &str, keys: impl Fn(Config) -> Config) {
    if !may_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("memif.sock");
    let socket = path.to_str().expect("UTF-8");
    let config = keys(config(ours, socket));
    let mut end = End::open(&config, 1);
    let mut testpmd = Testpmd::start(theirs, socket, more, 1);
    frames_return(&mut end, &mut testpmd, 1);
    drop(testpmd);
    end.wait_for_link(false);
    // A socket's file outlives a master that was killed.
    if ours == Role::Slave {
        std::fs::remove_file(&path).expect("testpmd made it");
    }
    let mut testpmd = Testpmd::start(theirs, socket, more, 1);
    frames_return(&mut end, &mut testpmd, 1);
    drop(end);
    drop(testpmd);
}

#[test]
fn frames_return_from_a_master_that_dies_and_returns() {
    with_testpmd(Role::Slave, "server", "", |config| config);
}

#[test]
fn frames_return_from_a_slave_that_dies_and_returns() {
    with_testpmd(Role::Master, "client", "", |config| config);
}

#[test]
fn frames_return_in_chains_through_a_master() {
    with_testpmd(Role::Slave, "server", "", |config| Config { buffer_bytes: 512, ..config });
}

#[test]
fn frames_return_in_chains_through_a_slave() {
    with_testpmd(Role::Master, "client", ",bsize=512", |config| config);
}

#[test]
fn a_secret_lets_testpmd_in() {
    let keys = |config| Config { secret: Some("between us".into()), ..config };
    with_testpmd(Role::Master, "client", ",secret=between us", keys);
}

#[test]
fn each_queue_returns_its_own() {
    if !may_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("memif.sock");
    let socket = socket.to_str().expect("UTF-8");
    let mut end = End::open(&config(Role::Master, socket), 2);
    let mut testpmd = Testpmd::start("client", socket, "", 2);
    frames_return(&mut end, &mut testpmd, 2);
    assert_eq!(end.send(1, &[frame_of(1, 60)]), 1);
    assert_eq!(end.receive_all(1, 1), [frame_of(1, 60)]);
}
