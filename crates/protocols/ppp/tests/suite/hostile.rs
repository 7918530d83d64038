//! What must not pass: malformed payloads change nothing but counters, and memory is bounded.

use std::sync::Arc;
use std::time::Duration;

use protocol_kit::{Input, Machine, Protocol, Random, Time};
use protocol_ppp::machine::OUTPUTS_MAX;
use protocol_ppp::packet::{Packet, code, protocol};
use protocol_ppp::{Answer, Command, Config, Method, Ppp};

use crate::support::{One, answered, client, given, lcp, open, requires};

/// Malformed payloads, of all sessions together.
const COUNT: u64 = 1_000_000;

#[test]
fn a_million_malformed_payloads_change_nothing_but_counters() {
    const SEED: u64 = 24;
    println!("seed {SEED}");
    let mut random = Random::new(SEED);
    let silent = |config| Config { keepalive: None, ..config };
    let mut up = One::linked(silent(open()));
    up.answer(Answer::Accept(given()));
    let [v4, v6] = [up.sent.remove(0), up.sent.remove(0)];
    up.hear(&answered(&v4, code::CONFIGURE_ACK));
    up.hear(&Packet { code: 1, id: 1, data: &[3, 6, 10, 0, 0, 2] }.emit(protocol::IPCP));
    up.hear(&answered(&v6, code::CONFIGURE_ACK));
    up.hear(
        &Packet { code: 1, id: 1, data: &[1, 10, 0, 0, 0, 0, 0, 0, 0, 9] }.emit(protocol::IPV6CP),
    );
    let mut all = [
        up,
        One::open(silent(open())),
        One::linked(silent(requires(&[Method::Pap]))),
        One::linked(silent(requires(&[Method::ChapMd5]))),
        One::open(silent(client(&[Method::Pap, Method::ChapMd5], b"secret"))),
    ];
    assert!(all[0].ppp.view(0).is_some_and(|view| view.is_v4_up && view.is_v6_up));
    for one in &mut all {
        (one.sent, one.said) = (vec![], vec![]);
    }
    let views = |all: &[One]| all.iter().map(|one| one.ppp.view(0)).collect::<Vec<_>>();
    let before = views(&all);
    for _ in 0..COUNT / all.len() as u64 {
        let payload = malformed(&mut random);
        for one in &mut all {
            one.ppp.receive(one.now, 0, &payload);
        }
    }
    for one in &mut all {
        let counters = one.ppp.counters();
        let dropped = counters.malformed + counters.early;
        assert_eq!(dropped, COUNT / 5, "{counters:?}");
        assert!(one.ppp.poll(one.now).is_none(), "nobody is answered");
    }
    assert_eq!(views(&all), before);
}

/// A payload that is none: of a protocol that is, with a length or an option that is not.
fn malformed(random: &mut Random) -> Vec<u8> {
    let protocols =
        [protocol::LCP, protocol::PAP, protocol::CHAP, protocol::IPCP, protocol::IPV6CP];
    let number = protocols[random.below(5) as usize];
    let len = 1 + random.below(40) as usize;
    let mut data: Vec<u8> = (0..len).map(|_| random.bits() as u8).collect();
    let id = random.bits() as u8;
    let has_options = !matches!(number, protocol::PAP | protocol::CHAP);
    let kind = if has_options { random.below(5) } else { random.below(4) };
    // Codes that have a form which bytes can fail: of PAP 1, of CHAP 2, of options 1.
    let code = if number == protocol::CHAP { 2 } else { 1 };
    let mut payload = Packet { code, id, data: &data }.emit(number);
    match kind {
        // Compressed, or of no such number.
        0 => payload[1] &= !1,
        // Cut, where it says how long it is.
        1 => payload.truncate(random.below(payload.len() as u64) as usize),
        // Longer than it is, or shorter than a header.
        2 => payload[4] = 1 + random.below(255) as u8,
        3 => (payload[4], payload[5]) = (0, random.below(4) as u8),
        // An option of no length.
        _ => {
            data[0] = 1;
            data.insert(1, random.below(2) as u8);
            payload = Packet { code, id, data: &data }.emit(number);
        }
    }
    payload
}

#[test]
fn promises_hold_for_damaged_examples() {
    const SEED: u64 = 7;
    println!("seed {SEED}");
    let mut random = Random::new(SEED);
    let Protocol { fuzz, examples, .. } = protocol_ppp::PROTOCOL;
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
    let mut ppp = Ppp::new(2, [1; 32]);
    for session in 0..2 {
        let command = Command::Open { session, config: Arc::new(open()), mru: 1492 };
        ppp.input(Time::ZERO, Input::Command(command));
    }
    let request = lcp(code::TERMINATE_REQUEST, 1, &[]);
    for _ in 0..2 * OUTPUTS_MAX {
        ppp.receive(Time::ZERO, 0, &request);
    }
    assert!(ppp.counters().congested > 0);
    let outputs = std::iter::from_fn(|| ppp.poll(Time::ZERO)).count();
    assert!(outputs <= OUTPUTS_MAX + 4, "{outputs} outputs");
    ppp.receive(Time::ZERO, 7, &request);
    ppp.receive(Time::ZERO, u32::MAX, &request);
    assert_eq!(ppp.counters().unknown, 2);
}

#[test]
fn sessions_leave_nothing_behind() {
    let mut ppp = Ppp::new(100, [1; 32]);
    let mut now = Time::ZERO;
    for _ in 0..20 {
        for session in 0..100 {
            let command = Command::Open { session, config: Arc::new(open()), mru: 1492 };
            ppp.input(now, Input::Command(command));
        }
        while ppp.poll(now).is_some() {}
        now = now.after(Duration::from_secs(1));
        for session in 0..100 {
            ppp.input(now, Input::Command(Command::Down { session }));
        }
        while ppp.poll(now).is_some() {}
        assert_eq!(ppp.deadline(), None);
    }
    assert_eq!((ppp.counters().opened, ppp.counters().ended), (2000, 2000));
}
