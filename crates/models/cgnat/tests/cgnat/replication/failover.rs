//! The active NAT is gone, and the oracle goes on with the standby: it knows every session,
//! mapping, block and resting port of the one before, and finds no difference.

use std::collections::HashMap;

use function_cgnat::config::{Config, PortBlocks};
use function_cgnat::reasons::Tally;
use packet::PortId;
use testkit::device::{Device, Outcome};
use testkit::mutate::repair;
use testkit::pair::clock;

use super::*;
use crate::frames::{INSIDE, OUTSIDE, net};

/// Steps with the active NAT, and with its standby.
const STEPS: [usize; 2] = [1000, 1000];
const SEED: u64 = 0x0fa1_10e4;

#[test]
fn a_standby_that_followed_goes_on_as_the_oracle_says() {
    println!("seed {SEED:#x}");
    for (number, config) in (0..).zip(lasting()) {
        let mut both = Both::new(&config, SEED + number);
        both.steps(STEPS[0]).unwrap_or_else(|what| panic!("kind {number}, active, {what}"));
        let [active, standby] = both.tables();
        assert_eq!(active, standby, "kind {number}");
        assert!(active.sessions.len() > 20, "{}", active.sessions.len());
        let status = both.walk.pair.device_mut().function_mut().replication();
        assert_eq!((status.refused, status.resynchronisations), (0, 1));
        let mut walk = both.fail_over();
        for step in 0..STEPS[1] {
            let outcome = walk.step_with(|_| ());
            outcome.unwrap_or_else(|what| panic!("kind {number}, standby, step {step}: {what}"));
        }
    }
}

/// Sessions end by their time here, before and after. A standby that begins anew is not told of
/// pools that were drained, so that it has more room than the one before: here there is enough.
#[test]
fn a_standby_that_was_told_everything_goes_on_as_the_oracle_says() {
    for (number, config) in (0..).zip(kinds()) {
        let config = Config { spare_addresses: config.spare_addresses + 64, ..config };
        let mut both = Both::new(&config, SEED + 100 + number);
        both.steps(STEPS[0]).unwrap_or_else(|what| panic!("kind {number}, active, {what}"));
        both.new_standby();
        let now = both.walk.pair.now();
        let told = |status: &Status| status.is_synchronised && status.resynchronisations == 2;
        let devices = [both.walk.pair.device_mut(), &mut both.standby];
        until("told anew", &mut both.cable, devices, now, told);
        let status = both.walk.pair.device_mut().function_mut().replication();
        assert_eq!((status.refused, status.resynchronisations), (0, 2));
        let [active, standby] = both.tables();
        assert_eq!(active, standby, "kind {number}");
        let mut walk = both.fail_over();
        for step in 0..STEPS[1] {
            let outcome = walk.step_with(|_| ());
            outcome.unwrap_or_else(|what| panic!("kind {number}, standby, step {step}: {what}"));
        }
    }
}

/// Times pass and sessions end on both sides: at any moment the standby knows what lives at the
/// active NAT, and nothing else.
#[test]
fn both_know_the_same_sessions_while_they_come_and_go() {
    // Time goes by the second, and a standby hears of a use by 5/6 of the time.
    let timeouts = Timeouts {
        udp_s: 20.5,
        tcp_established_s: 40.5,
        tcp_syn_s: 15.5,
        tcp_transitory_s: 12.5,
        icmp_s: 12.5,
    };
    for (number, config) in (0..).zip(kinds()) {
        let mut both = Both::new(&Config { timeouts, ..config }, SEED + 200 + number);
        for round in 0..25 {
            both.steps(60).unwrap_or_else(|what| panic!("kind {number}, round {round}, {what}"));
            let [active, standby] = both.tables();
            let name = format!("kind {number}, round {round}");
            let missing = |one: &Tables, other: &Tables| -> Vec<String> {
                let keys =
                    one.sessions.iter().filter(|(key, end)| other.sessions.get(*key) != Some(end));
                keys.map(|(key, _)| key.clone()).collect()
            };
            assert_eq!(missing(&active, &standby), Vec::<String>::new(), "{name}");
            assert_eq!(missing(&standby, &active), Vec::<String>::new(), "{name}");
        }
    }
}

/// A client's packet of a protocol, and an answer to what it became.
pub fn packet(config: &Config, protocol: u8, number: u32) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..6].copy_from_slice(&config.inside_mac.0.0);
    frame[6..12].copy_from_slice(&config.inside_next_hop_mac.0.0);
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, protocol]);
    frame[26..30].copy_from_slice(&(0x0a00_0001 + number % 200).to_be_bytes());
    frame[30..34].copy_from_slice(&(0x0b00_0001 + number % 3).to_be_bytes());
    let port = 2000 + (number / 200) as u16;
    match protocol {
        wire::protocol::ICMP => {
            frame[34] = 8;
            frame[38..40].copy_from_slice(&port.to_be_bytes());
            sum(&mut frame);
        }
        _ => {
            frame[34..36].copy_from_slice(&port.to_be_bytes());
            frame[36..38].copy_from_slice(&443u16.to_be_bytes());
            match protocol {
                wire::protocol::TCP => frame[46..48].copy_from_slice(&[0x50, wire::tcp::FLAG_SYN]),
                _ => frame[38..40].copy_from_slice(&[0, 26]),
            }
        }
    }
    repair(&mut frame);
    frame
}

