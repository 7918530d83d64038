//! `plumbline bgp dump`: files of MRT as lines, whole and damaged.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path as FilePath;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use protocol_bgp::attributes::push;
use protocol_bgp::families::Family;
use protocol_bgp::message::write_keepalive;
use protocol_bgp::notification::{ADMINISTRATIVE_SHUTDOWN, Notification};
use protocol_bgp::{open, path, refresh};
use protocol_mrt::Stamp;
use protocol_mrt::session::{Ends, State};
use protocol_mrt::table::Peer;
use protocol_mrt::write::{self, Path};
use serde_json::{Value, json};

use crate::{Ended, plumbline, run, temporary_folder};

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn at() -> Stamp {
    Stamp::of(1_764_345_600, 250_000)
}

fn block() -> Vec<u8> {
    let mut value = Vec::new();
    path::push(path::SEQUENCE, [64_501, 4_200_000_000].into_iter(), &mut value);
    path::push(path::SET, [7, 8].into_iter(), &mut value);
    let mut block = Vec::new();
    push(0x40, 1, &[0], &mut block);
    push(0x40, 2, &value, &mut block);
    push(0x80, 4, &[0, 0, 0, 9], &mut block);
    push(0x40, 6, &[], &mut block);
    push(0xc0, 7, &[0, 0, 0xfb, 0xf5, 192, 0, 2, 7], &mut block);
    push(0xc0, 8, &[0xfb, 0xf5, 0, 1], &mut block);
    push(0xc0, 16, &[0, 2, 0xfb, 0xf4, 0, 0, 0, 1], &mut block);
    push(0xc0, 32, &[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3], &mut block);
    push(0xe0, 99, &[5], &mut block);
    block
}

/// A table of a peer with a route of IPv4 and one of a VPN.
fn table() -> Vec<u8> {
    let mut file = Vec::new();
    let peer = Peer { identifier: 1, address: PEER, asn: 64_501 };
    write::peers(at(), (1, ""), [peer].into_iter(), &mut file);
    let block = block();
    for (sequence, (family, key, rest, next_hop, path_id)) in [
        (Family::Ipv4Unicast, &[24, 203, 0, 113][..], &[][..], &[192, 0, 2, 9][..], 0),
        (
            Family::VpnV4,
            &[72, 0, 0, 0xfb, 0xf4, 0, 0, 0, 1, 10],
            &[0, 1, 0x11],
            &[0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 2, 9],
            7,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let path = Path { peer: 0, since: 5, path_id, next_hop, block: &block };
        let route = (family, key, rest);
        write::route(at(), sequence as u32, route, [path].into_iter(), &mut file);
    }
    file
}

/// Every kind of message of a session, and its changes.
fn session() -> Vec<u8> {
    let ends = Ends {
        peer_as: 64_501,
        local_as: 64_500,
        interface: 0,
        peer: PEER,
        local: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)),
    };
    let mut file = Vec::new();
    write::state_change(at(), &ends, (State(4), State::OPEN_CONFIRM), &mut file);
    let (mut open, mut alive, mut refresh, mut last) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let capabilities = Vec::new();
    open::Open { asn: 64_501, hold_time_s: 90, identifier: 9, capabilities }.write(&mut open);
    write_keepalive(&mut alive);
    refresh::Refresh::Wanted.write(Family::Ipv6Unicast, &mut refresh);
    Notification::with_text(ADMINISTRATIVE_SHUTDOWN, "a|b\nc").write(&mut last);
    for message in [open, alive, refresh, last] {
        write::message(at(), &ends, (true, false), &[&message], &mut file);
    }
    let block = block();
    let mut attributes = block[..4].to_vec();
    attributes.extend([0x40, 2, 0, 0x40, 3, 4, 192, 0, 2, 9]);
    let len = (attributes.len() as u16).to_be_bytes();
    let body = [&[0, 2, 8, 11][..], &len, &attributes, &[8, 10]].concat();
    write::update(at(), &ends, (true, false), &body, &mut file);
    write::update(at(), &ends, (true, false), &[0; 4], &mut file);
    let v6 = Ends { peer: Ipv6Addr::LOCALHOST.into(), local: Ipv6Addr::LOCALHOST.into(), ..ends };
    write::state_change(at(), &v6, (State::ESTABLISHED, State::IDLE), &mut file);
    file
}

