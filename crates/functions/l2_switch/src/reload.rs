//! From one state of a running switch to another, said as changes.
use std::collections::BTreeMap;

use function_kit::Invalid;
use machine::clock::Ticks;

use super::acl::RULES_SPARE;
use super::config::acl::Rule;
use super::config::features::{Mirror, Storm, StormUnit};
use super::config::{Config, Mac, Port, Station};
use super::control::Update;
use super::pipeline::Pipeline;

/// Stations may come, go and be elsewhere, limits and mirrors be others; everything else is part of
/// what a frame's way is made of.
///
/// # Errors
/// The first other key that differs, or more stations than there is room for.
pub(super) fn difference(running: &Config, wanted: &Config) -> Result<Vec<Update>, Invalid> {
    if let Some(key) = differing_key(running, wanted) {
        return Err(Invalid {
            section: "function",
            key: key.into(),
            what: "cannot be changed while the bridge runs".into(),
            remedy: "Change `stations`, `storm-control`, `mirrors`, `acl` or `egress-acl` only, or restart it".into(),
        });
    }
    for (key, running, wanted) in [
        ("acl", running.all_acl(), wanted.all_acl()),
        ("egress-acl", running.all_egress_acl(), wanted.all_egress_acl()),
    ] {
        if wanted.len() > running.len() + RULES_SPARE {
            return Err(Invalid {
                section: "function",
                key: key.into(),
                what: format!("{} rules do not fit into the running list", wanted.len()),
                remedy: "Restart it, or add fewer at a time".into(),
            });
        }
    }
    let after = known(wanted);
    if after.len() > running.static_limit() {
        return Err(Invalid {
            section: "function",
            key: "stations".into(),
            what: format!("{} stations do not fit into the running table", after.len()),
            remedy: "Restart it, or change fewer at a time".into(),
        });
    }
    let mut changes = changes(&known(running), &after);
    changes.extend(of_storms(&running.storm_control, &wanted.storm_control));
    changes.extend(of_mirrors(&running.mirrors, &wanted.mirrors));
    changes.extend(of_rules(&IN, &running.all_acl(), &wanted.all_acl()));
    changes.extend(of_rules(&OUT, &running.all_egress_acl(), &wanted.all_egress_acl()));
    Ok(changes)
}

/// The changes that undo what was applied out of a difference, the last one first.
pub(super) fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
    let before = known(running);
    let (acl, egress_acl) = (running.all_acl(), running.all_egress_acl());
    let undo = |update: &Update| match *update {
        Update::SetStation { mac, domain, .. }
        | Update::RemoveStation { mac, domain }
        | Update::Learn { mac, domain, .. } => match before.get(&(domain, mac)) {
            Some(&port) => Update::SetStation { mac, port, domain },
            None => Update::RemoveStation { mac, domain },
        },
        Update::SetStormControl(storm) => {
            let before = running.storm_control.iter().find(|one| one.port == storm.port);
            Update::SetStormControl(before.copied().unwrap_or(no_limits(storm.port)))
        }
        Update::SetMirror(Mirror { port, direction, .. })
        | Update::RemoveMirror { port, direction } => {
            let same = |one: &&Mirror| (one.port, one.direction) == (port, direction);
            match running.mirrors.iter().find(same) {
                Some(before) => Update::SetMirror(*before),
                None => Update::RemoveMirror { port, direction },
            }
        }
        Update::SetRule(Rule { priority, .. }) | Update::RemoveRule { priority } => {
            IN.undo(&acl, priority)
        }
        Update::SetEgressRule(Rule { priority, .. }) | Update::RemoveEgressRule { priority } => {
            OUT.undo(&egress_acl, priority)
        }
    };
    applied.iter().rev().map(undo).collect()
}

