//! The laws of every function and of every NAT: what no frame, and no subscriber, can bring about.

use std::collections::{HashMap, HashSet};

use engine::Function;
use engine::steering::worker_of;
use function_cgnat::Pipeline;
use function_cgnat::config::{Config, Filtering, Fragments, PortBlocks};
use function_cgnat::reasons::Tally;
use function_cgnat::sessions::allocation;
use function_cgnat::sessions::steering;
use function_kit::{NetworkFunction, Shard};
use machine::clock::Ticks;
use model_cgnat::sample;
use packet::PortId;
use proptest::prelude::*;
use testkit::device::{Device, Outcome};
use testkit::frames::hostile;
use testkit::laws::{Input, hold_whatever_the_batches};
use testkit::mutate::{mutate, repair};
use testkit::pair::clock;
use testkit::random::Random;

use crate::frames::{INSIDE, OUTSIDE, kinds, net, sample_frames};

const NOW: Ticks = 1 << 40;

fn nat(config: &Config, shard: Shard) -> Pipeline {
    function_cgnat::Cgnat::function(config, shard, clock(), 1 << 30).expect("a small NAT")
}

fn device(config: &Config) -> Device<Pipeline> {
    Device::new(nat(config, Shard::WHOLE), 2)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..Default::default() })]
    #[test]
    fn the_nat_obeys_the_laws(
        kind in 0..kinds().len(),
        frames in Just(()).prop_flat_map(|()| proptest::collection::vec(hostile(corpus()), 1..300)),
        port in 0..2u8,
    ) {
        let input = Input { port: PortId(port), frames: &frames, now: NOW };
        // An error about a packet of the same batch comes before that packet's session.
        let _ = hold_whatever_the_batches(|| nat(&kinds()[kind], Shard::WHOLE), 2, input);
    }
}

/// The frames of a sample, made once.
fn corpus() -> &'static [Vec<u8>] {
    use std::sync::OnceLock;
    static CORPUS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        sample_frames(&kinds()[2]).into_iter().map(|(_, frame)| frame).take(600).collect()
    })
}

/// A datagram without checksum.
pub fn datagram(config: &Config, from: (u32, u16), to: (u32, u16)) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..6].copy_from_slice(&config.inside_mac.0.0);
    frame[6..12].copy_from_slice(&config.inside_next_hop_mac.0.0);
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    frame[26..30].copy_from_slice(&from.0.to_be_bytes());
    frame[30..34].copy_from_slice(&to.0.to_be_bytes());
    frame[34..36].copy_from_slice(&from.1.to_be_bytes());
    frame[36..38].copy_from_slice(&to.1.to_be_bytes());
    frame[38..40].copy_from_slice(&[0, 26]);
    repair(&mut frame);
    frame
}

/// The outside end that a datagram left with; the reason where it did not.
fn translated(device: &mut Device<Pipeline>, frame: &[u8]) -> Result<(u32, u16), &'static str> {
    match device.pass(INSIDE, frame, NOW) {
        Outcome::Left(OUTSIDE, frame) => {
            let address = u32::from_be_bytes([frame[26], frame[27], frame[28], frame[29]]);
            Ok((address, u16::from_be_bytes([frame[34], frame[35]])))
        }
        Outcome::Dropped(reason) => Err(reason),
        other => panic!("{other:?}"),
    }
}

const SUBSCRIBER: u32 = 0x0a00_0001;
const SERVER: u32 = 0x0b00_0001;

#[test]
fn no_two_mappings_share_an_outside_end_and_one_has_the_same_for_all() {
    for config in kinds() {
        let config = Config { icmp_errors_per_s: 0, ..config };
        let mut device = device(&config);
        let mut owners: HashMap<(u32, u16), (u32, u16)> = HashMap::new();
        let mut addresses: HashMap<u32, u32> = HashMap::new();
        for number in 0..1200u32 {
            let own = (SUBSCRIBER + number % 40, 3000 + (number / 60) as u16);
            let to = (SERVER + number % 7, 53);
            let Ok(end) = translated(&mut device, &datagram(&config, own, to)) else { continue };
            assert_eq!(*owners.entry(end).or_insert(own), own, "{end:?} is another's");
            assert_eq!(*addresses.entry(own.0).or_insert(end.0), end.0, "paired");
            if config.port_block.size > 0 {
                assert_eq!(end.1 % 2, own.1 % 2, "parity");
            }
        }
        let own: HashSet<(u32, u16)> = owners.values().copied().collect();
        assert_eq!(own.len(), owners.len(), "a mapping has one end");
        assert!(owners.len() > 300, "{}", owners.len());
    }
}

