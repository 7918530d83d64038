//! The bridge in words that devices of another making understand.

use super::config::{Config, Mode, Port, Unknown};
use crate::service::{Bridge, Service};

/// Its ports, the stations that it knows, and what it does with others.
pub(super) fn service(config: &Config) -> Service {
    Service::Bridge(Bridge {
        ports: config.ports,
        beyond: beyond(config),
        stations: config.known_stations().map(|known| (known.mac.0, known.port.id())).collect(),
        ageing_s: config.learning.then_some(config.ageing_s),
        floods: config.unknown() == Unknown::Flood,
        patch: (config.mode == Mode::Patch).then(|| Port::ALL.map(|port| config.source_from(port))),
    })
}

/// The first thing that a bridge in these words is not.
fn beyond(config: &Config) -> Option<&'static str> {
    [
        ("bridge domains or VLANs", !config.attachments.is_empty() || !config.domains.is_empty()),
        ("storm control", !config.storm_control.is_empty()),
        ("mirrors", !config.mirrors.is_empty()),
        ("access lists", !config.acl.is_empty()),
    ]
    .into_iter()
    .find_map(|(what, is_there)| is_there.then_some(what))
}
