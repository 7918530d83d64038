//! What is noted comes out: every kind and family, limits, order, templates, sequence numbers.

use export::{COUNTS, Count, FRAMES_MAX, Format, Logging};
use function_cgnat::log::{Event, Kind};
use model_cgnat::log::trial::{Trial, event, over_ipv4, over_ipv6};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_events_in_any_order_come_out_or_are_counted(
        data in proptest::collection::vec(any::<u8>(), 4..2000),
    ) {
        model_cgnat::fuzz::log(&data);
    }
}

#[test]
fn every_kind_of_every_family_is_told_in_both_formats() {
    for format in [Format::Ipfix, Format::Syslog] {
        for config in [over_ipv4(format), over_ipv6(format)] {
            for destinations in [false, true] {
                let config = Logging {
                    sessions: true,
                    mappings: destinations,
                    destinations,
                    alarms_per_s: 3,
                    ..config.clone()
                };
                let mut trial = Trial::new(&config, 1514);
                let told = |kind: &Kind| destinations || !kind.name().starts_with("mapping");
                let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(told).collect();
                for number in 0..3 * kinds.len() as u64 {
                    let kind = kinds[(number / 3) as usize];
                    trial.note(&event(kind, number)).expect("there is a place");
                }
                trial.drain().expect("they agree");
                assert_eq!(trial.records, 3 * kinds.len() as u64);
            }
        }
    }
}

#[test]
fn a_full_queue_counts_by_class_and_keeps_an_eighth_for_what_is_rare() {
    let config =
        Logging { sessions: true, queue: 64, alarms_per_s: 100, ..over_ipv4(Format::Ipfix) };
    let mut trial = Trial::new(&config, 1514);
    let mut note = |kind, times| {
        for number in 0..times {
            trial.note(&event(kind, number)).expect("it is told or counted");
        }
    };
    note(Kind::SessionCreate, 60);
    note(Kind::BlockAllocate, 5);
    note(Kind::SubscriberLimit, 5);
    let counts = trial.logger().counts();
    assert_eq!(counts[Count::LostSessions as usize], 4);
    assert_eq!(counts[Count::LostBlocks as usize], 0);
    assert_eq!(counts[Count::LostAlarms as usize], 2);
    trial.drain().expect("they agree");
    assert_eq!(trial.records, 56 + 5 + 3);
}

#[test]
fn alarms_are_limited_each_kind_by_itself() {
    let config = Logging { alarms_per_s: 10, ..over_ipv4(Format::Syslog) };
    let mut trial = Trial::new(&config, 1514);
    for number in 0..1000 {
        trial.note(&event(Kind::PortsExhausted, number)).expect("it is told or counted");
    }
    trial.note(&event(Kind::AddressesExhausted, 0)).expect("another kind has its own rate");
    let limited = |trial: &Trial| trial.logger().counts()[Count::LimitedAlarms as usize];
    assert_eq!(limited(&trial), 990);
    trial.wait(1_000_000_000);
    for number in 0..20 {
        trial.note(&event(Kind::PortsExhausted, number)).expect("it is told or counted");
    }
    assert_eq!(limited(&trial), 1000);
    trial.drain().expect("they agree");
    assert_eq!(trial.records, 21);
}

#[test]
fn a_record_waits_for_others_and_no_longer_than_it_may() {
    let config = Logging { delay_ms: 100, ..over_ipv4(Format::Ipfix) };
    let mut trial = Trial::new(&config, 1514);
    let messages = |trial: &Trial| trial.logger().counts()[Count::Messages as usize];
    trial.flush(true).expect("templates");
    trial.note(&event(Kind::BlockAllocate, 0)).expect("there is a place");
    trial.wait(99_000_000);
    trial.flush(true).expect("nothing yet");
    trial.note(&event(Kind::BlockRelease, 0)).expect("there is a place");
    assert_eq!(messages(&trial), 0);
    trial.wait(1_000_000);
    trial.flush(true).expect("both in one");
    assert_eq!((messages(&trial), trial.records), (1, 2));
    // A message that is full does not wait.
    for number in 0..100 {
        trial.note(&event(Kind::BlockAllocate, 3 * number)).expect("there is a place");
    }
    trial.flush(true).expect("as many as are full");
    assert_eq!((messages(&trial), trial.records), (2, 2 + 58));
}

