//! Files of MRT: what is in them, when they begin and end, and disks that are slow or full.

use std::time::Duration;

use controller_kit::{Controller, Unanswered};
use protocol_bgp::capabilities::Capability;
use protocol_bgp::families::Family;
use protocol_bgp::text::{NextHop, Route};
use protocol_mrt::session::State;
use protocol_mrt::{Framing, Record, Stamp};
use serde_json::{Map, json};

use crate::bench::{BEGAN_S, Bench, Disk, update, vpn, withdraw};

/// What a file says, a line for each path, message and state.
fn lines(file: &[u8]) -> Vec<String> {
    let (mut framing, mut piece) = (Framing::default(), file);
    let (mut peers, mut lines) = (Vec::new(), Vec::new());
    while let Some(frame) = framing.next(&mut piece) {
        assert_eq!(frame.skipped, 0);
        let (at, record) = frame.read().expect("it can be read");
        match record {
            Record::Peers(table) => peers = table.peers().collect(),
            Record::Table(table) => {
                let nlri = table.nlri().expect("a route");
                for entry in table.entries() {
                    let peer = peers[usize::from(entry.peer)];
                    let route = Route(table.family, nlri.key.as_slice());
                    let hop = NextHop(entry.next_hop(table.family));
                    let (rest, path) = (nlri.rest.as_slice(), entry.path_id);
                    let (who, id) = (peer.address, peer.identifier);
                    lines.push(format!("{who} {id} {route} {rest:?} {path} {hop}"));
                }
            }
            Record::Message(message) => {
                assert!(message.is_wide && !message.is_sent);
                let (who, local) = (message.ends.peer, message.ends.local);
                let kind = message.bytes[18];
                let paths = message.has_path_ids;
                lines.push(format!("{at:?} {who} {local} kind {kind} paths {paths}"));
            }
            Record::StateChange(change) => {
                let who = change.ends.peer;
                lines.push(format!("{at:?} {who} {} {}", change.before, change.after));
            }
            Record::Other => panic!("it is known"),
        }
    }
    assert_eq!(framing.finish(), Ok(()));
    lines
}

fn bench(more: serde_json::Value) -> Bench {
    let mut keys = json!({"folder": "/dumps", "tables-every-s": 0});
    keys.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
    Bench::new(&json!({"mrt": keys}))
}

fn dump(bench: &mut Bench) -> Result<String, Unanswered> {
    let now = bench.now;
    let done = bench.reflector.command("dump-tables", &Map::new(), now);
    done.map(|said| said["file"].as_str().expect("a path").to_owned())
}

#[test]
fn a_table_has_every_path_of_every_peer() {
    let mut bench = bench(json!({}));
    let (one, other) = (bench.client(10, Vec::new()), {
        let paths = Capability::AddPath(vec![(1, 1, 3)]);
        bench.client(11, vec![paths])
    });
    bench.say(one, &update(&[8, 10, 16, 172, 16], 1));
    bench.say(one, &vpn(1));
    bench.say(other, &update(&[0, 0, 0, 1, 8, 10, 0, 0, 0, 2, 8, 10], 2));
    bench.say(other, &vpn(2));
    let path = dump(&mut bench).expect("it begins");
    assert_eq!(path, "/dumps/rib.20261128.160010.mrt");
    bench.settle();
    let mut told = lines(&bench.files["rib.20261128.160010.mrt"]);
    told.sort();
    assert_eq!(
        told,
        [
            "192.0.2.10 10 10.0.0.0/8 [] 0 10.0.0.1",
            "192.0.2.10 10 172.16.0.0/16 [] 0 10.0.0.1",
            "192.0.2.10 10 64500:1:10.0.0.0/8 [0, 1, 17] 0 10.0.0.1",
            "192.0.2.11 11 10.0.0.0/8 [] 1 10.0.0.1",
            "192.0.2.11 11 10.0.0.0/8 [] 2 10.0.0.1",
            "192.0.2.11 11 64500:1:10.0.0.0/8 [0, 2, 17] 0 10.0.0.1",
        ]
    );
    assert_eq!(bench.shown("mrt")["tables"], 1);
    let mut none = Bench::new(&json!({}));
    assert!(dump(&mut none).expect_err("no folder").what.contains("no folder"));
    let keys = Map::from_iter([("file".to_owned(), json!("x"))]);
    let now = bench.now;
    assert!(bench.reflector.command("dump-tables", &keys, now).is_err());
}

