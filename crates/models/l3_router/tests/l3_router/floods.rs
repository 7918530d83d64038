//! Protection of the control plane: a flood of one protocol starves neither forwarding nor the
//! others.

use model_l3_router::ports::DOWNLINK;
use std::time::Duration;

use function_kit::Shard;
use function_l3_router::config::{Config, PuntRates};
use model_kit::check::Step;
use model_kit::{Model, load};
use model_l3_router::sample::sample;
use model_l3_router::{L3Router, Section, Traffic};
use packet::PortId;
use testkit::device::Device;
use testkit::pair::clock;

use crate::frames::usual;

/// Packets per second that each policer lets pass.
const RATE: u32 = 100;

/// How often each kind of packet comes: within its rate, and ten times that.
const USUAL_PER_S: u64 = 50;
const FLOOD_PER_S: u64 = 1000;

fn config() -> Section {
    let punt_rates = PuntRates {
        icmp: RATE,
        arp: RATE,
        nd: RATE,
        fragments: RATE,
        ttl_expired: RATE,
        local: RATE,
        burst: 10,
    };
    usual(Config {
        ipv6: true,
        ping: true,
        punt: true,
        icmp_errors_per_s: 1000,
        icmp_error_burst: 100,
        punt_rates,
        ..Config::default()
    })
}

/// One frame of each protocol out of the functional check's sample, with the counter that shows it.
fn protocols(config: &Section) -> Vec<(&'static str, Vec<u8>)> {
    let steps = sample(config, &Traffic::default());
    let one = |wanted: &str| {
        steps.iter().find_map(|step| match step {
            Step::Frame { about, frame, port } if *about == wanted && port.0 == 0 => {
                Some(frame.clone())
            }
            _ => None,
        })
    };
    [
        ("policed-icmp", "one of many pings"),
        ("policed-arp", "one of many ARP requests"),
        ("policed-nd", "one of many of ND"),
        ("policed-fragments", "one of many fragments"),
        ("policed-ttl-expired", "one of many packets that end here"),
        ("policed-local", "one of many packets for the router"),
    ]
    .map(|(reason, about)| (reason, one(about).expect("the sample has one")))
    .to_vec()
}

/// A packet that is forwarded.
fn ordinary(config: &Section) -> Vec<u8> {
    let steps = sample(config, &Traffic::default());
    let found = steps.into_iter().find_map(|step| match step {
        Step::Frame { about: "a packet from the downlink side", frame, .. } => Some(frame),
        _ => None,
    });
    let frame = found.expect("the sample has one");
    assert!(frame.starts_with(&config.config.mac(DOWNLINK).0));
    frame
}

#[test]
fn a_flood_of_one_protocol_starves_neither_forwarding_nor_the_others() {
    let config = config();
    let (protocols, ordinary) = (protocols(&config), ordinary(&config));
    let reason = |name: &str| {
        let names = function_l3_router::reasons::NAMES;
        names.iter().position(|known| *known == name).expect("a reason")
    };
    for (flood, (flooded, _)) in protocols.iter().enumerate() {
        let function =
            load::<L3Router>(&config, &L3Router::config(&config), Shard::WHOLE, clock(), 1 << 40)
                .expect("small");
        let mut device = Device::new(function, 2);
        let step = Duration::from_micros(1_000_000 / FLOOD_PER_S);
        let (seconds, mut forwarded) = (4, 0);
        for tick in 0..FLOOD_PER_S * seconds {
            let now = (1 << 40) + clock().ticks(step * tick as u32);
            let mut frames: Vec<&[u8]> = vec![&ordinary, &protocols[flood].1];
            // Each of the others in turn, all of them as often as is usual.
            let turn = FLOOD_PER_S / USUAL_PER_S;
            for (number, (_, frame)) in protocols.iter().enumerate() {
                if number != flood && tick % turn == number as u64 {
                    frames.push(frame);
                }
            }
            let outcomes = device.pass_all(PortId(0), frames, now);
            forwarded += outcomes.left[1].len() as u64;
        }
        let counts = device.counts();
        assert_eq!(forwarded, FLOOD_PER_S * seconds, "forwarded while {flooded} floods");
        for (name, _) in &protocols {
            let dropped = counts.dropped[reason(name)];
            let passed = FLOOD_PER_S * seconds - dropped;
            let expected = u64::from(RATE) * seconds + 10;
            match name == flooded {
                true => assert!(passed.abs_diff(expected) <= 2, "{passed} of {name}"),
                false => assert_eq!(dropped, 0, "{name} while {flooded} floods"),
            }
        }
    }
}
