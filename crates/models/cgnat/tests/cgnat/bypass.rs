//! Destinations to which nothing is translated, byte by byte: frames that are written here by hand,
//! without sample and model.

use function_cgnat::Pipeline;
use function_cgnat::config::Config;
use function_cgnat::reasons::Tally;
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use packet::PortId;
use testkit::device::{Device, Outcome};
use testkit::pair::clock;

use crate::frames::{INSIDE, OUTSIDE, net, traffic, valid};

const NOW: Ticks = 1 << 40;
const SUBSCRIBER: [u8; 4] = [10, 0, 0, 5];
const HOST: [u8; 4] = [203, 0, 112, 80];
const ELSEWHERE: [u8; 4] = [198, 51, 100, 7];

fn device() -> (Config, Device<Pipeline>) {
    let config = Config {
        bypass: vec![net("203.0.112.0/24")],
        sessions: 100,
        subscribers: 10,
        icmp_errors_per_s: 0,
        ..Config::default()
    };
    let (config, _) = valid(&config, &traffic());
    let function = function_cgnat::Cgnat::function(&config, Shard::WHOLE, clock(), 1 << 30)
        .expect("a small NAT");
    (config, Device::new(function, 2))
}

/// A packet with these fields: identification and place as a fragment, hops, protocol, ends, and
/// what follows.
fn packet(
    place: [u8; 2],
    (hops, protocol): (u8, u8),
    [from, to]: [[u8; 4]; 2],
    body: &[u8],
) -> Vec<u8> {
    let total = 20 + body.len() as u8;
    let fixed = [0x45, 0, 0, total, 0, 7, place[0], place[1], hops, protocol, 0, 0];
    let mut header = [&fixed[..], &from, &to].concat();
    let sum: u32 = header.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
    [&header, body].concat()
}

fn pass(device: &mut Device<Pipeline>, config: &Config, port: PortId, packet: &[u8]) -> Outcome {
    let (to, from) = match port == INSIDE {
        true => (config.inside_mac, config.inside_next_hop_mac),
        false => (config.outside_mac, config.outside_next_hop_mac),
    };
    device.pass(port, &[&to.0.0[..], &from.0.0, &[8, 0], packet].concat(), NOW)
}

#[test]
fn packets_to_and_from_there_pass_as_they_are_a_hop_older() {
    let (config, mut device) = device();
    // UDP without checksum, TCP in the middle of a connection, an echo reply, GRE, and a later
    // fragment of TCP.
    let bodies: [([u8; 2], u8, &[u8]); 5] = [
        ([0x40, 0], 17, &[0, 9, 0, 9, 0, 12, 0, 0, 1, 2, 3, 4]),
        ([0, 0], 6, &[0, 9, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 16, 1, 0, 9, 9, 0, 0]),
        ([0, 0], 1, &[0, 0, 0, 0, 0, 0, 0, 0]),
        ([0, 0], 47, &[0x20, 0, 8, 0, 0, 0, 0, 1]),
        ([0x20, 5], 6, &[1, 2, 3, 4, 5, 6, 7, 8]),
    ];
    for (place, protocol, body) in bodies {
        for (port, towards, ends) in
            [(INSIDE, OUTSIDE, [SUBSCRIBER, HOST]), (OUTSIDE, INSIDE, [HOST, SUBSCRIBER])]
        {
            let came = packet(place, (64, protocol), ends, body);
            let Outcome::Left(by, left) = pass(&mut device, &config, port, &came) else {
                panic!("{protocol} leaves");
            };
            let mac = match towards == INSIDE {
                true => [config.inside_next_hop_mac.0.0, config.inside_mac.0.0],
                false => [config.outside_next_hop_mac.0.0, config.outside_mac.0.0],
            };
            let expected = [&mac.concat()[..], &[8, 0], &packet(place, (63, protocol), ends, body)];
            assert_eq!((by, left), (towards, expected.concat()));
            let last = packet(place, (1, protocol), ends, body);
            assert_eq!(pass(&mut device, &config, port, &last), Outcome::Dropped("ttl-expired"));
        }
    }
    let state = device.function_mut().state();
    assert_eq!((state.sessions.count(), state.subscribers.count()), (0, 0));
    assert_eq!(state.tallies[Tally::Bypassed as usize], 10);
}

#[test]
fn all_else_is_translated_or_dropped_as_without_the_key() {
    let (config, mut device) = device();
    let udp = [0, 9, 0, 9, 0, 12, 0, 0, 1, 2, 3, 4];
    let came = packet([0, 0], (64, 17), [SUBSCRIBER, ELSEWHERE], &udp);
    let Outcome::Left(OUTSIDE, left) = pass(&mut device, &config, INSIDE, &came) else {
        panic!("it leaves");
    };
    assert_eq!(left[26..29], [198, 18, 0], "translated");
    for (port, ends, reason) in [
        (OUTSIDE, [ELSEWHERE, SUBSCRIBER], "no-address"),
        (OUTSIDE, [HOST, [172, 16, 0, 1]], "no-address"),
        (INSIDE, [[172, 16, 0, 1], HOST], "not-inside"),
    ] {
        let came = packet([0, 0], (64, 17), ends, &udp);
        assert_eq!(pass(&mut device, &config, port, &came), Outcome::Dropped(reason));
    }
    // The host asks the mapping by its outside end.
    let outside = [left[26], left[27], left[28], left[29]];
    let asked = [&udp[..2], &left[34..36], &udp[4..]].concat();
    let came = packet([0, 0], (64, 17), [HOST, outside], &asked);
    let Outcome::Left(INSIDE, got) = pass(&mut device, &config, OUTSIDE, &came) else {
        panic!("it is taken");
    };
    assert_eq!(got[30..34], SUBSCRIBER);
}

#[test]
fn routers_on_the_way_tell_subscribers_of_their_packets() {
    let (config, mut device) = device();
    let udp = [0, 9, 0, 9, 0, 12, 0, 0];
    for (to, passes) in [(HOST, true), (ELSEWHERE, false)] {
        let quoted = packet([0, 0], (1, 17), [SUBSCRIBER, to], &udp);
        let mut message = [&[11, 0, 0, 0, 0, 0, 0, 0], &quoted[..]].concat();
        let sum = wire::checksum::checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let came = packet([0, 0], (64, 1), [ELSEWHERE, SUBSCRIBER], &message);
        match pass(&mut device, &config, OUTSIDE, &came) {
            Outcome::Left(INSIDE, left) => {
                assert!(passes);
                assert_eq!(left[34..], message, "as it is");
            }
            Outcome::Dropped(reason) => assert_eq!((passes, reason), (false, "icmp-no-session")),
            other => panic!("{other:?}"),
        }
    }
}
