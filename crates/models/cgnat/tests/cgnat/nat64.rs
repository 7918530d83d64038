//! An IPv6 subscriber and an IPv4 server, byte by byte: frames that are written here by hand,
//! without sample and model.

use function_cgnat::config::{Config, Family, Nat64};
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use model_cgnat::Cgnat;
use model_cgnat::Traffic;
use model_kit::{Configured, Model};
use testkit::device::{Device, Outcome};
use testkit::pair::{Pair, clock};
use traffic::Delivery;

use crate::clients;
use crate::frames::{INSIDE, OUTSIDE, checksum, net6, traffic};

const NOW: Ticks = 1 << 40;
const SUBSCRIBER: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x17];
/// 64:ff9b::11.55.0.1.
const SERVER: [u8; 16] = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 11, 55, 0, 1];

fn config() -> Config {
    Config { nat64: Some(Nat64::default()), sessions: 100, secret: Some(3), ..Config::default() }
}

fn ethernet(config: &Config, from_inside: bool, kind: [u8; 2]) -> Vec<u8> {
    let (to, from) = match from_inside {
        true => (config.inside_mac, config.inside_next_hop_mac),
        false => (config.outside_mac, config.outside_next_hop_mac),
    };
    [&to.0.0[..], &from.0.0, &kind].concat()
}

#[test]
fn a_datagram_goes_out_as_ipv4_and_its_answer_comes_back_as_ipv6() {
    let config = config();
    let function = function_cgnat::Cgnat::function(&config, Shard::WHOLE, clock(), 1 << 30)
        .expect("a small NAT");
    let mut device = Device::new(function, 2);
    let mut question = vec![0x13, 0x88, 0, 53, 0, 12, 0, 0, b'a', b'b', b'c', b'd'];
    let sum = checksum(&[&SUBSCRIBER, &SERVER, &[0, 0, 0, 12, 0, 0, 0, 17], &question]);
    question[6..8].copy_from_slice(&sum);
    let header = [0x62, 0xe1, 0x23, 0x45, 0, 12, 17, 64];
    let frame =
        [&ethernet(&config, true, [0x86, 0xdd])[..], &header, &SUBSCRIBER, &SERVER, &question];
    let mut ports = Vec::new();
    for _ in 0..2 {
        let Outcome::Left(OUTSIDE, out) = device.pass(INSIDE, &frame.concat(), NOW) else {
            panic!("it leaves outside");
        };
        assert_eq!(out[..6], config.outside_next_hop_mac.0.0);
        assert_eq!(out[6..14], [&config.outside_mac.0.0[..], &[8, 0]].concat());
        let (ip, udp) = (&out[14..34], &out[34..]);
        assert_eq!(ip[..4], [0x45, 0x2e, 0, 32], "class and length");
        assert_eq!(ip[6..10], [0, 0, 63, 17], "it may be cut, a hop is over");
        assert_eq!((&ip[12..15], &ip[16..]), (&[198, 18, 0][..], &[11, 55, 0, 1][..]));
        assert_eq!(checksum(&[ip]), [0, 0]);
        assert_eq!((&udp[2..6], &udp[8..]), (&[0, 53, 0, 12][..], &b"abcd"[..]));
        assert_eq!(checksum(&[&ip[12..], &[0, 17, 0, 12], udp]), [0, 0]);
        ports.push((ip[12..16].to_vec(), udp[..2].to_vec()));
    }
    assert_eq!(ports[0], ports[1], "a session has one outside end");
    let (address, port) = &ports[0];

    // An answer without checksum, which IPv6 does not know (RFC 7915 section 4.5).
    let mut header =
        [&[0x45, 0x12, 0, 31, 9, 9, 0x40, 0, 60, 17, 0, 0, 11, 55, 0, 1][..], address].concat();
    let sum = checksum(&[&header]);
    header[10..12].copy_from_slice(&sum);
    let answer = [&[0, 53][..], port, &[0, 11, 0, 0], b"xyz"].concat();
    let frame = [ethernet(&config, false, [8, 0]), header, answer].concat();
    let mut datagram = [&[0, 53, 0x13, 0x88, 0, 11, 0, 0][..], b"xyz"].concat();
    let sum = checksum(&[&SERVER, &SUBSCRIBER, &[0, 0, 0, 11, 0, 0, 0, 17], &datagram]);
    datagram[6..8].copy_from_slice(&sum);
    let macs = [&config.inside_next_hop_mac.0.0[..], &config.inside_mac.0.0].concat();
    let header = [0x86, 0xdd, 0x61, 0x20, 0, 0, 0, 11, 17, 59];
    let expected = [&macs[..], &header, &SERVER, &SUBSCRIBER, &datagram].concat();
    assert_eq!(device.pass(OUTSIDE, &frame, NOW), Outcome::Left(INSIDE, expected));
}

