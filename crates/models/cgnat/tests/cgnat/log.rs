//! Logs through the pipeline: nothing is lost uncounted, workers are told apart, and the oracle
//! notices what is missing, told twice or made up.

use std::time::Duration;

use export::{COUNTS, Format, Logging};
use function_cgnat::Pipeline;
use function_cgnat::config::Config;
use function_cgnat::reasons::{TALLIES, Tally};
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use model_cgnat::log::oracle::{Collected, Way};
use model_cgnat::{Cgnat, Model};
use model_kit::Model as _;
use model_kit::check::{Expected, Oracle, hear, without_reports};
use packet::PortId;
use testkit::device::Device;
use testkit::mutate::repair;
use testkit::pair::clock;

use crate::frames::{INSIDE, OUTSIDE, logged};

const NOW: Ticks = 1 << 40;

fn device(config: &Config, shard: Shard) -> Device<Pipeline> {
    Device::new(
        function_cgnat::Cgnat::function(config, shard, clock(), NOW).expect("a small NAT"),
        2,
    )
}

fn with(config: &Config, change: impl Fn(&mut Logging)) -> Config {
    let mut logging = config.logging.clone().expect("logs are on");
    change(&mut logging);
    Config { logging: Some(logging), ..config.clone() }
}

/// A subscriber's datagram to a server.
pub fn datagram(config: &Config, subscriber: u32, port: u16) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..6].copy_from_slice(&config.inside_mac.0.0);
    frame[6..12].copy_from_slice(&config.inside_next_hop_mac.0.0);
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    frame[26..30].copy_from_slice(&(0x0a00_0001 + subscriber).to_be_bytes());
    frame[30..34].copy_from_slice(&[11, 0, 0, 1]);
    frame[34..36].copy_from_slice(&port.to_be_bytes());
    frame[36..40].copy_from_slice(&[0, 53, 0, 26]);
    repair(&mut frame);
    frame
}

fn tally(device: &Device<Pipeline>, tally: Tally) -> u64 {
    device.counts().tallies[tally as usize]
}

#[test]
fn every_event_leaves_in_a_message_or_is_counted() {
    assert_eq!(TALLIES[Tally::LogRecords as usize..][..COUNTS.len()], COUNTS);
    for queue in [8, 64, 65_536] {
        let config = with(&logged()[0], |logging| logging.queue = queue);
        let mut device = device(&config, Shard::WHOLE);
        let (subscribers, ports) = (16, 20);
        let frames: Vec<Vec<u8>> = (0..subscribers * ports)
            .map(|number| datagram(&config, number / ports, 1000 + (number % ports) as u16))
            .collect();
        let mut records = 0;
        let way = Way::new(&config, config.logging.as_ref().expect("logs are on"));
        let mut collected = Collected::new(way);
        let mut read = |left: Vec<(PortId, Vec<u8>)>| {
            for (port, frame) in left {
                if way.is_message(port, &frame) {
                    records += collected.read_ipfix(&frame).expect("a right message").len() as u64;
                }
            }
        };
        read(device.pass_all(INSIDE, frames.iter().map(Vec::as_slice), NOW).frames().collect());
        assert_eq!(tally(&device, Tally::SessionsOpened), u64::from(subscribers * ports));
        for second in 1..200 {
            let now = NOW + clock().ticks(Duration::from_secs(second));
            read(device.pass_all(INSIDE, [], now).frames().collect());
        }
        assert_eq!(device.function_mut().state().sessions.count(), 0, "all are over");
        let lost = [Tally::LogLostSessions, Tally::LogLostBlocks, Tally::LogLostMappings];
        let lost: u64 = lost.into_iter().map(|one| tally(&device, one)).sum();
        // Every session, block and pairing begins and ends, and the log itself begins.
        let blocks = tally(&device, Tally::BlocksAllocated);
        assert_eq!(blocks, u64::from(subscribers));
        let events = 1 + 2 * (u64::from(subscribers * ports) + blocks + u64::from(subscribers));
        assert_eq!(records + lost, events, "with a queue of {queue}");
        assert_eq!(tally(&device, Tally::LogRecords), records);
        assert_eq!(lost == 0, queue == 65_536, "{lost} lost with a queue of {queue}");
    }
}

/// What an operator who ends the NAT must be able to read: that everything is over, and that no
/// record of that is missing.
#[test]
fn an_end_in_good_order_is_told() {
    for (number, config) in logged().iter().enumerate() {
        for queue in [8, 64, 65_536] {
            let config = with(config, |logging| logging.queue = queue);
            let config = Config { core: 1, ..config };
            if queue == 65_536 {
                ends_in_good_order(&config);
            }
            // What finds no place is counted, and the end tells it.
            let mut device = device(&config, Shard::WHOLE);
            for port in 0..40 {
                device.exchange(INSIDE, &datagram(&config, u32::from(port % 4), 1000 + port), NOW);
            }
            wind_down(&mut device);
            let lost = [Tally::LogLostSessions, Tally::LogLostBlocks, Tally::LogLostMappings];
            let lost: u64 = lost.into_iter().map(|one| tally(&device, one)).sum();
            let sessions = device.function_mut().state().sessions.count();
            assert_eq!(sessions, 0, "of {number}, with a queue of {queue}: {lost} lost");
        }
    }
}

