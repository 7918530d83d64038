//! The translator and its slow twin agree on every packet, right or spoiled.

use std::collections::BTreeMap;

use function_cgnat::translation::{Ends, Quote, Refusal};
use model_cgnat::translation::{oracle, said};
use testkit::random::Random;
use wire::{ethernet, protocol};

use super::made::{
    Translator, any_ipv4, ipv4_error, ipv4_packet, ipv6_error, ipv6_packet, port, rules, up,
};

#[test]
fn to_ipv6_is_what_the_oracle_says() {
    println!("seed {SEED}");
    let (mut random, mut translator) = (Random::new(SEED), Translator::new());
    let mut seen = BTreeMap::new();
    for number in 0..PACKETS {
        let is_error = random.below(2) == 0;
        let mut packet = if is_error { ipv4_error(&mut random) } else { ipv4_packet(&mut random) };
        spoil(&mut packet, ethernet::TYPE_IPV4, &mut random);
        let mut ends = || Ends {
            source: up(any_ipv4(&mut random)),
            destination: up(any_ipv4(&mut random)),
            port: port(&mut random),
        };
        let (ends, inner) = (ends(), ends());
        let inner = (random.below(16) > 0).then_some(inner);
        let rules = rules(&mut random);
        let mut quotes = [const { String::new() }; 2];
        let quoted = |quote: &Quote<_>| {
            quotes[0] = format!("{quote:?}");
            inner
        };
        let found = translator.translate_up(&packet, &ends, &rules, quoted);
        let expected = oracle::to_ipv6(&packet, &(&ends).into(), &(&rules).into(), &mut |quote| {
            quotes[1] = format!("{quote:?}");
            inner.as_ref().map(Into::into)
        });
        assert_eq!(
            said(found.as_deref().map_err(|it| it as _)),
            said(expected.as_deref().map_err(|it| it as _)),
            "packet {number}: {packet:02x?}\n{ends:?}\n{inner:?}\n{rules:?}"
        );
        assert_eq!(quotes[0], quotes[1], "packet {number}: {packet:02x?}");
        *seen.entry(found.err().map_or("translated", Refusal::name)).or_insert(0) += 1;
    }
    check_seen(&seen, &["segments-left", "fragmented-extension", "too-long"]);
}

#[test]
fn to_ipv4_is_what_the_oracle_says() {
    println!("seed {SEED}");
    let (mut random, mut translator) = (Random::new(SEED), Translator::new());
    let mut seen = BTreeMap::new();
    for number in 0..PACKETS {
        let is_error = random.below(2) == 0;
        let mut packet = if is_error { ipv6_error(&mut random) } else { ipv6_packet(&mut random) };
        spoil(&mut packet, ethernet::TYPE_IPV6, &mut random);
        let mut ends = || Ends {
            source: any_ipv4(&mut random),
            destination: any_ipv4(&mut random),
            port: port(&mut random),
        };
        let (ends, inner) = (ends(), ends());
        let inner = (random.below(16) > 0).then_some(inner);
        let rules = rules(&mut random);
        let identification = random.bits() as u16;
        let mut quotes = [const { String::new() }; 2];
        let quoted = |quote: &Quote<_>| {
            quotes[0] = format!("{quote:?}");
            inner
        };
        let found = translator.translate_down(&packet, &ends, identification, &rules, quoted);
        let expected = oracle::to_ipv4(
            &packet,
            &(&ends).into(),
            identification,
            &(&rules).into(),
            &mut |quote| {
                quotes[1] = format!("{quote:?}");
                inner.as_ref().map(Into::into)
            },
        );
        assert_eq!(
            said(found.as_deref().map_err(|it| it as _)),
            said(expected.as_deref().map_err(|it| it as _)),
            "packet {number}: {packet:02x?}\n{ends:?}\n{inner:?}\n{rules:?}"
        );
        assert_eq!(quotes[0], quotes[1], "packet {number}: {packet:02x?}");
        *seen.entry(found.err().map_or("translated", Refusal::name)).or_insert(0) += 1;
    }
    check_seen(&seen, &["source-route", "udp-checksum", "too-long"]);
}

/// Every verdict was seen but those that cannot be.
fn check_seen(seen: &BTreeMap<&str, u32>, never: &[&str]) {
    println!("{seen:?}");
    for name in Refusal::ALL.map(Refusal::name).into_iter().chain(["translated"]) {
        assert_eq!(seen.contains_key(name), !never.contains(&name), "{name}: {seen:?}");
    }
    assert!(seen["translated"] > PACKETS / 4);
}

/// Changes a few bytes of a third of the packets, and cuts or lengthens some. Addresses stay: the
/// one checksum on which two ways may differ is that of addresses which are nothing but ones and
/// zeros.
fn spoil(packet: &mut Vec<u8>, ether_type: u16, random: &mut Random) {
    if random.below(3) > 0 {
        return;
    }
    let addresses = if ether_type == ethernet::TYPE_IPV4 { 12..20 } else { 8..40 };
    for _ in 0..=random.below(3) {
        let at = random.below(packet.len().min(120));
        match random.below(6) {
            0 => packet.truncate(packet.len().saturating_sub(random.below(60)).max(1)),
            1 => packet.extend([0x55; 7]),
            2 => {
                let kinds = [0, 1, 2, 6, 17, 43, 44, 51, 58, 60, protocol::SCTP];
                let at = if ether_type == ethernet::TYPE_IPV4 { 9 } else { 6 };
                if let Some(kind) = packet.get_mut(at) {
                    *kind = *random.one_of(&kinds);
                }
            }
            _ if !addresses.contains(&at) => packet[at] = random.byte(),
            _ => {}
        }
    }
}

const SEED: u64 = 7915;
const PACKETS: u32 = 60_000;
