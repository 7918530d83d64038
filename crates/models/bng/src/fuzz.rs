//! The broadband network gateway against its oracle.

use std::time::Duration;

use function_bng::config::{Config, OuterTag};
use model_kit::fuzz::{Fuzzed, Target, beside, frames};
use wire::MacAddr;

use crate::section::{Generated, Kind, Section, Stack, Vlans};
use crate::{BroadbandGateway, Traffic};

impl Fuzzed for BroadbandGateway {
    const TARGETS: &'static [Target] = &[Target {
        name: "bng",
        body: || beside::<BroadbandGateway>(sections(), Duration::from_millis(20)),
        examples,
    }];
}

/// Frames of subscribers on every kind of line, in both versions of IP.
fn examples() -> Vec<Vec<u8>> {
    let frames_of = |section| frames::<BroadbandGateway>(&section, &Traffic::default(), 4);
    sections().flat_map(frames_of).collect()
}

/// Every kind of configuration. Rates are so high that no frame depends on those before it.
fn sections() -> impl Iterator<Item = Section> {
    let kinds = [
        (Kind::Ipoe, Stack::Dual, Vlans::Two, OuterTag::Service),
        (Kind::Pppoe, Stack::Dual, Vlans::One, OuterTag::Service),
        (Kind::Mixed, Stack::Ipv4, Vlans::Two, OuterTag::Customer),
        (Kind::Mixed, Stack::Ipv6, Vlans::None, OuterTag::Service),
    ];
    kinds.into_iter().map(|(kind, stack, vlans, outer_tag)| Section {
        generated: Generated {
            subscribers: 10,
            kind,
            stack,
            vlans,
            server: 4,
            rules_generated: 8,
            ..Generated::default()
        },
        config: Config {
            // The station of the other examples.
            access_mac: MacAddr([2, 0, 0, 0, 0, 1]),
            outer_tag,
            icmp_errors_per_s: 1_000_000,
            icmp_error_burst: 1_000_000,
            session_capacity: 100,
            buffer_kib: 1024,
            ..Config::default()
        },
    })
}
