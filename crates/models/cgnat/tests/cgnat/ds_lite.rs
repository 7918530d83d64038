//! Subscribers behind softwires, byte by byte: frames that are written here by hand, without sample
//! and model.

use function_cgnat::Pipeline;
use function_cgnat::Update;
use function_cgnat::config::{Config, Family, Fragments, SiitConfig};
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use model_cgnat::Cgnat;
use model_cgnat::Traffic;
use model_kit::check::Expected;
use model_kit::{Configured, Model};
use packet::PortId;
use testkit::device::{Device, Outcome};
use testkit::pair::{Pair, clock};
use traffic::Delivery;

use crate::clients;
use crate::frames::{INSIDE, OUTSIDE};

const NOW: Ticks = 1 << 40;
const AFTR: &str = "2001:db8::1";
const HOST: [u8; 4] = [192, 0, 0, 2];
const SERVER: [u8; 4] = [192, 0, 2, 80];

pub fn config(ds_lite: &str) -> Config {
    let text = format!("{{sessions: 100, subscribers: 10, secret: 3, ds-lite: {ds_lite}}}");
    let mut config: Config = serde_saphyr::from_str(&text).expect("a section");
    let mut traffic = Traffic { sessions: 1, ..Traffic::default() };
    Cgnat::validate(&mut config, &mut traffic).expect("a valid configuration");
    config
}

fn device(config: &Config) -> Device<Pipeline> {
    let function = function_cgnat::Cgnat::function(config, Shard::WHOLE, clock(), 1 << 30)
        .expect("a small NAT");
    Device::new(function, 2)
}

fn ipv6(text: &str) -> [u8; 16] {
    text.parse::<std::net::Ipv6Addr>().expect("an address").octets()
}

fn sum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
    let sum: u32 = pairs.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// A datagram without checksum, with so many bytes of data, of the code point 46 with a mark of
/// congestion.
fn datagram(from: ([u8; 4], u16), to: ([u8; 4], u16), len: usize) -> Vec<u8> {
    let total = (28 + len as u16).to_be_bytes();
    let start = [0x45, 0xb9, total[0], total[1], 0, 7, 0x40, 0, 64, 17, 0, 0];
    let mut header = [&start[..], &from.0, &to.0].concat();
    let right = !sum(&header);
    header[10..12].copy_from_slice(&right.to_be_bytes());
    let ports = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
    let length = (8 + len as u16).to_be_bytes();
    let data: Vec<u8> = (0..len).map(|at| at as u8).collect();
    [&header[..], &ports, &length, &[0, 0], &data].concat()
}

/// The outer packet from a B4 element.
fn tunnelled(b4: &str, inner: &[u8]) -> Vec<u8> {
    let len = (inner.len() as u16).to_be_bytes();
    [&[0x60, 0, 0, 0, len[0], len[1], 4, 9][..], &ipv6(b4), &ipv6(AFTR), inner].concat()
}

fn frame(config: &Config, port: PortId, packet: &[u8]) -> Vec<u8> {
    let (to, from) = match port == INSIDE {
        true => (config.inside_mac, config.inside_next_hop_mac),
        false => (config.outside_mac, config.outside_next_hop_mac),
    };
    let kind = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
    [&to.0.0[..], &from.0.0, &kind, packet].concat()
}

/// Sends a datagram of the host behind a B4 element out; yields its outside end.
pub fn ask(device: &mut Device<Pipeline>, config: &Config, b4: &str) -> ([u8; 4], u16) {
    let packet = tunnelled(b4, &datagram((HOST, 5000), (SERVER, 53), 4));
    let outcome = device.pass(INSIDE, &frame(config, INSIDE, &packet), NOW);
    let Outcome::Left(OUTSIDE, out) = outcome else { panic!("{outcome:?}") };
    assert_eq!((&out[12..16], out.len()), (&[8, 0, 0x45, 0xb9][..], 46), "the inner packet alone");
    assert_eq!((out[22], sum(&out[14..34])), (63, 0xffff), "one hop less, and a right checksum");
    assert_eq!(out[30..34], SERVER);
    ([out[26], out[27], out[28], out[29]], u16::from_be_bytes([out[34], out[35]]))
}