/// What came, went or was learned since the bridge was configured.
pub(super) fn memory(config: &Config, pipeline: &Pipeline, now: Ticks) -> Vec<Update> {
    let (state, features) = (pipeline.state(), pipeline.features());
    let present = state.stations.fixed().iter().filter_map(|&key| state.station(key)).map(by_place);
    let mut updates = changes(&known(config), &present.collect());
    let learned = state.learned_at(0..state.stations.learned().len(), now);
    updates.extend(learned.map(|(Station { mac, port, domain }, _)| Update::Learn {
        mac,
        port,
        domain,
    }));
    let storms: Vec<Storm> = features.storms.said().collect();
    updates.extend(of_storms(&config.storm_control, &storms));
    let mirrors: Vec<Mirror> = features.mirrors.said().collect();
    updates.extend(of_mirrors(&config.mirrors, &mirrors));
    let rules: Vec<Rule> = features.acl.said().collect();
    updates.extend(of_rules(&IN, &config.all_acl(), &rules));
    let rules: Vec<Rule> = features.egress.said().collect();
    updates.extend(of_rules(&OUT, &config.all_egress_acl(), &rules));
    updates
}

/// Where stations are, by their domain and address.
type Places = BTreeMap<(u16, Mac), Port>;

fn known(config: &Config) -> Places {
    config.all_stations().map(by_place).collect()
}

fn by_place(station: Station) -> ((u16, Mac), Port) {
    ((station.domain, station.mac), station.port)
}

/// Limits that are gone go first.
fn of_storms(before: &[Storm], after: &[Storm]) -> Vec<Update> {
    let has_some = |storm: &&Storm| {
        [storm.broadcast, storm.multicast, storm.unknown].iter().any(Option::is_some)
    };
    let is_left = |port| after.iter().filter(has_some).any(|one| one.port == port);
    let gone = before.iter().filter(has_some).filter(|one| !is_left(one.port));
    let set = after.iter().filter(has_some).filter(|one| !before.contains(one));
    gone.map(|one| Update::SetStormControl(no_limits(one.port)))
        .chain(set.map(|one| Update::SetStormControl(*one)))
        .collect()
}

fn no_limits(port: Port) -> Storm {
    let unit = StormUnit::default();
    Storm { port, broadcast: None, multicast: None, unknown: None, unit, link_gbps: 10.0 }
}

/// How a list is changed.
struct List {
    set: fn(Rule) -> Update,
    remove: fn(u32) -> Update,
}

impl List {
    /// What makes the rule of a priority as it was.
    fn undo(&self, before: &[Rule], priority: u32) -> Update {
        let rule = before.iter().find(|rule| rule.priority == priority);
        rule.map_or((self.remove)(priority), |rule| (self.set)(*rule))
    }
}

/// The list of what comes in.
const IN: List = List { set: Update::SetRule, remove: |priority| Update::RemoveRule { priority } };
/// That of what leaves.
const OUT: List =
    List { set: Update::SetEgressRule, remove: |priority| Update::RemoveEgressRule { priority } };

/// Rules that are gone go first.
fn of_rules(list: &List, before: &[Rule], after: &[Rule]) -> Vec<Update> {
    let by_priority = |rules: &[Rule]| -> BTreeMap<u32, Rule> {
        rules.iter().map(|rule| (rule.priority, *rule)).collect()
    };
    let (old, new) = (by_priority(before), by_priority(after));
    let gone = before.iter().filter(|one| !new.contains_key(&one.priority));
    let set = after.iter().filter(|one| old.get(&one.priority) != Some(one));
    gone.map(|one| (list.remove)(one.priority)).chain(set.map(|one| (list.set)(*one))).collect()
}

/// Mirrors that are gone go first.
fn of_mirrors(before: &[Mirror], after: &[Mirror]) -> Vec<Update> {
    let place = |one: &Mirror| (one.port, one.direction);
    let is_left = |gone: &&Mirror| after.iter().any(|one| place(one) == place(gone));
    let gone = before.iter().filter(|one| !is_left(one));
    let set = after.iter().filter(|one| !before.contains(one));
    gone.map(|one| Update::RemoveMirror { port: one.port, direction: one.direction })
        .chain(set.map(|one| Update::SetMirror(*one)))
        .collect()
}