fn dump(folder: &FilePath, file: &[u8], more: &[&str]) -> Ended {
    std::fs::write(folder.join("file"), file).expect("it may be written");
    run(folder, &[&["bgp", "dump", "file"], more].concat())
}

const TABLE: [&str; 2] = [
    "TABLE_DUMP2|1764345600|B|192.0.2.1|64501|203.0.113.0/24|64501 4200000000 {7,8}|IGP|192.0.2.9|0|9|64501:1|AG|64501 192.0.2.7||ipv4-unicast|0||target:64500:1|1:2:3|||attribute 99 0x05",
    "TABLE_DUMP2|1764345600|B|192.0.2.1|64501|64500:1:10.0.0.0/8|64501 4200000000 {7,8}|IGP|192.0.2.9|0|9|64501:1|AG|64501 192.0.2.7||vpnv4|7|label 17|target:64500:1|1:2:3|||attribute 99 0x05",
];

const SESSION: [&str; 9] = [
    "BGP4MP_ET|1764345600.250000|STATE|192.0.2.1|64501|4|5",
    "BGP4MP_ET|1764345600.250000|OPEN|192.0.2.1|64501|64501|0.0.0.9|90",
    "BGP4MP_ET|1764345600.250000|KEEPALIVE|192.0.2.1|64501",
    "BGP4MP_ET|1764345600.250000|REFRESH|192.0.2.1|64501|ipv6-unicast|wanted",
    "BGP4MP_ET|1764345600.250000|NOTIFICATION|192.0.2.1|64501|Cease, Administrative Shutdown: a|b\\nc",
    "BGP4MP_ET|1764345600.250000|W|192.0.2.1|64501|11.0.0.0/8|ipv4-unicast|0",
    "BGP4MP_ET|1764345600.250000|A|192.0.2.1|64501|10.0.0.0/8||IGP|192.0.2.9|0|0||NAG|||ipv4-unicast|0||||||",
    "BGP4MP_ET|1764345600.250000|EOR|192.0.2.1|64501|ipv4-unicast",
    "BGP4MP_ET|1764345600.250000|STATE|::1|64501|6|1",
];

