//! What an operator looks for in a table.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An address, or an address with a port: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]:80`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sought {
    /// The address.
    pub address: IpAddr,
    /// The port; any if there is none.
    pub port: Option<u16>,
}

impl Sought {
    /// Whether an address with a port is what is looked for.
    pub fn is(&self, address: IpAddr, port: u16) -> bool {
        address == self.address && self.port.is_none_or(|wanted| wanted == port)
    }

    /// Whether an address with any of some ports is.
    pub fn is_among(&self, address: IpAddr, first: u16, count: u16) -> bool {
        let is_within = |port: u16| port >= first && port - first < count;
        address == self.address && self.port.is_none_or(is_within)
    }
}

impl FromStr for Sought {
    type Err = String;

    fn from_str(text: &str) -> Result<Sought, String> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let alone = bare.and_then(|inner| inner.parse::<Ipv6Addr>().ok()).map(IpAddr::from);
        if let Some(address) = alone.or_else(|| text.parse().ok()) {
            return Ok(Sought { address, port: None });
        }
        let both: SocketAddr = text.parse().map_err(|_| {
            format!(
                "`{text}` is neither an address, such as 192.0.2.1, nor one with a port, such as \
                 192.0.2.1:80 or [2001:db8::1]:80"
            )
        })?;
        Ok(Sought { address: both.ip(), port: Some(both.port()) })
    }
}

impl TryFrom<String> for Sought {
    type Error = String;

    fn try_from(text: String) -> Result<Sought, String> {
        text.parse()
    }
}

impl From<Sought> for String {
    fn from(sought: Sought) -> String {
        sought.to_string()
    }
}

impl fmt::Display for Sought {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            None => self.address.fmt(f),
            Some(port) => SocketAddr::new(self.address, port).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_for_is_read_as_it_is_written() {
        for text in ["192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80"] {
            let read: Sought = text.parse().expect(text);
            assert_eq!(read.to_string(), text);
        }
        assert_eq!("[2001:db8::1]".parse::<Sought>().map(|one| one.port), Ok(None));
        for text in ["", "192.0.2", "192.0.2.1:", "192.0.2.1:70000", "a host"] {
            assert!(text.parse::<Sought>().is_err(), "{text}");
        }
    }

    #[test]
    fn without_a_port_any_is_found() {
        let [one, all]: [Sought; 2] =
            ["192.0.2.1:1030", "192.0.2.1"].map(|text| text.parse().expect(text));
        let address = IpAddr::from([192, 0, 2, 1]);
        assert!(one.is(address, 1030) && !one.is(address, 1031) && all.is(address, 1031));
        assert!(one.is_among(address, 1024, 64) && !one.is_among(address, 1024, 6));
        assert!(!one.is_among(address, 1088, 64) && all.is_among(address, 1, 1));
        assert!(!all.is(IpAddr::from([192, 0, 2, 2]), 1030));
    }
}
