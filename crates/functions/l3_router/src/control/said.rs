//! Changes as people say them: next hops by name, and what helps where a change is refused.

use std::convert::Infallible;

use engine::Refusal;

use super::{Said, Update};
use crate::config::{Config, GROUPS, HopName, ToHop};

impl<H> Update<H> {
    /// The same change with other words for next hops.
    ///
    /// # Errors
    /// What `of` says of one.
    fn map<K, E>(self, of: impl Fn(H) -> Result<K, E>) -> Result<Update<K>, E> {
        Ok(match self {
            Update::SetRoute { prefix, next_hop, vrf } => {
                Update::SetRoute { prefix, next_hop: of(next_hop)?, vrf }
            }
            Update::RemoveRoute { prefix, vrf } => Update::RemoveRoute { prefix, vrf },
            Update::SetNextHop { number, next_hop } => {
                Update::SetNextHop { number: of(number)?, next_hop }
            }
            Update::RemoveNextHop { number } => Update::RemoveNextHop { number: of(number)? },
            Update::SetGroupMember { group, next_hop, weight } => {
                Update::SetGroupMember { group, next_hop: of(next_hop)?, weight }
            }
            Update::RemoveGroupMember { group, next_hop } => {
                Update::RemoveGroupMember { group, next_hop: of(next_hop)? }
            }
            Update::SetRule { list, number, rule } => Update::SetRule { list, number, rule },
            Update::RemoveRule { list, number } => Update::RemoveRule { list, number },
            Update::SetPolicer { number, policer } => Update::SetPolicer { number, policer },
            Update::RemovePolicer { number } => Update::RemovePolicer { number },
            Update::SetBfd { discriminator, session } => Update::SetBfd { discriminator, session },
            Update::RemoveBfd { discriminator } => Update::RemoveBfd { discriminator },
            Update::SetVirtual { port, vlan, mac, address, accept } => {
                Update::SetVirtual { port, vlan, mac, address, accept }
            }
            Update::RemoveVirtual { port, vlan, address } => {
                Update::RemoveVirtual { port, vlan, address }
            }
            Update::SetAddress { port, vlan, address } => {
                Update::SetAddress { port, vlan, address }
            }
            Update::RemoveAddress { port, vlan, address } => {
                Update::RemoveAddress { port, vlan, address }
            }
            Update::SetNeighbour { port, vlan, address, mac } => {
                Update::SetNeighbour { port, vlan, address, mac }
            }
            Update::RemoveNeighbour { port, vlan, address } => {
                Update::RemoveNeighbour { port, vlan, address }
            }
            Update::HearNeighbour { port, vlan, address, mac } => {
                Update::HearNeighbour { port, vlan, address, mac }
            }
            Update::WatchRoute { number, prefix, vrf } => {
                Update::WatchRoute { number, prefix, vrf }
            }
            Update::UnwatchRoutes {} => Update::UnwatchRoutes {},
        })
    }
}

impl Update {
    /// The change as it is said, by numbers alone.
    pub fn said(self) -> Said {
        let said = self.map(|number| Ok::<ToHop, Infallible>(number.into()));
        said.unwrap_or_else(|never| match never {})
    }
}

impl Said {
    /// The change by numbers of what has a name.
    ///
    /// # Errors
    /// What `of` says of a name.
    pub fn by_numbers<E>(self, of: impl Fn(HopName) -> Result<u32, E>) -> Result<Update, E> {
        self.map(|said| said.name.map_or(Ok(said.number), &of))
    }

    /// A change that was made by numbers.
    pub fn numbered(self) -> Update {
        let by_number = self.map(|said| Ok::<u32, Infallible>(said.number));
        by_number.unwrap_or_else(|never| match never {})
    }
}

impl From<Update> for Said {
    fn from(update: Update) -> Said {
        update.said()
    }
}

