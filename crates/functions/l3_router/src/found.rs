//! What an operator finds by an address: the route that a packet takes, its next hop, and whoever
//! has the address.

use std::net::IpAddr;

use function_kit::{Sought, TablePage};
use packet::Verdict;
use serde_json::{Value, json};
use wire::MacAddr;

use super::config::{GROUPS, Network, NextHop};
use super::pipeline::Pipeline;
use super::reasons;
use super::state::{State, host};
use super::tables;

/// Entries of a table that an address leads to or belongs to; none of a table without addresses.
/// All are looked at at once: routes are found by their prefixes, the others are few.
pub(super) fn page(router: &Pipeline, table: usize, sought: Sought) -> Option<TablePage> {
    let (state, address) = (router.state(), sought.address);
    let entries = match *tables::NAMES.get(table)? {
        "routes" => routes(state, address),
        "next-hops" => {
            let has = |hop: &NextHop| match address {
                IpAddr::V4(address) => hop.ip == Some(address),
                IpAddr::V6(address) => hop.ipv6 == Some(address),
            };
            let all = state.neighbours.iter().filter(|(_, hop)| has(hop));
            all.map(|(&number, hop)| tables::next_hop(number, hop)).collect()
        }
        "neighbours" => {
            let all = router.neighbours().into_iter().flat_map(|all| all.entries());
            let all = all.filter(|entry| entry.address == address);
            all.map(|entry| tables::neighbour(state, entry)).collect()
        }
        _ => return None,
    };
    Some(TablePage { entries, next: None })
}

/// The route that a packet to an address takes in each VRF that has one.
fn routes(state: &State, address: IpAddr) -> Vec<Value> {
    let longest = |vrf: u16| {
        let prefixes = (0..=host(vrf, address).len).rev();
        let mut prefixes = prefixes.map(|len| Network { vrf, address: of_len(address, len), len });
        prefixes.find_map(|network| Some((network, state.get(network)?)))
    };
    let vrfs = 0..state.routes.ipv4.limits().tables;
    vrfs.filter_map(longest).map(|(network, hop)| route(state, network, hop)).collect()
}

/// An address with nothing behind the first bits.
fn of_len(address: IpAddr, len: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
            IpAddr::V6((address.to_bits() & mask).into())
        }
    }
}

/// Where a route leads: to the router itself, to whoever has the address on a link, to a group, or
/// to a next hop, of which it says how frames are addressed, or why none leave.
fn route(state: &State, network: Network, number: u32) -> Value {
    let Network { vrf, address, len } = network;
    let entries = state.entries;
    let leads_to = match number {
        group if group >= GROUPS => format!("group {}", group - GROUPS),
        link if link >= entries.link => "link".to_owned(),
        local if local == entries.local => "router".to_owned(),
        _ => match state.neighbours.get(&number).and_then(|hop| hop.name) {
            Some(name) => format!("next hop {number} ({name})"),
            None => format!("next hop {number}"),
        },
    };
    let mut row = json!({"vrf": vrf, "prefix": format!("{address}/{len}"), "leads-to": leads_to});
    let hop = match number {
        group if group >= GROUPS => None,
        _ => state.hops.get(number as usize),
    };
    let Some(hop) = hop else { return row };
    let is_somewhere = hop.interface < state.interfaces.len();
    let own = is_somewhere.then(|| state.interfaces.get(hop.interface));
    let port = own.and_then(|own| state.interfaces.ports().get(usize::from(own.port.0)));
    let listed = state.neighbours.get(&number);
    let mac = hop.macs.first_chunk().map(|mac| MacAddr(*mac));
    let (mac, why) = match hop.verdict {
        Verdict::Forward(_) => (mac, None),
        Verdict::Drop(reason) => (None, Some(reasons::name(reason))),
        Verdict::Punt(_) => (None, None),
    };
    row["port"] = json!(port);
    row["vlan"] = json!(own.map(|own| own.vlan));
    row["address"] = json!(listed.and_then(|hop| address_of(hop, address)));
    row["mac"] = json!(mac.map(|mac| mac.to_string()));
    row["dropped-as"] = json!(why);
    row
}

/// The address of a next hop, of the version of a route.
fn address_of(hop: &NextHop, of: IpAddr) -> Option<IpAddr> {
    match of {
        IpAddr::V4(_) => hop.ip.map(IpAddr::from),
        IpAddr::V6(_) => hop.ipv6.map(IpAddr::from),
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Config, Mac, Prefixed, UPLINK};
    use super::super::control::Update;
    use super::*;

    #[test]
    fn the_route_that_a_packet_takes_is_found_in_each_vrf() {
        let hop = |last: u8| NextHop {
            port: UPLINK,
            mac: Mac(MacAddr([2, 0, 0, 0, 0, last])),
            vlan: None,
            source: None,
            ip: Some([10, 1, 200, last].into()),
            ipv6: None,
            bfd: None,
            name: None,
        };
        let next_hops = vec![hop(1), hop(2)];
        let config = Config { ipv6: true, vrfs: 2, next_hops, ..Config::default() };
        let clock = machine::clock::Clock::with_rate(1e9);
        let mut router = Pipeline::new(&config, clock, 0).expect("a small router");
        let routes = [
            ("0.0.0.0/0", 0, 0),
            ("198.51.100.0/24", 1, 0),
            ("198.51.0.0/16", 0, 1),
            ("2001:db8::/32", 1, 0),
        ];
        for (text, next_hop, vrf) in routes {
            let prefix = Prefixed::try_from(text.to_owned()).expect("a prefix");
            let update = Update::SetRoute { prefix, next_hop, vrf };
            router.change(update, 0).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        }
        let found = |table: &str, address: &str| {
            let table = tables::NAMES.iter().position(|name| *name == table).expect("a table");
            let sought: Sought = address.parse().expect("an address");
            page(&router, table, sought).map(|page| page.entries)
        };
        let told = |address: &str| -> Vec<[String; 4]> {
            let rows = found("routes", address).expect("routes have addresses");
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            rows.iter()
                .map(|row| ["prefix", "leads-to", "mac", "dropped-as"].map(|key| text(&row[key])))
                .collect()
        };
        let of = |words: [&str; 4]| words.map(str::to_owned);
        let first = ["02:00:00:00:00:01", ""];
        let [mac, none] = first;
        assert_eq!(
            told("198.51.100.9"),
            [
                of(["198.51.100.0/24", "next hop 1", "02:00:00:00:00:02", none]),
                of(["198.51.0.0/16", "next hop 0", mac, none]),
            ]
        );
        assert_eq!(told("192.0.2.1"), [of(["0.0.0.0/0", "next hop 0", mac, none])]);
        assert_eq!(told("2001:db8:1::1")[0][0], "2001:db8::/32");
        assert_eq!(told("2001:db9::1").len(), 0);
        assert_eq!(found("next-hops", "10.1.200.2").map(|rows| rows.len()), Some(1));
        assert_eq!(found("policers", "10.1.200.2"), None);
    }
}
