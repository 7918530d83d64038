//! The bridge in words that devices of another making understand.

use super::config::{Config, Mode, Port, Unknown};
use crate::service::{Bridge, Service};

/// Its ports, the stations that it knows, and what it does with others.
pub(super) fn service(config: &Config) -> Service {
    Service::Bridge(Bridge {
        ports: Port::ALL.len() as u8,
        stations: config.known_stations().map(|known| (known.mac.0, known.port.id())).collect(),
        ageing_s: config.learning.then_some(config.ageing_s),
        floods: config.unknown() == Unknown::Flood,
        patch: (config.mode == Mode::Patch).then(|| Port::ALL.map(|port| config.source_from(port))),
    })
}
