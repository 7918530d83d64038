//! From one state of a running gateway to another, said as changes.

use std::net::Ipv4Addr;

use traffic::workload::worker_of;

use super::catalogue::{self, SERVER_PREFIX_LEN, User};
use super::config::Config;
use super::control::Update;
use super::state::State;
use super::workload;
use crate::unit::{Invalid, Shard};

/// The bits by which a change finds its worker; none where all workers must know of it.
pub(super) fn steering(update: &Update) -> Option<u32> {
    match *update {
        Update::AddUser(User { teid, .. })
        | Update::RemoveUser { teid }
        | Update::Handover { teid, .. } => Some(workload::steering(teid.wrapping_sub(1))),
        Update::AddServer { .. } | Update::RemoveServer { .. } => None,
    }
}

/// Users and servers may come and go; everything else is part of what a packet's way is made of.
///
/// # Errors
/// The first other key that differs.
pub(super) fn difference(running: &Config, wanted: &Config) -> Result<Vec<Update>, Invalid> {
    let same_but = Config { user: running.user, server: running.server, ..wanted.clone() };
    if same_but != *running {
        let key = differing_key(running, &same_but);
        return Err(Invalid {
            section: "function",
            key,
            what: "cannot be changed while the gateway runs".into(),
            remedy: "Change `user` or `server` only, or restart it".into(),
        });
    }
    let arriving = (running.user..wanted.user)
        .map(|number| Update::AddUser(catalogue::user(number, wanted.bst)));
    let departing = (wanted.user..running.user)
        .map(|number| Update::RemoveUser { teid: catalogue::user(number, wanted.bst).teid });
    let appearing = (running.server..wanted.server).map(|number| add_server(wanted, number));
    let disappearing = (wanted.server..running.server)
        .map(|number| Update::RemoveServer { prefix: server(number), len: SERVER_PREFIX_LEN });
    Ok(departing.chain(disappearing).chain(arriving).chain(appearing).collect())
}

/// The changes that undo what was applied out of a difference, the last one first.
pub(super) fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
    let undo = |update: &Update| match *update {
        Update::AddUser(User { teid, .. }) => Update::RemoveUser { teid },
        // Users are numbered from 0, and their identifiers from 1.
        Update::RemoveUser { teid } => {
            Update::AddUser(catalogue::user(teid.wrapping_sub(1), running.bst))
        }
        Update::AddServer { prefix, len, .. } => Update::RemoveServer { prefix, len },
        Update::RemoveServer { prefix, len } => {
            let number = (0..running.server).find(|&number| server(number) == prefix);
            Update::AddServer { prefix, len, next_hop: number.unwrap_or(0) % running.nhop }
        }
        // No difference has one.
        handover @ Update::Handover { .. } => handover,
    };
    applied.iter().rev().map(undo).collect()
}

/// What came, went or moved since the gateway was configured.
pub(super) fn memory(config: &Config, shard: Shard, state: &State) -> Vec<Update> {
    let mut updates = Vec::new();
    let is_own = |number: u32| worker_of(workload::steering(number), shard.count) == shard.index;
    for number in (0..config.user).filter(|&number| is_own(number)) {
        let User { teid, base_station, .. } = catalogue::user(number, config.bst);
        match state.by_teid.get(teid).map(|slot| state.bearers[slot as usize].base_station) {
            None => updates.push(Update::RemoveUser { teid }),
            Some(now) if now != base_station => {
                updates.push(Update::Handover { teid, base_station: now });
            }
            Some(_) => {}
        }
    }
    for (teid, slot) in state.by_teid.iter().filter(|&(teid, _)| teid > config.user) {
        let bearer = &state.bearers[slot as usize];
        updates.push(Update::AddUser(User {
            ipv4: Ipv4Addr::from_bits(bearer.ipv4),
            ipv6_prefix: bearer.ipv6_prefix,
            teid,
            base_station: bearer.base_station,
        }));
    }
    remember_servers(config, state, &mut updates);
    updates
}

fn remember_servers(config: &Config, state: &State, updates: &mut Vec<Update>) {
    let configured = |prefix: Ipv4Addr, len: u8| {
        let number = (0..config.server).find(|&number| server(number) == prefix);
        number.filter(|_| len == SERVER_PREFIX_LEN)
    };
    for number in 0..config.server {
        let prefix = server(number);
        if state.routes.get(prefix.to_bits(), SERVER_PREFIX_LEN).is_none() {
            updates.push(Update::RemoveServer { prefix, len: SERVER_PREFIX_LEN });
        }
    }
    for (bits, len, hop) in state.routes.iter().filter(|&(_, _, hop)| hop >= config.bst) {
        let (prefix, next_hop) = (Ipv4Addr::from_bits(bits), hop - config.bst);
        match configured(prefix, len) {
            Some(number) if number % config.nhop == next_hop => continue,
            Some(_) => updates.push(Update::RemoveServer { prefix, len }),
            None => {}
        }
        updates.push(Update::AddServer { prefix, len, next_hop });
    }
}

