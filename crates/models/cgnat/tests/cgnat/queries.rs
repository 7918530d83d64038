//! Echo requests from outside and between subscribers, step by step: frames that are written here
//! by hand, beside the model.

use std::net::Ipv4Addr;

use function_cgnat::config::{Config, Filtering, PortBlocks};
use function_kit::Shard;
use model_cgnat::Cgnat;
use model_kit::check::Expected;
use packet::PortId;
use testkit::mutate::repair;
use testkit::pair::Pair;
use wire::checksum::checksum;

use crate::frames::{INSIDE, OUTSIDE, kinds, net};

const REQUEST: u8 = 8;
const REPLY: u8 = 0;
const UNREACHABLE: u8 = 3;
const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 112, 9);
const ONE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// What a frame with an ICMP message says: from whom, to whom, type and identifier.
type Said = (Ipv4Addr, Ipv4Addr, u8, u16);

/// A NAT beside its model.
struct Nat {
    config: Config,
    pair: Pair<Cgnat>,
}

impl Nat {
    fn new(config: Config) -> Nat {
        Nat { pair: Pair::new(&config, Shard::WHOLE), config }
    }

    /// What becomes of a message with 12 bytes of data, or those of a quoted packet.
    fn pass(&mut self, port: PortId, said: Said, data: &[u8]) -> Result<(PortId, Vec<u8>), String> {
        let mac = if port == INSIDE { self.config.inside_mac } else { self.config.outside_mac };
        let (from, to, kind, identifier) = said;
        let total = 28 + data.len() as u16;
        let [high, low] = total.to_be_bytes();
        let ip = [0x45, 0, high, low, 0, 7, 0, 0, 64, 1, 0, 0];
        let message = [kind, 0, 0, 0, (identifier >> 8) as u8, identifier as u8, 0, 1];
        let mut frame = [&mac.0.0[..], &[2, 0, 0, 0, 0, 9, 8, 0], &ip].concat();
        frame.extend([&from.octets()[..], &to.octets(), &message, data].concat());
        repair(&mut frame);
        let sum = checksum(&frame[34..]);
        frame[36..38].copy_from_slice(&sum.to_be_bytes());
        match self.pair.frame(port, &frame).unwrap_or_else(|what| panic!("{said:?}: {what}")) {
            Expected::Forward { port, frame } => Ok((port, frame)),
            Expected::Drop(reason) => Err(reason.to_owned()),
            other => Err(format!("{other:?}")),
        }
    }

    /// What a message becomes, and where it leaves; the reason where it does not.
    fn say(&mut self, port: PortId, said: Said) -> Result<(PortId, Said), String> {
        let (port, frame) = self.pass(port, said, b"twelve bytes")?;
        let address =
            |at: usize| Ipv4Addr::new(frame[at], frame[at + 1], frame[at + 2], frame[at + 3]);
        let identifier = u16::from_be_bytes([frame[38], frame[39]]);
        Ok((port, (address(26), address(30), frame[34], identifier)))
    }
}

/// One whose subscribers get the same outside identifier, each of an address of its own.
fn same_identifiers() -> Config {
    Config {
        pools: vec![net("198.18.0.0/31")],
        first_port: 65_535,
        port_block: PortBlocks { size: 0, per_subscriber: 1 },
        ..kinds()[0].clone()
    }
}

#[test]
fn a_host_outside_asks_a_subscriber_under_its_identifier() {
    for (filtering, strangers) in [
        (Filtering::EndpointIndependent, Ok(())),
        (Filtering::AddressDependent, Err("filtered".to_owned())),
    ] {
        let mut nat = Nat::new(Config { filtering, ..kinds()[0].clone() });
        assert_eq!(nat.say(INSIDE, (ONE, SERVER, REPLY, 5)), Err("icmp-no-session".to_owned()));
        let (_, (outside, _, _, seen)) =
            nat.say(INSIDE, (ONE, SERVER, REQUEST, 5)).expect("a ping");
        let asked = nat.say(OUTSIDE, (SERVER, outside, REQUEST, seen));
        assert_eq!(asked, Ok((INSIDE, (SERVER, ONE, REQUEST, 5))));
        let answered = nat.say(INSIDE, (ONE, SERVER, REPLY, 5));
        assert_eq!(answered, Ok((OUTSIDE, (outside, SERVER, REPLY, seen))));
        let stranger = Ipv4Addr::new(203, 0, 112, 77);
        let asked = nat.say(OUTSIDE, (stranger, outside, REQUEST, seen));
        let expected = (INSIDE, (stranger, ONE, REQUEST, 5));
        assert_eq!(asked, strangers.map(|()| expected), "{filtering:?}");
        let nobody = nat.say(OUTSIDE, (SERVER, outside, REQUEST, seen ^ 1));
        assert_eq!(nobody, Err("no-mapping".to_owned()));
    }
}

