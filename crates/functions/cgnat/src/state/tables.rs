//! What a person can look at while the NAT runs: sessions, subscribers, pools, rules.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use function_kit::{Measured, Sought, Sum, TablePage, TableSize};
use serde_json::{Value, json};

use crate::reasons;
use crate::sessions::allocation::PoolUse;
use crate::sessions::fields::Marks;
use crate::sessions::refusals::Entry;
use crate::sessions::session::Session;
use crate::sessions::subscribers::Subscriber;
use crate::sessions::times::Moment;
use crate::state::State;
use crate::types::flow::{INNER, SOFTWIRES};

mod rules;

/// The tables, in the order of [`sizes`].
pub(crate) const NAMES: &[&str] =
    &["sessions", "mappings", "subscribers", "blocks", "pools", "refused", "rules"];

/// The places of the last ones.
const POOLS: usize = 4;
const REFUSED: usize = 5;
const RULES: usize = 6;

/// What of the pools is told as metrics.
pub(crate) const MEASURED: &[Measured] = &[Measured {
    table: NAMES[POOLS],
    labels: &["pool", "of"],
    values: &[
        ("addresses", Sum::Largest, "Addresses of a pool."),
        ("addresses-used", Sum::Largest, "Addresses of a pool of which a worker has given ports."),
        ("capacity", Sum::All, "Blocks of a pool, or ports where there are no blocks."),
        ("used", Sum::All, "Those that subscribers have."),
        ("free", Sum::All, "Those that new subscribers can get."),
        ("drained", Sum::All, "Those that nobody gets because the pool is drained."),
        ("high-water", Sum::All, "The most that subscribers have had of each address, together."),
    ],
}];

pub(crate) fn sizes(state: &State) -> Vec<TableSize> {
    let size =
        |used: usize, capacity: usize| TableSize { used: used as u64, capacity: capacity as u64 };
    vec![
        size(state.sessions.count() as usize, state.sessions.capacity()),
        size(state.sessions.mappings(), state.sessions.mapping_capacity()),
        size(state.subscribers.count(), state.subscribers.records.len()),
        block_size(state),
        size(
            state.allocation.addresses.count() as usize,
            state.allocation.addresses.capacity() as usize,
        ),
        size(state.refusals.count(), state.refusals.capacity()),
        rules::size(&state.allocation.addresses),
    ]
}

/// Blocks that subscribers have, of all there are.
fn block_size(state: &State) -> TableSize {
    let (used, capacity) = state.allocation.block_use();
    TableSize { used, capacity }
}

/// Entries by their number, so that a page is found without walking what lies before it. Mappings
/// are shown by one of their sessions each, blocks by their subscribers.
pub(crate) fn page(state: &State, table: usize, from: u64, limit: usize, now: Moment) -> TablePage {
    if table == POOLS {
        let (skipped, entries) =
            (from as usize, state.allocation.pool_uses().map(|one| pool(state, &one)));
        let entries: Vec<Value> = entries.skip(skipped).take(limit).collect();
        let end = skipped + entries.len();
        let is_more = state.allocation.addresses.pools().count() > end;
        return TablePage { next: is_more.then_some(end as u64), entries };
    }
    if table == REFUSED {
        return refusals(state, |_| true, (from, limit), now);
    }
    if table == RULES {
        return rules::page(&state.allocation.addresses, None, (from, limit));
    }
    let used = if table >= 2 { state.subscribers.used() } else { state.sessions.used() };
    let first = from.min(u64::from(used)) as u32;
    let end = first.saturating_add(limit.min(u32::MAX as usize) as u32).min(used);
    let next = (end < used).then_some(u64::from(end));
    let entries = match table {
        0 => (first..end).filter_map(|number| session(state, number, now)).collect(),
        1 => (first..end).filter_map(|number| mapping(state, number)).collect(),
        2 => (first..end).filter_map(|number| subscriber(state, number)).collect(),
        _ => (first..end).flat_map(|number| blocks(state, number)).collect(),
    };
    TablePage { entries, next }
}

