//! The mobile gateway against its oracle.

use std::time::Duration;

use function_kit::sections::Dir;
use function_mobile_gateway::config::Tunnel;
use model_kit::fuzz::{Fuzzed, Target, beside, frames};
use units::BytesPerSec;
use wire::MacAddr;

use crate::{MobileGateway, Section, Traffic};

impl Fuzzed for MobileGateway {
    const TARGETS: &'static [Target] = &[Target {
        name: "mobile_gateway",
        body: || beside::<MobileGateway>(sections(), Duration::from_millis(20)),
        examples,
    }];
}

/// Frames of users in every tunnel and version of IP.
fn examples() -> Vec<Vec<u8>> {
    let frames_of = |section: Section| {
        let ipv6_share = if section.ipv6 { 0.5 } else { 0.0 };
        let traffic = Traffic { dir: Dir::Bidir, ipv6_share, ..Traffic::default() };
        frames::<MobileGateway>(&section, &traffic, 4)
    };
    sections().flat_map(frames_of).collect()
}

/// Every kind of configuration. The rate is so high that no frame depends on those before it.
fn sections() -> impl Iterator<Item = Section> {
    let kinds = [
        (Tunnel::GtpU, true, false),
        (Tunnel::GtpU, false, true),
        (Tunnel::Vxlan, true, false),
        (Tunnel::Vxlan, true, true),
    ];
    kinds.into_iter().map(|(tunnel, ipv6, fakedrop)| Section {
        tunnel: Some(tunnel),
        ipv6,
        fakedrop,
        user: 10,
        bst: 3,
        server: 4,
        rate_limit: BytesPerSec(1e12),
        // The station of the other examples.
        gw_mac: MacAddr([2, 0, 0, 0, 0, 1]),
        ..Section::default()
    })
}
