//! Changes as people say them: next hops by name, and what helps where a change is refused.

use engine::Refusal;
use function_kit::Invalid;

use super::Update;
use crate::config::{Config, GROUPS, ToHop};

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

impl Update<ToHop> {
    /// The change with numbers in place of names, which are those of a configuration.
    ///
    /// # Errors
    /// A name that it does not have.
    pub(crate) fn meant(self, config: &Config) -> Result<Update, Invalid> {
        self.map(|said| {
            config
                .number_of_hop(said)
                .map_err(|(what, remedy)| Invalid::new("next-hop", what, remedy))
        })
    }
}

/// What helps where a change was refused.
pub(crate) fn advice(config: &Config, update: &Update, why: Refusal) -> String {
    const TABLE: &str = "`plumbline show table next-hops` lists what there is";
    let known = || format!("{}; {TABLE}", config.known_hops());
    match (update, why) {
        (Update::SetRoute { next_hop, .. }, Refusal::NotFound) if *next_hop >= GROUPS => {
            let group = next_hop - GROUPS;
            format!("There is no group {group}: list it in 'next-hop-groups'")
        }
        (Update::SetRoute { next_hop, vrf, .. }, Refusal::NotFound) => match *vrf > config.vrfs {
            true => format!("There is no VRF {vrf}: raise 'vrfs'"),
            false => format!("There is no next hop {next_hop}. {}", known()),
        },
        (Update::SetRoute { .. }, Refusal::Exists) => {
            "It is on a link, or the router's own: neighbours need no route".to_owned()
        }
        (Update::SetRoute { .. }, Refusal::Full) => {
            "Give a larger 'route-capacity' at the next start".to_owned()
        }
        (Update::RemoveNextHop { number }, Refusal::NotFound) => {
            format!("There is no next hop {number}. {}", known())
        }
        (Update::SetNextHop { .. }, Refusal::NotFound) => {
            "Name a port and a VLAN that an interface has".to_owned()
        }
        (Update::SetNextHop { .. }, Refusal::Exists) => {
            "Another next hop, the router or a route has its address".to_owned()
        }
        (Update::SetNextHop { number, .. }, Refusal::Invalid) => match config.next_hops_max() {
            room if *number >= room => {
                format!("Numbers go to {}: give a larger 'next-hop-capacity'", room - 1)
            }
            _ => "Give it a 'mac' of one station, or an 'ip' and the router 'resolve'".to_owned(),
        },
        (Update::SetGroupMember { .. } | Update::RemoveGroupMember { .. }, Refusal::NotFound) => {
            "Groups have the numbers of 'next-hop-groups', from 0, and 'ecmp-capacity' makes room \
             for more"
                .to_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use function_kit::NetworkFunction;
    use serde_json::json;

    use super::*;
    use crate::L3Router;

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
        let meant = |update: serde_json::Value| {
            serde_json::from_value::<Update<ToHop>>(update).expect("a change").meant(&config)
        };
        let set = |hop: serde_json::Value| {
            meant(json!({"set-route": {"prefix": "10.9.0.0/16", "next-hop": hop}}))
        };
        assert_eq!(set(json!("isp-a")), set(json!(1)));
        let unknown = set(json!("isp-b")).expect_err("there is none");
        assert_eq!(unknown.what, "there is no next hop `isp-b` in `next-hops`");
        assert_eq!(unknown.remedy, "Name one of isp-a, or say a number up to 1");
        let update = set(json!(7)).expect("a number");
        let told = advice(&config, &update, Refusal::NotFound);
        assert!(told.starts_with("There is no next hop 7. Name one of isp-a"), "{told}");
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
}