#[test]
fn a_query_between_subscribers_finds_the_mapping_of_its_identifier() {
    let mut nat = Nat::new(same_identifiers());
    let (_, (at_one, _, _, seen)) = nat.say(INSIDE, (ONE, SERVER, REQUEST, 11)).expect("a ping");
    // Nobody asks under that identifier there yet.
    let addresses = [0, 1].map(|last| Ipv4Addr::new(198, 18, 0, last));
    let there = addresses[usize::from(at_one == addresses[0])];
    assert_eq!(nat.say(INSIDE, (ONE, there, REQUEST, 11)), Err("no-mapping".to_owned()));
    let (_, (at_other, ..)) = nat.say(INSIDE, (OTHER, SERVER, REQUEST, 22)).expect("a ping");
    assert_eq!((at_other, seen), (there, 65_535));
    // One asks, the other answers, and asks itself.
    let (port, frame) =
        nat.pass(INSIDE, (ONE, at_other, REQUEST, 11), b"twelve bytes").expect("it turns");
    assert_eq!((port, &frame[26..34]), (INSIDE, &[at_one.octets(), OTHER.octets()].concat()[..]));
    assert_eq!((frame[34], &frame[38..40]), (REQUEST, &[0, 22][..]));
    let answered = nat.say(INSIDE, (OTHER, at_one, REPLY, 22));
    assert_eq!(answered, Ok((INSIDE, (at_other, ONE, REPLY, 11))));
    let asked = nat.say(INSIDE, (OTHER, at_one, REQUEST, 22));
    assert_eq!(asked, Ok((INSIDE, (at_other, ONE, REQUEST, 11))));
    // An error about the question goes to who asked, as that one asked.
    let (_, error) =
        nat.pass(INSIDE, (OTHER, at_one, UNREACHABLE, 0), &frame[14..42]).expect("it turns");
    assert_eq!(&error[26..34], &[at_other.octets(), ONE.octets()].concat()[..]);
    assert_eq!(&error[54..62], &[ONE.octets(), at_other.octets()].concat()[..]);
    assert_eq!((error[62], &error[66..68]), (REQUEST, &[0, 11][..]));
    // Its own address has nobody else's query of that identifier.
    assert_eq!(nat.say(INSIDE, (ONE, at_one, REQUEST, 11)), Err("no-mapping".to_owned()));
}

#[test]
fn subscribers_with_addresses_for_themselves_answer_pings_of_all() {
    let mut nat =
        Nat::new(Config { filtering: Filtering::EndpointIndependent, ..kinds()[3].clone() });
    let (own, outside) = (Ipv4Addr::new(10, 9, 0, 2), Ipv4Addr::new(203, 0, 113, 66));
    assert_eq!(
        nat.say(OUTSIDE, (SERVER, outside, REQUEST, 7)),
        Ok((INSIDE, (SERVER, own, REQUEST, 7)))
    );
    assert_eq!(
        nat.say(INSIDE, (own, SERVER, REPLY, 7)),
        Ok((OUTSIDE, (outside, SERVER, REPLY, 7)))
    );
    let (port, (at_one, to, kind, seen)) =
        nat.say(INSIDE, (ONE, outside, REQUEST, 33)).expect("it turns");
    assert_eq!((port, to, kind), (INSIDE, own, REQUEST));
    let answered = nat.say(INSIDE, (own, at_one, REPLY, seen));
    assert_eq!(answered, Ok((INSIDE, (outside, ONE, REPLY, 33))));
    assert_eq!(nat.say(INSIDE, (own, outside, REQUEST, 9)), Err("no-mapping".to_owned()));
}
