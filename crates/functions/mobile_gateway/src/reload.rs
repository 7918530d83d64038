//! From one state of a running gateway to another, said as changes.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use engine::steering::worker_of;
use function_kit::sections::Prefixed;
use function_kit::{Invalid, Shard};
use units::BytesPerSec;

use super::config::{BaseStation, Config, NextHop, Route, User};
use super::control::Update;
use super::state::State;
use super::steering;

/// What is there at a time, each by its name.
struct Listed {
    stations: BTreeMap<Ipv4Addr, BaseStation>,
    hops: BTreeMap<IpAddr, NextHop>,
    routes: BTreeMap<Prefixed<IpAddr>, Route>,
    users: BTreeMap<Ipv4Addr, User>,
}

impl Listed {
    fn of_config(config: &Config, is_own: impl Fn(&User) -> bool) -> Listed {
        let users = config.users.iter().copied().filter(is_own).map(as_kept);
        Listed::new(
            config.base_stations.iter().copied(),
            config.next_hops.iter().copied(),
            config.routes.iter().copied(),
            users.map(|user| User { ipv6: user.ipv6.filter(|_| config.ipv6), ..user }),
        )
    }

    fn of_state(state: &State) -> Listed {
        Listed::new(state.stations(), state.core_hops(), state.core_routes(), state.users())
    }

    fn new(
        stations: impl Iterator<Item = BaseStation>,
        hops: impl Iterator<Item = NextHop>,
        routes: impl Iterator<Item = Route>,
        users: impl Iterator<Item = User>,
    ) -> Listed {
        Listed {
            stations: stations.map(|station| (station.address, station)).collect(),
            hops: hops.map(|hop| (hop.address, hop)).collect(),
            routes: routes.map(|route| (route.prefix, route)).collect(),
            users: users.map(|user| (user.ipv4, user)).collect(),
        }
    }

    /// The changes that lead from this to another: what refers to something goes before it and
    /// comes after it.
    fn changes_to(&self, wanted: &Listed) -> Vec<Update> {
        let stays = |user: &User, other: &User| {
            User { base_station: other.base_station, ..*user } == *other
        };
        let mut changes = Vec::new();
        for (ipv4, user) in &self.users {
            if !wanted.users.get(ipv4).is_some_and(|other| stays(user, other)) {
                changes.push(Update::RemoveUser { ipv4: *ipv4 });
            }
        }
        let gone = |(prefix, route): &(&Prefixed<IpAddr>, &Route)| {
            wanted.routes.get(*prefix) != Some(*route)
                || wanted.hops.get(&route.next_hop) != self.hops.get(&route.next_hop)
        };
        let routes = self.routes.iter().filter(gone);
        changes.extend(routes.map(|(prefix, _)| Update::RemoveRoute { prefix: *prefix }));
        for (address, hop) in &self.hops {
            if wanted.hops.get(address) != Some(hop) {
                changes.push(Update::RemoveNextHop { address: *address });
            }
        }
        for (address, station) in &self.stations {
            if wanted.stations.get(address) != Some(station) {
                changes.push(Update::RemoveBaseStation { address: *address });
            }
        }
        for (address, station) in &wanted.stations {
            if self.stations.get(address) != Some(station) {
                changes.push(Update::AddBaseStation(*station));
            }
        }
        for (address, hop) in &wanted.hops {
            if self.hops.get(address) != Some(hop) {
                changes.push(Update::AddNextHop(*hop));
            }
        }
        for (prefix, route) in &wanted.routes {
            if self.routes.get(prefix).is_none_or(|own| gone(&(prefix, own))) {
                changes.push(Update::AddRoute(*route));
            }
        }
        for (ipv4, user) in &wanted.users {
            let base_station = user.base_station;
            match self.users.get(ipv4) {
                Some(own) if own == user => {}
                Some(own) if stays(own, user) => {
                    changes.push(Update::Handover { ipv4: *ipv4, base_station });
                }
                _ => changes.push(Update::AddUser(*user)),
            }
        }
        changes
    }
}

/// A user as the state gives it back: rates of its own are rounded.
fn as_kept(user: User) -> User {
    let rounded =
        |rate: Option<BytesPerSec>| rate.map(|rate| BytesPerSec(f64::from(rate.0 as f32)));
    User {
        uplink_rate: rounded(user.uplink_rate),
        downlink_rate: rounded(user.downlink_rate),
        ..user
    }
}

/// What is listed may come, go and change; everything else is part of what a packet's way is made
/// of.
///
/// # Errors
/// The first other key that differs.
pub(super) fn difference(running: &Config, wanted: &Config) -> Result<Vec<Update>, Invalid> {
    if let Some(key) = differing_key(running, wanted) {
        return Err(Invalid {
            section: "function",
            key: key.into(),
            what: "cannot be changed while the gateway runs".into(),
            remedy: "Change `users`, `routes`, `next-hops` or `base-stations` only, or restart it"
                .into(),
        });
    }
    let [running, wanted] = [running, wanted].map(|config| Listed::of_config(config, |_| true));
    Ok(running.changes_to(&wanted))
}

