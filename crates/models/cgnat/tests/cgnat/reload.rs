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
