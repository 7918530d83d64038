//! Hostile input: seeded damage of everything that the fuzz target knows, cuts and lies.

use protocol_bgp::fuzz::{bgp_message, bgp_session, bgp_update, examples, fuzz};
use protocol_kit::Random;

#[test]
fn examples_are_what_they_say() {
    let all = examples();
    assert!((0..3).all(|what| all.iter().any(|one| one[0] == what)));
    all.iter().for_each(|one| fuzz(one));
    // The UPDATEs of the examples are UPDATEs, and the sessions come up.
    let mut scan = protocol_bgp::Scan::default();
    for one in all.iter().filter(|one| one[0] == 1 && one[1] == 0) {
        let read = scan.read(&one[2..], &crate::support::internal());
        assert!(read.is_ok() && scan.findings().is_empty(), "{one:02x?}: {read:?}");
    }
}

#[test]
fn cuts_at_every_byte_break_nothing() {
    for one in examples() {
        (0..one.len()).for_each(|len| fuzz(&one[..len]));
    }
}

#[test]
fn every_byte_may_lie() {
    for mut one in examples() {
        for at in 0..one.len() {
            let right = one[at];
            for wrong in [0, 1, right.wrapping_add(1), right.wrapping_sub(1), 0x7f, 0x80, 0xff] {
                one[at] = wrong;
                fuzz(&one);
            }
            one[at] = right;
        }
    }
}

#[test]
fn noise_and_damage_break_nothing() {
    let mut random = Random::new(42);
    let examples = examples();
    for _ in 0..20_000 {
        let mut bytes = match random.below(3) {
            0 => (0..random.below(200)).map(|_| random.bits() as u8).collect(),
            _ => examples[random.below(examples.len() as u64) as usize].clone(),
        };
        for _ in 0..random.below(6) {
            let at = random.below(bytes.len() as u64 + 1) as usize;
            match random.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, random.bits() as u8),
                _ if at < bytes.len() => bytes[at] = random.bits() as u8,
                _ => {}
            }
        }
        bgp_message(&bytes);
        bgp_update(&bytes);
        bgp_session(&bytes);
        fuzz(&bytes);
    }
}