/// The changes that undo what was applied out of a difference, the last one first.
pub(super) fn undoing(running: &Config, applied: &[Update]) -> Vec<Update> {
    let before = Listed::of_config(running, |_| true);
    let undo = |update: &Update| {
        let undone = match update {
            Update::AddUser(user) => Some(Update::RemoveUser { ipv4: user.ipv4 }),
            Update::RemoveUser { ipv4 } => before.users.get(ipv4).copied().map(Update::AddUser),
            Update::Handover { ipv4, .. } => before
                .users
                .get(ipv4)
                .map(|user| Update::Handover { ipv4: *ipv4, base_station: user.base_station }),
            Update::AddBaseStation(BaseStation { address, .. }) => {
                Some(Update::RemoveBaseStation { address: *address })
            }
            Update::RemoveBaseStation { address } => {
                before.stations.get(address).copied().map(Update::AddBaseStation)
            }
            Update::AddNextHop(NextHop { address, .. }) => {
                Some(Update::RemoveNextHop { address: *address })
            }
            Update::RemoveNextHop { address } => {
                before.hops.get(address).copied().map(Update::AddNextHop)
            }
            Update::AddRoute(Route { prefix, .. }) => Some(Update::RemoveRoute { prefix: *prefix }),
            Update::RemoveRoute { prefix } => {
                before.routes.get(prefix).copied().map(Update::AddRoute)
            }
        };
        // A difference removes and moves only what the configuration lists.
        undone.unwrap_or(*update)
    };
    applied.iter().rev().map(undo).collect()
}

/// What came, went or moved since the gateway was configured.
pub(super) fn memory(config: &Config, shard: Shard, state: &State) -> Vec<Update> {
    let steering = steering::of_config(config);
    let is_own = |user: &User| {
        worker_of(steering::of_user(&steering, user.ipv4), shard.count) == shard.index
    };
    Listed::of_config(config, is_own).changes_to(&Listed::of_state(state))
}

/// The first key that differs, of those that cannot change.
fn differing_key(running: &Config, wanted: &Config) -> Option<&'static str> {
    let differs = [
        ("core", running.core != wanted.core),
        ("fakedrop", running.fakedrop != wanted.fakedrop),
        ("gw-ip", running.gw_ip != wanted.gw_ip),
        ("gw-ipv6", running.gw_ipv6 != wanted.gw_ipv6),
        ("gw-mac", running.gw_mac != wanted.gw_mac),
        ("tunnel", running.tunnel != wanted.tunnel),
        ("ipv6", running.ipv6 != wanted.ipv6),
        ("rate-limit", running.rate_limit != wanted.rate_limit),
        ("mss-clamp", running.mss_clamp != wanted.mss_clamp),
        ("check-ports", running.check_ports != wanted.check_ports),
        ("access-mtu", running.access_mtu != wanted.access_mtu),
        ("core-mtu", running.core_mtu != wanted.core_mtu),
        ("fragment", running.fragment != wanted.fragment),
        ("fragments", running.fragments != wanted.fragments),
        ("icmp-errors-per-s", running.icmp_errors_per_s != wanted.icmp_errors_per_s),
        ("icmp-error-burst", running.icmp_error_burst != wanted.icmp_error_burst),
        ("gtp-errors-per-s", running.gtp_errors_per_s != wanted.gtp_errors_per_s),
        ("pings-per-s", running.pings_per_s != wanted.pings_per_s),
        ("user-networks", running.user_networks != wanted.user_networks),
        ("user-to-user", running.user_to_user != wanted.user_to_user),
        ("user-counters", running.user_counters != wanted.user_counters),
        ("burst-ms", running.burst_ms != wanted.burst_ms),
        ("user-capacity", running.user_capacity != wanted.user_capacity),
        ("base-station-capacity", running.base_station_capacity != wanted.base_station_capacity),
        ("next-hop-capacity", running.next_hop_capacity != wanted.next_hop_capacity),
        ("route-capacity", running.route_capacity != wanted.route_capacity),
        ("secret", running.secret != wanted.secret),
    ];
    differs.iter().find(|(_, differs)| *differs).map(|(key, _)| *key)
}

#[cfg(test)]
mod tests {
    use engine::Function;
    use function_kit::sections::Mac;
    use machine::clock::Clock;
    use wire::MacAddr;

    use super::super::Pipeline;
    use super::*;

    fn pipeline(config: &Config) -> Pipeline {
        Pipeline::new(config, Shard::WHOLE, Clock::with_rate(1e9), 0).expect("a small gateway")
    }

    fn station(last: u8) -> BaseStation {
        let mac = Some(Mac(MacAddr([2, 0, 0, 0, 1, last])));
        BaseStation { address: Ipv4Addr::new(10, 1, 0, last), mac }
    }

    fn hop(last: u8) -> NextHop {
        let address = Ipv4Addr::new(198, 51, 100, last).into();
        let mac = Some(Mac(MacAddr([2, 0, 0, 0, 2, last])));
        NextHop { address, mac, source_mac: None }
    }

