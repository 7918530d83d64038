//! Subscribers with the same address in three realms, byte by byte: frames that are written here by
//! hand, without sample and model.

use function_cgnat::Pipeline;
use function_cgnat::Update;
use function_cgnat::config::Config;
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use model_cgnat::Cgnat;
use model_cgnat::Traffic;
use model_kit::Model;
use packet::PortId;
use testkit::device::{Device, Outcome};
use testkit::pair::{Pair, clock};
use traffic::Delivery;

use crate::clients;
use crate::frames::{INSIDE, OUTSIDE};

const NOW: Ticks = 1 << 40;
const SUBSCRIBER: [u8; 4] = [10, 0, 0, 5];
const SERVER: [u8; 4] = [192, 0, 2, 80];

fn config() -> Config {
    let text = "{sessions: 100, subscribers: 10, secret: 3, vrfs: [\
                {name: red, vlan: 100, inside: [10.0.0.0/8], pools: [198.18.32.0/31]}, \
                {name: blue, vlan: 200, inside: [10.0.0.0/24]}]}";
    let mut config: Config = serde_saphyr::from_str(text).expect("a section");
    let mut traffic = Traffic { sessions: 1, ..Traffic::default() };
    Cgnat::validate(&mut config, &mut traffic).expect("a valid configuration");
    config
}

fn device(config: &Config) -> Device<Pipeline> {
    let function = function_cgnat::Cgnat::function(config, Shard::WHOLE, clock(), 1 << 30)
        .expect("a small NAT");
    Device::new(function, 2)
}

/// The tag of a VLAN with a priority of 3; nothing for VLAN 0.
fn tag(vlan: u16) -> Vec<u8> {
    if vlan == 0 { Vec::new() } else { [&[0x81, 0], &(0x6000 | vlan).to_be_bytes()[..]].concat() }
}

/// A datagram without checksum.
fn datagram(from: ([u8; 4], u16), to: ([u8; 4], u16)) -> Vec<u8> {
    let mut header = [&[0x45, 0, 0, 32, 0, 7, 0x40, 0, 64, 17, 0, 0][..], &from.0, &to.0].concat();
    let pairs = header.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
    let sum: u32 = pairs.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
    let ports = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
    [&header[..], &ports, &[0, 12, 0, 0, b'a', b'b', b'c', b'd']].concat()
}

fn frame(config: &Config, port: PortId, vlan: u16, packet: &[u8]) -> Vec<u8> {
    let (to, from) = match port == INSIDE {
        true => (config.inside_mac, config.inside_next_hop_mac),
        false => (config.outside_mac, config.outside_next_hop_mac),
    };
    [&to.0.0[..], &from.0.0, &tag(vlan), &[8, 0], packet].concat()
}

/// Sends a datagram of the subscriber of a VLAN out; yields its outside end.
fn ask(device: &mut Device<Pipeline>, config: &Config, vlan: u16) -> ([u8; 4], u16) {
    let packet = datagram((SUBSCRIBER, 5000), (SERVER, 53));
    let Outcome::Left(OUTSIDE, out) =
        device.pass(INSIDE, &frame(config, INSIDE, vlan, &packet), NOW)
    else {
        panic!("it leaves outside");
    };
    assert_eq!(out[..6], config.outside_next_hop_mac.0.0);
    assert_eq!((&out[12..16], out.len()), (&[8, 0, 0x45, 0][..], 46), "without a tag");
    let address = [out[26], out[27], out[28], out[29]];
    (address, u16::from_be_bytes([out[34], out[35]]))
}

