//! The bridge against its oracle.

use std::time::Duration;

use function_l2_switch::config::{Config, Mode, Unknown, WhenFull};
use model_kit::Model;
use model_kit::fuzz::{Body, Fuzzed, Target, frame_of, frames, pairs, pass};
use serde_json::json;

use crate::{Generated, L2Switch, Section, Traffic};

impl Fuzzed for L2Switch {
    const TARGETS: &'static [Target] = &[Target { name: "l2_switch", body, examples }];
}

/// Every frame becomes exactly what the oracle says, whatever was learned before.
#[inline]
fn body() -> Body {
    let mut pairs = pairs::<L2Switch>(sections());
    Box::new(move |data| {
        let (port, frame) = frame_of(data);
        pass(&mut pairs, port, &frame, Duration::from_millis(7));
    })
}

/// Frames between stations.
#[inline]
fn examples() -> Vec<Vec<u8>> {
    let traffic = Traffic { ipv6_share: 0.5, ..Traffic::default() };
    sections().flat_map(|section| frames::<L2Switch>(&section, &traffic, 4)).collect()
}

#[inline]
fn sections() -> impl Iterator<Item = Section> {
    let few = Config { station_limit: 32, ageing_s: 1.0, ..Config::default() };
    let usual = |config| Section { config, ..Section::default() };
    let learned = Generated { preload: false, ..Generated::default() };
    [
        usual(Config { unknown: Some(Unknown::Drop), ..few.clone() }),
        Section { generated: learned, config: Config { when_full: WhenFull::Drop, ..few } },
        usual(Config { mode: Mode::Patch, ..Config::default() }),
    ]
    .into_iter()
    .chain([switch()])
}

/// Domains by VLAN, limits, mirrors and rules at once.
#[inline]
fn switch() -> Section {
    let mut section = serde_json::from_value(json!({
        "ports": 3,
        "attachments": [
            {"port": "downlink", "vlan": 1, "domain": 1},
            {"port": "downlink", "vlan": 2, "inner-vlan": 3, "tpid": "service", "domain": 2},
            {"port": "uplink", "untagged": true, "domain": 1},
            {"port": "uplink", "vlan": 2, "domain": 2},
            {"port": "port-3", "domain": 1},
        ],
        "domains": [{"id": 1, "flood-pps": 500, "station-limit": 9}],
        "storm-control": [{"port": "uplink", "broadcast": 0.01, "unknown": 0.01, "unit": "percent"}],
        "mirrors": [
            {"port": "downlink", "direction": "receive", "to": "uplink"},
            {"port": "uplink", "direction": "transmit", "to": "port-3", "erspan": {
                "type": "iii", "session": 1, "source": "192.0.2.1", "destination": "192.0.2.2",
                "source-mac": "02:00:00:00:00:01", "destination-mac": "02:00:00:00:00:02"}},
        ],
        "acl": [
            {"priority": 1, "action": "deny", "source": "3.0.0.0/31", "destination-ports": [7, 9]},
            {"priority": 2, "action": "deny", "vlan": 1, "source": "::/1", "protocol": 17},
        ],
        "egress-acl": [
            {"priority": 1, "action": "deny", "port": "uplink", "vlan": 2, "ether-type": 2048},
            {"priority": 2, "action": "deny", "destination": "3.0.0.0/9", "source-ports": [7, 9999]},
        ],
        "move-limit": {"moves": 3, "interval-s": 0.5, "hold-s": 0.3, "action": "drop"},
    }))
    .expect("a section");
    L2Switch::validate(&mut section, &mut Traffic::default()).expect("a sound one");
    section
}