/// Sends an answer in; yields the B4 element's address and the inner packet.
pub fn answer(
    device: &mut Device<Pipeline>,
    config: &Config,
    end: ([u8; 4], u16),
) -> ([u8; 16], Vec<u8>) {
    let packet = datagram((SERVER, 53), end, 4);
    let outcome = device.pass(OUTSIDE, &frame(config, OUTSIDE, &packet), NOW);
    let Outcome::Left(INSIDE, got) = outcome else { panic!("{outcome:?}") };
    // The code point is that of the inner packet, the mark of congestion is not.
    assert_eq!(got[12..22], [0x86, 0xdd, 0x6b, 0x80, 0, 0, 0, 32, 4, 64]);
    assert_eq!(got[22..38], ipv6(AFTR));
    (got[38..54].try_into().expect("an address"), got[54..].to_vec())
}

#[test]
fn the_same_inner_address_behind_two_softwires_is_two_subscribers() {
    let config = config("{}");
    let mut device = device(&config);
    let b4s = ["2001:db8:5::1", "2001:db8:5::2"];
    let ends = b4s.map(|b4| ask(&mut device, &config, b4));
    assert_eq!(ends, b4s.map(|b4| ask(&mut device, &config, b4)), "each has one outside end");
    assert_ne!(ends[0], ends[1]);
    for (b4, end) in b4s.into_iter().zip(ends) {
        let (to, inner) = answer(&mut device, &config, end);
        assert_eq!(to, ipv6(b4));
        assert_eq!(inner, {
            let mut expected = datagram((SERVER, 53), (HOST, 5000), 4);
            expected[8] = 63;
            let right = !sum(&[&expected[..10], &[0, 0], &expected[12..20]].concat());
            expected[10..12].copy_from_slice(&right.to_be_bytes());
            expected
        });
    }
    let state = device.function_mut().state();
    assert_eq!((state.sessions.count(), state.subscribers.count()), (2, 2));
}

#[test]
fn hosts_behind_a_softwire_are_one_subscriber() {
    let config = Config { sessions_per_subscriber: Some(2), ..config("{}") };
    let mut device = device(&config);
    for (host, fits) in [([10, 0, 0, 1], true), ([192, 168, 0, 1], true), ([10, 0, 0, 2], false)] {
        let packet = tunnelled("2001:db8:5::1", &datagram((host, 5000), (SERVER, 53), 4));
        let outcome = device.pass(INSIDE, &frame(&config, INSIDE, &packet), NOW);
        match (fits, outcome) {
            (true, Outcome::Left(OUTSIDE, _)) => {}
            // Host Unreachable, from 192.0.0.1, through the softwire.
            (false, Outcome::Left(INSIDE, error)) => {
                assert_eq!(error[38..54], ipv6("2001:db8:5::1"));
                assert_eq!((&error[66..70], &error[70..74]), (&[192, 0, 0, 1][..], &host[..]));
                assert_eq!(error[74..76], [3, 1]);
            }
            (_, outcome) => panic!("{host:?}: {outcome:?}"),
        }
    }
    assert_eq!(device.function_mut().state().subscribers.count(), 1);
}

#[test]
fn a_new_address_in_its_prefix_keeps_the_mappings_of_a_subscriber() {
    let config = config("{subscriber-len: 56, inside: ['2001:db8::/40']}");
    let mut device = device(&config);
    let (before, after) = ("2001:db8:0:100::1", "2001:db8:0:1ff:a:b:c:d");
    let end = ask(&mut device, &config, before);
    assert_eq!(answer(&mut device, &config, end).0, ipv6(before));
    assert_eq!(ask(&mut device, &config, after), end);
    assert_eq!(answer(&mut device, &config, end).0, ipv6(after));
    assert_ne!(ask(&mut device, &config, "2001:db8:0:200::1"), end, "of another prefix");
    assert_eq!(device.function_mut().state().subscribers.count(), 2);
}

