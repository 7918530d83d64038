//! Units as types, so that no rate is taken for another at the border of an API, and the one place
//! where the forms that people write are read: `5 Mpps`, `10kpps`, `10 Mbit/s`, `1.25 MB/s`,
//! `50 ms`, `10 ppm`. A bare number has the unit of the key's type.
//!
//! In a record every quantity is a plain number in the unit of its type. Prefixes are decimal
//! (`k` = 1000) except `Ki`, `Mi`, `Gi`. What could be read in two ways is refused: `Bps` (bits or
//! bytes?), `mpps` (milli or mega?). Beside them [`Civil`] is the day and time of day of a time.

mod civil;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

pub use civil::Civil;

/// Defines a quantity: a number with a declared unit, the units that it is parsed from, and its
/// text form.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $units:ident, $example:literal, $show:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl FromStr for $name {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse(text, $units, $example).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let show: fn(f64) -> String = $show;
                f.pad(&show(self.0))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(NumberOrText { units: $units, example: $example }).map(Self)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "description": format!("A number in {}, or text such as `{}`.", $units[0].0, $example),
                    "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "string" }]
                })
            }
        }
    };
}

quantity!(
    /// Packets (frames) per second.
    Pps, PPS, "5 Mpps", |value| si(value, "pps")
);
quantity!(
    /// Bits per second.
    BitsPerSec, BITS_PER_SEC, "10 Mbit/s", |value| si(value, "bit/s")
);
quantity!(
    /// Bytes per second, for keys declared in bytes; bit rates are accepted and divided by 8.
    BytesPerSec, BYTES_PER_SEC, "10 Mbit/s", |value| si(value, "B/s")
);
quantity!(
    /// A number of bytes.
    Bytes, BYTES, "1.5 GiB", |value| si(value, "B")
);
quantity!(
    /// Nanoseconds.
    Nanos, NANOS, "50 us", |value| si(value * 1e-9, "s")
);
quantity!(
    /// Seconds.
    Seconds, SECONDS, "500 ms", |value| si(value, "s")
);
quantity!(
    /// A ratio as a fraction of 1, such as a loss ratio.
    Ratio, RATIO, "10 ppm", show_ratio
);

impl Seconds {
    /// The quantity as a [`Duration`]; values that are too large become the longest duration.
    pub fn duration(self) -> Duration {
        Duration::try_from_secs_f64(self.0).unwrap_or(Duration::MAX)
    }
}

impl From<Duration> for Seconds {
    fn from(duration: Duration) -> Self {
        Self(duration.as_secs_f64())
    }
}

/// The rate on the wire for `pps` frames of `frame_len_bytes` (including the frame check sequence)
/// each: preamble, start delimiter and gap add 20 bytes per frame (IEEE 802.3).
pub fn l1_rate(pps: Pps, frame_len_bytes: f64) -> BitsPerSec {
    BitsPerSec(pps.0 * (frame_len_bytes + ETHERNET_OVERHEAD_BYTES) * 8.0)
}

/// The rate of frame bytes, including the frame check sequence.
pub fn l2_rate(pps: Pps, frame_len_bytes: f64) -> BitsPerSec {
    BitsPerSec(pps.0 * frame_len_bytes * 8.0)
}

/// A value with three significant digits and a decimal prefix: `12.3 Mpps`, `950 ns`.
pub fn si(value: f64, unit: &str) -> String {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() {
        return format!("{value} {unit}");
    }
    // Half a unit of the third digit is added so that 999.7 k is shown as 1.00 M.
    let (scale, prefix) = PREFIXES
        .iter()
        .find(|(scale, _)| size * 1.0005 >= *scale)
        .copied()
        .unwrap_or(PREFIXES[PREFIXES.len() - 1]);
    let (scale, prefix) = if unit == "s" || scale >= 1.0 { (scale, prefix) } else { (1.0, "") };
    let scaled = value / scale;
    let decimals = match scaled.abs() {
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.1 => 2,
        _ => 4,
    };
    format!("{scaled:.decimals$} {prefix}{unit}")
}

/// An error in the text of a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text does not begin with a finite, non-negative number.
    #[error("`{text}` does not begin with a number of 0 or more; write for example `{example}`")]
    Number {
        /// The text as written.
        text: String,
        /// An example of a valid text.
        example: &'static str,
    },
    /// The unit is unknown or ambiguous.
    #[error("`{unit}` is not a unit here; known are {known}; write for example `{example}`")]
    Unit {
        /// The text behind the number.
        unit: String,
        /// The known base units, without prefixes.
        known: String,
        /// An example of a valid text.
        example: &'static str,
    },
}

