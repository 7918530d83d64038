//! ASes and communities as an operator writes them: single ones and ranges of them.

use std::fmt;
use std::net::Ipv4Addr;

use protocol_bgp::attribute_text::Community;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer, de};

/// ASes from a first one to a last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ases {
    /// The first one.
    pub first: u32,
    /// The last one.
    pub last: u32,
}

/// Communities of a kind from a first one to a last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Communities {
    text: String,
    first: u128,
    last: u128,
}

/// The kinds of communities, as they are told apart: the kind stands above the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of 4 bytes (RFC 1997).
    Standard,
    /// Of 8 bytes (RFC 4360).
    Extended,
    /// Of 12 bytes (RFC 8092).
    Large,
}

impl Kind {
    /// Returns all of them.
    pub const ALL: [Kind; 3] = [Kind::Standard, Kind::Extended, Kind::Large];

    /// Returns the number by which a community of this kind is compared.
    #[inline]
    pub fn number(self, value: u128) -> u128 {
        (self as u128) << KIND_AT | value
    }

    /// Returns how many bytes one has.
    pub fn len(self) -> usize {
        match self {
            Kind::Standard => 4,
            Kind::Extended => 8,
            Kind::Large => 12,
        }
    }

    fn of(number: u128) -> Kind {
        Kind::ALL[(number >> KIND_AT) as usize % 3]
    }
}

impl Communities {
    /// Returns the numbers of the first and of the last one.
    pub(crate) fn range(&self) -> (u128, u128) {
        (self.first, self.last)
    }

    /// Returns the kind and the bytes, which count from the end, of one that stands for itself.
    pub(crate) fn single(&self) -> Option<(Kind, [u8; 16])> {
        let value = self.first & !(u128::MAX << KIND_AT);
        (self.first == self.last).then(|| (Kind::of(self.first), value.to_be_bytes()))
    }
}

impl fmt::Display for Communities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Communities {
    type Error = String;

    fn try_from(text: String) -> Result<Communities, String> {
        let Some((kind, first, last)) = read(&text) else {
            return Err(format!(
                "`{text}` is no community: write 64500:1, no-export, 64500:1:2, target:64500:1 or \
                 0x and 16 digits, with `*` for any last part"
            ));
        };
        Ok(Communities { first: kind.number(first), last: kind.number(last), text })
    }
}

impl From<Communities> for String {
    fn from(communities: Communities) -> String {
        communities.text
    }
}

/// The kind, the first value and the last one.
fn read(text: &str) -> Option<(Kind, u128, u128)> {
    if let Some(Community(value)) = Community::named(text) {
        return Some((Kind::Standard, value.into(), value.into()));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        let value = u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16)?;
        return Some((Kind::Extended, value.into(), value.into()));
    }
    let (name, rest) = text.split_once(':')?;
    let what: u128 = match name {
        "target" => 2,
        "origin" => 3,
        _ => {
            let parts: Vec<&str> = text.split(':').collect();
            let (kind, bits) = match parts.len() {
                2 => (Kind::Standard, 16),
                3 => (Kind::Large, 32),
                _ => return None,
            };
            let (first, last) = joined(parts.iter().map(|part| (*part, bits)))?;
            return Some((kind, first, last));
        }
    };
    // A type, a sub-type, and six bytes of an AS or an address with a number (RFC 4360 section 3).
    let (global, local) = rest.split_once(':')?;
    let (kind, global, bits) = match (global.parse::<Ipv4Addr>(), global.parse::<u16>()) {
        (Ok(address), _) => (1, u128::from(address.to_bits()), 16),
        (_, Ok(asn)) => (0, u128::from(asn), 32),
        _ => (2, u128::from(global.parse::<u32>().ok()?), 16),
    };
    let (first, last) = joined([(local, bits)].into_iter())?;
    let head = kind << 56 | what << 48 | global << bits;
    Some((Kind::Extended, head | first, head | last))
}

