//! What must not pass: servers' messages from lines, forged and damaged ones, floods.

use std::time::Duration;

use protocol_dhcp::{Access, Counters, Rate, Rates, fuzz, v4, v6};
use protocol_kit::{Random, Secret};

use crate::client4::{ACK, DISCOVER, Message4, NAK, OFFER, REQUEST};
use crate::client6::{ADVERTISE, Message6, REPLY, SOLICIT, association};
use crate::lines::{ANYBODY, ANYBODY6, Lines, MAC, SERVER, config4, config6, identity};

/// Rates that nobody reaches.
fn unlimited() -> Rates {
    let rate = Rate { per_second: 1_000_000_000, burst: 1_000_000_000 };
    Rates { line: rate, mac: rate, all: rate, places: 16 }
}

fn server4() -> Lines<v4::Server> {
    let mut config = config4();
    config.rates = unlimited();
    Lines::new(v4::Server::new(config, SERVER.into()).expect("a server"))
}

fn server6() -> Lines<v6::Server> {
    let mut config = config6();
    config.rates = unlimited();
    Lines::new(v6::Server::new(config, identity()).expect("a server"))
}

#[test]
fn messages_of_servers_that_come_from_lines_are_dropped_by_name() {
    let mut lines = server4();
    for kind in [OFFER, ACK, NAK] {
        // Whether it says that it is a reply or not.
        for op in [1, 2] {
            let message = Message4 { op, yiaddr: [10, 0, 0, 8], ..Message4::new(kind, 1, MAC) };
            lines.hear(1, MAC, ANYBODY, message.with(54, &[10, 9, 9, 9]).bytes());
        }
    }
    let counters = lines.machine.counters();
    assert_eq!(counters, Counters { from_server: 6, ..Counters::default() });
    let mut lines = server6();
    for kind in [ADVERTISE, REPLY, 10] {
        lines.hear(1, MAC, ANYBODY6, Message6::new(kind, 1, &[0, 1, 2]).bytes());
    }
    let relayed = [&[13, 0][..], &[0; 32], &[0, 9, 0, 4, SOLICIT, 0, 0, 1]].concat();
    lines.hear(1, MAC, ANYBODY6, relayed);
    assert_eq!(lines.machine.counters(), Counters { from_server: 4, ..Counters::default() });
}

#[test]
fn a_client_speaks_for_itself_alone() {
    let mut lines = server4();
    lines.hear(1, [2, 0, 0, 0, 0, 99], ANYBODY, Message4::new(DISCOVER, 1, MAC).bytes());
    // An identifier that nobody has, and one of no bytes but its type.
    let long = vec![7; 200];
    lines.hear(1, MAC, ANYBODY, Message4::new(DISCOVER, 1, MAC).with(61, &long).bytes());
    lines.hear(1, MAC, ANYBODY, Message4::new(DISCOVER, 1, MAC).with(61, &[1]).bytes());
    // One that is spelt like another's hardware address is another client.
    lines.hear(1, MAC, ANYBODY, Message4::new(DISCOVER, 1, MAC).bytes());
    let id = [&[1][..], &MAC].concat();
    lines.hear(1, MAC, ANYBODY, Message4::new(DISCOVER, 1, MAC).with(61, &id).bytes());
    let counters = lines.machine.counters();
    assert_eq!((counters.spoofed, counters.identity, counters.malformed), (1, 1, 1));
    assert_eq!(lines.machine.leases(), 2);
    // A lease query and an unknown kind.
    for kind in [10, 9, 200] {
        lines.hear(1, MAC, ANYBODY, Message4::new(kind, 1, MAC).bytes());
    }
    assert_eq!(lines.machine.counters().unsupported, 3);
}

#[test]
fn a_million_malformed_messages_change_nothing_but_a_counter() {
    let seed = 0x5eed;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let mut lines = server4();
    let good = Message4::new(REQUEST, 1, MAC).with(50, &[10, 0, 0, 8]).with(55, &[1, 3, 6]);
    lines.hear(1, MAC, ANYBODY, Message4::new(DISCOVER, 1, MAC).bytes());
    let good = good.with(82, &[1, 2, 3, 4]).bytes();
    damaged(&mut lines, &good, ANYBODY, &mut random, |bytes| v4::Message::parse(bytes).is_err());
    assert!(lines.machine.counters().malformed >= COUNT);
    assert_eq!((lines.machine.leases(), lines.machine.pools().held()), (1, 1));
    let mut lines = server6();
    let good = Message6::new(SOLICIT, 1, &[0, 3, 0, 1, 9]).with(3, &association(1, &[]));
    lines.hear(1, MAC, ANYBODY6, good.bytes());
    let good = good.with(6, &[0, 23]).with(14, &[]).bytes();
    damaged(&mut lines, &good, ANYBODY6, &mut random, |bytes| v6::Relayed::parse(bytes).is_err());
    assert!(lines.machine.counters().malformed >= COUNT);
    assert_eq!((lines.machine.leases(), lines.machine.pools().held()), (1, 1));
}