/// What helps where a change was refused.
pub(crate) fn advice(config: &Config, update: &Said, why: Refusal) -> String {
    const TABLE: &str = "`plumbline show table next-hops` lists what there is";
    let known = |hop: &ToHop| match hop.name {
        Some(_) => format!("There is no next hop {hop} at present; {TABLE}"),
        None => format!("There is no next hop {hop}. {}; {TABLE}", config.known_hops()),
    };
    match (update, why) {
        (Update::SetRoute { next_hop, .. }, Refusal::NotFound) if next_hop.is_group() => {
            let group = next_hop.number - GROUPS;
            format!("There is no group {group}: list it in 'next-hop-groups'")
        }
        (Update::SetRoute { next_hop, vrf, .. }, Refusal::NotFound) => match *vrf > config.vrfs {
            true => format!("There is no VRF {vrf}: raise 'vrfs'"),
            false => known(next_hop),
        },
        (Update::SetRoute { .. }, Refusal::Exists) => {
            "It is on a link, or the router's own: neighbours need no route".to_owned()
        }
        (Update::SetRoute { .. }, Refusal::Full) => {
            "Give a larger 'route-capacity' at the next start".to_owned()
        }
        (Update::RemoveNextHop { number }, Refusal::NotFound) => known(number),
        (Update::SetNextHop { number, .. }, Refusal::NotFound) if number.name.is_some() => {
            format!("{}; one that is new has a number", known(number))
        }
        (Update::SetNextHop { .. }, Refusal::NotFound) => {
            "Name a port and a VLAN that an interface has".to_owned()
        }
        (Update::SetNextHop { next_hop, .. }, Refusal::Exists) => match next_hop.name {
            Some(name) => format!(
                "Another next hop has the name `{name}` or its address, or the router or a route \
                 has that; {TABLE}"
            ),
            None => "Another next hop, the router or a route has its address".to_owned(),
        },
        (Update::SetNextHop { number, .. }, Refusal::Invalid) => match config.next_hops_max() {
            room if number.number >= room && number.name.is_none() => {
                format!("Numbers go to {}: give a larger 'next-hop-capacity'", room - 1)
            }
            _ => "Give it a 'mac' of one station, or an 'ip' and the router 'resolve'".to_owned(),
        },
        (
            Update::SetGroupMember { next_hop, .. } | Update::RemoveGroupMember { next_hop, .. },
            Refusal::NotFound,
        ) => {
            let groups = "Groups have the numbers of 'next-hop-groups', from 0, and \
                          'ecmp-capacity' makes room for more";
            match next_hop.name {
                Some(_) => format!("{}, or there is no such group. {groups}", known(next_hop)),
                None => groups.to_owned(),
            }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use engine::Function;
    use function_kit::{Invalid, NetworkFunction, Shard};
    use machine::clock::Clock;
    use serde_json::json;

    use super::*;
    use crate::{L3Router, Pipeline};

    fn router(keys: &serde_json::Value) -> Result<Config, Invalid> {
        let mut config: Config = serde_json::from_value(keys.clone()).expect("keys");
        L3Router::validate(&mut config)?;
        Ok(config)
    }

    #[test]
    fn next_hops_are_called_by_name_in_the_file_and_in_changes() {
        let keys = json!({
            "resolve": true,
            "next-hops": [
                {"port": "uplink", "ip": "10.1.0.9"},
                {"name": "isp-a", "port": "uplink", "ip": "10.1.0.8"},
            ],
            "next-hop-groups": [{"members": [{"next-hop": "isp-a"}, {"next-hop": 0}]}],
            "routes": [{"prefix": "0.0.0.0/0", "next-hop": "isp-a"}],
        });
        let config = router(&keys).expect("a router");
        assert_eq!(config.all_routes().map(|(_, hop)| hop).collect::<Vec<_>>(), [1]);
        assert_eq!(config.all_members().map(|(_, hop, _)| hop).collect::<Vec<_>>(), [1, 0]);
        let shown = serde_json::to_value(&config).expect("keys");
        assert_eq!(shown["routes"], keys["routes"]);
        let set = |hop: serde_json::Value| {
            let update = json!({"set-route": {"prefix": "10.9.0.0/16", "next-hop": hop}});
            serde_json::from_value::<Said>(update).expect("a change")
        };
        let told = |hop| advice(&config, &set(hop), Refusal::NotFound);
        let of_number = told(json!(7));
        assert!(of_number.starts_with("There is no next hop 7. Name one of isp-a"), "{of_number}");
        let of_name = told(json!("isp-b"));
        assert!(of_name.starts_with("There is no next hop `isp-b` at present; "), "{of_name}");
        for (key, value, what) in [
            (
                "routes",
                json!([{"prefix": "0.0.0.0/0", "next-hop": "isp-b"}]),
                "no next hop `isp-b`",
            ),
            ("next-hop-groups", json!([{"members": [{"next-hop": "b"}]}]), "no next hop `b`"),
        ] {
            let mut keys = keys.clone();
            keys[key] = value;
            let error = router(&keys).expect_err("there is none");
            assert!(error.key == key && error.what.contains(what), "{error}");
        }
    }

    /// A router that goes on with changes as people say them.
    struct Router(Pipeline);

    impl Router {
        fn new(config: &Config) -> Router {
            Router(Pipeline::new(config, Clock::with_rate(1e9), 0).expect("a small router"))
        }

        fn set(&mut self, update: serde_json::Value) -> Result<(), Refusal> {
            self.0.apply(serde_json::from_value(update).expect("a change"), 0)
        }

        /// A row of a table, by a column of it.
        fn row(&self, table: &str, column: &str, value: &serde_json::Value) -> serde_json::Value {
            let table = L3Router::TABLES.iter().position(|name| *name == table).expect("a table");
            let page = L3Router::table_page(&self.0, table, 0, 100, 0);
            page.entries.into_iter().find(|row| row[column] == *value).unwrap_or_default()
        }
    }

    fn named() -> Config {
        router(&json!({
            "resolve": true,
            "ecmp-capacity": 2,
            "next-hops": [
                {"name": "isp-a", "port": "uplink", "ip": "10.1.0.8"},
                {"name": "isp-b", "port": "uplink", "ip": "10.1.0.9"},
            ],
            "routes": [{"prefix": "0.0.0.0/0", "next-hop": "isp-a"}],
        }))
        .expect("a router")
    }

    fn next_hop(name: Option<&str>, last: u8) -> serde_json::Value {
        json!({"name": name, "port": "uplink", "ip": format!("10.1.0.{last}")})
    }

    #[test]
    fn names_that_come_while_the_router_runs_are_names_as_those_of_the_file_are() {
        let config = named();
        let mut router = Router::new(&config);
        let route = |to: &str| json!({"set-route": {"prefix": "10.9.0.0/16", "next-hop": to}});
        assert_eq!(router.set(route("isp-c")), Err(Refusal::NotFound));
        let come = |name, number: u32, last| json!({"set-next-hop": {"number": number, "next-hop": next_hop(Some(name), last)}});
        assert_eq!(router.set(come("isp-c", 7, 20)), Ok(()));
        assert_eq!(router.set(route("isp-c")), Ok(()));
        let shown = router.row("routes", "prefix", &json!("10.9.0.0/16"));
        assert_eq!((&shown["next-hop"], &shown["name"]), (&json!(7), &json!("isp-c")));
        assert_eq!(router.row("next-hops", "number", &json!(7))["name"], "isp-c");
        let member = json!({"set-group-member": {"group": 1, "next-hop": "isp-c"}});
        assert_eq!(router.set(member), Ok(()));
        assert_eq!(router.row("groups", "group", &json!(1))["next-hop"], 7);
        // A name belongs to one next hop; nothing changes where another is to have it.
        let twice = come("isp-c", 8, 21);
        assert_eq!(router.set(twice.clone()), Err(Refusal::Exists));
        assert_eq!(router.row("next-hops", "number", &json!(8)), json!(null));
        let said = serde_json::from_value(twice).expect("a change");
        let told = advice(&config, &said, Refusal::Exists);
        assert!(told.starts_with("Another next hop has the name `isp-c` or its address"), "{told}");
        // One of the file is called otherwise, and its old name is free.
        assert_eq!(router.set(come("isp-d", 0, 8)), Ok(()));
        assert_eq!(router.set(route("isp-a")), Err(Refusal::NotFound));
        assert_eq!(router.set(come("isp-a", 8, 21)), Ok(()));
        assert_eq!(router.set(route("isp-a")), Ok(()));
        assert_eq!(router.row("routes", "prefix", &json!("10.9.0.0/16"))["next-hop"], 8);
        // By its name it is set and goes; then the name is nobody's.
        let again = json!({"number": "isp-d", "next-hop": next_hop(None, 30)});
        assert_eq!(router.set(json!({"set-next-hop": again})), Ok(()));
        assert_eq!(router.row("next-hops", "number", &json!(0))["ip"], "10.1.0.30");
        assert_eq!(router.set(route("isp-d")), Err(Refusal::NotFound));
        let gone = json!({"remove-next-hop": {"number": "isp-c"}});
        assert_eq!(router.set(gone.clone()), Ok(()));
        assert_eq!(router.set(gone), Err(Refusal::NotFound));
        assert_eq!(router.set(come("isp-c", 9, 40)), Ok(()));
        // What is remembered has the names, and others call by them.
        let memory = L3Router::memory(&config, Shard::WHOLE, &router.0, 0);
        let mut other = Router::new(&config);
        for update in &memory {
            let value = serde_json::to_value(update).expect("text");
            other.set(value).unwrap_or_else(|refusal| panic!("{update:?}: {refusal}"));
        }
        assert_eq!(L3Router::memory(&config, Shard::WHOLE, &other.0, 0), memory);
        for (name, number) in [("isp-a", 8), ("isp-b", 1), ("isp-c", 9)] {
            assert_eq!(other.set(route(name)), Ok(()));
            let shown = other.row("routes", "prefix", &json!("10.9.0.0/16"));
            assert_eq!(shown["next-hop"], number, "{name}");
        }
    }

    #[test]
    fn a_reload_moves_names_and_leaves_those_that_came_meanwhile() {
        let (before, mut after) = (named(), named());
        // Two exchange their names, one of them its address, too.
        let [first, second] = [after.next_hops[0].name, after.next_hops[1].name];
        (after.next_hops[0].name, after.next_hops[1].name) = (second, first);
        after.next_hops[0].ip = Some(Ipv4Addr::new(10, 1, 0, 50));
        let mut router = Router::new(&before);
        let come = json!({"number": 9, "next-hop": next_hop(Some("isp-c"), 40)});
        assert_eq!(router.set(json!({"set-next-hop": come})), Ok(()));
        for update in L3Router::difference(&before, &after).expect("tables alone differ") {
            router.0.apply(update, 0).unwrap_or_else(|refusal| panic!("{update:?}: {refusal}"));
        }
        for (name, number) in [("isp-a", 1), ("isp-b", 0), ("isp-c", 9)] {
            let route = json!({"set-route": {"prefix": "10.9.0.0/16", "next-hop": name}});
            assert_eq!(router.set(route), Ok(()));
            let shown = router.row("routes", "prefix", &json!("10.9.0.0/16"));
            assert_eq!((&shown["next-hop"], &shown["name"]), (&json!(number), &json!(name)));
        }
    }
}