/// The first and the last value of parts of so many bits, of which the last ones may be any.
fn joined<'a>(parts: impl Iterator<Item = (&'a str, u32)>) -> Option<(u128, u128)> {
    let (mut first, mut last, mut is_any) = (0, 0, false);
    for (part, bits) in parts {
        let most = (1_u128 << bits) - 1;
        let (least, largest) = match part {
            "*" => (0, most),
            _ if is_any || !part.bytes().all(|byte| byte.is_ascii_digit()) => return None,
            _ => {
                let value = part.parse::<u128>().ok().filter(|value| *value <= most)?;
                (value, value)
            }
        };
        is_any |= part == "*";
        (first, last) = (first << bits | least, last << bits | largest);
    }
    Some((first, last))
}

impl JsonSchema for Communities {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Communities".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }

    fn inline_schema() -> bool {
        true
    }
}

impl Serialize for Ases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.first == self.last {
            true => serializer.serialize_u32(self.first),
            false => serializer.serialize_str(&format!("{}-{}", self.first, self.last)),
        }
    }
}

impl<'de> Deserialize<'de> for Ases {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Ases, D::Error> {
        deserializer.deserialize_any(AsesVisitor)
    }
}

struct AsesVisitor;

impl de::Visitor<'_> for AsesVisitor {
    type Value = Ases;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AS, or a range like 64512-65534")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Ases, E> {
        let asn = u32::try_from(number);
        let asn = asn.map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))?;
        Ok(Ases { first: asn, last: asn })
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Ases, E> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let both = first.parse().ok().zip(last.parse().ok());
        let ases = both.map(|(first, last)| Ases { first, last });
        ases.filter(|ases| ases.first <= ases.last)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl JsonSchema for Ases {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ases".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["integer", "string"]})
    }

    fn inline_schema() -> bool {
        true
    }
}

/// Where the kind stands in a number: above the twelve bytes of large communities.
const KIND_AT: u32 = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communities_are_read_as_they_are_shown() {
        let of = |text: &str| Communities::try_from(text.to_owned()).map(|it| it.range());
        let extended = |value: u64| Kind::Extended.number(value.into());
        for (text, first, last) in [
            ("64500:1", 0xfbf4_0001, 0xfbf4_0001),
            ("64500:*", 0xfbf4_0000, 0xfbf4_ffff),
            ("*:*", 0, 0xffff_ffff),
            ("no-export", 0xffff_ff01, 0xffff_ff01),
            ("target:64500:1", extended(0x0002_fbf4_0000_0001), extended(0x0002_fbf4_0000_0001)),
            ("target:64500:*", extended(0x0002_fbf4_0000_0000), extended(0x0002_fbf4_ffff_ffff)),
            ("origin:10.0.0.1:7", extended(0x0103_0a00_0001_0007), extended(0x0103_0a00_0001_0007)),
            ("target:70000:9", extended(0x0202_0001_1170_0009), extended(0x0202_0001_1170_0009)),
            (
                "0x0604000000000001",
                extended(0x0604_0000_0000_0001),
                extended(0x0604_0000_0000_0001),
            ),
            (
                "1:2:*",
                Kind::Large.number(1 << 64 | 2 << 32),
                Kind::Large.number(1 << 64 | 2 << 32 | 0xffff_ffff),
            ),
        ] {
            assert_eq!(of(text), Ok((first, last)), "{text}");
        }
        for text in ["", "1", "65536:1", "*:1", "1:2:3:4", "target:1", "target:1:x", "0x12", "+1:2"]
        {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ases_are_numbers_and_ranges() {
        let of = |text: &str| serde_json::from_str::<Ases>(text);
        for (text, first, last) in
            [("7", 7, 7), ("\"7\"", 7, 7), ("\"64512-65534\"", 64_512, 65_534)]
        {
            assert_eq!(of(text).expect("ASes"), Ases { first, last });
        }
        for text in ["-1", "4294967296", "\"9-7\"", "\"a\"", "\"7-\"", "true"] {
            assert!(of(text).is_err(), "{text}");
        }
        let written = serde_json::to_string(&Ases { first: 1, last: 2 }).expect("text");
        assert_eq!(written, "\"1-2\"");
    }
}