#[test]
fn a_line_tells_each_route_and_message() {
    let folder = temporary_folder();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let ended = dump(folder.path(), &table(), &[]).expect(0);
    assert_eq!(
        (lines(&ended.stdout), ended.stderr.as_str()),
        (TABLE.map(str::to_owned).to_vec(), "")
    );
    let ended = dump(folder.path(), &session(), &[]).expect(0);
    assert_eq!(lines(&ended.stdout), SESSION);
    // The same of a compressed file, and of the standard input.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&table()).expect("it may be written");
    let compressed = gzip.finish().expect("it is whole");
    assert_eq!(lines(&dump(folder.path(), &compressed, &[]).expect(0).stdout), TABLE);
    for input in [table(), compressed] {
        let mut command = plumbline(folder.path());
        command.args(["bgp", "dump", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        child.stdin.take().expect("a pipe").write_all(&input).expect("it reads");
        let ended = Ended::from(child.wait_with_output().expect("it ends")).expect(0);
        assert_eq!(lines(&ended.stdout), TABLE);
    }
}

#[test]
fn a_json_object_tells_each_route_and_message() {
    let folder = temporary_folder();
    let all = |file: &[u8]| -> Vec<Value> {
        let ended = dump(folder.path(), file, &["--json"]).expect(0);
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
    };
    let table = all(&table());
    assert_eq!(
        table[1],
        json!({
            "type": "TABLE_DUMP2", "time": "1764345600", "seconds": 1_764_345_600, "what": "table",
            "peer": "192.0.2.1", "as": 64501, "family": "vpnv4", "route": "64500:1:10.0.0.0/8",
            "path-id": 7, "carried": "label 17", "path": "64501 4200000000 {7,8}",
            "origin": "igp", "next-hop": "192.0.2.9", "med": 9, "atomic": true,
            "aggregator": "64501 192.0.2.7", "communities": ["64501:1"],
            "extended-communities": ["target:64500:1"], "large-communities": ["1:2:3"],
            "others": ["attribute 99 0x05"], "since": 5,
        })
    );
    let words: Vec<String> = all(&session())
        .iter()
        .map(|one| one["what"].as_str().expect("a word").to_owned())
        .collect();
    let expected = [
        "state",
        "open",
        "keepalive",
        "refresh",
        "notification",
        "withdrawn",
        "announced",
        "end-of-rib",
        "state",
    ];
    assert_eq!(words, expected);
}

#[test]
fn what_is_damaged_is_left_out_and_told() {
    let folder = temporary_folder();
    let mut damaged = table();
    let second = [table(), session()].concat();
    let begin = damaged.windows(4).rposition(|four| *four == block()[..4]).expect("its attributes");
    // The length of the attributes of the last path.
    damaged[begin - 1] ^= 0x7f;
    let ended = dump(folder.path(), &[damaged, session()].concat(), &[]).expect(2);
    assert!(ended.stdout.contains("203.0.113.0/24") && ended.stdout.contains("|::1|"));
    assert!(ended.stderr.contains("one record is damaged"), "{}", ended.stderr);
    assert!(ended.stderr.contains("record 3 at byte"), "{}", ended.stderr);
    let ended = dump(folder.path(), &second[..second.len() - 3], &[]).expect(2);
    assert_eq!(ended.stdout.lines().count(), TABLE.len() + SESSION.len() - 1);
    assert!(ended.stderr.contains("is it complete?"), "{}", ended.stderr);
    let ended = dump(folder.path(), b"prefix,path\n10.0.0.0/8,1\n", &[]).expect(2);
    assert!(ended.stderr.contains("is this MRT?"), "{}", ended.stderr);
    let garbage = [&table()[..], &[0xff; 40], &session()].concat();
    let ended = dump(folder.path(), &garbage, &[]).expect(2);
    assert_eq!(ended.stdout.lines().count(), TABLE.len() + SESSION.len());
    assert!(ended.stderr.contains("40 bytes between records were skipped"), "{}", ended.stderr);
    // A gzip stream that is cut.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&second.repeat(50)).expect("it may be written");
    let compressed = gzip.finish().expect("it is whole");
    let ended = dump(folder.path(), &compressed[..compressed.len() - 20], &[]).expect(2);
    assert!(ended.stderr.contains("cannot be read behind record"), "{}", ended.stderr);
    let ended = run(folder.path(), &["bgp", "dump", "absent"]).expect(2);
    assert!(ended.stderr.contains("absent"), "{}", ended.stderr);
    let ended = dump(folder.path(), b"BZh91AY", &[]).expect(2);
    assert!(ended.stderr.contains("bunzip2"), "{}", ended.stderr);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = temporary_folder();
    std::fs::write(folder.path().join("file"), table().repeat(2000)).expect("it may be written");
    let mut command = plumbline(folder.path());
    command.args(["bgp", "dump", "file"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    drop(child.stdout.take());
    Ended::from(child.wait_with_output().expect("it ends")).expect(0);
}

/// The first fields are those of `bgpdump -m`.
#[test]
fn bgpdump_says_the_same() {
    if Command::new("bgpdump").output().is_err() {
        return println!("skipped: this needs bgpdump");
    }
    let folder = temporary_folder();
    let (file, name) = ([table(), session()].concat(), folder.path().join("file"));
    let ours = dump(folder.path(), &file, &[]).expect(0).stdout;
    let output = Command::new("bgpdump").arg("-m").arg(&name).output().expect("it runs");
    let theirs = String::from_utf8(output.stdout).expect("text");
    let is_known =
        |line: &&str| ["|B|", "|A|", "|W|", "|STATE|"].iter().any(|it| line.contains(it));
    let mut ours = ours.lines().filter(is_known).filter(|line| !line.contains("vpnv4"));
    let mut count = 0;
    for line in theirs.lines().filter(is_known) {
        let our = ours.next().expect("a line");
        assert!(our.starts_with(line.trim_end_matches('|')), "{our}\n{line}");
        count += 1;
    }
    assert_eq!((count, ours.next()), (5, None), "{theirs}");
}
