//! Keys that change while the NAT runs: what sessions that are there feel of it, and that a file
//! with anything else is refused.

use std::time::Duration;

use export::{Format, Logging};
use function_cgnat::Update;
use function_cgnat::config::{Config, Timeouts};
use function_cgnat::reasons::Tally;
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use model_cgnat::Cgnat;
use model_cgnat::log::oracle::{Collected, Way};
use model_kit::check::Expected;
use testkit::device::Device;
use testkit::pair::{Pair, clock};

use crate::differential::Walk;
use crate::frames::{INSIDE, kinds, logged};
use crate::laws;
use crate::log::datagram;

const SEED: u64 = 0x0e10_ad00;
const STEPS: usize = 4000;
const NOW: Ticks = 1 << 40;

/// Sessions that are there live by the timeouts that hold, whether those are longer or shorter than
/// the ones before.
#[test]
fn pipeline_and_oracle_agree_while_timeouts_change() {
    println!("seed {SEED:#x}");
    let timeouts = [
        kinds()[0].timeouts,
        Timeouts {
            udp_s: 3.5,
            tcp_established_s: 10.5,
            tcp_syn_s: 2.5,
            tcp_transitory_s: 1.5,
            icmp_s: 1.5,
        },
        Timeouts { udp_s: 30.5, tcp_syn_s: 20.5, tcp_transitory_s: 16.5, ..kinds()[0].timeouts },
    ];
    for number in [0, 1, 2, 3, 6] {
        let mut walk = Walk::new(&kinds()[number], SEED + number as u64);
        let (mut changes, mut hold) = (0, timeouts[0]);
        for step in 0..STEPS {
            let mut change = |pair: &mut Pair<Cgnat>| {
                changes += 1;
                let timeouts = timeouts[changes / 3 % timeouts.len()];
                if timeouts != std::mem::replace(&mut hold, timeouts) {
                    // What is over and was not swept yet may live on by longer timeouts: many
                    // rounds of the sweep, each of which ends so many at most.
                    for _ in 0..110 {
                        pair.wait(Duration::from_millis(50)).expect("they agree");
                    }
                }
                let changed = pair.update(&Update::SetTimeouts { timeouts });
                assert_eq!(changed, Ok(true));
            };
            let stepped = walk.step_with(&mut change);
            stepped.unwrap_or_else(|what| panic!("kind {number}, step {step}: {what}"));
        }
        assert!(changes > 20, "{changes} changes");
    }
}

/// Without a packet: the sweep ends them in time.
#[test]
fn sessions_end_soon_when_timeouts_become_short() {
    let config = &kinds()[0];
    let nat = function_cgnat::Cgnat::function(config, Shard::WHOLE, clock(), NOW);
    let mut device = Device::new(nat.expect("a small NAT"), 2);
    for port in 0..100 {
        device.exchange(INSIDE, &datagram(config, 0, 1000 + port), NOW);
    }
    let timeouts = Timeouts { udp_s: 1.5, ..config.timeouts };
    assert!(device.update(Update::SetTimeouts { timeouts }, NOW));
    for second in 1..6 {
        device.rest(NOW + clock().ticks(Duration::from_secs(second)));
    }
    let state = device.function_mut().state();
    assert_eq!((state.sessions.count(), state.tallies[Tally::SessionsExpired as usize]), (0, 100));
    let impossible = Timeouts { icmp_s: 0.0, ..timeouts };
    assert!(!device.update(Update::SetTimeouts { timeouts: impossible }, NOW));
}

fn with(config: &Config, change: impl Fn(&mut Logging)) -> Config {
    let mut logging = config.logging.clone().expect("logs are on");
    change(&mut logging);
    Config { logging: Some(logging), ..config.clone() }
}