#[test]
fn sessions_of_ipv6_clients_open_and_go_both_ways() {
    let nat64 = Nat64 { prefix: net6("2001:db8:64::/96"), ..Nat64::default() };
    let mut config = Config { nat64: Some(nat64), sessions: 1000, ..config() };
    let mut traffic = Traffic {
        family: Family::Ipv6,
        tcp_share: 0.4,
        icmp_share: 0.3,
        sessions: 200,
        client: 50,
        pkt_size: serde_json::from_value("imix".into()).expect("sizes"),
        ..Traffic::default()
    };
    Cgnat::validate(&mut config, &mut traffic).expect("they fit");
    let mut pair = Pair::<Cgnat>::new(&config, Shard::WHOLE);
    let mut clients = Cgnat::workload(&config, &traffic, clock());
    clients::open_and_use(&mut pair, &mut clients, 200, |_, _| {});
    clients::stream(&mut pair, &mut clients, 400, |_, mut frame, ask| {
        assert_eq!(ask(&frame), Delivery::AsExpected);
        let last = frame.len() - 1;
        frame[last] ^= 1;
        assert_eq!(ask(&frame), Delivery::Misdelivered, "damaged");
    });
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |config: Config| {
        Configured::<Cgnat>::new(config, traffic()).err().expect("it is refused").key
    };
    let with = |nat64| Config { nat64: Some(nat64), ..config() };
    let base = Nat64::default;
    assert_eq!(Cgnat::validate(&mut config(), &mut traffic()), Ok(()));
    for (key, nat64) in [
        ("nat64", Nat64 { prefix: net6("2001:db8::/95"), ..base() }),
        ("nat64", Nat64 { prefix: net6("2001:db8:0:0:100::/96"), ..base() }),
        ("nat64.inside", Nat64 { inside: Vec::new(), ..base() }),
        ("nat64.ipv6-mtu", Nat64 { ipv6_mtu: 1279, ..base() }),
        ("nat64.ipv4-mtu", Nat64 { ipv4_mtu: 575, ..base() }),
    ] {
        assert_eq!(refused(with(nat64.clone())), key, "{nat64:?}");
    }
    let global = std::net::Ipv4Addr::new(11, 55, 0, 1);
    let ipv6 = Traffic { family: Family::Ipv6, first_server: global, ..traffic() };
    let check = |config: &Config, traffic: &Traffic| {
        Cgnat::validate(&mut config.clone(), &mut traffic.clone()).map_err(|invalid| invalid.key)
    };
    assert_eq!(check(&config(), &ipv6), Ok(()));
    assert_eq!(check(&Config { nat64: None, ..config() }, &ipv6), Err("family".into()));
    let private = Traffic { first_server: Traffic::default().first_server, ..ipv6.clone() };
    assert_eq!(check(&config(), &private), Err("family".into()));
    let long = Nat64 { ipv6_mtu: 1280, ..base() };
    let sizes = serde_json::from_value(1518.into()).expect("a size");
    assert_eq!(check(&with(long), &Traffic { pkt_size: sizes, ..ipv6 }), Err("family".into()));
}
