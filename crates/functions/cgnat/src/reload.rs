//! From one state of a running NAT to another, said as changes.
use std::net::Ipv4Addr;

use export::Logging;
use function_kit::Invalid;

use crate::config::{Config, Prefixed};
use crate::control::Update;
use crate::pipeline::Pipeline;
use crate::rule_set::{self, RuleSet};
use crate::types::networks::{refuse, text};
use crate::workers::steering::Steering;

/// The bits by which a change finds its worker; none where all workers must know of it.
pub(crate) fn steering(config: &Config, update: &Update) -> Option<u32> {
    match *update {
        Update::ClearSubscriber { address, .. } => {
            Some(Steering::new(config).of_subscriber(address))
        }
        // Each worker has to know whose an outside end is.
        Update::AddStatic { .. }
        | Update::RemoveStatic { .. }
        | Update::SetPortForwarding { .. }
        | Update::RemovePortForwarding { .. }
        | Update::AddPool { .. }
        | Update::DrainPool { .. }
        | Update::SetSessionLimit { .. }
        | Update::SetTimeouts { .. }
        | Update::SetCollector { .. }
        | Update::SetVirtual { .. }
        | Update::RemoveVirtual { .. }
        | Update::SetActive { .. } => None,
    }
}

/// Pools may come, and go by being drained; one-to-one and port forwarding rules may come and go;
/// limits, timeouts and the log's collector may change. Everything else is part of what a packet's
/// way is made of.
///
/// # Errors
/// The first other key that differs.
pub(crate) fn difference(running: &Config, wanted: &Config) -> Result<Vec<Update>, Invalid> {
    let same_but = Config {
        pools: running.pools.clone(),
        static_rules: running.static_rules.clone(),
        port_forwarding: running.port_forwarding.clone(),
        sessions_per_subscriber: running.sessions_per_subscriber,
        timeouts: running.timeouts,
        logging: redirected(running, wanted).unwrap_or_else(|| wanted.logging.clone()),
        ..wanted.clone()
    };
    if same_but != *running {
        return Err(Invalid {
            section: "function",
            key: differing_key(running, &same_but).into(),
            what: "cannot be changed while the NAT runs".into(),
            remedy: "Change `pools`, `static`, `port-forwarding`, `sessions-per-subscriber`, \
                     `timeouts` or the log's collector only, or restart it"
                .into(),
        });
    }
    let gone = running.pools.iter().filter(|pool| !wanted.pools.contains(pool));
    let come = wanted.pools.iter().filter(|pool| !running.pools.contains(pool));
    let [rules, new_rules] = [running, wanted].map(RuleSet::of_config);
    stay_out_of_pools(running, &new_rules)?;
    // What gives up addresses before what takes some.
    let [mut updates, last] = rules.changes_to(&new_rules);
    updates.extend(gone.map(|&pool| Update::DrainPool { pool }));
    updates.extend(come.map(|&pool| Update::AddPool { pool }));
    updates.extend(last);
    let sessions = wanted.session_limit();
    if sessions != running.session_limit() {
        updates.push(Update::SetSessionLimit { sessions });
    }
    if wanted.timeouts != running.timeouts {
        updates.push(Update::SetTimeouts { timeouts: wanted.timeouts });
    }
    updates.extend(wanted.logging.as_ref().filter(|_| wanted.logging != running.logging).map(to));
    Ok(updates)
}

/// Addresses of pools that are drained may still be those of sessions.
fn stay_out_of_pools(running: &Config, rules: &RuleSet) -> Result<(), Invalid> {
    let met = running.all_pools().find_map(|pool| Some((rules.in_pool(pool)?, pool)));
    let Some(((key, network), pool)) = met else { return Ok(()) };
    let what = format!(
        "cannot have {} while the NAT runs, which is of the pool {}",
        text(network),
        text(pool)
    );
    refuse(key, what, "Give other addresses, or restart it")
}

/// The changes that undo what was applied out of a difference, the last one first.
pub(crate) fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
    let undo = |update: &Update| match *update {
        Update::AddPool { pool } => Update::DrainPool { pool },
        Update::DrainPool { pool } => Update::AddPool { pool },
        Update::SetSessionLimit { .. } => {
            Update::SetSessionLimit { sessions: running.session_limit() }
        }
        Update::SetTimeouts { .. } => Update::SetTimeouts { timeouts: running.timeouts },
        Update::SetCollector { .. } => {
            running.logging.as_ref().map_or_else(|| update.clone(), to)
        }
        // They are undone with regard to those before them.
        Update::AddStatic { .. }
        | Update::RemoveStatic { .. }
        | Update::SetPortForwarding { .. }
        | Update::RemovePortForwarding { .. }
        // No difference has one.
        | Update::ClearSubscriber { .. }
        | Update::SetVirtual { .. }
        | Update::RemoveVirtual { .. }
        | Update::SetActive { .. } => update.clone(),
    };
    let of_rules = rule_set::undoing(&RuleSet::of_config(running), applied);
    let both = applied.iter().zip(of_rules).rev();
    both.map(|(update, of_rule)| of_rule.unwrap_or_else(|| undo(update))).collect()
}

