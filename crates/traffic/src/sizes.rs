//! Frame sizes: one, a named mix, or weights.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Frame sizes in bytes, including the frame check sequence, with their weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Sizes {
    weights: Vec<(u16, u32)>,
    /// The size at each of 256 positions; a draw selects a position. Shares are exact to 1/256.
    places: Vec<u16>,
}

/// The forms in which sizes are written in a scenario.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Written {
    /// One size for all frames.
    One(u16),
    /// A mix by name: `imix`, `cisco-vswitch`, `nokia-pe-ipv4`, `nokia-pe-ipv6`, `nokia-bng`,
    /// `adva-vcpe-ipv4`, `adva-vcpe-ipv6` or `nfware`.
    Name(String),
    /// Sizes with their weights.
    Weights(BTreeMap<String, u32>),
}

impl Sizes {
    /// Returns sizes with one size for all frames.
    pub fn fixed(size: u16) -> Sizes {
        Sizes { weights: vec![(size, 1)], places: vec![size; PLACES] }
    }

    /// Returns a mix of sizes with weights.
    ///
    /// # Errors
    /// A description of the error in the weights.
    pub fn mix(weights: &[(u16, u32)]) -> Result<Sizes, String> {
        let total: u64 = weights.iter().map(|&(_, weight)| u64::from(weight)).sum();
        if total == 0 {
            return Err("a mix needs at least one size with a weight above 0".into());
        }
        let mut places = Vec::with_capacity(PLACES);
        let mut sum = 0;
        for &(size, weight) in weights {
            sum += u64::from(weight);
            let until = (sum * PLACES as u64 + total / 2) / total;
            if weight > 0 && until as usize == places.len() {
                return Err(format!("size {size} has less than 1/{PLACES} of the weight"));
            }
            places.resize(until as usize, size);
        }
        Ok(Sizes { weights: weights.to_vec(), places })
    }

    /// Returns the sizes with their weights.
    pub fn weights(&self) -> &[(u16, u32)] {
        &self.weights
    }

    /// Returns the size at the position that eight random bits select.
    #[inline(always)]
    pub fn pick(&self, bits: u8) -> u16 {
        self.places.get(usize::from(bits)).copied().unwrap_or(64)
    }

    /// Returns the mean size in bytes of the draws of [`Self::pick`].
    pub fn mean(&self) -> f64 {
        self.places.iter().map(|&size| f64::from(size)).sum::<f64>() / PLACES as f64
    }

    /// Returns the text form: `64 bytes`, `IMIX`, or the weights.
    pub fn label(&self) -> String {
        match self.weights.as_slice() {
            [(size, _)] => format!("{size} bytes"),
            weights if weights == IMIX => "IMIX".into(),
            weights if name_of(weights).is_some() => name_of(weights).unwrap_or_default().into(),
            weights => {
                let parts: Vec<_> = weights.iter().map(|(s, w)| format!("{s}:{w}")).collect();
                parts.join(" ")
            }
        }
    }
}

impl TryFrom<Written> for Sizes {
    type Error = String;

    fn try_from(written: Written) -> Result<Sizes, String> {
        match written {
            Written::One(size) => Ok(Sizes::fixed(size)),
            Written::Name(name) => match weights_of(&name) {
                Some(weights) => Sizes::mix(weights),
                None => name.parse().map(Sizes::fixed).map_err(|_| {
                    let names: Vec<&str> = MIXES.iter().map(|(name, _)| *name).collect();
                    format!(
                        "'{name}' is not a size: write a number, a mapping of sizes to weights, or \
                         one of {}",
                        names.join(", ")
                    )
                }),
            },
            Written::Weights(map) => {
                let weights: Result<Vec<_>, String> = map
                    .iter()
                    .map(|(size, &weight)| match size.parse() {
                        Ok(size) => Ok((size, weight)),
                        Err(_) => Err(format!("'{size}' is not a size in bytes")),
                    })
                    .collect();
                let mut weights = weights?;
                weights.sort_unstable();
                Sizes::mix(&weights)
            }
        }
    }
}

impl From<Sizes> for Written {
    fn from(sizes: Sizes) -> Written {
        match sizes.weights.as_slice() {
            [(size, _)] => Written::One(*size),
            weights if name_of(weights).is_some() => {
                Written::Name(name_of(weights).unwrap_or_default().into())
            }
            weights => Written::Weights(weights.iter().map(|(s, w)| (s.to_string(), *w)).collect()),
        }
    }
}

