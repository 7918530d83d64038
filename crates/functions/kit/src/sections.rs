//! What the sections of several functions have in common: directions, and addresses as text.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use keys::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::MacAddr;

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dir {
    /// From users to servers.
    Uplink,
    /// From servers to users.
    Downlink,
    /// Downlink and uplink, at the same rate each.
    #[serde(alias = "bidirectional")]
    Bidir,
}

/// Ports from one to another, both included: `{first: 1, last: 1023}`, `[1, 1023]`, `1-1023`, or a
/// single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SaidPorts")]
pub struct Ports {
    /// The lowest.
    pub first: u16,
    /// The highest.
    pub last: u16,
}

/// Ports as they may be said.
#[derive(Deserialize)]
#[serde(untagged, expecting = "ports are written as 1-1023, [1, 1023] or {first: 1, last: 1023}")]
enum SaidPorts {
    Range(NamedPorts),
    Pair([u16; 2]),
    One(u16),
    Text(String),
}

/// Ports by the names of both ends, in the words of any function.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedPorts {
    #[serde(alias = "first-port")]
    first: u16,
    #[serde(alias = "last-port")]
    last: u16,
}

impl TryFrom<SaidPorts> for Ports {
    type Error = String;

    fn try_from(said: SaidPorts) -> Result<Ports, String> {
        let [first, last] = match said {
            SaidPorts::Range(NamedPorts { first, last }) | SaidPorts::Pair([first, last]) => {
                [first, last]
            }
            SaidPorts::One(port) => [port, port],
            SaidPorts::Text(text) => {
                let (first, last) = text.split_once('-').unwrap_or((&text, &text));
                match (first.trim().parse(), last.trim().parse()) {
                    (Ok(first), Ok(last)) => [first, last],
                    _ => return Err(format!("`{text}` are no ports; write 1-1023, for example")),
                }
            }
        };
        Ok(Ports { first, last })
    }
}

impl JsonSchema for Ports {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ports".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let port = schemars::json_schema!({"type": "integer", "minimum": 0, "maximum": 65535});
        let described = |text: &str| {
            let mut one = port.clone();
            one.insert("description".into(), text.into());
            one
        };
        schemars::json_schema!({
            "description": "Ports from one to another, both included.",
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "first": described("The lowest."),
                        "last": described("The highest."),
                    },
                    "required": ["first", "last"],
                    "additionalProperties": false,
                },
                {"type": "array", "items": port, "minItems": 2, "maxItems": 2},
                port,
                {"type": "string", "pattern": "^[0-9]+( *- *[0-9]+)?$"},
            ],
        })
    }
}

/// An Ethernet address as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mac(#[serde(with = "mac")] pub MacAddr);

/// A network, or an address on a link with the length of the link's prefix: `10.0.0.1/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Prefixed<A: IsAddress> {
    /// The address.
    pub address: A,
    /// Length of the prefix in bits.
    pub len: u8,
}

/// What a prefix can be of.
pub trait IsAddress: FromStr + Display + Copy {
    /// An example for messages.
    const EXAMPLE: &'static str;

    /// Bits of this address.
    fn bits(&self) -> u8;
}

impl IsAddress for Ipv4Addr {
    const EXAMPLE: &'static str = "10.0.0.1/24";

    fn bits(&self) -> u8 {
        32
    }
}

impl IsAddress for Ipv6Addr {
    const EXAMPLE: &'static str = "3fff:0:1::1/64";

    fn bits(&self) -> u8 {
        128
    }
}

impl IsAddress for IpAddr {
    const EXAMPLE: &'static str = "192.0.2.0/24 or 2001:db8::/32";

    fn bits(&self) -> u8 {
        if self.is_ipv4() { 32 } else { 128 }
    }
}

impl<A: IsAddress> TryFrom<String> for Prefixed<A> {
    type Error = String;

    fn try_from(text: String) -> Result<Prefixed<A>, String> {
        let parsed = text.split_once('/').and_then(|(address, len)| {
            let address: A = address.parse().ok()?;
            let len: u8 = len.parse().ok()?;
            (len <= address.bits()).then_some(Prefixed { address, len })
        });
        parsed.ok_or_else(|| {
            let host = text.parse::<A>().map(|one| format!("; `{text}/{}` is itself", one.bits()));
            format!("`{text}` is not written like {}{}", A::EXAMPLE, host.unwrap_or_default())
        })
    }
}

impl<A: IsAddress> From<Prefixed<A>> for String {
    fn from(prefixed: Prefixed<A>) -> String {
        format!("{}/{}", prefixed.address, prefixed.len)
    }
}

impl<A: IsAddress> JsonSchema for Prefixed<A> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Prefix".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let description = format!("An address and the length of its prefix: {}.", A::EXAMPLE);
        schemars::json_schema!({ "type": "string", "description": description })
    }

    fn inline_schema() -> bool {
        true
    }
}

