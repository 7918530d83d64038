//! Messages received by nfcapd and read back by nfdump, in a network namespace of their own.
//!
//! nfdump 1.7.1 takes sessions, mappings and blocks with their addresses, ports, VRF, time and
//! event; it knows no port ranges over IPFIX, so that those are tshark's to read.

use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use export::{Format, Logging};
use function_cgnat::log::{Event, Kind};
use model_cgnat::log::trial::{Trial, event, over_ipv4};
use netns::{Child, Namespace, is_installed, may_make_namespaces};

#[test]
fn nfcapd_takes_what_is_told() {
    if !is_installed("nfcapd") || !is_installed("nfdump") {
        println!("skipped: nfdump is not installed");
        return;
    }
    if !may_make_namespaces() {
        println!("skipped: a network namespace needs root");
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cgnat-nfcapd");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder for tests can be written");
    let config =
        Logging { sessions: true, mappings: true, destinations: true, ..over_ipv4(Format::Ipfix) };
    let kinds = [Kind::SessionCreate, Kind::SessionDelete, Kind::MappingCreate]
        .into_iter()
        .chain([Kind::MappingDelete, Kind::BlockAllocate, Kind::BlockRelease]);
    // Of each kind some from IPv4 and some from IPv6, in more than one message.
    let events: Vec<Event> = kinds
        .flat_map(|kind| (0..60).map(move |number| event(kind, number)))
        .filter(|event| event.inside_ipv4 == Ipv4Addr::UNSPECIFIED)
        .collect();
    let messages = messages(&config, &events);
    assert!(messages.len() > 5, "{}", messages.len());
    let said = receive(&folder, &messages);
    assert!(said.contains("Sequence Errors: 0, Bad Packets: 0"), "{said}");
    let records = read_back(&folder);
    assert_eq!(records.len(), events.len());
    for (event, record) in events.iter().zip(&records) {
        holds(event, record);
    }
}

/// Holds a record of nfdump to an event.
fn holds(event: &Event, record: &str) {
    let field = |name: &str| {
        let line = record
            .lines()
            .find(|line| line.split('=').next().is_some_and(|left| left.trim() == name));
        let value = line.and_then(|line| line.split_once('=')).unwrap_or_default().1.trim();
        // Behind a space stands what it means.
        value.split([' ', ':']).next().unwrap_or_default().to_owned()
    };
    let from_ipv6 = event.inside as u64 >> 32 != 0xffff;
    let (nat_event, session) = match event.kind {
        Kind::SessionCreate => (if from_ipv6 { 6 } else { 4 }, true),
        Kind::SessionDelete => (if from_ipv6 { 7 } else { 5 }, true),
        Kind::MappingCreate => (if from_ipv6 { 10 } else { 8 }, true),
        Kind::MappingDelete => (if from_ipv6 { 11 } else { 9 }, true),
        Kind::BlockAllocate => (16, false),
        _ => (17, false),
    };
    assert_eq!(field("nat event"), nat_event.to_string(), "{record}");
    assert_eq!(field("Event time"), "1795335330123", "{record}");
    assert_eq!(field("ingress VRF"), event.realm.to_string(), "{record}");
    assert_eq!(field("src xlt ip"), event.outside.to_string(), "{record}");
    if !from_ipv6 {
        assert_eq!(field("src addr"), event.source_ipv4().to_string(), "{record}");
    }
    if session {
        assert_eq!(field("proto"), event.protocol.to_string(), "{record}");
        assert_eq!(field("src xlt port"), event.first_port.to_string(), "{record}");
        assert_eq!(field("src port"), event.inside_port.to_string(), "{record}");
    }
}

/// The UDP payloads of events at the beginning.
fn messages(config: &Logging, events: &[Event]) -> Vec<Vec<u8>> {
    let mut trial = Trial::new(config, 1514);
    for event in events {
        trial.note(event).expect("there is a place");
    }
    trial.flush(false).expect("they agree");
    trial.wait(1_000_000_000);
    trial.flush(false).expect("they agree");
    let headers = 14 + 20 + 8;
    trial.frames().iter().map(|frame| frame[headers..].to_vec()).collect()
}

/// Lets nfcapd receive messages, and tells what it said at its end.
fn receive(folder: &Path, messages: &[Vec<u8>]) -> String {
    let namespace = Namespace::new().expect("a namespace");
    let mut command = Command::new("nfcapd");
    command.arg("-w").arg(folder).args(["-b", "127.0.0.1", "-p", "4739", "-t", "3600"]);
    let mut nfcapd = namespace.spawn(command).expect("nfcapd starts");
    wait_for(&mut nfcapd, |queued| queued.is_some());
    let sent = namespace.run(|| {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        messages.iter().try_for_each(|message| socket.send_to(message, "127.0.0.1:4739").map(drop))
    });
    sent.expect("the namespace is there").expect("loopback takes them");
    wait_for(&mut nfcapd, |queued| queued == Some(0));
    let (output, error) = nfcapd.output();
    nfcapd.stop(Duration::from_secs(30));
    let mut said = String::new();
    output.expect("it has one").read_to_string(&mut said).expect("text");
    error.expect("it has one").read_to_string(&mut said).expect("text");
    said
}

/// Waits until nfcapd's socket is there and as many bytes wait in it as are wanted.
fn wait_for(nfcapd: &mut Child, is_wanted: impl Fn(Option<u32>) -> bool) {
    let start = Instant::now();
    loop {
        let path = format!("/proc/{}/net/udp", nfcapd.id());
        let sockets = fs::read_to_string(path).unwrap_or_default();
        // 127.0.0.1:4739, in the kernel's way of writing it.
        let line = sockets.lines().find(|line| line.contains(" 0100007F:1283 "));
        let queues = line.and_then(|line| line.split_whitespace().nth(4));
        let queued = queues.and_then(|queues| queues.split_once(':'));
        let queued = queued.and_then(|(_, queued)| u32::from_str_radix(queued, 16).ok());
        if is_wanted(queued) {
            return;
        }
        assert!(nfcapd.ended().is_none(), "nfcapd ended");
        assert!(start.elapsed() < Duration::from_secs(60), "nfcapd has {queued:?} bytes");
        std::thread::yield_now();
    }
}

/// The records of the file that nfcapd left.
fn read_back(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).expect("the folder is there");
    let names = files.map(|file| file.expect("the folder can be read").path());
    let is_done = |path: &PathBuf| !path.to_string_lossy().contains("current");
    let file = names.into_iter().find(is_done).expect("nfcapd left a file");
    let output = Command::new("nfdump").arg("-r").arg(file).args(["-q", "-o", "raw"]).output();
    let text = String::from_utf8_lossy(&output.expect("nfdump runs").stdout).into_owned();
    text.split("Flow Record:").skip(1).map(str::to_owned).collect()
}
