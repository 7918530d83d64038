//! Files that are written, as `bgpkit-parser` and `bgpdump` read them.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "bgpdump reads files")]

use std::process::Command;

use bgpkit_parser::BgpkitParser;
use bgpkit_parser::models::ElemType;

use crate::support::{odd_routes, session, table};

/// What a file says, as `bgpkit-parser` reads it.
fn elements(file: &[u8]) -> Vec<String> {
    let parser = BgpkitParser::from_reader(std::io::Cursor::new(file.to_vec()));
    let element = |one: bgpkit_parser::BgpElem| {
        let kind = match one.elem_type {
            ElemType::ANNOUNCE => "A",
            ElemType::WITHDRAW => "W",
        };
        let text = |value: Option<String>| value.unwrap_or_default();
        format!(
            "{:.6}|{kind}|{}|{}|{}|{}|{}|{}|{}",
            one.timestamp,
            one.peer_ip,
            one.peer_asn,
            one.prefix,
            text(one.as_path.map(|path| path.to_string())),
            text(one.next_hop.map(|hop| hop.to_string())),
            text(one.local_pref.map(|value| value.to_string())),
            text(one.med.map(|value| value.to_string())),
        )
    };
    parser.into_elem_iter().map(element).collect()
}

#[test]
fn another_library_reads_tables_and_sessions() {
    let path = "64501 4200000000 {7,8}";
    let read = elements(&table());
    // Of a table that library tells since when a path is known.
    let time = "1764000000.000000";
    assert_eq!(
        read,
        [
            format!("{time}|A|192.0.2.1|64501|203.0.113.0/24|{path}|192.0.2.9|100|1"),
            format!("{time}|A|2001:db8::1|4200000000|203.0.113.0/24|{path}|192.0.2.10|100|2"),
            format!("{time}|A|2001:db8::1|4200000000|2001:db8::/32|{path}|2001:db8::9|100|1"),
        ]
    );
    let time = "1764345600.250000";
    assert_eq!(
        elements(&session()),
        [
            format!("{time}|A|192.0.2.1|64501|198.51.0.0/16|{path}|192.0.2.9|100|4"),
            format!("{time}|W|192.0.2.1|64501|198.51.0.0/16||||"),
            format!("{time}|A|2001:db8::1|64501|2001::/16|{path}|::1|100|4"),
            format!("{time}|W|2001:db8::1|64501|2001::/16||||"),
        ]
    );
}

#[test]
fn another_library_reads_path_identifiers() {
    let peers = table();
    let read = elements(&[peers, odd_routes()].concat());
    let of = read.iter().filter(|line| line.contains("|10.0.0.0/8"));
    assert_eq!(of.count(), 2, "{read:#?}");
}

#[test]
fn bgpdump_reads_tables_and_sessions() {
    if Command::new("bgpdump").arg("-v").output().is_err() {
        return println!("skipped: this needs bgpdump");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dumped = |file: &[u8]| {
        let path = folder.path().join("file.mrt");
        std::fs::write(&path, file).expect("it may be written");
        let output = Command::new("bgpdump").arg("-m").arg(&path).output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().map(str::to_owned).collect::<Vec<String>>()
    };
    let rest = |med: u32| format!("100|{med}|64501:1 no-export|NAG||");
    let path = "64501 4200000000 {7,8}|IGP";
    let table_line = "TABLE_DUMP2|1764345600|B";
    assert_eq!(
        dumped(&table()),
        [
            format!("{table_line}|192.0.2.1|64501|203.0.113.0/24|{path}|192.0.2.9|{}", rest(1)),
            format!(
                "{table_line}|2001:db8::1|4200000000|203.0.113.0/24|{path}|192.0.2.10|{}",
                rest(2)
            ),
            format!(
                "{table_line}|2001:db8::1|4200000000|2001:db8::/32|{path}|2001:db8::9|{}",
                rest(1)
            ),
        ]
    );
    let line = "BGP4MP_ET|1764345600.250000";
    assert_eq!(
        dumped(&session()),
        [
            format!("{line}|STATE|192.0.2.1|64501|5|6"),
            format!("{line}|A|192.0.2.1|64501|198.51.0.0/16|{path}|192.0.2.9|{}", rest(4)),
            format!("{line}|W|192.0.2.1|64501|198.51.0.0/16"),
            format!("{line}|STATE|192.0.2.1|64501|6|1"),
            format!("{line}|STATE|2001:db8::1|64501|5|6"),
            format!("{line}|A|2001:db8::1|64501|2001::/16|{path}|::1|{}", rest(4)),
            format!("{line}|W|2001:db8::1|64501|2001::/16"),
            format!("{line}|STATE|2001:db8::1|64501|6|1"),
        ]
    );
    // Of what it does not know it says nothing, and goes on.
    dumped(&odd_routes());
}