fn add_server(config: &Config, number: u32) -> Update {
    let next_hop = number % config.nhop;
    Update::AddServer { prefix: server(number), len: SERVER_PREFIX_LEN, next_hop }
}

/// The network of a server.
fn server(number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(catalogue::server_ipv4(number).to_bits() & 0xffff_ff00)
}

fn differing_key(running: &Config, wanted: &Config) -> &'static str {
    let differs = [
        ("core", running.core != wanted.core),
        ("fakedrop", running.fakedrop != wanted.fakedrop),
        ("bst", running.bst != wanted.bst),
        ("nhop", running.nhop != wanted.nhop),
        ("rate-limit", running.rate_limit != wanted.rate_limit),
        ("burst-ms", running.burst_ms != wanted.burst_ms),
        ("fluct-user", running.fluct_user != wanted.fluct_user),
        ("handover", running.handover != wanted.handover),
        ("fluct-server", running.fluct_server != wanted.fluct_server),
        ("gw-ip", running.gw_ip != wanted.gw_ip),
        ("gw-mac", running.gw_mac != wanted.gw_mac),
        ("tunnel", running.tunnel() != wanted.tunnel()),
        ("ipv6", running.ipv6 != wanted.ipv6),
    ];
    let differing = differs.iter().find(|(_, differs)| *differs);
    differing.map_or("downlink-default-gw-ip", |(key, _)| key)
}

#[cfg(test)]
mod tests {
    use engine::Function;
    use machine::clock::Clock;

    use super::super::Pipeline;
    use super::*;

    fn pipeline(config: &Config) -> Pipeline {
        Pipeline::new(config, Shard::WHOLE, Clock::with_rate(1e9), 0).expect("a small gateway")
    }

    fn config() -> Config {
        Config { user: 10, bst: 3, server: 4, ..Config::default() }
    }

    #[test]
    fn what_changed_is_remembered_and_restored() {
        let config = config();
        let mut one = pipeline(&config);
        assert_eq!(memory(&config, Shard::WHOLE, one.state()), []);
        let changes = [
            Update::RemoveUser { teid: 2 },
            Update::Handover { teid: 5, base_station: 0 },
            Update::AddUser(catalogue::passing_user(3, 10, 3)),
            Update::RemoveServer { prefix: server(1), len: 24 },
            Update::RemoveServer { prefix: server(2), len: 24 },
            Update::AddServer { prefix: server(2), len: 24, next_hop: 1 },
            Update::AddServer { prefix: Ipv4Addr::new(5, 0, 1, 0), len: 24, next_hop: 0 },
        ];
        changes.iter().for_each(|change| one.apply(*change, 0).expect("possible"));
        let remembered = memory(&config, Shard::WHOLE, one.state());
        let mut other = pipeline(&config);
        remembered.iter().for_each(|change| other.apply(*change, 0).expect("possible"));
        let sorted = |pipeline: &Pipeline| {
            let mut memory = memory(&config, Shard::WHOLE, pipeline.state());
            memory.sort_by_key(|update| format!("{update:?}"));
            memory
        };
        assert_eq!(sorted(&other), sorted(&one));
        assert_eq!(remembered.len(), 7, "{remembered:?}");
    }

    #[test]
    fn a_difference_leads_from_the_one_to_the_other() {
        let running = config();
        let wanted = Config { user: 14, server: 2, ..config() };
        let mut one = pipeline(&running);
        let changes = difference(&running, &wanted).expect("only counts differ");
        for update in &changes {
            one.apply(*update, 0).expect("possible");
        }
        assert_eq!(memory(&wanted, Shard::WHOLE, one.state()), []);
        for update in undoing(&running, &changes) {
            one.apply(update, 0).expect("possible");
        }
        assert_eq!(memory(&running, Shard::WHOLE, one.state()), []);
        let wanted = Config { gw_ip: Ipv4Addr::new(200, 0, 0, 9), ..config() };
        let error = difference(&running, &wanted).expect_err("its own address");
        assert_eq!(error.key, "gw-ip");
    }
}