#[test]
fn a_subscriber_that_opens_all_it_can_takes_nothing_from_others() {
    let config =
        Config { sessions_per_subscriber: Some(0), sessions: 20_000, ..kinds()[0].clone() };
    let mut device = device(&config);
    let quiet = datagram(&config, (SUBSCRIBER + 1, 4000), (SERVER, 53));
    let before = translated(&mut device, &quiet);
    let mut reasons: HashMap<&str, u32> = HashMap::new();
    for number in 0..5000u32 {
        let own = (SUBSCRIBER, 1 + (number * 13 % 60_000) as u16);
        if let Err(reason) = translated(&mut device, &datagram(&config, own, (SERVER, 53))) {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    let refused = 5000 - 4 * u32::from(config.port_block.size);
    assert_eq!(reasons, HashMap::from([("block-limit", refused)]));
    assert_eq!(translated(&mut device, &quiet), before, "a session that was there");
    for number in 2..100 {
        let other = datagram(&config, (SUBSCRIBER + number, 4000), (SERVER, 53));
        assert!(translated(&mut device, &other).is_ok(), "subscriber {number}");
    }
}

#[test]
fn nothing_that_lives_is_given_up_when_there_is_no_room() {
    let config = Config { sessions: 100, sessions_per_subscriber: Some(0), ..kinds()[0].clone() };
    let mut device = device(&config);
    let frame = |number: u32| datagram(&config, (SUBSCRIBER + number, 4000), (SERVER, 53));
    let ends: Vec<_> = (0..100).map(|number| translated(&mut device, &frame(number))).collect();
    for number in 100..1100 {
        assert_eq!(translated(&mut device, &frame(number)), Err("sessions-full"));
    }
    for (number, end) in ends.into_iter().enumerate() {
        assert!(end.is_ok());
        assert_eq!(translated(&mut device, &frame(number as u32)), end);
    }
    let tallies = device.function_mut().state().tallies;
    let blocks = Tally::BlocksAllocated as usize;
    assert_eq!(tallies[blocks], 100, "no block is given for what is refused");
}

/// RFC 6888 REQ-11: Host Unreachable, with the packet as it was sent.
#[test]
fn whoever_gets_no_session_is_told_so_often_and_no_more() {
    let config = Config {
        sessions_per_subscriber: Some(1),
        icmp_errors_per_s: 100,
        icmp_error_burst: 5,
        ..kinds()[0].clone()
    };
    let mut device = device(&config);
    let frame = |port| datagram(&config, (SUBSCRIBER, port), (SERVER, 53));
    assert!(translated(&mut device, &frame(4000)).is_ok());
    let mut pass = |now| device.pass(INSIDE, &frame(4001), now);
    for _ in 0..5 {
        let Outcome::Left(INSIDE, error) = pass(NOW) else { panic!("nobody is told") };
        assert_eq!(error[..6], config.inside_next_hop_mac.0.0);
        let [source, destination] = [26, 30].map(|at| &error[at..at + 4]);
        assert_eq!(source, config.inside_ip.octets());
        assert_eq!(destination, SUBSCRIBER.to_be_bytes());
        assert_eq!(error[34..36], [3, 1], "Destination Unreachable, Host Unreachable");
        assert_eq!(error[42..], frame(4001)[14..], "quoted whole");
    }
    for _ in 0..100 {
        assert_eq!(pass(NOW), Outcome::Dropped("session-limit"));
    }
    let second = clock().ticks_per_second() as Ticks;
    let later = (0..100).filter(|_| matches!(pass(NOW + second), Outcome::Left(INSIDE, _)));
    assert_eq!(later.count(), 5, "the burst");
    let tallies = device.function_mut().state().tallies;
    let [sent, limited, refused] =
        [Tally::IcmpErrorsSent, Tally::IcmpErrorsLimited, Tally::Refused]
            .map(|tally| tallies[tally as usize]);
    assert_eq!((sent, limited, refused), (10, 195, 205));
}

/// RFC 4787 REQ-14: pieces of datagrams that are never whole, of one subscriber, and then those of
/// others.
#[test]
fn a_flood_of_fragments_takes_no_room_of_others_and_no_memory() {
    let fragments = Fragments {
        datagrams: 400,
        datagrams_per_sender: 20,
        waiting: 200,
        waiting_per_sender: 10,
        timeout_s: 2.0,
    };
    let config = Config { fragments, sessions_per_subscriber: Some(0), ..kinds()[0].clone() };
    let mut device = device(&config);
    let bytes = device.function_mut().state_bytes();
    let piece = |subscriber: u32, identification: u16, place: u16| {
        let mut frame = datagram(&config, (SUBSCRIBER + subscriber, 4000), (SERVER, 53));
        frame[18..20].copy_from_slice(&identification.to_be_bytes());
        frame[20..22].copy_from_slice(&place.to_be_bytes());
        frame[16..18].copy_from_slice(&44u16.to_be_bytes());
        repair(&mut frame);
        frame
    };
    let mut reasons: HashMap<&str, u32> = HashMap::new();
    for number in 0..20_000u16 {
        let place = if number % 2 == 0 { 0x2000 } else { 0x2003 };
        if let Outcome::Dropped(reason) = device.pass(INSIDE, &piece(0, number, place), NOW) {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    let expected = HashMap::from([("awaiting-first-fragment", 10), ("fragment-limit", 19_980)]);
    assert_eq!(reasons, expected);
    assert_eq!(device.function_mut().fragment_sizes(INSIDE), (20, 10));
    for subscriber in 1..20 {
        for identification in 0..10 {
            let [first, last] = [0x2000, 3].map(|place| piece(subscriber, identification, place));
            assert_eq!(
                device.pass(INSIDE, &last, NOW),
                Outcome::Dropped("awaiting-first-fragment"),
            );
            let left = device.exchange(INSIDE, &first, NOW);
            assert_eq!(left.len(), 2, "the first and the one that waited: {left:?}");
        }
    }
    assert_eq!(device.function_mut().fragment_sizes(INSIDE), (20, 10), "whole ones are forgotten");
    let later = NOW + 3 * clock().ticks_per_second() as Ticks;
    device.rest(later);
    assert_eq!(device.function_mut().fragment_sizes(INSIDE), (0, 0), "as are old ones");
    assert_eq!(device.function_mut().state_bytes(), bytes);
}

/// How many malformed frames of each kind are tried.
fn malformed_frames() -> u32 {
    testkit::walk::cases(1_000_000, 50_000)
}

#[test]
fn malformed_frames_open_nothing() {
    let count = malformed_frames();
    let config = &kinds()[0];
    let mut device = device(config);
    let mut random = Random::new(5);
    let whole = datagram(config, (SUBSCRIBER, 4000), (SERVER, 53));
    for number in 0..count {
        for kind in 0..5 {
            let mut frame = whole.clone();
            match kind {
                0 => frame.truncate(14 + random.below(27)),
                1 => frame[14 + random.below(20)] ^= 1 << random.below(8),
                2 => frame[39] ^= 1 << random.below(8),
                3 => {
                    frame[20] |= 0x20;
                    repair(&mut frame);
                }
                _ => {
                    frame = (0..1 + random.below(200)).map(|_| random.byte()).collect();
                    mutate(&mut frame, &[], 200, &mut random);
                    frame.push(0);
                }
            }
            let outcome = device.pass(INSIDE, &frame, NOW);
            assert!(matches!(outcome, Outcome::Dropped(_)), "{number} of kind {kind}: {outcome:?}");
        }
    }
    let state = device.function_mut().state();
    assert_eq!((state.sessions.count(), state.subscribers.count()), (0, 0));
}

#[test]
fn malformed_ipv6_frames_open_nothing() {
    let count = malformed_frames();
    // Of segments left their senders would be told.
    let config = &Config { icmp_errors_per_s: 0, ..kinds()[4].clone() };
    let mut device = device(config);
    let mut random = Random::new(6);
    let mut whole = vec![0; 14 + 40 + 8];
    whole[..6].copy_from_slice(&config.inside_mac.0.0);
    whole[12..22].copy_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 17, 64]);
    whole[22..30].copy_from_slice(&[0x20, 1, 0xd, 0xb8, 0xff, 0, 0, 1]);
    // 11.55.0.1 around octet u.
    whole[38..50].copy_from_slice(&[0x20, 1, 0xd, 0xb8, 0x64, 0, 0, 11, 0, 55, 0, 1]);
    whole[54..62].copy_from_slice(&[0x10, 0, 0, 53, 0, 8, 1, 1]);
    for number in 0..count {
        for kind in 0..6 {
            let mut frame = whole.clone();
            match kind {
                0 => frame.truncate(14 + random.below(48)),
                1 => frame[14] ^= 0x10 << random.below(4),
                2 => frame[19] ^= 1 << random.below(8),
                3 => frame[20] ^= 1 << random.below(8),
                4 => frame[59] ^= 1 << random.below(8),
                _ => {
                    // Too short for a segment behind an extension header.
                    frame.truncate(54);
                    frame[20] = *random.one_of(&[0, 43, 44, 60, 58]);
                    let len = random.below(28);
                    frame.extend((0..len).map(|_| random.byte()));
                    frame[19] = len as u8;
                }
            }
            let outcome = device.pass(INSIDE, &frame, NOW);
            assert!(matches!(outcome, Outcome::Dropped(_)), "{number} of kind {kind}: {outcome:?}");
        }
    }
    let state = device.function_mut().state();
    assert_eq!((state.sessions.count(), state.subscribers.count()), (0, 0));
    let outcome = device.pass(INSIDE, &whole, NOW);
    assert!(matches!(outcome, Outcome::Left(OUTSIDE, _)), "{outcome:?}");
}

/// RFC 5128 section 3.3: two subscribers who learned each other's outside ends from a server reach
/// each other, although the filter of either drops the first packet of the other. Whoever tries
/// ports without being known takes none.
#[test]
fn two_subscribers_punch_holes_for_each_other() {
    for filtering in [Filtering::AddressDependent, Filtering::AddressAndPortDependent] {
        let config = Config { filtering, ..kinds()[0].clone() };
        let mut device = device(&config);
        let two = [(SUBSCRIBER, 4000), (SUBSCRIBER + 1, 4001)];
        let server = (SERVER, 3478);
        let outside = two.map(|own| {
            translated(&mut device, &datagram(&config, own, server)).expect("a mapping")
        });
        let between = [(two[0], outside[1]), (two[1], outside[0])];
        let [there, back] = between.map(|(own, other)| datagram(&config, own, other));
        let stranger = datagram(&config, (SUBSCRIBER + 2, 4002), outside[0]);
        assert_eq!(translated(&mut device, &stranger), Err("filtered"));
        assert_eq!(device.function_mut().state().sessions.mappings(), 2);
        assert_eq!(translated(&mut device, &there), Err("filtered"));
        for frame in [&back, &there, &back] {
            let outcome = device.pass(INSIDE, frame, NOW);
            assert!(matches!(outcome, Outcome::Left(INSIDE, _)), "{filtering:?}: {outcome:?}");
        }
    }
}

#[test]
fn nobody_can_guess_a_port() {
    let config = Config {
        pools: vec![net("198.18.0.0/32")],
        port_block: PortBlocks { size: 0, per_subscriber: 1 },
        sessions_per_subscriber: Some(0),
        sessions: 20_000,
        ..kinds()[0].clone()
    };
    let mut device = device(&config);
    let ports: Vec<f64> = (0..8000u32)
        .map(|number| {
            let own = (SUBSCRIBER + number % 100, 3000 + (number / 100) as u16);
            let end = translated(&mut device, &datagram(&config, own, (SERVER, 53)));
            f64::from(end.expect("room for all").1)
        })
        .collect();
    let mut counts = [0.0f64; 64];
    let width = (65_536.0 - 1024.0) / 64.0;
    ports.iter().for_each(|port| counts[((port - 1024.0) / width) as usize] += 1.0);
    let expected = ports.len() as f64 / 64.0;
    let chi: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
    // 63 degrees of freedom: 1 of 10,000 sources that are even is beyond 112.
    assert!(chi < 112.0, "chi-square {chi}");
    let mean = ports.iter().sum::<f64>() / ports.len() as f64;
    let variance: f64 = ports.iter().map(|port| (port - mean).powi(2)).sum();
    let together: f64 = ports.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    let correlation = together / variance;
    assert!(correlation.abs() < 4.0 / (ports.len() as f64).sqrt(), "correlation {correlation}");
}

#[test]
fn both_directions_meet_on_the_worker_that_owns_the_session() {
    for count in [1, 2, 7] {
        for size in [0, 64] {
            let config = Config {
                core: count,
                port_block: PortBlocks { size, per_subscriber: 4 },
                ..kinds()[0].clone()
            };
            let layout = allocation::Layout::new(&config);
            for index in 0..count {
                let mut device = Device::new(nat(&config, Shard { index, count }), 2);
                for number in 0..200u32 {
                    let own = (SUBSCRIBER + number % 20, 3000 + (number / 20) as u16);
                    let end = translated(&mut device, &datagram(&config, own, (SERVER, 53)));
                    let (address, port) = end.expect("room for all");
                    assert_eq!(
                        worker_of(
                            steering::of_group(&config.steering(), address, layout.group(port)),
                            count
                        ),
                        index
                    );
                }
            }
        }
    }
}

#[test]
fn a_sample_is_told_apart_from_its_excuses() {
    for config in kinds() {
        let names: HashSet<&str> =
            sample::unreachable(&config).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), sample::unreachable(&config).len(), "each once");
    }
}