#[test]
fn what_is_too_long_is_cut_outside_whatever_the_inner_packet_says() {
    let config = config("{ipv6-mtu: 1280}");
    let mut device = device(&config);
    let end = ask(&mut device, &config, "2001:db8:5::1");
    let packet = datagram((SERVER, 53), end, 1400);
    let mut send = || {
        let became = device.exchange(OUTSIDE, &frame(&config, OUTSIDE, &packet), NOW);
        let mut pieces: Vec<Vec<u8>> = became
            .into_iter()
            .map(|one| match one {
                Expected::Forward { port: INSIDE, frame } => frame,
                other => panic!("{other:?}"),
            })
            .collect();
        pieces.sort_by_key(|piece| u16::from_be_bytes([piece[56], piece[57]]) & !7);
        pieces
    };
    let pieces = send();
    let first = &pieces[0];
    assert_eq!(pieces.len(), 2);
    let mut inner = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        assert!(piece.len() <= 14 + 1280, "{} bytes", piece.len());
        assert_eq!((piece[20], piece[54]), (44, 4), "a fragment of IPv4 in IPv6");
        assert_eq!(usize::from(u16::from_be_bytes([piece[18], piece[19]])), piece.len() - 54);
        let place = u16::from_be_bytes([piece[56], piece[57]]);
        assert_eq!(place, inner.len() as u16 | u16::from(number == 0));
        assert_eq!(piece[58..62], first[58..62], "one identification");
        inner.extend(&piece[62..]);
    }
    assert_eq!((inner.len(), inner[6]), (1428, 0x40), "whole again, and as it was");
    assert_eq!(inner[28..], packet[28..]);
    let other = &send()[0];
    assert_ne!(other[58..62], first[58..62], "each packet has its own");
}

#[test]
fn what_is_no_packet_of_a_softwire_is_dropped() {
    let config = config("{inside: ['2001:db8:5::/48']}");
    let mut device = device(&config);
    let inner = datagram((HOST, 5000), (SERVER, 53), 4);
    let whole = tunnelled("2001:db8:5::1", &inner);
    let with = |at: usize, byte: u8| {
        let mut packet = whole.clone();
        packet[at] = byte;
        packet
    };
    for (packet, reason) in [
        (tunnelled("2001:db8:6::1", &inner), "not-inside"),
        (with(6, 41), "local"),
        (with(39, 2), "not-embedded"),
        (with(0, 0x40), "ip-malformed"),
        (with(50, 1), "ip-checksum"),
    ] {
        let outcome = device.pass(INSIDE, &frame(&config, INSIDE, &packet), NOW);
        let Outcome::Dropped(found) = outcome else { panic!("{outcome:?}") };
        assert_eq!(found, reason);
    }
    assert_eq!(device.function_mut().state().sessions.count(), 0);
}

#[test]
fn softwires_are_shown_and_cleared_by_their_b4_element() {
    let config = config("{}");
    let mut device = device(&config);
    let b4s = ["2001:db8:5::1", "2001:db8:5::2"];
    for b4 in b4s {
        ask(&mut device, &config, b4);
    }
    for table in 0..2 {
        let page = function_cgnat::Cgnat::table_page(device.function_mut(), table, 0, 10, NOW);
        for (entry, b4) in page.entries.iter().zip(b4s) {
            assert_eq!(
                (entry["b4"].as_str(), entry["inside"].as_str()),
                (Some(b4), Some("192.0.0.2:5000"))
            );
        }
        assert_eq!(page.entries.len(), 2, "table {table}");
    }
    let page = function_cgnat::Cgnat::table_page(device.function_mut(), 2, 0, 10, NOW);
    assert_eq!(page.entries[1]["inside"].as_str(), Some("[2001:db8:5::2]"));
    for (address, is_there) in [("2001:db8:5::3", false), (b4s[0], true), (b4s[0], false)] {
        let address = address.parse().expect("an address");
        let cleared = device.update(Update::ClearSubscriber { address, vlan: 0 }, NOW);
        assert_eq!(cleared, is_there, "{address}");
    }
    assert_eq!(device.function_mut().state().subscribers.count(), 1);
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let refused = |ds_lite: &str, more: Config| {
        let ds_lite = serde_saphyr::from_str(ds_lite).expect("a section");
        let config = Config { ds_lite: Some(ds_lite), ..more };
        let traffic = Traffic { sessions: 1, ..Traffic::default() };
        let invalid = Configured::<Cgnat>::new(config, traffic).err().expect("it is refused");
        assert!(!invalid.remedy.is_empty());
        (invalid.key, invalid.what)
    };
    let more = Config::default;
    for (ds_lite, what) in [
        ("{aftr: '::'}", "the AFTR has the address ::"),
        ("{aftr: 'fe80::1'}", "fe80::1 is the inside port's address, too"),
        ("{inside: ['2001::/20']}", "2001::/20 has 20 bits"),
        (
            "{inside: ['2001:db8::/48'], subscriber-len: 40}",
            "40 bits name a subscriber of 2001:db8::/48",
        ),
    ] {
        assert_eq!(refused(ds_lite, more()), ("ds-lite".to_owned(), what.to_owned()));
    }
    let below = |key: &str, what: &str| (format!("ds-lite.{key}"), what.to_owned());
    let none = below("inside", "must have from 1 to 1024 entries, not 0");
    assert_eq!(refused("{inside: []}", more()), none);
    let short = below("ipv6-mtu", "must be from 1280 to 65535, not 1279");
    assert_eq!(refused("{ipv6-mtu: 1279}", more()), short);
    let siit = Some(SiitConfig::default());
    assert_eq!(refused("{}", Config { siit, ..more() }).0, "siit");
}

