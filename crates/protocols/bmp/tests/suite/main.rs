//! Messages that are written, as another library reads them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netgauze_bmp_pkt::BmpMessage;
use netgauze_bmp_pkt::wire::deserializer::BmpParsingContext;
use netgauze_parse_utils::reader::SliceReader;
use netgauze_parse_utils::traits::ParseFromWithOneInput;
use protocol_bgp::builder::write_end_of_rib;
use protocol_bgp::capabilities::Capability;
use protocol_bgp::families::Family;
use protocol_bgp::notification::{ADMINISTRATIVE_SHUTDOWN, Notification};
use protocol_bgp::open::Open;
use protocol_bmp::message::{self, Down, Figure, OVERHEAD, PeerHeader, PeerKind, Termination, Up};

fn open() -> Vec<u8> {
    let capabilities = vec![Capability::Multiprotocol(1, 1), Capability::FourOctetAs(70_000)];
    let mut out = Vec::new();
    Open { asn: 70_000, hold_time_s: 90, identifier: 9, capabilities }.write(&mut out);
    out
}

fn header(kind: PeerKind, address: Option<IpAddr>) -> PeerHeader {
    let (asn, identifier, micros) = (70_000, 9, 1_764_345_600_250_000);
    let is_narrow = false;
    PeerHeader { kind, distinguisher: [0; 8], address, asn, identifier, micros, is_narrow }
}

/// What the other library reads, one text for each message.
fn read(bytes: &[u8]) -> Vec<String> {
    let (mut from, mut context) = (SliceReader::new(bytes), BmpParsingContext::default());
    let mut all = Vec::new();
    while !from.is_empty() {
        let message = BmpMessage::parse(&mut from, &mut context);
        all.push(format!("{:?}", message.expect("it can be read")));
    }
    all
}

/// Asserts that each text has some words.
fn assert_has(texts: &[String], words: &[&[&str]]) {
    assert_eq!(texts.len(), words.len(), "{texts:#?}");
    for (text, words) in texts.iter().zip(words) {
        words.iter().for_each(|word| assert!(text.contains(word), "{word}: {text}"));
    }
}

#[test]
fn another_library_reads_what_is_told_of_the_own_table() {
    let (table, open) = (header(PeerKind::LocRib, None), open());
    let mut out = Vec::new();
    message::initiation("what it is", "rr1", &mut out);
    let up = Up { local: None, ports: [0; 2], opens: [&open[..]; 2], table: "global" };
    message::peer_up(&table, &up, &mut out);
    let mut updates = Vec::new();
    write_end_of_rib(Family::Ipv4Unicast, &mut updates);
    write_end_of_rib(Family::Ipv6Unicast, &mut updates);
    let before = out.len();
    message::route_monitoring(&table, &updates, &mut out);
    assert_eq!(out.len() - before, updates.len() + 2 * OVERHEAD);
    let figures = [Figure::LocRib(7), Figure::LocRibOf(Family::VpnV4, 3)];
    message::statistics(&table, &figures, &mut out);
    message::peer_down(&table, Down::LocRib, "global", &mut out);
    message::termination(Termination::Resources, &mut out);
    assert_has(
        &read(&out),
        &[
            &["Initiation", "what it is", "rr1"],
            &["PeerUpNotification", "LocRibInstancePeer", "global", "70000"],
            &["RouteMonitoring", "LocRibInstancePeer"],
            &["RouteMonitoring", "LocRibInstancePeer"],
            &["NumberOfRoutesInLocRib(GaugeU64(7))", "NumberOfRoutesInPerAfiSafiLocRib"],
            &["PeerDownNotification", "LocalSystemClosed"],
            &["Termination", "OutOfResources"],
        ],
    );
}

#[test]
fn another_library_reads_what_is_told_of_peers() {
    let open = open();
    let mut end = Vec::new();
    Notification::with_text(ADMINISTRATIVE_SHUTDOWN, "why").write(&mut end);
    let mut out = Vec::new();
    for (kind, peer, local) in [
        (PeerKind::PrePolicy, Ipv4Addr::new(192, 0, 2, 7).into(), Ipv4Addr::LOCALHOST.into()),
        (PeerKind::PostPolicy, IpAddr::V6(Ipv6Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()),
    ] {
        let header = header(kind, Some(peer));
        let up = Up { local: Some(local), ports: [179, 40_000], opens: [&open[..]; 2], table: "" };
        message::peer_up(&header, &up, &mut out);
        message::statistics(&header, &[Figure::AdjRibIn(5)], &mut out);
        for why in [Down::LocalNotification(&end), Down::Local(4), Down::RemoteNotification(&end)] {
            message::peer_down(&header, why, "", &mut out);
        }
        message::peer_down(&header, Down::Remote, "", &mut out);
        message::peer_down(&header, Down::Deconfigured, "", &mut out);
    }
    let texts = read(&out);
    let (first, second) = texts.split_at(7);
    assert_has(&first[..2], &[&["192.0.2.7", "post_policy: false"], &["AdjRibIn(GaugeU64(5))"]]);
    assert_has(&second[..2], &[&["::1", "ipv6: true", "post_policy: true"], &["AdjRibIn"]]);
    for downs in [&first[2..], &second[2..]] {
        assert_eq!(downs.len(), 5);
        assert!(downs.iter().all(|down| down.contains("PeerDownNotification")), "{downs:#?}");
    }
}
