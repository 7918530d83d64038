//! Against DPDK's testpmd: its virtio-user driver at our device, and its vhost device at our
//! driver. It sends back what it receives; frames are compared byte for byte.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use engine::{Kinds, Link};
use packet::Long;
use port_vhost_user::Config;

use crate::common::{FRAME_BYTES_MAX, Program, Station};

/// Starts testpmd with one virtual device; it sends back the received frames.
fn testpmd(device: &str) -> Program {
    forwarding("io", device, &[])
}

/// Starts testpmd with one virtual device, a way of forwarding and further options.
fn forwarding(mode: &str, device: &str, options: &[&str]) -> Program {
    let core = machine::cpu::available_cores().first().copied().unwrap_or(0);
    let mut command = Command::new("dpdk-testpmd");
    command.args(["--lcores", &format!("0@{core},1@{core}"), "--no-pci", "--no-telemetry"]);
    command.args([
        "--no-huge",
        "--single-file-segments",
        "--no-shconf",
        "-m",
        "128",
        "--vdev",
        device,
    ]);
    // What arrives before it begins to forward must not be thrown away.
    command.args(["--", "--no-flush-rx", "--total-num-mbufs=4096", "--stats-period=1"]);
    command.arg(format!("--forward-mode={mode}")).args(options);
    Program::start(command)
}

/// Returns frames of many lengths, all different.
fn frames(from: usize, count: usize) -> Vec<Vec<u8>> {
    let frame = |number: usize| {
        let len = 60 + number * 37 % (FRAME_BYTES_MAX - 59);
        let mut frame: Vec<u8> = (0..len).map(|at| (number * 31 + at * 7) as u8).collect();
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x88, 0xb5]);
        frame[14..22].copy_from_slice(&(number as u64).to_be_bytes());
        frame
    };
    (from..from + count).map(frame).collect()
}

/// Sends frames through the program and compares the returned ones.
fn pass(station: &mut Station, program: &Program, from: usize) {
    let probes = settle(station, program);
    let expected = frames(from, 3000);
    let (mut sent, mut back) = (0, Vec::new());
    station.until("all frames come back", program, |station| {
        if sent < expected.len() && sent - back.len() < 128 {
            let until = expected.len().min(sent + 32);
            sent += station.send(&expected[sent..until]);
        }
        back.extend(station.receive().into_iter().filter(|frame| !probes.contains(frame)));
        back.len() >= expected.len()
    });
    assert!(back == expected, "torn, lost or out of order");
}

/// Sends probes until the program forwards and no probe is in flight; returns the probes.
///
/// The program may discard frames while it starts, and frames that return while the port's ring is
/// full. Therefore a probe is sent only after the previous one has returned or [`PROBE_PATIENCE`]
/// has passed.
fn settle(station: &mut Station, program: &Program) -> Vec<Vec<u8>> {
    let mut probes: Vec<Vec<u8>> = Vec::new();
    let mut last = Instant::now();
    station.until("the program forwards", program, |station| {
        let came = station.receive();
        if probes.last().is_some_and(|latest| came.contains(latest)) {
            return true;
        }
        if probes.is_empty() || last.elapsed() > PROBE_PATIENCE {
            let mut probe = vec![0xaa; 60];
            probe[14..22].copy_from_slice(&(probes.len() as u64).to_be_bytes());
            if station.send(std::slice::from_ref(&probe)) == 1 {
                probes.push(probe);
            }
            last = Instant::now();
        }
        false
    });
    probes
}

/// Time limit for a probe to return before the next one is sent.
const PROBE_PATIENCE: Duration = Duration::from_millis(200);

/// Checks that frames pass, and pass again after the program was killed and restarted.
fn survive(station: &mut Station, start: impl Fn() -> Program) {
    for round in 0..3 {
        let program = start();
        station.until_link(true, &program);
        pass(station, &program, 10_000 * round);
        let other = start_nothing();
        program.kill();
        station.until_link(false, &other);
        assert_eq!(station.send(&frames(0, 4)), 0, "nobody is there");
    }
    let counts = station.monitor.counts();
    assert!(counts.received >= 9003 && counts.sent >= counts.received, "{counts:?}");
    // What was refused was sent again: the program had no buffers yet, or was dead.
    let refused = |why| ["no-peer", "ring-full"].contains(&why);
    let other = counts.drops.iter().find(|(kind, count)| *count > 0 && !refused(kind.why));
    assert_eq!(other, None);
}

/// Removes the socket of a killed testpmd, which a new one does not replace.
fn remove_left_over(path: &str) {
    if Path::new(path).exists() {
        std::fs::remove_file(path).expect("it is ours");
    }
}

/// Starts a program without output, as a placeholder in messages while the other one is not
/// running.
fn start_nothing() -> Program {
    Program::start(Command::new("true"))
}

fn can_run() -> bool {
    for program in ["dpdk-testpmd"] {
        if !netns::is_installed(program) {
            println!("skipped: {program} is not installed; `cargo xtask setup` installs it");
            return false;
        }
    }
    if !netns::may_make_namespaces() {
        println!("skipped: needs the right to make network namespaces");
        return false;
    }
    true
}