#[test]
fn clients_behind_softwires_are_recognised() {
    let mut config = Config {
        sessions: 500,
        subscribers: 100,
        fragments: Fragments { datagrams: 8, ..Fragments::default() },
        ..config("{ipv6-mtu: 1600}")
    };
    let mut traffic = Traffic {
        family: Family::DsLite,
        tcp_share: 0.3,
        icmp_share: 0.3,
        sessions: 200,
        client: 50,
        pkt_size: serde_json::from_value("imix".into()).expect("sizes"),
        ..Traffic::default()
    };
    Cgnat::validate(&mut config, &mut traffic).expect("they fit");
    let mut pair = Pair::<Cgnat>::new(&config, Shard::WHOLE);
    let mut clients = Cgnat::workload(&config, &traffic, clock());
    clients::open_and_use(&mut pair, &mut clients, 200, |from, frame| {
        assert_eq!(frame[12..14] == [0x86, 0xdd], from == INSIDE);
    });
    clients::stream(&mut pair, &mut clients, 400, |port, mut frame, ask| {
        assert_eq!(ask(&frame), Delivery::AsExpected);
        if port == INSIDE {
            frame[53] ^= 1;
            assert_eq!(ask(&frame), Delivery::Misdelivered, "to another B4 element");
        }
    });
    let subscribers = pair.device_mut().function_mut().state().subscribers.count();
    assert!((40..=50).contains(&subscribers), "{subscribers} of 50 clients");
}

/// Whatever addresses hosts behind a softwire have, their fragments are one subscriber's.
#[test]
fn fragments_behind_a_softwire_are_one_senders() {
    let fragments = Fragments { datagrams_per_sender: 4, ..Fragments::default() };
    let config = Config { fragments, ..config("{}") };
    let mut pair = Pair::<Cgnat>::new(&config, Shard::WHOLE);
    let mut first = |b4, host| {
        let mut inner = datagram(([192, 0, 0, host], 5000), (SERVER, 53), 8);
        inner[6..8].copy_from_slice(&[0x20, 0]);
        inner[10..12].fill(0);
        let right = !sum(&inner[..20]);
        inner[10..12].copy_from_slice(&right.to_be_bytes());
        let frame = frame(&config, INSIDE, &tunnelled(b4, &inner));
        pair.frame(INSIDE, &frame).unwrap_or_else(|what| panic!("{what}"))
    };
    let [one, other] = ["2001:db8:5::1", "2001:db8:5::2"];
    for host in 2..6 {
        assert!(matches!(first(one, host), Expected::Forward { port: OUTSIDE, .. }));
    }
    assert_eq!(first(one, 6), Expected::Drop("fragment-limit"));
    assert!(matches!(first(other, 6), Expected::Forward { port: OUTSIDE, .. }));
}
