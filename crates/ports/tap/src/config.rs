//! The keys of the port.

use std::net::IpAddr;

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of a tap port: an interface to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TapConfig {
    /// Name of the interface. An existing interface must be an unused tap interface.
    pub interface: String,
    /// Addresses of the kernel on the interface, with prefix length: `192.0.2.1/24`.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// MTU: the longest packet without Ethernet header, in bytes.
    #[serde(default = "default_mtu_bytes")]
    // From the smallest MTU of IPv4 (RFC 791) to the largest of a tap interface.
    #[schemars(range(min = 68, max = 65_521))]
    pub mtu_bytes: u32,
    /// Set the interface up.
    #[serde(default = "yes")]
    pub up: bool,
}

impl TapConfig {
    /// Returns the configuration of an interface with all defaults.
    pub fn new(interface: &str) -> TapConfig {
        TapConfig {
            interface: interface.to_owned(),
            addresses: Vec::new(),
            mtu_bytes: default_mtu_bytes(),
            up: true,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        let wrong = |key: &str, what: String| Err(Invalid::new(key, what, ""));
        let name = &self.interface;
        let is_wrong = |c: char| c.is_whitespace() || matches!(c, '/' | ':' | '%' | '\0');
        if name.is_empty() || name.len() > NAME_LEN_MAX || name.contains(is_wrong) {
            return wrong("interface", format!("{name:?} is not a valid interface name"));
        }
        for (index, address) in self.addresses.iter().enumerate() {
            if let Err(what) = parse_address(address) {
                return wrong(&format!("addresses[{index}]"), what);
            }
        }
        Ok(())
    }

    /// Returns the parsed addresses; invalid addresses were refused before.
    pub(crate) fn parsed(&self) -> impl Iterator<Item = (IpAddr, u8)> + '_ {
        self.addresses.iter().filter_map(|address| parse_address(address).ok())
    }
}

fn parse_address(text: &str) -> Result<(IpAddr, u8), String> {
    let wrong = || format!("{text:?} is not an address with a prefix length such as 192.0.2.1/24");
    let (address, len) = text.split_once('/').ok_or_else(wrong)?;
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let len: u8 = len.parse().map_err(|_| wrong())?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    if len > longest { Err(wrong()) } else { Ok((address, len)) }
}

fn yes() -> bool {
    true
}

fn default_mtu_bytes() -> u32 {
    1500
}

/// Largest length of an interface name: IFNAMSIZ without its terminating zero.
const NAME_LEN_MAX: usize = 15;
