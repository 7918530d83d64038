//! Hosts that share an outside address by fixed ports, byte by byte: frames that are written here
//! by hand, without sample and model.
use std::collections::BTreeSet;

use function_cgnat::Pipeline;
use function_cgnat::Update;
use function_cgnat::config::Config;
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use model_cgnat::Cgnat;
use model_cgnat::Traffic;
use model_kit::Model;
use model_kit::check::Expected;
use packet::PortId;
use testkit::device::{Device, Outcome};
use testkit::pair::{Pair, clock};
use traffic::{SessionAction, SessionFrames};

use crate::frames::{INSIDE, OUTSIDE, kinds, valid};

const NOW: Ticks = 1 << 40;
const SHARED: [u8; 4] = [203, 0, 113, 80];
const WEB: [u8; 4] = [10, 0, 0, 5];
const GAME: [u8; 4] = [10, 0, 0, 6];
const SERVER: [u8; 4] = [192, 0, 2, 80];

type End = ([u8; 4], u16);

/// Two hosts behind one address: one with 16 ports for all else, the other without.
fn config(more: &str) -> Config {
    let text = format!(
        "{{sessions: 100, subscribers: 10, icmp-errors-per-s: 0, port-forwarding: [{{outside: 203.0.113.80, hosts: [\
         {{inside: 10.0.0.5, dynamic-ports: {{first-port: 2000, last-port: 2015}}, \
           forwards: [{{protocol: udp, first-port: 80}}, \
                      {{protocol: udp, first-port: 5000, last-port: 5003, inside-port: 7000}}]}}, \
         {{inside: 10.0.0.6, forwards: [{{protocol: tcp, first-port: 80}}, \
                                        {{protocol: udp, first-port: 81, inside-port: 80}}]}}]}}]{more}}}"
    );
    let config: Config = serde_saphyr::from_str(&text).expect("a section");
    valid(&config, &Traffic { sessions: 1, ..Traffic::default() }).0
}

fn device(config: &Config) -> Device<Pipeline> {
    let function = function_cgnat::Cgnat::function(config, Shard::WHOLE, clock(), 1 << 30)
        .expect("a small NAT");
    Device::new(function, 2)
}

/// A packet of UDP without checksum, or a segment of TCP with SYN whose checksum is wrong, as it
/// stays.
fn packet(protocol: u8, from: End, to: End) -> Vec<u8> {
    let body: &[u8] = match protocol {
        17 => &[0, 12, 0, 0, b'a', b'b', b'c', b'd'],
        _ => &[0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 1, 0, 0x12, 0x34, 0, 0],
    };
    let total = 24 + body.len() as u8;
    let fixed = [0x45, 0, 0, total, 0, 7, 0x40, 0, 64, protocol, 0, 0];
    let mut header = [&fixed[..], &from.0, &to.0].concat();
    let sum: u32 = header.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
    [&header[..], &from.1.to_be_bytes(), &to.1.to_be_bytes(), body].concat()
}