#[test]
fn a_large_table_is_dumped_in_turns_and_one_at_a_time() {
    let mut bench = bench(json!({}));
    let client = bench.client(10, Vec::new());
    for high in 0..=255_u8 {
        let routes: Vec<u8> = (0..=255_u8).flat_map(|low| [24, 10, high, low]).collect();
        bench.say(client, &update(&routes, high.into()));
    }
    bench.disk = Disk::Hangs;
    dump(&mut bench).expect("it begins");
    let why = dump(&mut bench).expect_err("one is at hand");
    assert!(why.what.contains("rib.20261128.160010.mrt is being written"), "{}", why.what);
    bench.settle();
    assert_eq!(bench.shown("mrt")["dumping"]["routes"], 0, "the disk has to answer");
    // Another peer comes meanwhile: its paths are not in the file.
    let late = bench.client(11, Vec::new());
    bench.say(late, &update(&[24, 10, 0, 0], 7));
    bench.disk = Disk::Fine;
    let connected = protocol_kit::Socket(32);
    bench.arrive(protocol_kit::Arrival::Connected { socket: connected, local: None, peer: None });
    bench.settle();
    let told = lines(&bench.files["rib.20261128.160010.mrt"]);
    assert_eq!(told.len(), 1 << 16);
    assert!(told.iter().all(|line| line.starts_with("192.0.2.10 ")));
    let shown = bench.shown("mrt");
    assert_eq!((&shown["tables"], &shown["paths-left-out"]), (&json!(1), &json!(1)));
    assert_eq!(shown["dumping"], json!(null));
}

#[test]
fn tables_are_dumped_on_a_schedule() {
    let mut bench = bench(json!({"tables-every-s": 60}));
    let client = bench.client(10, Vec::new());
    bench.say(client, &update(&[8, 10], 1));
    bench.pass(Duration::from_secs(49));
    assert!(bench.files.is_empty());
    bench.pass(Duration::from_secs(62));
    let names: Vec<&String> = bench.files.keys().collect();
    assert_eq!(names, ["rib.20261128.160100.mrt", "rib.20261128.160200.mrt"]);
    // One that hangs lets others out.
    bench.disk = Disk::Hangs;
    bench.pass(Duration::from_secs(120));
    assert_eq!(bench.shown("mrt")["tables-missed"], 1);
    assert_eq!(bench.shown("mrt")["tables"], 2);
}

#[test]
fn updates_and_states_are_in_files_that_rotate() {
    let mut bench = bench(json!({"updates": true, "rotate-every-s": 60}));
    let client = bench.client(10, Vec::new());
    bench.say(client, &update(&[8, 10], 1));
    bench.pass(Duration::from_secs(50));
    bench.say(client, &withdraw(&[8, 10]));
    bench.arrive(protocol_kit::Arrival::Failed { socket: client });
    bench.pass(Duration::from_secs(5));
    let first = &bench.files["updates.20261128.160010.mrt"];
    let at = Stamp(BEGAN_S * 1_000_000);
    assert_eq!(
        lines(first),
        [
            format!("{at:?} 192.0.2.10 {} {}", State::OPEN_CONFIRM, State::ESTABLISHED),
            format!("{at:?} 192.0.2.10 192.0.2.1 kind 2 paths false"),
        ]
    );
    let second = lines(&bench.files["updates.20261128.160100.mrt"]);
    assert_eq!(second.len(), 2, "{second:?}");
    assert!(second[0].contains("kind 2") && second[1].ends_with("Established Idle"), "{second:?}");
    assert_eq!(bench.shown("mrt")["records"], 4);
}

#[test]
fn a_disk_that_hangs_or_is_full_does_no_harm() {
    let mut bench = bench(json!({"updates": true}));
    let (one, other) = (bench.client(10, Vec::new()), bench.client(11, Vec::new()));
    bench.disk = Disk::Full;
    bench.say(one, &update(&[8, 10], 1));
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.alarms.len(), 1);
    assert!(bench.alarms[0].severity.is_some(), "{:?}", bench.alarms);
    assert!(bench.alarms[0].text.contains("/dumps/updates."), "{:?}", bench.alarms);
    dump(&mut bench).expect("it begins");
    bench.settle();
    assert_eq!(bench.alarms.len(), 2);
    assert_eq!(bench.shown("mrt")["tables-missed"], 1);
    // While nothing is written, some of what is told waits, and the rest is left out and counted.
    bench.disk = Disk::Hangs;
    let routes: Vec<u8> = (0..250_u8).flat_map(|low| [24, 10, 1, low]).collect();
    for med in 0..20_000 {
        bench.say(one, &update(&routes, med));
    }
    let shown = bench.shown("mrt");
    let [kept, missed] = ["records", "records-missed"].map(|key| shown[key].as_u64().expect("it"));
    assert!(missed > 5_000 && kept > 5_000, "{shown}");
    assert!(kept * 1_100 < 10 << 20, "what waits is bounded: {shown}");
    // Routing goes on.
    let told = bench.peers[&other].len();
    bench.say(one, &update(&[8, 11], 1));
    assert!(bench.peers[&other].len() > told);
    assert_eq!(bench.reflector.show()["families"][0]["family"], Family::Ipv4Unicast.to_string());
}