#[test]
fn templates_come_again_after_their_time_and_after_so_many_messages() {
    let config = Logging {
        template_interval_s: 5,
        template_messages: 3,
        delay_ms: 0,
        ..over_ipv4(Format::Ipfix)
    };
    let mut trial = Trial::new(&config, 1514);
    let templates = |trial: &Trial| trial.logger().counts()[Count::Templates as usize];
    trial.flush(true).expect("templates first");
    assert_eq!(templates(&trial), 1);
    for message in 0..7 {
        trial.note(&event(Kind::BlockAllocate, message)).expect("there is a place");
        trial.flush(true).expect("they agree");
        trial.flush(true).expect("they agree");
        assert_eq!(templates(&trial), 1 + (message + 1) / 3);
    }
    trial.wait(4_900_000_000);
    trial.flush(true).expect("not yet");
    assert_eq!(templates(&trial), 3);
    trial.wait(200_000_000);
    trial.flush(true).expect("without any record");
    assert_eq!(templates(&trial), 4);
}

#[test]
fn short_packets_take_several_messages_of_templates() {
    let config = Logging { mtu: 576, sessions: true, ..over_ipv4(Format::Ipfix) };
    let mut trial = Trial::new(&config, 1514);
    trial.note(&event(Kind::SessionCreate, 1)).expect("there is a place");
    trial.drain().expect("they agree");
    assert!(trial.logger().counts()[Count::Templates as usize] > 1);
    // Frames of the worker that are shorter than the packets may be.
    let mut trial = Trial::new(&over_ipv6(Format::Ipfix), 200);
    trial.note(&event(Kind::BlockAllocate, 1)).expect("there is a place");
    trial.drain().expect("they agree");
}

#[test]
fn what_fits_no_frame_is_counted() {
    for format in [Format::Ipfix, Format::Syslog] {
        let mut trial = Trial::new(&over_ipv4(format), 64);
        trial.note(&event(Kind::BlockAllocate, 1)).expect("there is a place");
        for _ in 0..2 {
            trial.flush(true).expect("nothing comes, not even templates");
        }
        assert_eq!(trial.logger().counts()[Count::LostBlocks as usize], 1);
        assert_eq!(trial.records, 0);
    }
}

#[test]
fn the_rate_and_the_places_are_kept_and_nothing_is_lost_by_waiting() {
    let config = Logging { rate: 1000, queue: 4096, ..over_ipv4(Format::Syslog) };
    let mut trial = Trial::new(&config, 1514);
    for number in 0..1000 {
        trial.note(&event(Kind::BlockAllocate, number)).expect("there is a place");
    }
    trial.flush(true).expect("as many as a round has");
    assert_eq!(trial.records, FRAMES_MAX as u64);
    trial.flush(true).expect("the rate is met");
    assert_eq!(trial.records, FRAMES_MAX as u64);
    trial.wait(10_000_000);
    trial.flush(true).expect("ten more");
    assert_eq!(trial.records, FRAMES_MAX as u64 + 10);
    let config = Logging { rate: 0, ..config };
    let mut trial = Trial::new(&config, 1514);
    for number in 0..1000 {
        trial.note(&event(Kind::BlockAllocate, number)).expect("there is a place");
    }
    for _ in 0..20 {
        trial.flush(false).expect("they stay where they are");
    }
    assert_eq!(trial.records, packet::BATCH_MAX as u64, "there is no place for more");
    trial.drain().expect("they agree");
    assert_eq!(trial.records, 1000);
}

#[test]
fn what_is_off_is_neither_told_nor_counted() {
    let mut trial = Trial::new(&over_ipv4(Format::Ipfix), 1514);
    trial.note(&event(Kind::SessionCreate, 0)).expect("nothing happens");
    trial.note(&Event::of(Kind::MappingDelete, 0)).expect("nothing happens");
    assert_eq!(trial.logger().counts(), &[0; COUNTS.len()]);
    trial.flush(true).expect("templates");
    let is_told = |kind: &Kind| trial.logger().tells(*kind);
    assert_eq!(Kind::ALL.iter().filter(|kind| is_told(kind)).count(), Kind::ALL.len() - 4);
}