#[test]
fn a_new_collector_hears_templates_and_then_everything() {
    for format in [Format::Ipfix, Format::Syslog] {
        let config = with(&logged()[0], |logging| logging.format = format);
        let nat = function_cgnat::Cgnat::function(&config, Shard::WHOLE, clock(), NOW);
        let mut device = Device::new(nat.expect("a small NAT"), 2);
        device.exchange(INSIDE, &datagram(&config, 0, 1000), NOW);
        device.rest(NOW + clock().ticks(Duration::from_secs(1)));
        let other = with(&config, |logging| logging.collector = [203, 0, 113, 99].into());
        let updates = function_cgnat::Cgnat::difference(&config, &other).expect("it may change");
        assert_eq!(updates.len(), 1);
        let now = NOW + clock().ticks(Duration::from_secs(2));
        updates.iter().for_each(|update| assert!(device.update(update.clone(), now)));
        let mut left = device.exchange(INSIDE, &datagram(&other, 1, 1000), now);
        left.append(&mut device.rest(now + clock().ticks(Duration::from_secs(1))));
        let way = Way::new(&other, other.logging.as_ref().expect("logs are on"));
        let mut collected = Collected::new(way);
        // It has not heard what came before.
        let mut told = Vec::new();
        for one in left {
            let Expected::Forward { port, frame } = one else { panic!("{one:?}") };
            if !way.is_message(port, &frame) {
                continue;
            }
            match format {
                Format::Syslog => {
                    told.push(collected.read_syslog(&frame).expect("a right message").0);
                }
                Format::Ipfix => {
                    collected.begin_at(&frame);
                    told.extend(collected.read_ipfix(&frame).expect("a right message"));
                }
            }
        }
        let events: Vec<&str> = told.iter().map(|facts| facts["event"].as_str()).collect();
        assert_eq!(events, ["address-bind", "block-allocate", "session-create"], "{format:?}");
        let memory =
            function_cgnat::Cgnat::memory(&config, Shard::WHOLE, device.function_mut(), now);
        assert_eq!(memory, updates, "it outlives a restart");
        let back = function_cgnat::Cgnat::undoing(&config, &updates);
        assert!(back.iter().all(|update| device.update(update.clone(), now)));
        let memory =
            function_cgnat::Cgnat::memory(&config, Shard::WHOLE, device.function_mut(), now);
        assert_eq!(memory, []);
    }
}

#[test]
fn what_needs_a_restart_is_named() {
    let config = &logged()[0];
    let key = |wanted: &Config| {
        let refused = function_cgnat::Cgnat::difference(config, wanted).expect_err("a restart");
        assert!(refused.remedy.contains("`timeouts`"), "{}", refused.remedy);
        refused.key.to_string()
    };
    assert_eq!(key(&with(config, |logging| logging.queue = 64)), "logging");
    let ipv6 = with(config, |logging| {
        logging.collector = "2001:db8::1".parse().expect("an address");
        logging.source = "2001:db8::2".parse().expect("an address");
    });
    assert_eq!(key(&ipv6), "logging");
    assert_eq!(key(&Config { sessions: 77, ..config.clone() }), "sessions");
    let timeouts = Timeouts { udp_s: 20.5, ..config.timeouts };
    let wanted = Config { timeouts, ..config.clone() };
    let updates = function_cgnat::Cgnat::difference(config, &wanted).expect("it may change");
    assert_eq!(updates, [Update::SetTimeouts { timeouts }]);
}

/// A NAT with rules of both kinds, and the same with others in their place.
fn ruled() -> [Config; 2] {
    let read = |text: &str| -> Config { serde_saphyr::from_str(text).expect("a section") };
    let before = read(
        "{static: [{inside: 10.0.0.1/31, outside: 203.0.113.8/31}, \
           {inside: 10.0.1.0/32, outside: 203.0.113.10/32}], \
          port-forwarding: [{outside: 203.0.113.80, hosts: [\
           {inside: 10.0.0.5, forwards: [{first-port: 80}]}, \
           {inside: 10.0.0.6, forwards: [{first-port: 81}]}]}, \
           {outside: 203.0.113.81, hosts: [{inside: 10.0.0.7, forwards: [{first-port: 80}]}]}]}",
    );
    // The addresses of one rule are another one's, and two hosts change places.
    let after = read(
        "{static: [{inside: 10.0.0.2/31, outside: 203.0.113.8/31}, \
           {inside: 10.0.1.0/32, outside: 203.0.113.10/32}], \
          port-forwarding: [{outside: 203.0.113.80, hosts: [\
           {inside: 10.0.0.5, forwards: [{first-port: 80}]}, \
           {inside: 10.0.0.7, forwards: [{first-port: 81}]}]}, \
           {outside: 203.0.113.81, hosts: [{inside: 10.0.0.6, forwards: [{first-port: 80}]}]}]}",
    );
    let base = Config { spare_addresses: 0, ..kinds()[0].clone() };
    [before, after].map(|rules| {
        let Config { static_rules, port_forwarding, .. } = rules;
        let mut config = Config { static_rules, port_forwarding, ..base.clone() };
        function_cgnat::Cgnat::validate(&mut config).expect("rules that can be");
        config
    })
}