/// Pools, rules and limits that are not as configured. Sessions are not among them: they are the
/// network's; nor are virtual addresses, which a controller sets.
pub(crate) fn memory(config: &Config, pipeline: &Pipeline) -> Vec<Update> {
    let state = pipeline.state();
    let open: Vec<Prefixed<Ipv4Addr>> = state.allocation.open_pools().collect();
    let known: Vec<_> = config.all_pools().collect();
    let gone = known.iter().filter(|pool| !open.contains(pool));
    let come = open.iter().filter(|pool| !known.contains(pool));
    let rules = RuleSet::of(&state.allocation.addresses);
    let [mut updates, last] = RuleSet::of_config(config).changes_to(&rules);
    updates.extend(come.map(|&pool| Update::AddPool { pool }));
    updates.extend(gone.map(|&pool| Update::DrainPool { pool }));
    updates.extend(last);
    if state.session_limit != config.session_limit() {
        updates.push(Update::SetSessionLimit { sessions: state.session_limit });
    }
    if state.times.timeouts() != config.timeouts {
        updates.push(Update::SetTimeouts { timeouts: state.times.timeouts() });
    }
    let logging = state.log.as_ref().map(|log| log.logging());
    updates.extend(logging.filter(|logging| config.logging.as_ref() != Some(*logging)).map(to));
    updates
}

/// The running logs, if the wanted ones differ in nothing but where they go.
fn redirected(running: &Config, wanted: &Config) -> Option<Option<Logging>> {
    let (Some(before), Some(after)) = (&running.logging, &wanted.logging) else { return None };
    let Logging { collector, port, next_hop_mac, .. } = *before;
    let same = Logging { collector, port, next_hop_mac, ..after.clone() };
    let is_same_version = before.collector.is_ipv4() == after.collector.is_ipv4();
    (same == *before && is_same_version).then(|| Some(before.clone()))
}

/// The change by which logs go to where these do.
fn to(logging: &Logging) -> Update {
    let Logging { collector, port, next_hop_mac, .. } = *logging;
    Update::SetCollector { collector, port, next_hop_mac }
}

fn differing_key(running: &Config, wanted: &Config) -> &'static str {
    let differs = |other: Config| other != *wanted;
    let base = || wanted.clone();
    let keys: [(&'static str, Config); 19] = [
        ("pools-answer", Config { pools_answer: running.pools_answer, ..base() }),
        (
            "inside-host-interface",
            Config { inside_host_interface: running.inside_host_interface, ..base() },
        ),
        (
            "outside-host-interface",
            Config { outside_host_interface: running.outside_host_interface, ..base() },
        ),
        ("interfaces", Config { interfaces: running.interfaces.clone(), ..base() }),
        ("bypass", Config { bypass: running.bypass.clone(), ..base() }),
        ("pcp", Config { pcp: running.pcp, ..base() }),
        ("sessions", Config { sessions: running.sessions, ..base() }),
        ("timeouts", Config { timeouts: running.timeouts, ..base() }),
        ("nat64", Config { nat64: running.nat64.clone(), ..base() }),
        ("ds-lite", Config { ds_lite: running.ds_lite.clone(), ..base() }),
        ("vrfs", Config { vrfs: running.vrfs.clone(), ..base() }),
        ("siit", Config { siit: running.siit.clone(), ..base() }),
        ("fragments", Config { fragments: running.fragments, ..base() }),
        ("icmp-errors-per-s", Config { icmp_errors_per_s: running.icmp_errors_per_s, ..base() }),
        ("icmp-error-burst", Config { icmp_error_burst: running.icmp_error_burst, ..base() }),
        ("steering-key", Config { steering_key: running.steering_key, ..base() }),
        ("core", Config { core: running.core, ..base() }),
        ("replication", Config { replication: running.replication.clone(), ..base() }),
        ("logging", Config { logging: running.logging.clone(), ..base() }),
    ];
    keys.into_iter().find(|(_, one)| differs(one.clone())).map_or("inside", |(key, _)| key)
}