/// The same entries of all but pools, as far as an address leads to them: a subscriber's, one
/// outside with its ports, or that of whom a session is with.
pub(crate) fn found(
    state: &State,
    table: usize,
    sought: Sought,
    (from, limit): (u64, usize),
    now: Moment,
) -> Option<TablePage> {
    let is_of = |number: u32| match table {
        0 | 1 => live(state, number).is_some_and(|one| is_session_of(one, sought)),
        _ => {
            let one = state.subscribers.records.get(number as usize);
            one.filter(|one| one.sessions > 0)
                .is_some_and(|one| is_subscriber_of(state, one, sought))
        }
    };
    if table == REFUSED {
        let is_its =
            |one: &Entry| sought.port.is_none() && inner(one.realm, one.address) == sought.address;
        return Some(refusals(state, is_its, (from, limit), now));
    }
    if table == RULES {
        return Some(rules::page(&state.allocation.addresses, Some(sought), (from, limit)));
    }
    if table >= POOLS {
        return None;
    }
    let used = if table >= 2 { state.subscribers.used() } else { state.sessions.used() };
    let first = from.min(u64::from(used)) as u32;
    let end = first.saturating_add(limit.min(u32::MAX as usize) as u32).min(used);
    let numbers = (first..end).filter(|&number| is_of(number));
    let entries = numbers.flat_map(|number| page(state, table, number.into(), 1, now).entries);
    let next = (end < used).then_some(u64::from(end));
    Some(TablePage { entries: entries.collect(), next })
}

fn is_session_of(one: &Session, sought: Sought) -> bool {
    let [outside, far] = [one.outside, one.far.address()].map(|it| Ipv4Addr::from_bits(it).into());
    sought.is(inner(one.realm(), one.inside), one.inside_port())
        || sought.is(outside, one.outside_port)
        || sought.is(far, one.far.port())
}

fn is_subscriber_of(state: &State, one: &Subscriber, sought: Sought) -> bool {
    let outside = Ipv4Addr::from_bits(state.allocation.addresses.address(one.outside)).into();
    let mut blocks = one.blocks[..usize::from(one.block_count)].iter();
    let has = |&block: &u32| {
        let block = state.allocation.change(one.outside, block);
        sought.is_among(outside, block.first_port, block.size)
    };
    (sought.port.is_none() && [inner(one.realm, one.address), outside].contains(&sought.address))
        || blocks.any(has)
}

/// Who was refused most, of those that are sought.
fn refusals(
    state: &State,
    is_sought: impl Fn(&Entry) -> bool,
    (from, limit): (u64, usize),
    now: Moment,
) -> TablePage {
    let all: Vec<Entry> = state.refusals.most().into_iter().filter(is_sought).collect();
    let first = usize::try_from(from).unwrap_or(usize::MAX).min(all.len());
    let end = first.saturating_add(limit).min(all.len());
    let entry = |one: &Entry| {
        of_realm(
            (state, one.realm, one.address),
            json!({
                "inside": address(one.realm, one.address),
                "reason": reasons::NAMES.get(usize::from(one.reason.0)),
                "refused": one.count,
                "too-many-by": one.over,
                "last-s-ago": state.times.s_of_units(now.wrapping_sub(one.last)),
            }),
        )
    };
    let entries = all.get(first..end).unwrap_or_default().iter().map(entry).collect();
    TablePage { entries, next: (end < all.len()).then_some(end as u64) }
}

/// A pool: how much of it is in use.
fn pool(state: &State, one: &PoolUse) -> Value {
    let [addresses, in_use] = one.addresses;
    let left = one.capacity.saturating_sub(one.used);
    json!({
        "pool": String::from(one.pool),
        "state": if one.is_open { "open" } else { "drained" },
        "addresses": addresses,
        "addresses-used": in_use,
        "of": if state.allocation.layout().blocks() > 0 { "blocks" } else { "ports" },
        "capacity": one.capacity,
        "used": one.used,
        "free": if one.is_open { left } else { 0 },
        "drained": if one.is_open { 0 } else { left },
        "high-water": one.high,
    })
}

