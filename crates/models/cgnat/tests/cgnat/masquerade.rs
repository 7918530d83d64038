//! A NAT of which the outside port's own address is a pool: what subscribers have begun is
//! theirs, and the rest is for the port itself.

use function_cgnat::config::{Config, Filtering};
use function_kit::Shard;
use model_cgnat::Cgnat;
use packet::PortId;
use testkit::pair::Pair;

use crate::differential::Walk;
use crate::frames::{INSIDE, OUTSIDE, STATION, checksum, kinds, mended, net, pass, traffic, valid};

const OWN: [u8; 4] = [198, 18, 0, 1];
const SERVER: [u8; 4] = [203, 0, 112, 80];
const SUBSCRIBER: [u8; 4] = [10, 0, 0, 5];

fn packet((hops, protocol): (u8, u8), [from, to]: [[u8; 4]; 2], body: &[u8]) -> Vec<u8> {
    let fixed = [0x45, 0, 0, 20 + body.len() as u8, 0, 7, 0, 0, hops, protocol, 0, 0];
    mended([&fixed[..], &from, &to, body].concat())
}

fn udp([from, to]: [u16; 2]) -> Vec<u8> {
    [&from.to_be_bytes()[..], &to.to_be_bytes(), &[0, 12, 0, 0], b"text"].concat()
}

fn icmp(kind: u8, rest: &[u8]) -> Vec<u8> {
    let sum = checksum(&[&[kind, 0, 0, 0], rest]);
    [&[kind, 0][..], &sum, rest].concat()
}

fn config() -> Config {
    Config { outside_ip: OWN.into(), pools: vec![net("198.18.0.1/32")], ..kinds().swap_remove(0) }
}

#[test]
fn what_a_subscriber_has_begun_is_its_own_and_the_rest_is_the_ports() {
    let (config, _) = valid(&config(), &traffic());
    let mut pair: Pair<Cgnat> = Pair::new(&config, Shard::WHOLE);
    let mut sent = |port: PortId, packet: &[u8]| pass(&mut pair, &config, (port, STATION), packet);
    let out = [SUBSCRIBER, SERVER];
    let (by, left) = sent(INSIDE, &packet((64, 17), out, &udp([5000, 53]))).expect("it leaves");
    assert_eq!((by, &left[26..30]), (OUTSIDE, &OWN[..]));
    let port = u16::from_be_bytes([left[34], left[35]]);
    let back = [SERVER, OWN];
    let (by, got) = sent(OUTSIDE, &packet((64, 17), back, &udp([53, port]))).expect("an answer");
    assert_eq!((by, &got[30..34]), (INSIDE, &SUBSCRIBER[..]));
    // An error about what the subscriber sent is told to it.
    let told = [&[0; 4][..], &left[14..42]].concat();
    let (by, got) = sent(OUTSIDE, &packet((64, 1), back, &icmp(3, &told))).expect("it is told");
    assert_eq!((by, &got[30..34]), (INSIDE, &SUBSCRIBER[..]));

    // Pings are the port's, whatever identifiers subscribers have.
    let ping = icmp(8, &[0, 7, 0, 1]);
    sent(INSIDE, &packet((64, 1), out, &ping)).expect("it leaves");
    for identifier in [7, 1024, port] {
        let [high, low] = identifier.to_be_bytes();
        let asked = packet((64, 1), back, &icmp(8, &[high, low, 0, 1]));
        let (by, answer) = sent(OUTSIDE, &asked).expect("an answer");
        assert_eq!((by, &answer[26..30], answer[34]), (OUTSIDE, &OWN[..], 0));
    }
    // So is what is of no session, of no protocol with ports, or for neighbours alone.
    let of_nobody = [&[0; 4][..], &packet((1, 17), [OWN, SERVER], &udp([9, 9]))].concat();
    for (head, body) in [
        ((64, 17), udp([53, 9])),
        ((64, 50), vec![0; 8]),
        ((1, 17), udp([53, port])),
        ((64, 1), icmp(3, &of_nobody)),
    ] {
        let dropped = sent(OUTSIDE, &packet(head, back, &body));
        assert_eq!(dropped.expect_err("nothing takes it"), "local");
    }
}

#[test]
fn random_packets_become_what_the_oracle_says() {
    for (seed, filtering) in (0..).zip([
        Filtering::EndpointIndependent,
        Filtering::AddressDependent,
        Filtering::AddressAndPortDependent,
    ]) {
        let config = Config { filtering, ..config() };
        let mut walk = Walk::new(&config, 0x3a5c + seed);
        for step in 0..1500 {
            walk.step_with(|_| ()).unwrap_or_else(|what| panic!("{filtering:?} {step}: {what}"));
        }
    }
}