#[test]
fn no_damage_breaks_a_promise() {
    let seed = 0xf022;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let examples = fuzz::examples();
    examples.iter().for_each(|example| fuzz::fuzz(example));
    for _ in 0..30_000 {
        let mut bytes = examples[random.below(examples.len() as u64) as usize].clone();
        for _ in 0..random.below(6) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => _ = bytes.remove(at),
                1 => bytes.insert(at, random.bits() as u8),
                _ => bytes[at] = random.bits() as u8,
            }
            if bytes.is_empty() {
                break;
            }
        }
        fuzz::fuzz(&bytes);
    }
}

fn damaged<M: protocol_dhcp::Access>(
    lines: &mut Lines<M>,
    good: &[u8],
    ends: (std::net::IpAddr, std::net::IpAddr),
    random: &mut Random,
    is_malformed: impl Fn(&[u8]) -> bool,
) {
    lines.said.clear();
    let reports = lines.reports.len();
    let mut count = 0;
    while count < COUNT {
        let mut bytes = good.to_vec();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.bits() as u8;
        }
        if random.below(2) == 0 {
            bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
        }
        if is_malformed(&bytes) {
            lines.hear(random.below(4) as u32, MAC, ends, bytes);
            count += 1;
        }
    }
    assert_eq!((lines.said.len(), lines.reports.len()), (0, reports));
}

/// Messages to each server.
const COUNT: u64 = 500_000;

#[test]
fn a_flood_on_one_line_takes_nothing_from_others() {
    let mut config = config4();
    config.leases_max = 1 << 12;
    config.pools[0].count = 1 << 12;
    config.rates = protocol_dhcp::Config::new(1, 1 << 12).rates;
    let limit = usize::from(config.leases_per_line_max);
    let mut lines = Lines::new(v4::Server::new(config, SERVER.into()).expect("a server"));
    let mut up = 0;
    let mut random = Random::new(7);
    for second in 0..10u32 {
        for _ in 0..1000 {
            let mac = [2, 9, random.bits() as u8, random.bits() as u8, 0, 0];
            lines.hear(0, mac, ANYBODY, Message4::new(DISCOVER, 1, mac).bytes());
        }
        for host in 0..100 {
            let line = 1 + second * 100 + host;
            let [_, _, high, low] = line.to_be_bytes();
            let mac = [2, 0, 0, 0, high, low];
            lines.said.clear();
            lines.hear(line, mac, ANYBODY, Message4::new(DISCOVER, 1, mac).bytes());
            let Some(offer) = lines.said.pop_front() else { continue };
            let yiaddr = Message4::read(&offer.bytes).yiaddr;
            let request = Message4::new(REQUEST, 1, mac).with(50, &yiaddr).with(54, &SERVER);
            lines.hear(line, mac, ANYBODY, request.bytes());
            up += lines.said.len();
        }
        lines.pass(Duration::from_secs(1));
    }
    assert_eq!(up, 1000, "every other line is up");
    let counters = lines.machine.counters();
    assert!(counters.rate_line > 9000, "{counters:?}");
    assert_eq!(lines.machine.leases(), 1000 + limit);
    assert!(counters.line_full > 0, "{counters:?}");
}

#[test]
fn every_limit_has_its_counter() {
    let hear = |lines: &mut Lines<v4::Server>, line: u32, host: u8| {
        let mac = [2, 0, 0, 0, 0, host];
        lines.hear(line, mac, ANYBODY, Message4::new(DISCOVER, 1, mac).bytes());
    };
    let lines = |change: &dyn Fn(&mut protocol_dhcp::Config)| {
        let mut config = config4();
        config.rates = unlimited();
        change(&mut config);
        Lines::new(v4::Server::new(config, SERVER.into()).expect("a server"))
    };
    let one = Rate { per_second: 1, burst: 2 };
    let mut macs = lines(&|config| config.rates.mac = one);
    let mut elsewhere = lines(&|config| config.rates.mac = one);
    let mut all = lines(&|config| config.rates.all = one);
    let mut full = lines(&|config| config.leases_max = 2);
    let mut busy = lines(&|config| config.waiting_max = 2);
    busy.grant = None;
    for line in 0..3 {
        hear(&mut macs, 0, 1);
        hear(&mut elsewhere, line, 1);
        hear(&mut all, line, line as u8);
        hear(&mut full, line, line as u8);
        hear(&mut busy, line, line as u8);
    }
    assert_eq!(macs.machine.counters().rate_mac, 1);
    assert_eq!(elsewhere.machine.counters().rate_mac, 0, "of a line, not of all");
    assert_eq!(all.machine.counters().rate_all, 1);
    assert_eq!((full.machine.counters().full, full.machine.leases()), (1, 2));
    assert_eq!((busy.machine.counters().busy, busy.machine.leases()), (1, 2));
    // Time makes room again.
    macs.pass(Duration::from_secs(1));
    hear(&mut macs, 0, 1);
    assert_eq!(macs.machine.counters().rate_mac, 1);
}

#[test]
fn nothing_shows_the_secret() {
    let mut config = config4();
    config.seed = Secret(0x5eed_5eed_5eed_5eed);
    let digits = 0x5eed_5eed_5eed_5eed_u64.to_string();
    let server = v4::Server::new(config.clone(), SERVER.into()).expect("a server");
    for shown in [format!("{config:?}"), format!("{server:?}")] {
        assert!(!shown.contains(&digits) && !shown.contains("Keyed"), "{shown:.400}");
    }
}