#[test]
fn the_same_address_in_three_realms_is_three_subscribers() {
    let config = config();
    let mut device = device(&config);
    let ends = [0, 100, 200].map(|vlan| (vlan, ask(&mut device, &config, vlan)));
    let again = [0, 100, 200].map(|vlan| (vlan, ask(&mut device, &config, vlan)));
    assert_eq!(ends, again, "each has one outside end");
    let [main, red, blue] = ends.map(|(_, end)| end);
    assert_eq!((red.0[..3].to_vec(), red.0[3] / 2), (vec![198, 18, 32], 0), "of its own pool");
    assert_eq!((&main.0[..3], &blue.0[..3]), (&[198, 18, 0][..], &[198, 18, 0][..]));
    assert_ne!(main, blue);
    let state = device.function_mut().state();
    assert_eq!((state.sessions.count(), state.subscribers.count()), (3, 3));
    for (vlan, end) in ends {
        let packet = datagram((SERVER, 53), end);
        let back = frame(&config, OUTSIDE, 0, &packet);
        let Outcome::Left(INSIDE, got) = device.pass(OUTSIDE, &back, NOW) else {
            panic!("it leaves inside");
        };
        let [high, low] = vlan.to_be_bytes();
        let tag = if vlan == 0 { vec![] } else { vec![0x81, 0, high, low] };
        let to = &config.inside_next_hop_mac.0.0;
        let from = &config.inside_mac.0.0;
        assert_eq!(got[..14 + tag.len()], [&to[..], from, &tag, &[8, 0]].concat());
        assert_eq!(got[14 + tag.len() + 16..14 + tag.len() + 20], SUBSCRIBER);
    }
}

#[test]
fn what_is_of_no_vrf_is_dropped() {
    let config = config();
    let mut device = device(&config);
    let packet = datagram((SUBSCRIBER, 5000), (SERVER, 53));
    let mut dropped = |port, vlan, packet: &[u8]| {
        let outcome = device.pass(port, &frame(&config, port, vlan, packet), NOW);
        let Outcome::Dropped(reason) = outcome else { panic!("{outcome:?}") };
        reason
    };
    assert_eq!(dropped(INSIDE, 101, &packet), "unknown-vlan");
    assert_eq!(dropped(OUTSIDE, 100, &packet), "unknown-ethertype");
    let stranger = datagram(([10, 0, 1, 5], 5000), (SERVER, 53));
    assert_eq!(dropped(INSIDE, 200, &stranger), "not-inside", "it is inside elsewhere");
    assert_eq!(device.function_mut().state().sessions.count(), 0);
}

#[test]
fn subscribers_are_shown_and_cleared_by_their_vlan() {
    let config = config();
    let mut device = device(&config);
    for vlan in [0, 100, 200] {
        ask(&mut device, &config, vlan);
    }
    for table in 0..3 {
        let page = function_cgnat::Cgnat::table_page(device.function_mut(), table, 0, 10, NOW);
        let vlans: Vec<u64> =
            page.entries.iter().filter_map(|entry| entry.get("vlan")?.as_u64()).collect();
        assert_eq!((page.entries.len(), vlans), (3, vec![100, 200]), "table {table}");
    }
    let address = SUBSCRIBER.into();
    for (vlan, is_there) in [(300, false), (100, true), (100, false)] {
        let cleared = device.update(Update::ClearSubscriber { address, vlan }, NOW);
        assert_eq!(cleared, is_there, "VLAN {vlan}");
    }
    assert_eq!(device.function_mut().state().sessions.count(), 2);
    let update: Update = serde_saphyr::from_str("{clear-subscriber: {address: 10.0.0.5}}")
        .expect("a change that names no VLAN");
    assert!(device.update(update, NOW), "the one of the main realm");
    assert_eq!(device.function_mut().state().subscribers.count(), 1);
}

#[test]
fn clients_of_a_vrf_are_recognised_with_their_tag() {
    let mut config = Config { sessions: 500, subscribers: 100, ..config() };
    let mut traffic = Traffic {
        vlan: 100,
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
        assert_eq!(frame[12..16] == [0x81, 0, 0, 100], from == INSIDE);
    });
    clients::stream(&mut pair, &mut clients, 400, |port, mut frame, ask| {
        assert_eq!(ask(&frame), Delivery::AsExpected);
        if port == INSIDE {
            frame[15] ^= 1;
            assert_eq!(ask(&frame), Delivery::Misdelivered, "of another VRF");
        }
    });
}