/// The ends of a packet that left by a port, or why it was dropped.
fn pass(
    (device, config): (&mut Device<Pipeline>, &Config),
    port: PortId,
    (protocol, from, to): (u8, End, End),
) -> Result<(PortId, End, End), String> {
    let (station, sender) = match port == INSIDE {
        true => (config.inside_mac, config.inside_next_hop_mac),
        false => (config.outside_mac, config.outside_next_hop_mac),
    };
    let frame = [&station.0.0[..], &sender.0.0, &[8, 0], &packet(protocol, from, to)].concat();
    match device.pass(port, &frame, NOW) {
        Outcome::Left(port, frame) => {
            let end = |address: usize, port: usize| {
                let octets = [0, 1, 2, 3].map(|offset| frame[address + offset]);
                (octets, u16::from_be_bytes([frame[port], frame[port + 1]]))
            };
            assert_eq!(frame[22], 63, "one hop");
            Ok((port, end(26, 34), end(30, 36)))
        }
        Outcome::Dropped(reason) => Err(reason.to_owned()),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn a_forwarded_port_is_the_same_both_ways_whoever_begins() {
    let config = config("");
    let server = (SERVER, 4000);
    for (protocol, inside, outside) in [
        (17, (WEB, 80), 80),
        (17, (WEB, 7000), 5000),
        (17, (WEB, 7003), 5003),
        (6, (GAME, 80), 80),
        (17, (GAME, 80), 81),
    ] {
        let outside = (SHARED, outside);
        for begins_inside in [false, true, false] {
            let mut device = device(&config);
            for goes_out in [begins_inside, !begins_inside, begins_inside] {
                let nat = (&mut device, &config);
                match goes_out {
                    true => assert_eq!(
                        pass(nat, INSIDE, (protocol, inside, server)),
                        Ok((OUTSIDE, outside, server))
                    ),
                    false => assert_eq!(
                        pass(nat, OUTSIDE, (protocol, server, outside)),
                        Ok((INSIDE, server, inside))
                    ),
                }
            }
            assert_eq!(device.function_mut().state().sessions.count(), 1);
        }
    }
}

#[test]
fn ports_that_no_rule_forwards_reach_nobody() {
    let config = config("");
    let mut device = device(&config);
    for (protocol, port) in [(6, 5000), (17, 5004), (17, 79), (6, 81), (17, 2000), (17, 0)] {
        let asked = pass((&mut device, &config), OUTSIDE, (protocol, (SERVER, 9), (SHARED, port)));
        assert_eq!(asked, Err("no-mapping".into()), "{protocol} {port}");
    }
    let asked = pass((&mut device, &config), INSIDE, (17, (GAME, 5000), (SERVER, 9)));
    assert_eq!(asked, Err("ports-exhausted".into()), "it has none for that");
    assert_eq!(device.function_mut().state().subscribers.count(), 0);
}

#[test]
fn other_ports_are_drawn_of_the_host_s_until_there_is_none() {
    let mut sequences = BTreeSet::new();
    for secret in 1..=4 {
        let config = config(&format!(", secret: {secret}"));
        let mut device = device(&config);
        let ask = |device: &mut Device<Pipeline>, port: u16| {
            let left = pass((device, &config), INSIDE, (17, (WEB, port), (SERVER, 9)))?;
            assert_eq!((left.0, left.1.0), (OUTSIDE, SHARED));
            Ok::<u16, String>(left.1.1)
        };
        let ports: Vec<u16> =
            (30_000..30_016).map(|port| ask(&mut device, port).expect("a port")).collect();
        let all: BTreeSet<u16> = ports.iter().copied().collect();
        assert_eq!(all, (2000..=2015).collect(), "each once");
        assert_eq!(ask(&mut device, 30_016), Err("ports-exhausted".into()));
        assert_eq!(ask(&mut device, 80), Ok(80), "a forwarded one all the same");
        assert_eq!(ask(&mut device, 30_003), Ok(ports[3]), "one that is there");
        let address = WEB.into();
        assert!(device.update(Update::ClearSubscriber { address, vlan: 0 }, NOW));
        // RFC 6888 REQ-8 B: nobody else can have them, so they need not rest.
        assert!(ask(&mut device, 30_016).is_ok());
        sequences.insert(ports);
    }
    assert_eq!(sequences.len(), 4, "each start draws anew");
}

#[test]
fn filtering_holds_for_forwarded_ports() {
    let (other, nobody) = ((SERVER, 4001), ([192, 0, 2, 81], 4000));
    for (filtering, passes) in [
        ("endpoint-independent", [true, true, true, true]),
        ("address-dependent", [false, true, true, false]),
        ("address-and-port-dependent", [false, true, false, false]),
    ] {
        let config = config(&format!(", filtering: {filtering}"));
        let mut device = device(&config);
        let comes = |device: &mut Device<Pipeline>, from| match pass(
            (device, &config),
            OUTSIDE,
            (17, from, (SHARED, 80)),
        ) {
            Ok(left) => {
                assert_eq!(left, (INSIDE, from, (WEB, 80)));
                true
            }
            Err(reason) => {
                assert_eq!(reason, "filtered");
                false
            }
        };
        let before = comes(&mut device, (SERVER, 4000));
        let left = pass((&mut device, &config), INSIDE, (17, (WEB, 80), (SERVER, 4000)));
        assert_eq!(left, Ok((OUTSIDE, (SHARED, 80), (SERVER, 4000))));
        let after = [(SERVER, 4000), other, nobody].map(|from| comes(&mut device, from));
        assert_eq!([before, after[0], after[1], after[2]], passes, "{filtering}");
    }
}

#[test]
fn hosts_of_one_address_reach_one_another_by_it() {
    let config = config("");
    let mut device = device(&config);
    let frame = [
        &config.inside_mac.0.0[..],
        &config.inside_next_hop_mac.0.0,
        &[8, 0],
        &packet(17, (WEB, 30_000), (SHARED, 81)),
    ]
    .concat();
    let Outcome::Left(INSIDE, got) = device.pass(INSIDE, &frame, NOW) else { panic!("it turns") };
    assert_eq!((&got[26..30], &got[30..34]), (&SHARED[..], &GAME[..]));
    assert_eq!((got[22], got[36..38].to_vec()), (62, vec![0, 80]));
    let port = u16::from_be_bytes([got[34], got[35]]);
    assert!((2000..=2015).contains(&port), "{port}");
    assert_eq!(device.function_mut().state().sessions.count(), 2);
}

#[test]
fn clients_that_are_hosts_are_recognised_outside() {
    // Both have ports for all else; one of them forwards UDP from 5000 to 5003.
    let (config, traffic) = valid(
        &kinds()[9],
        &Traffic {
            first_client: [10, 255, 255, 250].into(),
            client: 2,
            client_ports: 6,
            first_client_port: 4998,
            server: 2,
            server_ports: 1,
            sessions: 24,
            tcp_share: 0.4,
            ..Traffic::default()
        },
    );
    let mut pair = Pair::<Cgnat>::new(&config, Shard::WHOLE);
    let mut clients = Cgnat::workload(&config, &traffic, clock());
    let ports = clients.session_ports();
    let mut fixed = 0;
    for number in 0..24 {
        let packet = clients.session(number).expect("a session");
        for step in 0..clients.session_steps(&packet, SessionAction::Open) {
            let mut frame = vec![0; clients.session_frame_len(&packet, SessionAction::Open, step)];
            clients.write_session(&packet, (SessionAction::Open, step), 7, &mut frame);
            let from = ports[usize::from(step % 2)];
            let left = pair.frame(from, &frame).unwrap_or_else(|what| panic!("{what}"));
            let Expected::Forward { port, frame } = left else { panic!("{left:?}") };
            let (seen, _) = clients.session_seen(port, &frame).expect("a step");
            assert_eq!((seen.session, seen.step, seen.is_right), (number, step, true));
            let source = u16::from_be_bytes([frame[34], frame[35]]);
            fixed += usize::from(port == OUTSIDE && (5000..=5003).contains(&source));
        }
    }
    assert!(fixed > 0, "some are forwarded");
}