/// A unit, its value in the declared unit, and the prefixes it may carry. The declared unit is the
/// first of its table.
type Unit = (&'static str, f64, Prefixes);

/// The prefixes that a unit accepts.
#[derive(Clone, Copy, PartialEq)]
enum Prefixes {
    None,
    Decimal,
    DecimalAndBinary,
}

const PPS: &[Unit] = &[
    ("pps", 1.0, Prefixes::Decimal),
    ("packets/s", 1.0, Prefixes::Decimal),
    ("fps", 1.0, Prefixes::Decimal),
];
const BITS_PER_SEC: &[Unit] = &[
    ("bit/s", 1.0, Prefixes::Decimal),
    ("bps", 1.0, Prefixes::Decimal),
    ("b/s", 1.0, Prefixes::Decimal),
    ("byte/s", 8.0, Prefixes::Decimal),
    ("B/s", 8.0, Prefixes::Decimal),
];
const BYTES_PER_SEC: &[Unit] = &[
    ("byte/s", 1.0, Prefixes::Decimal),
    ("B/s", 1.0, Prefixes::Decimal),
    ("bit/s", 0.125, Prefixes::Decimal),
    ("bps", 0.125, Prefixes::Decimal),
    ("b/s", 0.125, Prefixes::Decimal),
];
const BYTES: &[Unit] = &[
    ("bytes", 1.0, Prefixes::None),
    ("byte", 1.0, Prefixes::None),
    ("B", 1.0, Prefixes::DecimalAndBinary),
];
const NANOS: &[Unit] = &[
    ("ns", 1.0, Prefixes::None),
    ("us", 1e3, Prefixes::None),
    ("µs", 1e3, Prefixes::None),
    ("ms", 1e6, Prefixes::None),
    ("s", 1e9, Prefixes::None),
    ("min", 60e9, Prefixes::None),
    ("h", 3600e9, Prefixes::None),
];
const SECONDS: &[Unit] = &[
    ("s", 1.0, Prefixes::None),
    ("ns", 1e-9, Prefixes::None),
    ("us", 1e-6, Prefixes::None),
    ("µs", 1e-6, Prefixes::None),
    ("ms", 1e-3, Prefixes::None),
    ("min", 60.0, Prefixes::None),
    ("h", 3600.0, Prefixes::None),
];
const RATIO: &[Unit] = &[
    ("(fraction)", 1.0, Prefixes::None),
    ("%", 1e-2, Prefixes::None),
    ("ppm", 1e-6, Prefixes::None),
];

/// Preamble, start delimiter and inter-frame gap of Ethernet, in bytes.
const ETHERNET_OVERHEAD_BYTES: f64 = 20.0;

/// Decimal prefixes used in output, from the largest.
const PREFIXES: &[(f64, &str)] = &[
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
];

fn show_ratio(value: f64) -> String {
    if value == 0.0 {
        "0".into()
    } else if value.abs() < 0.999e-3 {
        format!("{} ppm", significant(value * 1e6))
    } else {
        format!("{} %", significant(value * 100.0))
    }
}

/// Formats a number with three significant digits, without prefix and trailing zeros.
fn significant(value: f64) -> String {
    let decimals = (2 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// Parses a number with its unit; the result is in the declared (first) unit.
fn parse(text: &str, units: &'static [Unit], example: &'static str) -> Result<f64, UnitError> {
    let text = text.trim();
    let (number, unit) = split(text);
    let bad_number = || UnitError::Number { text: text.into(), example };
    let value: f64 = number.replace('_', "").parse().map_err(|_| bad_number())?;
    if !value.is_finite() || value < 0.0 {
        return Err(bad_number());
    }
    if unit.is_empty() {
        return Ok(value);
    }
    factor(unit, units).map(|factor| value * factor).ok_or_else(|| UnitError::Unit {
        unit: unit.into(),
        known: units.iter().map(|(name, _, _)| *name).collect::<Vec<_>>().join(", "),
        example,
    })
}

/// Splits a text after the longest prefix that is a number: all of `1e6`, and `1` of `1 each`.
fn split(text: &str) -> (&str, &str) {
    let digits = |s: &str| s.len() - s.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mantissa = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+')))
        .unwrap_or(text.len());
    let mut end = mantissa;
    let rest = &text[mantissa..];
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let count = digits(&exponent[sign..]);
        if count > 0 {
            end = mantissa + 1 + sign + count;
        }
    }
    (&text[..end], text[end..].trim_start())
}

/// The factor that converts a written unit to the declared unit; none if the unit is unknown.
fn factor(written: &str, units: &[Unit]) -> Option<f64> {
    units.iter().find_map(|(name, value, prefixes)| {
        let prefix = written.strip_suffix(name)?;
        let scale = match (prefix, prefixes) {
            ("", _) => 1.0,
            (_, Prefixes::None) => return None,
            ("k" | "K", _) => 1e3,
            ("M", _) => 1e6,
            ("G", _) => 1e9,
            ("T", _) => 1e12,
            ("Ki", Prefixes::DecimalAndBinary) => 1024.0,
            ("Mi", Prefixes::DecimalAndBinary) => 1_048_576.0,
            ("Gi", Prefixes::DecimalAndBinary) => 1_073_741_824.0,
            _ => return None,
        };
        Some(value * scale)
    })
}

/// Deserialises a quantity from a number or a text.
struct NumberOrText {
    units: &'static [Unit],
    example: &'static str,
}

impl NumberOrText {
    fn number<E: de::Error>(&self, value: f64) -> Result<f64, E> {
        // The text form has the one set of rules for numbers.
        parse(&value.to_string(), self.units, self.example).map_err(E::custom)
    }
}

impl de::Visitor<'_> for NumberOrText {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number in {} or text such as `{}`", self.units[0].0, self.example)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<f64, E> {
        self.number(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<f64, E> {
        self.number(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<f64, E> {
        self.number(value)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
        parse(text, self.units, self.example).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_that_people_write_are_read() {
        let pps = |text: &str| text.parse::<Pps>().map(|p| p.0);
        assert_eq!(pps("5 Mpps"), Ok(5e6));
        assert_eq!(pps("10kpps"), Ok(1e4));
        assert_eq!(pps("1_000_000"), Ok(1e6));
        assert_eq!(pps("1e6"), Ok(1e6));
        assert_eq!(pps("2.5e3 packets/s"), Ok(2500.0));
        assert_eq!("10 Mbit/s".parse(), Ok(BitsPerSec(1e7)));
        assert_eq!("1Gbps".parse(), Ok(BitsPerSec(1e9)));
        assert_eq!("1.25 MB/s".parse(), Ok(BitsPerSec(1e7)));
        assert_eq!("40000000000".parse(), Ok(BytesPerSec(4e10)));
        assert_eq!("10 Mbit/s".parse(), Ok(BytesPerSec(1.25e6)));
        assert_eq!("1.5 GiB".parse(), Ok(Bytes(1_610_612_736.0)));
        assert_eq!("64 kB".parse(), Ok(Bytes(64_000.0)));
        assert_eq!("50 ms".parse(), Ok(Seconds(0.05)));
        assert_eq!("50 µs".parse(), Ok(Nanos(50_000.0)));
        assert_eq!("2 min".parse(), Ok(Seconds(120.0)));
        assert_eq!("10 ppm".parse(), Ok(Ratio(10.0 * 1e-6)));
        assert_eq!("0.5 %".parse(), Ok(Ratio(0.005)));
        assert_eq!("0".parse(), Ok(Ratio(0.0)));
    }

    #[test]
    fn what_has_no_meaning_or_two_is_refused_with_a_remedy() {
        for text in ["", "fast", "-5", "1e999", "nan", "1..2"] {
            assert!(matches!(text.parse::<Pps>(), Err(UnitError::Number { .. })), "{text}");
        }
        for text in ["5 mpps", "5 Mbit/s", "5 %", "5 Mipps"] {
            assert!(matches!(text.parse::<Pps>(), Err(UnitError::Unit { .. })), "{text}");
        }
        assert!("1 MBps".parse::<BitsPerSec>().is_err(), "bits or bytes?");
        assert!("5 m".parse::<Seconds>().is_err(), "milli or minutes?");
        let error = "5 mpps".parse::<Pps>().unwrap_err().to_string();
        assert!(error.contains("`mpps`") && error.contains("`5 Mpps`"), "{error}");
    }

    #[test]
    fn quantities_are_read_from_numbers_and_texts_and_written_as_numbers() {
        assert_eq!(serde_json::from_str::<Pps>("1000").ok(), Some(Pps(1e3)));
        assert_eq!(serde_json::from_str::<Pps>("\"1 Mpps\"").ok(), Some(Pps(1e6)));
        assert_eq!(serde_json::to_string(&Pps(1e6)).ok(), Some("1000000.0".into()));
        assert!(serde_json::from_str::<Pps>("-1").is_err());
        assert!(serde_json::from_str::<Pps>("true").is_err());
    }

    #[test]
    fn engineers_read_three_digits() {
        for (value, shown) in [
            (12_345_678.0, "12.3 Mpps"),
            (999_700.0, "1.00 Mpps"),
            (640_000.0, "640 kpps"),
            (99.97, "100 pps"),
            (1.0, "1.00 pps"),
            (0.25, "0.25 pps"),
            (0.0, "0 pps"),
        ] {
            assert_eq!(Pps(value).to_string(), shown);
        }
        assert_eq!(Nanos(12_300.0).to_string(), "12.3 µs");
        assert_eq!(Nanos(950.0).to_string(), "950 ns");
        assert_eq!(Seconds(60.0).to_string(), "60.0 s");
        assert_eq!(Ratio(4e-6).to_string(), "4 ppm");
        assert_eq!(Ratio(0.0125).to_string(), "1.25 %");
        assert_eq!(Ratio(1.0).to_string(), "100 %");
        assert_eq!(Ratio(-0.0125).to_string(), "-1.25 %");
        assert_eq!(Ratio(0.0).to_string(), "0");
        assert_eq!(Ratio(-0.0125).to_string(), "-1.25 %");
        assert_eq!(Ratio(-4e-6).to_string(), "-4 ppm");
    }

    #[test]
    fn ten_gigabit_carries_14_88_million_small_frames() {
        let rate = l1_rate(Pps(14_880_952.0), 64.0);
        assert!((rate.0 - 10e9).abs() < 1e3, "{rate}");
        assert_eq!(l2_rate(Pps(1000.0), 64.0), BitsPerSec(512_000.0));
    }
}
