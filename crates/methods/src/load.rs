//! A load in a configuration: a rate, or a share of a throughput that is searched first.

use std::borrow::Cow;
use std::fmt;

use measure::{Pps, Ratio};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A load: a rate such as `4 Mpps`, or a share of the throughput such as `50 %`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HeldLoad {
    /// Frames per second per port and direction.
    Rate(Pps),
    /// Fraction of the throughput.
    Share(Ratio),
    /// As captured frames came.
    Captured,
}

impl fmt::Display for HeldLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => rate.fmt(f),
            Self::Share(share) => f.pad(&format!("{} %", share.0 * 100.0)),
            Self::Captured => f.pad(CAPTURED),
        }
    }
}

impl Serialize for HeldLoad {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Rate(rate) => rate.serialize(serializer),
            Self::Share(_) | Self::Captured => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for HeldLoad {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RateOrShare)
    }
}

struct RateOrShare;

impl de::Visitor<'_> for RateOrShare {
    type Value = HeldLoad;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number in pps, text such as `4 Mpps` or `50 %`, or `captured`")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<HeldLoad, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<HeldLoad, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<HeldLoad, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<HeldLoad, E> {
        match text.trim_end().ends_with('%') {
            _ if text == CAPTURED => Ok(HeldLoad::Captured),
            true => text.parse().map(HeldLoad::Share).map_err(E::custom),
            false => text.parse().map(HeldLoad::Rate).map_err(E::custom),
        }
    }
}

impl JsonSchema for HeldLoad {
    fn schema_name() -> Cow<'static, str> {
        "HeldLoad".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number in pps, text such as `4 Mpps`, `50 %` of the throughput, or `captured`.",
            "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "string" }]
        })
    }
}

/// The word for the rate of captured frames.
const CAPTURED: &str = "captured";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_shares_are_read_and_written_as_they_were() {
        let read = |text: &str| serde_json::from_str::<HeldLoad>(text).ok();
        for (text, load) in [
            ("1000", HeldLoad::Rate(Pps(1e3))),
            ("\"4 Mpps\"", HeldLoad::Rate(Pps(4e6))),
            ("\"50 %\"", HeldLoad::Share(Ratio(0.5))),
            ("\"12.5%\"", HeldLoad::Share(Ratio(0.125))),
            ("\"captured\"", HeldLoad::Captured),
        ] {
            assert_eq!(read(text), Some(load));
            let written = serde_json::to_string(&load).unwrap_or_default();
            assert_eq!(read(&written), Some(load), "{written}");
        }
        for text in ["-1", "true", "\"half\"", "\"-5 %\"", "\"4 Mfoo\""] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
