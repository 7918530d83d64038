//! What must not pass: malformed packets change nothing but counters, and memory is bounded.

use protocol_kit::{Machine, Protocol, Random};
use protocol_pppoe::machine::OUTPUTS_MAX;
use protocol_pppoe::packet::{Packet, code};
use protocol_pppoe::tags::kind;
use protocol_pppoe::{Config, Origin};
use wire::ethernet::MacAddr;

use crate::support::{One, any, host, packet, with};

const COUNT: u64 = 1_000_000;

#[test]
fn a_million_malformed_packets_change_nothing_but_counters() {
    const SEED: u64 = 24;
    println!("seed {SEED}");
    let mut random = Random::new(SEED);
    let mut one = One::new(Config::new(b"ac"));
    let (session, opened) = one.open(host(1, 1));
    let before = one.ac.view(session);
    for _ in 0..COUNT {
        let packet = malformed(&mut random, opened.session_id);
        one.ac.receive(one.now, host(1, random.below(3) as u8), &packet);
    }
    let counters = one.counters();
    assert_eq!(counters.malformed, COUNT, "{counters:?}");
    assert!(one.ac.poll(one.now).is_none(), "nobody is answered");
    assert_eq!((one.ac.view(session), one.ac.sessions()), (before, 1));
}

/// A packet that is none, or with tags that are none.
fn malformed(random: &mut Random, session_id: u16) -> Vec<u8> {
    let code = [code::PADI, code::PADR, code::PADT][random.below(3) as usize];
    let session_id = if code == code::PADT { session_id } else { 0 };
    let value: Vec<u8> = (0..random.below(30)).map(|_| random.bits() as u8).collect();
    let list = with(&any(), kind::HOST_UNIQ, &value);
    let mut packet = Packet { code, session_id, payload: &list }.emit();
    match random.below(4) {
        // Another version or type.
        0 => packet[0] = 0x11 ^ (1 + random.below(255) as u8),
        // Cut.
        1 => packet.truncate(random.below(packet.len() as u64) as usize),
        // It says that it is longer.
        2 => packet[4] = 1 + random.below(255) as u8,
        // A tag says that it is longer, or ends within another.
        _ => packet[12] = 1 + random.below(255) as u8,
    }
    packet
}

#[test]
fn each_kind_of_nonsense_has_its_counter() {
    let mut one = One::new(Config::new(b"ac"));
    let good = packet(code::PADI, &any());
    for from in [MacAddr::BROADCAST, MacAddr([1, 0, 0x5e, 0, 0, 1]), MacAddr::ZERO] {
        one.ac.receive(one.now, Origin { from, ..host(1, 1) }, &good);
    }
    one.hear(host(1, 1), &packet(code::PADO, &any()));
    one.hear(host(1, 1), &packet(code::PADS, &any()));
    one.hear(host(1, 1), &packet(0xd3, &any()));
    one.hear(host(1, 1), &packet(code::PADT, &any()));
    for code in [code::PADI, code::PADR] {
        one.hear(host(1, 1), &Packet { code, session_id: 1, payload: &any() }.emit());
        one.hear(host(1, 1), &packet(code, &[]));
        one.hear(host(1, 1), &packet(code, &[any(), any()].concat()));
    }
    one.hear(Origin { is_to_group: true, ..host(1, 1) }, &packet(code::PADR, &any()));
    one.hear(host(1, 1), &packet(code::PADI, &with(&any(), kind::HOST_UNIQ, &[7; 1480])));
    let counters = one.counters();
    assert_eq!((counters.source, counters.server, counters.code), (3, 2, 1));
    assert_eq!((counters.session_id, counters.malformed), (3, 4));
    assert_eq!((counters.destination, counters.oversize), (1, 1));
    assert_eq!((one.sent.len(), one.said.len()), (0, 0));
}

#[test]
fn promises_hold_for_damaged_examples() {
    const SEED: u64 = 7;
    println!("seed {SEED}");
    let mut random = Random::new(SEED);
    let Protocol { fuzz, examples, .. } = protocol_pppoe::PROTOCOL;
    let examples = examples();
    examples.iter().for_each(|example| fuzz(example));
    for _ in 0..20_000 {
        let mut input = examples[random.below(examples.len() as u64) as usize].clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(input.len() as u64) as usize;
            match random.below(4) {
                0 => input.truncate(at.max(1)),
                1 => input.insert(at, random.bits() as u8),
                2 => input[at] ^= 1 << random.below(8),
                _ => input[at] = random.bits() as u8,
            }
        }
        fuzz(&input);
    }
}

#[test]
fn outputs_that_nobody_takes_are_bounded() {
    let mut one = One::new(Config::new(b"ac"));
    let good = packet(code::PADI, &any());
    for _ in 0..OUTPUTS_MAX + 10 {
        one.ac.receive(one.now, host(1, 1), &good);
    }
    assert_eq!(one.counters().congested, 10);
    assert_eq!(std::iter::from_fn(|| one.ac.poll(one.now)).count(), OUTPUTS_MAX);
}
