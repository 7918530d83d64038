//! Captured frames of other implementations, some of them damaged on purpose.
//!
//! They are not part of the project: the variable `PLUMBLINE_DATA` names a folder that has them
//! below `pcap/`, and without it the test says that it was skipped.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "captures are files")]

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use protocol_kit::{Arrival, Input, Interface, Machine, Socket, Time};
use protocol_vrrp::packet::{self, Packet};
use protocol_vrrp::{Command, Config, Key, Report, State, Told, Vrrp, frames};

#[test]
fn captured_frames_are_read_and_written_as_they_are() {
    let folder = env::var_os("PLUMBLINE_DATA").map(|data| PathBuf::from(data).join("pcap"));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        println!("skipped: no data");
        return;
    };
    let mut all = Vec::new();
    below(&folder, &mut |file| all.extend(frames_of(file)));
    let mut followed = Vec::new();
    for (count, frame) in (1..).zip(&all) {
        let Some(payload) = frames::parse(frame) else { panic!("frame {count} was one before") };
        packet::law(payload.bytes, payload.ends);
        // A machine without virtual routers drops everything, for a reason.
        let mut vrrp = Vrrp::new(1, 0);
        let arrival = Arrival::Frame { socket: Socket(0), interface: Interface(1), bytes: frame };
        vrrp.input(Time(count), Input::Arrival(arrival));
        let counters = vrrp.counters();
        let dropped = [
            counters.malformed,
            counters.checksum,
            counters.ttl,
            counters.version,
            counters.destination,
            counters.unknown,
        ];
        assert_eq!(dropped.into_iter().sum::<u64>(), 1, "{counters:?}");
        assert!(vrrp.poll(Time(count)).is_none(), "nobody asked for a virtual router");
        if counters.unknown == 1
            && let Ok(packet) = Packet::parse(payload.bytes, payload.ends)
        {
            follows(&packet, frame);
            followed.push(payload.ends.from.is_ipv6());
        }
    }
    println!("{} frames, {} of them good ones", all.len(), followed.len());
    assert!(followed.contains(&false) && followed.contains(&true), "no good one of each family");
}

/// A router of the same virtual router and lower priority follows the one of the capture, and finds
/// its addresses and interval the same as its own.
fn follows(packet: &Packet<'_>, frame: &[u8]) {
    let is_v6 = packet.addresses.iter().any(|address| address.is_ipv6());
    let key = Key { interface: Interface(1), vrid: packet.vrid, is_v6 };
    let primary = if is_v6 { "fe80::ffff".parse() } else { "192.0.2.1".parse() };
    let addresses = packet.addresses.iter().collect();
    let mut config = Config::new(key, primary.expect("an address"), addresses);
    (config.priority, config.interval) = (1, Duration::from_secs(1));
    let mut vrrp = Vrrp::new(1, 0);
    vrrp.input(Time(1), Input::Command(Command::Add(0, config)));
    while vrrp.poll(Time(1)).is_some() {}
    let arrival = Arrival::Frame { socket: Socket(0), interface: Interface(1), bytes: frame };
    vrrp.input(Time(2), Input::Arrival(arrival));
    let view = vrrp.view(0).expect("it was added");
    assert_eq!(view.state, State::Backup);
    assert_eq!(view.active_interval, Duration::from_millis(10) * u32::from(packet.interval_cs));
    let reports: Vec<_> = std::iter::from_fn(|| vrrp.poll(Time(2))).collect();
    let told = |what| {
        reports.iter().any(|output| {
            matches!(output, protocol_kit::Output::Report(Report::Misconfigured { what: is, .. })
                if *is == what)
        })
    };
    assert_eq!(told(Told::Interval), packet.interval_cs != 100);
    assert!(!told(Told::Addresses));
}

fn below(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => below(&path, visit),
            false => visit(&path),
        }
    }
}

/// The frames of VRRP in a file; none if it is no capture.
fn frames_of(file: &Path) -> Vec<Vec<u8>> {
    let reader = File::open(file).ok().and_then(|file| PcapReader::new(file).ok());
    let reader = reader.filter(|reader| reader.header().datalink == DataLink::ETHERNET);
    let mut found = Vec::new();
    let Some(mut reader) = reader else { return found };
    while let Some(Ok(packet)) = reader.next_packet() {
        found.extend(frames::parse(&packet.data).map(|_| packet.data.to_vec()));
    }
    found
}
