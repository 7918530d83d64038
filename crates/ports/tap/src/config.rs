//! The keys of the port.

use std::net::IpAddr;

use engine::KeyError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An interface to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TapConfig {
    /// Name of the interface; one that is there must be a tap interface that nobody uses.
    pub interface: String,
    /// Addresses that the kernel has on it, with the length of the prefix: `192.0.2.1/24`.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Longest packet, without Ethernet header, in bytes.
    #[serde(default = "default_mtu_bytes")]
    #[schemars(range(min = 68, max = 65_521))]
    pub mtu_bytes: u32,
    /// Takes the interface up.
    #[serde(default = "yes")]
    pub up: bool,
}

impl TapConfig {
    /// An interface with all defaults.
    pub fn new(interface: &str) -> TapConfig {
        TapConfig {
            interface: interface.to_owned(),
            addresses: Vec::new(),
            mtu_bytes: default_mtu_bytes(),
            up: true,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), KeyError> {
        let wrong = |key: &str, what: String| Err(KeyError { key: key.to_owned(), what });
        let name = &self.interface;
        let is_wrong = |c: char| c.is_whitespace() || matches!(c, '/' | ':' | '%' | '\0');
        if name.is_empty() || name.len() > NAME_LEN_MAX || name.contains(is_wrong) {
            return wrong("interface", format!("{name:?} cannot be an interface's name"));
        }
        for (index, address) in self.addresses.iter().enumerate() {
            if let Err(what) = parse_address(address) {
                return wrong(&format!("addresses[{index}]"), what);
            }
        }
        if !(MTU_BYTES_MIN..=MTU_BYTES_MAX).contains(&self.mtu_bytes) {
            let what =
                format!("{} is not from {MTU_BYTES_MIN} to {MTU_BYTES_MAX} bytes", self.mtu_bytes);
            return wrong("mtu-bytes", what);
        }
        Ok(())
    }

    /// The addresses, parsed; those that cannot be were refused before.
    pub(crate) fn parsed(&self) -> impl Iterator<Item = (IpAddr, u8)> + '_ {
        self.addresses.iter().filter_map(|address| parse_address(address).ok())
    }
}

fn parse_address(text: &str) -> Result<(IpAddr, u8), String> {
    let wrong = || format!("{text:?} is no address with the length of its prefix: 192.0.2.1/24");
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

/// IFNAMSIZ without its final zero.
const NAME_LEN_MAX: usize = 15;
/// The least that IPv4 lives with (RFC 791), and the most that a tap interface takes.
const MTU_BYTES_MIN: u32 = 68;
const MTU_BYTES_MAX: u32 = 65_521;
