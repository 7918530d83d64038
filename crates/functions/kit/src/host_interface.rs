//! Interfaces of a function that programs of the host use as their own.

use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::MacAddr;

use crate::port_name::PortName;
use crate::sections::Prefixed;

/// Under which name the host sees an interface, and where: `NAME`, or `{name: NAME, namespace:
/// NAMESPACE}`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(untagged)]
pub enum HostPlace {
    /// A name in the network namespace of the daemon.
    Here(PortName),
    /// A name in a network namespace that `ip netns` knows.
    In(Named),
}

/// A name in a network namespace.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Named {
    /// The name of the interface, at most 15 bytes.
    pub name: PortName,
    /// The namespace by its name below `/run/netns`; none for that of the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<PortName>,
}

impl HostPlace {
    /// The name of the interface.
    pub fn name(&self) -> PortName {
        self.named().name
    }

    /// The network namespace by its name; none for that of the daemon.
    pub fn namespace(&self) -> Option<PortName> {
        self.named().namespace
    }

    /// Whether an interface of Linux can have this name.
    pub fn is_usable(&self) -> bool {
        let name = self.name();
        name.len() <= NAME_LEN_MAX && !RESERVED.contains(&name.as_str())
    }

    fn named(&self) -> Named {
        match *self {
            HostPlace::Here(name) => Named { name, namespace: None },
            HostPlace::In(named) => named,
        }
    }
}

/// An interface as the host is to see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostInterface {
    /// Its name and namespace.
    pub place: HostPlace,
    /// The function's number of the interface.
    pub number: u16,
    /// Its Ethernet address.
    pub mac: MacAddr,
    /// The name of its port.
    pub port: PortName,
    /// Its VLAN, whose tag frames of the host do not have; 0 for none.
    pub vlan: u16,
    /// The longest packet in bytes; 0 for whatever its port takes.
    pub mtu: u16,
    /// Its IPv4 address with the length of the link's prefix.
    pub ip: Option<Prefixed<Ipv4Addr>>,
    /// Its IPv6 address.
    pub ipv6: Option<Prefixed<Ipv6Addr>>,
    /// The function's number of its VRF; 0 for the main one.
    pub vrf: u16,
}

/// The longest name of an interface: IFNAMSIZ without its terminating zero.
const NAME_LEN_MAX: usize = 15;

/// What stands for other than one interface below `/proc/sys/net/ipv4/conf`.
const RESERVED: [&str; 2] = ["all", "default"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_name_or_a_name_in_a_namespace() {
        let read = |text: &str| serde_json::from_str::<HostPlace>(text).expect(text);
        let here = read("\"up0\"");
        assert_eq!((here.name().as_str(), here.namespace()), ("up0", None));
        let there = read(r#"{"name": "up0", "namespace": "hosts"}"#);
        assert_eq!(there.namespace(), Some(PortName::new("hosts")));
        assert_eq!(serde_json::to_string(&here).expect("text"), "\"up0\"");
        assert!(here.is_usable() && !read("\"all\"").is_usable());
        assert!(!read("\"sixteen-bytes-ab\"").is_usable());
        assert!(serde_json::from_str::<HostPlace>(r#"{"name": "up0", "nick": 1}"#).is_err());
    }
}