/// What is gone goes first, so that there is room for what comes.
fn changes(before: &Places, after: &Places) -> Vec<Update> {
    let gone = before.keys().filter(|place| !after.contains_key(place));
    let set = after.iter().filter(|&(place, port)| before.get(place) != Some(port));
    gone.map(|&(domain, mac)| Update::RemoveStation { mac, domain })
        .chain(set.map(|(&(domain, mac), &port)| Update::SetStation { mac, port, domain }))
        .collect()
}

fn differing_key(running: &Config, wanted: &Config) -> Option<&'static str> {
    let differs = [
        ("core", running.core != wanted.core),
        ("mode", running.mode != wanted.mode),
        ("mac-swap-upstream", running.mac_swap_upstream != wanted.mac_swap_upstream),
        ("mac-swap-downstream", running.mac_swap_downstream != wanted.mac_swap_downstream),
        ("learning", running.learning != wanted.learning),
        ("ageing-s", running.ageing_s != wanted.ageing_s),
        ("station-limit", running.station_limit != wanted.station_limit),
        ("station-capacity", running.station_capacity != wanted.station_capacity),
        ("move-limit", running.move_limit != wanted.move_limit),
        ("when-full", running.when_full != wanted.when_full),
        ("unknown", running.unknown() != wanted.unknown()),
        ("ports", running.ports != wanted.ports),
        ("domains", running.domains != wanted.domains),
        ("attachments", running.circuits() != wanted.circuits()),
    ];
    differs.into_iter().find(|(_, differs)| *differs).map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use engine::Function;
    use machine::clock::Clock;
    use wire::MacAddr;

    use super::super::Pipeline;
    use super::super::config::Station;
    use super::*;

    fn station(last: u8, port: Port) -> Station {
        Station { mac: Mac(MacAddr([0x0a, 0, 0, 0, 0, last])), port, domain: 0 }
    }

    fn config() -> Config {
        Config {
            stations: vec![station(1, Port::UPLINK), station(2, Port::DOWNLINK)],
            ..Config::default()
        }
    }

    fn pipeline(config: &Config) -> Pipeline {
        Pipeline::new(config, Clock::with_rate(1e9), 0).expect("a small bridge")
    }

    #[test]
    fn a_difference_leads_from_the_one_to_the_other() {
        let mut wanted = config();
        wanted.stations[0].port = Port::DOWNLINK;
        wanted.stations.pop();
        wanted.stations.extend((3..8).map(|last| station(last, Port::UPLINK)));
        for (one, other) in [(config(), wanted.clone()), (wanted, config())] {
            let mut pipeline = pipeline(&one);
            let changes = difference(&one, &other).expect("only stations differ");
            for update in &changes {
                pipeline.apply(*update, 0).expect("possible");
            }
            assert_eq!(memory(&other, &pipeline, 0), []);
            for update in undoing(&one, &changes) {
                pipeline.apply(update, 0).expect("possible");
            }
            assert_eq!(memory(&one, &pipeline, 0), []);
        }
        let wanted = Config { learning: false, ..config() };
        assert_eq!(difference(&config(), &wanted).expect_err("another bridge").key, "learning");
    }

    #[test]
    fn what_is_remembered_restores_the_state() {
        let mut one = pipeline(&config());
        for update in [
            Update::Learn {
                mac: Mac(MacAddr([0x0a, 0, 0, 0, 1, 1])),
                port: Port::UPLINK,
                domain: 0,
            },
            Update::RemoveStation { mac: config().stations[0].mac, domain: 0 },
            Update::SetStation { mac: config().stations[1].mac, port: Port::UPLINK, domain: 0 },
        ] {
            one.apply(update, 5).expect("possible");
        }
        let remembered = memory(&config(), &one, 6);
        assert_eq!(remembered.len(), 3);
        let mut two = pipeline(&config());
        remembered.iter().for_each(|update| two.apply(*update, 0).expect("possible"));
        assert_eq!(memory(&config(), &two, 0), remembered);
    }
}
