//! The bridge in words that devices of another making understand.

use function_l2_switch::config::{Config, Mode, Port, Unknown, WhenFull};
use model_kit::service::{Beyond, Bridge, Service};

use crate::generated::{self, Section};

/// Its ports, the stations that it knows, and what it does with others.
pub(super) fn service(section: &Section) -> Service {
    let config = &section.config;
    let known = generated::known_stations(section);
    Service::Bridge(Bridge {
        ports: config.ports,
        beyond: beyond(config),
        stations: known.map(|known| (known.mac.0, known.port.id())).collect(),
        ageing_s: config.learning.then_some(config.ageing_s),
        floods: config.unknown() == Unknown::Flood,
        patch: (config.mode == Mode::Patch).then(|| Port::ALL.map(|port| config.source_from(port))),
    })
}

/// What a bridge in these words is not. Every key is named, so that a new one has to be thought of.
fn beyond(config: &Config) -> Vec<Beyond> {
    let Config {
        // In words, or no matter to a device with tables of its own.
        core: _,
        mode: _,
        fakedrop: _,
        mac_swap_upstream: _,
        mac_swap_downstream: _,
        learning,
        ageing_s: _,
        station_limit: _,
        unknown: _,
        stations: _,
        station_files: _,
        station_capacity: _,
        from_files: _,
        ports: _,
        // Not in words.
        when_full,
        move_limit,
        domains,
        attachments,
        storm_control,
        mirrors,
        acl,
        egress_acl,
        acl_files,
        egress_acl_files,
    } = config;
    let is_dropped = *learning && *when_full == WhenFull::Drop;
    Beyond::of(&[
        ("domains", "bridge domains", !domains.is_empty()),
        ("attachments", "VLANs and what is done with their tags", !attachments.is_empty()),
        ("storm-control", "limits on frames to many", !storm_control.is_empty()),
        ("mirrors", "copies of frames", !mirrors.is_empty()),
        ("acl", "access lists", !acl.is_empty()),
        ("egress-acl", "access lists for what leaves", !egress_acl.is_empty()),
        ("acl-files", "access lists", !acl_files.is_empty()),
        ("egress-acl-files", "access lists for what leaves", !egress_acl_files.is_empty()),
        ("move-limit", "limits on how often a station moves", move_limit.is_some()),
        ("when-full", "dropping frames of stations for which there is no room", is_dropped),
    ])
}