/// The checksum of an ICMP message.
fn sum(frame: &mut [u8]) {
    frame[36..38].fill(0);
    let sum = wire::checksum::checksum(&frame[34..60]);
    frame[36..38].copy_from_slice(&sum.to_be_bytes());
}

pub fn answer(frame: &[u8], flags: u8) -> Vec<u8> {
    let mut back = frame.to_vec();
    back[..6].copy_from_slice(&frame[6..12]);
    back[6..12].copy_from_slice(&frame[..6]);
    back[26..30].copy_from_slice(&frame[30..34]);
    back[30..34].copy_from_slice(&frame[26..30]);
    match frame[23] {
        wire::protocol::ICMP => {
            back[34] = 0;
            sum(&mut back);
        }
        _ => {
            back[34..36].copy_from_slice(&frame[36..38]);
            back[36..38].copy_from_slice(&frame[34..36]);
        }
    }
    if frame[23] == wire::protocol::TCP {
        back[47] = flags;
    }
    repair(&mut back);
    back
}

fn sent(
    device: &mut Device<Pipeline>,
    port: PortId,
    frame: &[u8],
    now: Ticks,
) -> Result<Vec<u8>, String> {
    match device.pass(port, frame, now) {
        Outcome::Left(_, frame) => Ok(frame),
        other => Err(format!("{other:?}")),
    }
}

/// Sessions before and after, counted: those that were acknowledged are all there, translated as
/// before in both directions, while packets go on and the connection dies in the middle of more
/// sessions.
#[test]
fn no_session_that_was_acknowledged_is_lost() {
    let config = Config {
        pools: vec![net("198.18.0.0/27")],
        port_block: PortBlocks { size: 64, per_subscriber: 8 },
        sessions: 40_000,
        sessions_per_subscriber: Some(0),
        ..lasting()[0].clone()
    };
    let [active, standby] = two(&config);
    let (mut active, mut standby) = (device(&active, BEGIN), device(&standby, BEGIN));
    let mut cable = Cable::between(&mut active, &mut standby);
    let second = clock().ticks(Duration::from_secs(1));
    let mut now = BEGIN + second;
    let protocols = [wire::protocol::UDP, wire::protocol::TCP, wire::protocol::ICMP];
    let frame = |number: u32| packet(&config, protocols[number as usize % 3], number / 3);
    let open = |active: &mut Device<Pipeline>, number: u32, now| {
        let left = sent(active, INSIDE, &frame(number), now).expect("a session");
        let flags = wire::tcp::FLAG_SYN | wire::tcp::FLAG_ACK;
        sent(active, OUTSIDE, &answer(&left, flags), now).expect("an answer");
        left
    };
    let mut before: HashMap<u32, Vec<u8>> = HashMap::new();
    let count = 9000;
    for number in 0..count {
        before.insert(number, open(&mut active, number, now));
        if number % 64 == 0 {
            standby.rest(now);
            cable.step();
        }
    }
    let both = [&mut active, &mut standby];
    until("synchronised", &mut cable, both, now, |status| status.is_synchronised);
    // More sessions of which nobody waits for an acknowledgement; then it is gone.
    for number in count..count + 3000 {
        open(&mut active, number, now);
        if number % 64 == 0 {
            cable.step();
        }
    }
    drop(active);
    now += second;
    for _ in 0..100 {
        cable.step();
        standby.rest(now);
    }
    assert!(!standby.function_mut().replication().is_connected);
    standby.rest(now);
    let state = standby.function_mut().state();
    let adopted = state.tallies[Tally::SessionsAdopted as usize];
    assert!((u64::from(count)..=u64::from(count) + 3000).contains(&adopted), "{adopted}");
    for number in 0..count {
        let acknowledged = &before[&number];
        let flags = wire::tcp::FLAG_ACK;
        let from_outside = sent(&mut standby, OUTSIDE, &answer(acknowledged, flags), now);
        assert!(from_outside.is_ok(), "session {number} from outside: {from_outside:?}");
        let mut again = frame(number);
        let mut expected = acknowledged.clone();
        if again[23] == wire::protocol::TCP {
            // No SYN: it must be known.
            (again[47], expected[47]) = (flags, flags);
            repair(&mut again);
            repair(&mut expected);
        }
        assert_eq!(sent(&mut standby, INSIDE, &again, now), Ok(expected), "{number}");
    }
    let state = standby.function_mut().state();
    let opened = state.tallies[Tally::SessionsOpened as usize];
    let inbound = state.tallies[Tally::SessionsOpenedInbound as usize];
    assert_eq!((opened, inbound), (0, 0), "not one was opened anew");
    println!("{count} sessions acknowledged before, {count} after; {adopted} were known");
}