impl JsonSchema for Sizes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sizes".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Written::json_schema(generator)
    }
}

/// The simple Internet mix that most test reports use: 7 x 64, 4 x 570, 1 x 1518 bytes.
pub const IMIX: [(u16, u32); 3] = [(64, 7), (570, 4), (1518, 1)];

/// Mixes by name: the simple one, and those of published test reports, as they state them.
const MIXES: &[(&str, &[(u16, u32)])] = &[
    ("imix", &IMIX),
    // EANTC and Cisco, virtual switches: the simple mix under the name of their report.
    ("cisco-vswitch", &IMIX),
    // EANTC and Nokia, VSR-PE: IPv4 begins at 72 bytes, IPv6 at 86; to one another 1 to 1.
    ("nokia-pe-ipv4", &[(72, 18), (128, 3), (373, 1), (570, 4), (1400, 1), (1518, 1), (8682, 1)]),
    ("nokia-pe-ipv6", &[(86, 18), (128, 3), (373, 1), (570, 4), (1400, 1), (1518, 1), (8682, 1)]),
    // EANTC and Nokia, VSR-BNG: IPv6 begins at 86 bytes, and is half of all.
    ("nokia-bng", &[(66, 18), (128, 3), (373, 1), (570, 4), (1280, 5), (1492, 7)]),
    // EANTC and ADVA, FSP 150 ProVMe, table 1.
    ("adva-vcpe-ipv4", &[(64, 3), (100, 26), (256, 6), (570, 5), (1300, 6), (1518, 17)]),
    ("adva-vcpe-ipv6", &[(128, 29), (256, 6), (570, 5), (1300, 6), (1518, 17)]),
    // EANTC and NFWare, vCGNAT, table 4.
    ("nfware", &[(82, 1), (118, 11), (391, 3), (588, 2), (1318, 3), (1536, 7)]),
];

fn weights_of(name: &str) -> Option<&'static [(u16, u32)]> {
    let known = MIXES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    known.map(|(_, weights)| *weights)
}

/// Returns the first name of a mix with these weights.
fn name_of(weights: &[(u16, u32)]) -> Option<&'static str> {
    MIXES.iter().find(|(_, known)| *known == weights).map(|(name, _)| *name)
}

/// Number of positions of which a draw selects one.
const PLACES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Sizes, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_read_in_all_their_forms() {
        assert_eq!(read("64"), Ok(Sizes::fixed(64)));
        assert_eq!(read(r#""IMIX""#).map(|s| s.label()), Ok("IMIX".into()));
        let weights = read(r#"{"64": 1, "1518": 3}"#).expect("a map is a mix");
        assert_eq!(weights.label(), "64:1 1518:3");
        assert_eq!(weights.mean(), 1154.5);
        for text in ["{}", r#"{"64": 0}"#, r#""big""#, r#"{"x": 1}"#, r#"{"64":1000,"65":1}"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["64", r#""imix""#, r#"{"100":1,"200":2}"#] {
            let sizes = read(text).expect("a form");
            let written = serde_json::to_string(&sizes).expect("sizes can be written");
            assert_eq!(read(&written), Ok(sizes));
        }
    }

    #[test]
    fn published_mixes_have_names_and_keep_them() {
        for (name, weights) in MIXES {
            let sizes = read(&format!("{name:?}")).expect("a name is a mix");
            assert_eq!(sizes.weights(), *weights);
            let written = serde_json::to_string(&sizes).expect("sizes can be written");
            assert_eq!(read(&written), Ok(sizes));
        }
        // The sums of the published weights: 7 + 4 + 1, 29 and 38 of Nokia's, 63 of ADVA's.
        let sum = |name| weights_of(name).expect("known").iter().map(|w| w.1).sum::<u32>();
        let names =
            ["cisco-vswitch", "nokia-pe-ipv4", "nokia-bng", "adva-vcpe-ipv4", "adva-vcpe-ipv6"];
        assert_eq!(names.map(sum), [12, 29, 38, 63, 63]);
        assert_eq!(read("\"adva-vcpe-ipv4\"").expect("known").label(), "adva-vcpe-ipv4");
        assert!(read("\"nokia\"").expect_err("no such mix").contains("nokia-pe-ipv4"));
    }

    #[test]
    fn shares_are_what_the_weights_say() {
        let imix = Sizes::mix(&IMIX).expect("a mix");
        let count = |size| (0..=255).filter(|&bits| imix.pick(bits) == size).count();
        assert_eq!((count(64), count(570), count(1518)), (149, 86, 21));
    }
}