    fn route(third: u8, by: u8) -> Route {
        let address = Ipv4Addr::new(5, 0, third, 0).into();
        Route { prefix: Prefixed { address, len: 24 }, next_hop: hop(by).address }
    }

    fn user(number: u8) -> User {
        User {
            ipv4: Ipv4Addr::new(10, 0, 0, number),
            ipv6: None,
            teid: u32::from(number) + 1,
            base_station: station(number % 2).address,
            uplink_rate: (number == 3).then_some(BytesPerSec(123_456_789.0)),
            downlink_rate: None,
        }
    }

    fn config() -> Config {
        Config {
            base_stations: (0..2).map(station).collect(),
            next_hops: (0..2).map(hop).collect(),
            routes: (0..4).map(|number| route(number, 0)).collect(),
            users: (0..10).map(user).collect(),
            ..Config::default()
        }
    }

    #[test]
    fn what_changed_is_remembered_and_restored() {
        let config = config();
        let mut one = pipeline(&config);
        assert_eq!(memory(&config, Shard::WHOLE, one.state()), []);
        let changes = [
            Update::RemoveUser { ipv4: user(2).ipv4 },
            Update::AddBaseStation(station(7)),
            Update::Handover { ipv4: user(5).ipv4, base_station: station(7).address },
            Update::AddUser(user(13)),
            Update::RemoveRoute { prefix: route(1, 0).prefix },
            Update::RemoveRoute { prefix: route(2, 0).prefix },
            Update::AddNextHop(hop(5)),
            Update::AddRoute(route(2, 5)),
            Update::AddRoute(route(9, 1)),
        ];
        changes.iter().for_each(|change| one.apply(*change, 0).expect("possible"));
        let remembered = memory(&config, Shard::WHOLE, one.state());
        assert_eq!(remembered.len(), changes.len(), "{remembered:?}");
        let mut other = pipeline(&config);
        remembered.iter().for_each(|change| other.apply(*change, 0).expect("possible"));
        assert_eq!(memory(&config, Shard::WHOLE, other.state()), remembered);
    }

    #[test]
    fn a_difference_leads_from_the_one_to_the_other_and_back() {
        let running = config();
        let mut wanted = config();
        wanted.base_stations[0].mac = Some(Mac(MacAddr([2, 0, 0, 0, 9, 9])));
        wanted.base_stations[1].mac = None;
        wanted.base_stations.push(station(4));
        wanted.next_hops[0].mac = Some(Mac(MacAddr([2, 0, 0, 0, 9, 8])));
        wanted.next_hops[1].mac = None;
        wanted.routes.truncate(3);
        wanted.users[4].base_station = station(4).address;
        wanted.users[5].teid = 700;
        wanted.users.remove(1);
        wanted.users.push(user(40));
        let mut one = pipeline(&running);
        let changes = difference(&running, &wanted).expect("only what is listed differs");
        for update in &changes {
            one.apply(*update, 0).unwrap_or_else(|refusal| panic!("{update:?}: {refusal}"));
        }
        assert_eq!(memory(&wanted, Shard::WHOLE, one.state()), []);
        for update in undoing(&running, &changes) {
            one.apply(update, 0).unwrap_or_else(|refusal| panic!("{update:?}: {refusal}"));
        }
        assert_eq!(memory(&running, Shard::WHOLE, one.state()), []);
        let wanted = Config { gw_ip: Ipv4Addr::new(200, 0, 0, 9), ..config() };
        let error = difference(&running, &wanted).expect_err("its own address");
        assert_eq!(error.key, "gw-ip");
    }

    #[test]
    fn every_key_but_those_of_lists_needs_a_restart() {
        let gw_ipv6 = Some("2001:db8::1".parse().expect("an address"));
        let running = Config { secret: Some(1), gw_ipv6, ..Config::default() };
        let Ok(serde_json::Value::Object(keys)) = serde_json::to_value(&running) else {
            panic!("a map of keys");
        };
        for (key, value) in &keys {
            let other = match (&**key, value) {
                ("base-stations" | "next-hops" | "routes" | "users", _) => continue,
                ("gw-ip", _) => "200.0.0.9".into(),
                ("gw-ipv6", _) => "2001:db8::9".into(),
                ("gw-mac", _) => "02:00:00:00:00:09".into(),
                ("tunnel", _) => "vxlan".into(),
                ("fragment", _) => "tunnel".into(),
                ("fragments", _) => serde_json::json!({"waiting": 7}),
                ("user-networks", _) => serde_json::json!(["10.45.0.0/16"]),
                ("user-to-user", _) => "core".into(),
                (_, serde_json::Value::Bool(flag)) => (!flag).into(),
                _ => 5.into(),
            };
            let mut changed = keys.clone();
            changed.insert(key.clone(), other);
            let wanted = serde_json::from_value(changed.into()).expect("a configuration");
            assert!(wanted != running || key == "burst-ms", "{key}");
            if wanted != running {
                let refused = difference(&running, &wanted).expect_err(key);
                assert_eq!(refused.key, *key);
            }
        }
    }
}
