//! From one state of a running bridge to another, said as changes.

use std::collections::BTreeMap;

use machine::clock::Ticks;
use wire::MacAddr;

use super::config::{Config, Mac, Port};
use super::control::Update;
use super::state::{State, mac};
use crate::unit::Invalid;

/// Stations may come, go and be elsewhere; everything else is part of what a frame's way is made of.
///
/// # Errors
/// The first other key that differs, or more stations than there is room for.
pub(super) fn difference(running: &Config, wanted: &Config) -> Result<Vec<Update>, Invalid> {
    if let Some(key) = differing_key(running, wanted) {
        return Err(Invalid {
            section: "function",
            key,
            what: "cannot be changed while the bridge runs".into(),
            remedy: "Change the tables' sizes or `stations` only, or restart it".into(),
        });
    }
    let after = known(wanted);
    if after.len() > running.static_limit() {
        return Err(Invalid {
            section: "function",
            key: "stations",
            what: format!("{} stations do not fit into the running table", after.len()),
            remedy: "Restart it, or change fewer at a time".into(),
        });
    }
    Ok(changes(&known(running), &after))
}

/// The changes that undo what was applied out of a difference, the last one first.
pub(super) fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
    let before = known(running);
    let undo = |update: &Update| match *update {
        Update::SetStation { mac, .. }
        | Update::RemoveStation { mac }
        | Update::Learn { mac, .. } => match before.get(&mac.0) {
            Some(&port) => Update::SetStation { mac, port },
            None => Update::RemoveStation { mac },
        },
    };
    applied.iter().rev().map(undo).collect()
}

/// What came, went or was learned since the bridge was configured.
pub(super) fn memory(config: &Config, state: &State, now: Ticks) -> Vec<Update> {
    let present = state.fixed.iter().filter_map(|&key| Some((mac(key), state.port_of(key)?)));
    let mut updates = changes(&known(config), &present.collect());
    let learned = state.learned_at(0..state.learned.len(), now);
    updates.extend(learned.map(|(mac, port)| Update::Learn { mac: Mac(mac), port }));
    updates
}

fn known(config: &Config) -> BTreeMap<MacAddr, Port> {
    config.known_stations().map(|station| (station.mac.0, station.port)).collect()
}

/// What is gone goes first, so that there is room for what comes.
fn changes(before: &BTreeMap<MacAddr, Port>, after: &BTreeMap<MacAddr, Port>) -> Vec<Update> {
    let gone = before.keys().filter(|mac| !after.contains_key(mac));
    let set = after.iter().filter(|&(mac, port)| before.get(mac) != Some(port));
    gone.map(|&mac| Update::RemoveStation { mac: Mac(mac) })
        .chain(set.map(|(&mac, &port)| Update::SetStation { mac: Mac(mac), port }))
        .collect()
}

fn differing_key(running: &Config, wanted: &Config) -> Option<&'static str> {
    let differs = [
        ("core", running.core != wanted.core),
        ("mode", running.mode != wanted.mode),
        ("fluct-table", running.fluct_table != wanted.fluct_table),
        ("mac-swap-upstream", running.mac_swap_upstream != wanted.mac_swap_upstream),
        ("mac-swap-downstream", running.mac_swap_downstream != wanted.mac_swap_downstream),
        ("learning", running.learning != wanted.learning),
        ("ageing-s", running.ageing_s != wanted.ageing_s),
        ("station-limit", running.station_limit != wanted.station_limit),
        ("when-full", running.when_full != wanted.when_full),
        ("unknown", running.unknown() != wanted.unknown()),
    ];
    differs.into_iter().find(|(_, differs)| *differs).map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use engine::Function;
    use machine::clock::Clock;

    use super::super::Pipeline;
    use super::super::config::Station;
    use super::*;

    fn config() -> Config {
        let station = |last, port| Station { mac: Mac(MacAddr([0x0a, 0, 0, 0, 0, last])), port };
        Config {
            stations: vec![station(1, Port::Uplink), station(2, Port::Downlink)],
            ..Config::default()
        }
    }

    fn pipeline(config: &Config) -> Pipeline {
        Pipeline::new(config, Clock::with_rate(1e9), 0).expect("a small bridge")
    }

    #[test]
    fn a_difference_leads_from_the_one_to_the_other() {
        let mut wanted = Config { upstream_table_size: 5, downstream_table_size: 1, ..config() };
        wanted.stations[0].port = Port::Downlink;
        wanted.stations.pop();
        for (one, other) in [(config(), wanted.clone()), (wanted, config())] {
            let mut pipeline = pipeline(&one);
            let changes = difference(&one, &other).expect("only stations differ");
            for update in &changes {
                pipeline.apply(*update, 0).expect("possible");
            }
            assert_eq!(memory(&other, pipeline.state(), 0), []);
            for update in undoing(&one, &changes) {
                pipeline.apply(update, 0).expect("possible");
            }
            assert_eq!(memory(&one, pipeline.state(), 0), []);
        }
        let wanted = Config { learning: false, ..config() };
        assert_eq!(difference(&config(), &wanted).expect_err("another bridge").key, "learning");
    }

    #[test]
    fn what_is_remembered_restores_the_state() {
        let mut one = pipeline(&config());
        for update in [
            Update::Learn { mac: Mac(MacAddr([0x0a, 0, 0, 0, 1, 1])), port: Port::Uplink },
            Update::RemoveStation { mac: config().stations[0].mac },
            Update::SetStation { mac: config().stations[1].mac, port: Port::Uplink },
        ] {
            one.apply(update, 5).expect("possible");
        }
        let remembered = memory(&config(), one.state(), 6);
        assert_eq!(remembered.len(), 3);
        let mut two = pipeline(&config());
        remembered.iter().for_each(|update| two.apply(*update, 0).expect("possible"));
        assert_eq!(memory(&config(), two.state(), 0), remembered);
    }
}