impl JsonSchema for Mac {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MacAddress".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "An Ethernet address like aa:22:bb:44:cc:66.",
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// Protocols of IP as numbers or by their names, for serde and the schema.
pub mod protocol {
    use serde::{Deserialize, Deserializer, de};

    /// Protocol as it may be said.
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a protocol is a number from 0 to 255 or a name like tcp")]
    enum Said {
        Number(u8),
        Name(String),
    }

    /// Reads a number, or a name of the registry of protocol numbers.
    ///
    /// # Errors
    /// When it is none; the text names those that there are.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u8>, D::Error> {
        let Some(said) = Option::<Said>::deserialize(from)? else { return Ok(None) };
        let name = match said {
            Said::Number(number) => return Ok(Some(number)),
            Said::Name(name) => name,
        };
        let known = NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        let number = known.map(|(_, number)| *number).or_else(|| name.parse().ok());
        number.map(Some).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            de::Error::custom(format!("`{name}` is none of {names}, and no number up to 255"))
        })
    }

    /// Schema of a protocol.
    pub fn schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        schemars::json_schema!({
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 255},
                {"type": "string", "examples": names},
                {"type": "null"},
            ],
        })
    }

    /// Names in the registry of protocol numbers (RFC 5237), in lower case.
    const NAMES: [(&str, u8); 14] = [
        ("icmp", 1),
        ("igmp", 2),
        ("ipv4", 4),
        ("tcp", 6),
        ("udp", 17),
        ("dccp", 33),
        ("ipv6", 41),
        ("gre", 47),
        ("esp", 50),
        ("ipv6-icmp", 58),
        ("icmpv6", 58),
        ("ospf", 89),
        ("sctp", 132),
        ("udp-lite", 136),
    ];
}

/// Ethernet addresses as text, for serde.
pub mod mac {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use wire::MacAddr;

    /// Writes an address.
    ///
    /// # Errors
    /// What the serializer says.
    pub fn serialize<S: Serializer>(mac: &MacAddr, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(mac)
    }

    /// Reads an address.
    ///
    /// # Errors
    /// When the text is none.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<MacAddr, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// A key of the `function` section that cannot be used.
pub fn function_key(key: &str, what: String, remedy: &str) -> Invalid {
    Invalid { section: "function", key: key.into(), what, remedy: remedy.into() }
}

/// A key of the `traffic` section that cannot be used.
pub fn traffic_key(key: &str, what: String, remedy: &str) -> Invalid {
    Invalid { section: "traffic", key: key.into(), what, remedy: remedy.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_said_in_several_ways() {
        let read = |text: &str| serde_json::from_str::<Ports>(text);
        for text in [
            r#"{"first": 7, "last": 9}"#,
            r#"{"first-port": 7, "last-port": 9}"#,
            "[7, 9]",
            r#""7-9""#,
            r#""7 - 9""#,
        ] {
            assert_eq!(read(text).expect(text), Ports { first: 7, last: 9 });
        }
        for text in ["7", r#""7""#] {
            assert_eq!(read(text).expect(text), Ports { first: 7, last: 7 });
        }
        for text in [r#""7-""#, "[7]", "70000", r#"{"first": 7}"#, r#""http""#] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains("1-1023"), "{text}: {error}");
        }
    }

    #[test]
    fn protocols_have_names() {
        #[derive(Deserialize)]
        struct Keys {
            #[serde(deserialize_with = "protocol::deserialize")]
            protocol: Option<u8>,
        }
        let read = |text: &str| serde_json::from_str::<Keys>(&format!(r#"{{"protocol": {text}}}"#));
        for (text, number) in
            [("17", 17), (r#""tcp""#, 6), (r#""ICMPv6""#, 58), (r#""89""#, 89), ("255", 255)]
        {
            assert_eq!(read(text).expect(text).protocol, Some(number));
        }
        assert_eq!(read("null").expect("none").protocol, None);
        let error = read(r#""tpc""#).err().expect("a typing mistake").to_string();
        assert!(error.contains("`tpc` is none of icmp, igmp"), "{error}");
        for text in ["256", "-1", "[6]"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn prefixes_read_as_they_are_written() {
        let read = |text: &str| Prefixed::<IpAddr>::try_from(text.to_owned());
        for text in ["10.0.0.1/24", "0.0.0.0/0", "2001:db8::/32", "::/0", "::1/128"] {
            assert_eq!(read(text).map(String::from).as_deref(), Ok(text));
        }
        for text in ["10.0.0.1", "10.0.0.1/33", "::/129", "/1", "10.0.0/8", "10.0.0.0/-1"] {
            let what = read(text).expect_err("it is none");
            assert!(what.contains(text), "{what}");
        }
        let what = read("10.0.0.1").expect_err("without a length");
        assert!(what.ends_with("`10.0.0.1/32` is itself"), "{what}");
        assert!(Prefixed::<Ipv4Addr>::try_from("::/0".to_owned()).is_err());
    }
}