/// Begins the end and waits for it; the messages that leave meanwhile.
fn wind_down(device: &mut Device<Pipeline>) -> Vec<Expected> {
    let mut left = Vec::new();
    for round in 1.. {
        if function_cgnat::Cgnat::wind_down(device.function_mut()) == 0 {
            return left;
        }
        assert!(round < 10_000, "it has no end");
        left.append(&mut device.rest(NOW + clock().ticks(Duration::from_millis(round))));
    }
    left
}

fn ends_in_good_order(config: &Config) {
    let mut device = device(config, Shard::WHOLE);
    let mut model = Cgnat::oracle(config, Shard::WHOLE);
    let mut reports = Vec::new();
    for number in 0..2000 {
        let frame = datagram(config, number % 9, 1000 + (number / 9) as u16);
        let got = device.exchange(INSIDE, &frame, NOW);
        let (got, mut told) = without_reports(&model, got);
        let expected = model.expect_of(INSIDE, &frame, Duration::ZERO, &got);
        assert_eq!(got, [expected]);
        reports.append(&mut told);
    }
    assert_eq!(hear(&mut model, &reports, Duration::ZERO), Vec::<String>::new());
    model.wind_down(Duration::ZERO);
    let left = wind_down(&mut device);
    let (others, reports) = without_reports(&model, left);
    assert_eq!(others, Vec::new());
    assert_eq!(hear(&mut model, &reports, SOON), Vec::<String>::new());
    assert!(model.has_ended());
    assert_eq!(model.told_live(), 0);
    // It opens nothing any more, and tells nothing.
    let frame = datagram(config, 0, 9);
    assert_eq!(device.exchange(INSIDE, &frame, NOW), [Expected::Drop("not-active")]);
    assert!(device.rest(NOW + clock().ticks(LATER)).is_empty());
}

#[test]
fn each_worker_is_an_observation_domain() {
    let config = with(&logged()[0], |logging| logging.domain = 70);
    let config = Config { core: 3, ..config };
    for index in 0..3 {
        let mut device = device(&config, Shard { index, count: 3 });
        let templates = device.rest(NOW);
        let Some(Expected::Forward { port, frame }) = templates.first() else {
            panic!("templates come first: {templates:?}");
        };
        assert_eq!((*port, &frame[54..58]), (OUTSIDE, [0, 0, 0, 70 + index as u8].as_slice()));
    }
}

#[test]
fn nothing_is_told_where_logs_are_off() {
    let config = Config { logging: None, ..logged()[0].clone() };
    let mut device = device(&config, Shard::WHOLE);
    assert_eq!(device.exchange(INSIDE, &datagram(&config, 0, 1000), NOW).len(), 1);
    assert!(device.rest(NOW + clock().ticks(Duration::from_secs(1))).is_empty());
    assert_eq!(tally(&device, Tally::LogRecords), 0);
}

/// A model that has seen some sessions begin, and the messages that tell it.
fn told(config: &Config, sessions: u16) -> (Model, Vec<Vec<u8>>) {
    let mut device = device(config, Shard::WHOLE);
    let mut model = Cgnat::oracle(config, Shard::WHOLE);
    let mut all = Vec::new();
    for number in 0..sessions {
        let frame = datagram(config, 0, 1000 + number);
        let got = device.exchange(INSIDE, &frame, NOW);
        let (got, mut reports) = without_reports(&model, got);
        let expected = model.expect_of(INSIDE, &frame, Duration::ZERO, &got);
        assert_eq!(got, [expected]);
        all.append(&mut reports);
    }
    let got = device.rest(NOW + clock().ticks(Duration::from_secs(1)));
    all.append(&mut without_reports(&model, got).1);
    (model, all)
}

const SOON: Duration = Duration::from_secs(2);
/// Before any session is over.
const LATER: Duration = Duration::from_secs(8);

#[test]
fn the_oracle_notices_what_is_missing_twice_or_made_up() {
    let ipfix = &logged()[0];
    let syslog = with(ipfix, |logging| logging.format = Format::Syslog);
    let (mut model, reports) = told(&syslog, 3);
    assert_eq!(hear(&mut model, &reports, SOON), Vec::<String>::new());
    assert_eq!(hear(&mut model, &[], LATER), Vec::<String>::new());
    assert_eq!(reports.len(), 6, "the log, a pairing, a block and three sessions");
    // Outside of a log that begins nothing is told.
    let (mut model, unbegun) = told(&syslog, 3);
    assert_eq!(hear(&mut model, &unbegun[1..], SOON).len(), 5);
    for left_out in 1..reports.len() {
        let (mut model, mut reports) = told(&syslog, 3);
        reports.remove(left_out);
        assert_eq!(hear(&mut model, &reports, SOON), Vec::<String>::new());
        let wrong = hear(&mut model, &[], LATER);
        assert!(wrong.len() == 1 && wrong[0].ends_with("not told"), "{wrong:?}");
    }
    for twice in 0..reports.len() {
        let (mut model, mut reports) = told(&syslog, 3);
        reports.push(reports[twice].clone());
        assert_eq!(hear(&mut model, &reports, SOON).len(), 1);
    }
    // Of another one's sessions; a model that has seen nothing has nothing to be told.
    let mut blank = Cgnat::oracle(&syslog, Shard::WHOLE);
    assert_eq!(hear(&mut blank, &reports, SOON).len(), 5);
    let (_, reports) = told(ipfix, 3);
    let (mut model, _) = told(&Config { secret: Some(8), ..ipfix.clone() }, 3);
    assert_ne!(hear(&mut model, &reports, SOON), Vec::<String>::new());
}