/// Without a spare address: each moves from a rule to another one.
#[test]
fn rules_change_are_remembered_and_go_back_and_other_sessions_stay() {
    let [before, after] = ruled();
    let nat = function_cgnat::Cgnat::function(&before, Shard::WHOLE, clock(), NOW);
    let mut device = Device::new(nat.expect("a small NAT"), 2);
    // Of one that stays, two that change, and one of the pool.
    let own = [0x0a00_0100, 0x0a00_0005, 0x0a00_0001, 0x0a00_0006, 0x0a00_0900];
    for (inside, port) in own.into_iter().zip([80, 80, 80, 81, 80]) {
        device.exchange(INSIDE, &laws::datagram(&before, (inside, port), (0x0b00_0001, 53)), NOW);
    }
    assert_eq!(device.function_mut().state().sessions.count(), 5);
    let difference = |one: &Config, other: &Config| function_cgnat::Cgnat::difference(one, other);
    let updates = difference(&before, &after).expect("rules may change");
    let memory = |device: &mut Device<function_cgnat::Pipeline>| {
        function_cgnat::Cgnat::memory(&before, Shard::WHOLE, device.function_mut(), NOW)
    };
    assert_eq!(memory(&mut device), []);
    updates.iter().for_each(|one| assert!(device.update(one.clone(), NOW), "{one:?}"));
    let live = |device: &mut Device<function_cgnat::Pipeline>| {
        let state = device.function_mut().state();
        let mut live: Vec<u64> =
            state.sessions.from(0).map(|(_, session)| session.inside[1]).collect();
        live.sort_unstable();
        live
    };
    assert_eq!(live(&mut device), [0x0a00_0005, 0x0a00_0100, 0x0a00_0900]);
    let state = device.function_mut().state();
    assert_eq!(state.tallies[Tally::SessionsCleared as usize], 2);

    // It outlives a restart: a NAT of the former file becomes the same.
    let remembered = memory(&mut device);
    let nat = function_cgnat::Cgnat::function(&before, Shard::WHOLE, clock(), NOW);
    let mut restarted = Device::new(nat.expect("a small NAT"), 2);
    remembered.iter().for_each(|one| assert!(restarted.update(one.clone(), NOW), "{one:?}"));
    assert_eq!(memory(&mut restarted), remembered);
    assert_eq!(remembered.len(), updates.len());

    let back = function_cgnat::Cgnat::undoing(&before, &updates);
    back.iter().for_each(|one| assert!(device.update(one.clone(), NOW), "{one:?}"));
    assert_eq!(memory(&mut device), []);
    assert_eq!(live(&mut device), [0x0a00_0005, 0x0a00_0100, 0x0a00_0900]);

    // Addresses of a pool are those of its sessions yet.
    let rule = "{inside: 10.0.2.0/32, outside: 198.18.0.1/32}";
    let taken = Config {
        pools: vec![crate::frames::net("198.18.4.0/31")],
        static_rules: vec![serde_saphyr::from_str(rule).expect("a rule")],
        ..before.clone()
    };
    let refused = difference(&before, &taken).expect_err("after a restart");
    assert_eq!(refused.key, "static");
    assert!(refused.what.contains("198.18.0.0/30"), "{refused:?}");
}