fn socket(folder: &tempfile::TempDir) -> String {
    folder.path().join("vhost.sock").display().to_string()
}

#[test]
fn frames_pass_the_virtio_user_driver_of_dpdk() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = socket(&folder);
    let mut station = Station::open(&Config::backend(&path));
    for driver in ["queue_size=256", "mrg_rxbuf=0,in_order=0", "in_order=0,queue_size=1024"] {
        let device = format!("net_virtio_user0,path={path},queues=1,{driver}");
        let program = testpmd(&device);
        station.until_link(true, &program);
        pass(&mut station, &program, 0);
        program.kill();
        station.until_link(false, &start_nothing());
    }
    drop(station);
    let mut station = Station::open(&Config::backend(&path));
    survive(&mut station, || testpmd(&format!("net_virtio_user0,path={path},queues=1")));
}

#[test]
fn frames_pass_a_virtio_user_driver_that_listens() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = socket(&folder);
    let config = Config { server: Some(false), ..Config::backend(&path) };
    let mut station = Station::open(&config);
    survive(&mut station, || {
        remove_left_over(&path);
        testpmd(&format!("net_virtio_user0,path={path},queues=1,server=1"))
    });
}

#[test]
fn frames_pass_the_vhost_device_of_dpdk() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = socket(&folder);
    let mut station = Station::open(&Config::frontend(&path));
    survive(&mut station, || {
        remove_left_over(&path);
        testpmd(&format!("net_vhost0,iface={path},queues=1"))
    });
}

#[test]
fn frames_pass_a_vhost_device_that_connects() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = socket(&folder);
    let config = Config { server: Some(true), ..Config::frontend(&path) };
    let mut station = Station::open(&config);
    survive(&mut station, || testpmd(&format!("net_vhost0,iface={path},queues=1,client=1")));
}

/// A segment of TCP over IPv4 whose headers are right but for the transport checksum.
fn segment(payload_len: usize, number: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0, 0x45, 0];
    frame.extend((40 + payload_len as u16).to_be_bytes());
    frame.extend([0, number, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2]);
    frame.extend([0x80, 9, 0, 179, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    frame.extend((0..payload_len).map(|at| ((at * at) >> 3) as u8 ^ number));
    let sum = frame[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum = sum.sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// Sends segments through a program that leaves checksums and cutting to its peer, as this side
/// does, and compares what comes back.
fn pass_segments(station: &mut Station, program: &Program) {
    for number in 0..40 {
        let long = Long::new(if number % 2 == 0 { 50_000 } else { 1000 }, SEGMENT_BYTES);
        let mut sent = segment(if long.is_some() { 50_000 } else { 1000 }, number);
        if long.is_none() {
            let begun = offload::begun(&mut sent, SEGMENT_BYTES).expect("a segment");
            let begun = offload::Header { gso: offload::Gso::None, ..begun };
            offload::segments(&mut sent, &begun).expect("it is completed");
        }
        let mut asked = None;
        station.until("the segment comes back", program, |station| {
            if asked.is_none_or(|at: Instant| at.elapsed() > PROBE_PATIENCE) {
                asked = Some(Instant::now());
                match long {
                    Some(long) => station.send_long(&sent, long),
                    None => station.send(std::slice::from_ref(&sent)) == 1,
                };
            }
            station.receive_any().into_iter().any(|(mut frame, is_long)| {
                // It writes addresses of its own, and of a long one no checksum is looked at.
                frame.splice(..12, sent[..12].iter().copied());
                if long.is_some() && frame.len() == sent.len() {
                    frame.splice(50..52, sent[50..52].iter().copied());
                }
                frame == sent && is_long == long
            })
        });
    }
    assert_eq!(station.monitor.counts().lost(engine::Way::Receive), 0);
}

/// Bytes of payload in the pieces of a long segment.
const SEGMENT_BYTES: u16 = 1400;

#[test]
fn dpdk_leaves_checksums_and_cutting_to_this_side_as_this_side_does() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = socket(&folder);
    let commands = folder.path().join("commands").display().to_string();
    let text = "port stop 0\ncsum set ip sw 0\ncsum set tcp hw 0\ntso set 1400 0\nport start 0\n";
    std::fs::write(&commands, text).expect("writable");
    let file = format!("--cmdline-file={commands}");
    // Checksums of UDP and TCP, joined segments (LRO), frames in several buffers.
    let options = [&*file, "--rx-offloads=0x201c"];
    let mut station = Station::open(&Config::backend(&path));
    let device = format!("net_virtio_user0,path={path},queues=1");
    let program = forwarding("csum", &device, &options);
    station.until("it has agreed", &program, |station| {
        station.receive();
        let tcp = Kinds { udp: false, ..Kinds::ALL };
        station.monitor.link() == Link::Up && station.takes_long() == tcp
    });
    pass_segments(&mut station, &program);
}
