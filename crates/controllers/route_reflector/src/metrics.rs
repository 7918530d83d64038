//! Metrics. Of peers there are sums by what they are; by itself each peer that the configuration
//! names has its state and how far it lags, so that there are as many values as somebody has
//! written, and none for whoever connects from a network.

use std::collections::BTreeMap;

use controller_kit::Metric;
use protocol_bgp::families::FAMILIES;
use protocol_bgp::peer::State;

use crate::asked::{STATES, Seen, name_of};
use crate::groups::group::At;
use crate::own::Kind;

/// The labels of a value.
type Labels = Vec<(&'static str, String)>;

/// Returns all metrics.
pub(crate) fn metrics(seen: Seen<'_>) -> Vec<Metric> {
    let mut all = of_peers(seen);
    all.extend(of_families(seen));
    all.extend(of_groups(seen));
    all.extend(of_errors(seen));
    let reflector = seen.reflector;
    let gauges = [
        ("attribute_sets", "Different attributes with a next hop.", reflector.attributes()),
        ("target_sets", "Different sets of route targets.", reflector.sets()),
        ("table_bytes", "Memory of routes, paths, attributes and the log.", reflector.memory()),
    ];
    all.extend(gauges.map(|(name, help, value)| gauge(name, help, vec![(vec![], value as f64)])));
    all
}

fn gauge(name: &'static str, help: &'static str, samples: Vec<(Labels, f64)>) -> Metric {
    Metric { name, is_counter: false, help, samples }
}

fn counter(name: &'static str, help: &'static str, samples: Vec<(Labels, f64)>) -> Metric {
    Metric { name, is_counter: true, help, samples }
}

fn of_peers(seen: Seen<'_>) -> Vec<Metric> {
    let mut states: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for kind in Kind::ALL {
        let all = STATES.iter().map(|state| ((kind.name(), name_of(*state)), 0));
        states.extend(all);
    }
    let mut sums = [0; 4];
    let (mut up, mut lag, mut routes) = (Vec::new(), Vec::new(), Vec::new());
    for (number, entry) in seen.peers.iter() {
        let (state, _) = entry.peer.state();
        *states.entry((entry.kind.name(), name_of(state))).or_default() += 1;
        let counters = entry.peer.counters();
        let own = [counters.updates, counters.established, counters.lost, counters.failed];
        sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        if entry.network.is_none() {
            let labels = || vec![("peer", seen.name_of(number))];
            let groups = seen.reflector.groups_of(number);
            let behind = groups.filter_map(|(family, group)| {
                seen.reflector.group(family, group)?.progress(number)?.behind_bytes
            });
            up.push((labels(), f64::from(u8::from(state == State::Established))));
            lag.push((labels(), behind.sum::<u64>() as f64));
            let agreed = entry.peer.negotiated().map(|agreed| agreed.reading.families);
            for family in agreed.iter().flat_map(|families| families.iter()) {
                let labels = [labels(), vec![("family", family.to_string())]].concat();
                routes.push((labels, f64::from(seen.reflector.told_by(number, family))));
            }
        }
    }
    let states = states.into_iter().map(|((kind, state), count)| {
        (vec![("kind", kind.to_owned()), ("state", state)], count as f64)
    });
    let [updates, established, lost, failed] = sums.map(|sum| vec![(Vec::new(), sum as f64)]);
    vec![
        gauge(
            "peers",
            "Peers, by what they are and the state of their sessions.",
            states.collect(),
        ),
        gauge("peer_up", "1 while the session of a named peer stands, otherwise 0.", up),
        gauge("peer_routes", "Routes that a named peer tells, by family.", routes),
        gauge("peer_lag_bytes", "UPDATEs that a named peer has yet to take.", lag),
        counter("updates_received_total", "UPDATEs received of the peers that there are.", updates),
        counter("sessions_established_total", "Sessions of the peers that there are.", established),
        counter("sessions_lost_total", "Sessions of those that have ended.", lost),
        counter("connections_failed_total", "Connections of those that became none.", failed),
    ]
}

fn of_families(seen: Seen<'_>) -> Vec<Metric> {
    let (mut routes, mut paths) = (Vec::new(), Vec::new());
    for row in &FAMILIES {
        let (own, of_them) = seen.reflector.count(row.family);
        let is_used = own > 0 || seen.reflector.groups_end(row.family) > 0;
        if is_used {
            let labels = || vec![("family", row.name.to_owned())];
            routes.push((labels(), own as f64));
            paths.push((labels(), of_them as f64));
        }
    }
    let counters = seen.reflector.counters();
    let heard = [("announced", counters.announced), ("withdrawn", counters.withdrawn)];
    let heard = heard.map(|(what, count)| (vec![("what", what.to_owned())], count as f64)).to_vec();
    vec![
        gauge("routes", "Routes that have a path, by family.", routes),
        gauge("paths", "Paths, by family.", paths),
        counter("routes_received_total", "Routes that peers have told, by what of them.", heard),
    ]
}

fn of_groups(seen: Seen<'_>) -> Vec<Metric> {
    let (mut groups, mut peers, mut kept, mut lags) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for row in &FAMILIES {
        let labels = || vec![("family", row.name.to_owned())];
        let numbers = 0..seen.reflector.groups_end(row.family);
        let all: Vec<_> =
            numbers.filter_map(|number| seen.reflector.group(row.family, number)).collect();
        if all.is_empty() {
            continue;
        }
        let (mut counts, mut lag) = ([0_u64; At::ALL.len()], 0);
        for group in &all {
            for one in group.peers().filter_map(|peer| group.progress(peer)) {
                counts[one.at as usize] += 1;
                lag = lag.max(one.behind_bytes.unwrap_or(0));
            }
        }
        groups.push((labels(), all.len() as f64));
        kept.push((labels(), all.iter().map(|group| group.shown().bytes as f64).sum()));
        lags.push((labels(), lag as f64));
        for at in At::ALL {
            let told = [labels(), vec![("told", at.name().to_owned())]].concat();
            peers.push((told, counts[at as usize] as f64));
        }
    }
    vec![
        gauge("groups", "Groups of peers that are told the same, by family.", groups),
        gauge("group_peers", "Peers of groups, by family and how far they are told.", peers),
        gauge("stream_bytes", "UPDATEs that are kept for peers to take, by family.", kept),
        gauge("lag_bytes_max", "UPDATEs that the slowest peer has yet to take, by family.", lags),
    ]
}

fn of_errors(seen: Seen<'_>) -> Vec<Metric> {
    let counters = seen.reflector.counters();
    let by = |label: &'static str, all: &[(&str, u64)]| -> Vec<(Labels, f64)> {
        all.iter().map(|(word, count)| (vec![(label, (*word).to_owned())], *count as f64)).collect()
    };
    let actions = [
        ("attribute-discard", counters.discarded),
        ("treat-as-withdraw", counters.treated_as_withdrawn),
        ("afi-safi-disable", counters.disabled),
        ("session-reset", counters.resets),
    ];
    let refused = [
        ("loop", counters.loops),
        ("no-room", counters.no_room),
        ("targets-without-room", counters.unmarked),
        ("unconstrained", counters.unconstrained),
    ];
    vec![
        counter(
            "errors_total",
            "Errors of UPDATEs, by what became of them (RFC 7606).",
            by("action", &actions),
        ),
        counter(
            "refused_total",
            "Routes not taken, and targets not kept, by the reason.",
            by("reason", &refused),
        ),
    ]
}