fn session(state: &State, number: u32, now: Moment) -> Option<Value> {
    let one = live(state, number)?;
    let (far, left) = (one.far, state.times.left_s(one, now));
    let mut entry = of_realm(
        (state, one.realm(), one.inside),
        json!({
            "protocol": protocol(one),
            "inside": format!("{}:{}", address(one.realm(), one.inside), one.inside_port()),
            "outside": format!("{}:{}", Ipv4Addr::from_bits(one.outside), one.outside_port),
            "remote": format!("{}:{}", Ipv4Addr::from_bits(far.address()), far.port()),
            "expected": far.is_expected(),
            "established": one.tcp.is_established(),
            "ends-in-s": left,
        }),
    );
    if far.is_granted()
        && let Some(entry) = entry.as_object_mut()
    {
        entry.insert("by".to_owned(), json!("pcp"));
    }
    Some(entry)
}

fn mapping(state: &State, number: u32) -> Option<Value> {
    let one = live(state, number)?;
    // One of the ring stands for all; to walk around it for each would hold up the worker.
    one.marks.has(Marks::FIRST).then(|| {
        of_realm(
            (state, one.realm(), one.inside),
            json!({
                "protocol": protocol(one),
                "inside": format!("{}:{}", address(one.realm(), one.inside), one.inside_port()),
                "outside": format!("{}:{}", Ipv4Addr::from_bits(one.outside), one.outside_port),
            }),
        )
    })
}

fn subscriber(state: &State, number: u32) -> Option<Value> {
    let one = state.subscribers.records.get(number as usize)?;
    if one.sessions == 0 {
        return None;
    }
    let blocks = one.blocks[..usize::from(one.block_count)].iter();
    let blocks: Vec<Value> = blocks
        .map(|&block| {
            let block = state.allocation.change(one.outside, block);
            json!(format!("{}+{}", block.first_port, block.size))
        })
        .collect();
    Some(of_realm(
        (state, one.realm, one.address),
        json!({
            "inside": inside(state, one),
            "outside": Ipv4Addr::from_bits(state.allocation.addresses.address(one.outside)),
            "sessions": one.sessions,
            "mappings": one.mappings,
            "blocks": blocks,
        }),
    ))
}

/// An entry with the VLAN of its VRF, or the B4 element of its softwire, if it has one.
fn of_realm((state, realm, address): (&State, u16, [u64; 2]), mut entry: Value) -> Value {
    if realm != 0
        && let Some(entry) = entry.as_object_mut()
    {
        match &state.softwires {
            Some(softwires) if realm >= SOFTWIRES => {
                entry.insert("b4".to_owned(), json!(softwires.names().b4(realm, address)))
            }
            _ => entry.insert("vlan".to_owned(), json!(realm)),
        };
    }
    entry
}

/// The address of a subscriber; of one behind a softwire its B4 element's.
fn inside(state: &State, one: &Subscriber) -> String {
    match &state.softwires {
        Some(softwires) if one.realm >= SOFTWIRES => {
            format!("[{}]", softwires.names().b4(one.realm, one.address))
        }
        _ => address(one.realm, one.address),
    }
}

fn blocks(state: &State, number: u32) -> Vec<Value> {
    let subscriber = state.subscribers.records.get(number as usize).filter(|one| one.sessions > 0);
    let of = |one: &Subscriber| {
        let blocks = one.blocks[..usize::from(one.block_count)].iter();
        let block = |&block: &u32| {
            let change = state.allocation.change(one.outside, block);
            json!({
                "inside": inside(state, one),
                "outside": Ipv4Addr::from_bits(state.allocation.addresses.address(one.outside)),
                "first-port": change.first_port,
                "ports": change.size,
            })
        };
        blocks.map(block).collect()
    };
    subscriber.map_or_else(Vec::new, of)
}

fn live(state: &State, number: u32) -> Option<&Session> {
    let one = state.sessions.records.get(number as usize)?;
    (one.far.protocol() != 0).then_some(one)
}

fn protocol(one: &Session) -> Value {
    match one.far.protocol() {
        wire::protocol::TCP => json!("tcp"),
        wire::protocol::UDP => json!("udp"),
        wire::protocol::ICMP => json!("icmp"),
        other => json!(other),
    }
}

/// An inside address as text.
fn address(realm: u16, of: [u64; 2]) -> String {
    match inner(realm, of) {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// An inside address; of a session behind a softwire the inner one.
fn inner(realm: u16, [high, low]: [u64; 2]) -> IpAddr {
    match realm >= SOFTWIRES || high == 0 && low <= INNER {
        true => Ipv4Addr::from_bits(low as u32).into(),
        false => Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low)).into(),
    }
}
