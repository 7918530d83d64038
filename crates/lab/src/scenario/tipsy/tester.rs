//! TIPSY's `tester`: the traffic generator and its test, which become methods.
//!
//! [`TESTERS`] is the one place that says which test is which method.

use methods::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Remarks, known_words};
use crate::scenario::sweep::{Combination, Scale, Section, expand};
use crate::scenario::{Document, ScenarioError, sections};
use keys::{Place, remedy_for_unknown};

/// TIPSY's tests and the equivalent methods: for each step, the methods that can replace it, the
/// closest first.
const TESTERS: [(&str, &[&[&str]]); 4] = [
    ("moongen", &[&["forwarding-rate", "throughput"]]),
    ("moongen-flood", &[&["forwarding-rate", "throughput"]]),
    ("moongen-rfc2544", &[&["throughput"]]),
    ("moongen-combined", &[&["throughput"], &["latency"]]),
];

/// Tests of TIPSY without an equivalent method, and the reason.
const REFUSED: [(&str, &str); 2] = [
    (
        "trex",
        "`trex` sends whole TCP conversations (its STF mode), and no method here does; another \
         load would be measured under its name",
    ),
    ("generic", "`generic` runs a program of the user, which is not supported"),
];

/// Keys of TIPSY's section `tester` that this program uses.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct Keys {
    /// The test: `moongen` and `moongen-flood` measure the forwarding rate, `moongen-rfc2544`
    /// searches the throughput, `moongen-combined` also measures the latency at the throughput.
    r#type: String,
    /// Duration of a trial, in seconds.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 86_400))]
    test_time: f64,
    /// Largest loss at which a trial of `moongen-rfc2544` passes, in Mpps.
    #[schemars(range(min = 0.0, max = 1e6))]
    loss_tolerance: f64,
    /// Load of `moongen` in Mbit/s of frame bytes; 0 sends at the maximum rate.
    #[schemars(range(min = 0.0, max = 1e6))]
    rate_limit: f64,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys { r#type: "moongen".into(), test_time: 30.0, loss_tolerance: 0.2, rate_limit: 0.0 }
    }
}

/// Keys about machines and programs, which are ignored with a note.
pub(crate) const ASIDE: [&str; 13] = [
    "uplink-port",
    "downlink-port",
    "core",
    "moongen-cmd",
    "setup-script",
    "teardown-script",
    "trex-dir",
    "trex-host",
    "trex-client-args",
    "trex-cli-args",
    "environ",
    "script",
    "default",
];

/// One test of the section, with its lists expanded.
pub(in crate::scenario) struct Test {
    /// Keys that were lists, named like `tester.rate-limit`, and their values in this test.
    pub parameters: Map<String, Value>,
    /// All used keys, with TIPSY's defaults.
    pub values: Value,
    keys: Keys,
}

/// Reads the section `tester`; an absent section has TIPSY's defaults.
///
/// # Errors
/// A key or test that TIPSY does not have, or a test without an equivalent method.
pub(in crate::scenario) fn read(
    document: &Document,
    scale: Scale,
    remarks: &mut Remarks,
) -> Result<Vec<Test>, ScenarioError> {
    let mut values = sections::object(document, "tester")?.cloned().unwrap_or_default();
    for key in ASIDE {
        if values.shift_remove(key).is_some() {
            remarks.aside("tester", key);
        }
    }
    let schema = schemars::schema_for!(Keys);
    let section = Section {
        key_in_file: "tester",
        name: "tester",
        values: &values,
        schema: Place::root(&schema),
    };
    if let Some(unknown) = section.schema.unknown_key(&values) {
        let valid: Vec<&str> = SENSE.iter().chain(&ASIDE).copied().collect();
        let remedy = remedy_for_unknown(&unknown.path, &valid);
        let what = format!("unknown key `{}`", unknown.path);
        return Err(document.error(&format!("tester.{}", unknown.path), what, remedy));
    }
    let expansion = expand(document, &[section], scale)?;
    expansion.notes.into_iter().for_each(|note| remarks.note(note));
    expansion.combinations.into_iter().map(|one| test(document, one)).collect()
}

/// Names of the used keys, for messages.
pub(crate) const SENSE: [&str; 4] = ["type", "test-time", "loss-tolerance", "rate-limit"];

fn test(document: &Document, one: Combination) -> Result<Test, ScenarioError> {
    let values = one.sections.into_iter().next().unwrap_or_default();
    let keys: Keys = keys::read("", values).map_err(|invalid| {
        document.invalid("tester", invalid, "write it as TIPSY does; `plumbline schema` lists all")
    })?;
    let name = keys.r#type.as_str();
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        let remedy = "use `moongen`, or state `methods` instead of `tester`";
        return Err(document.error("tester.type", why, remedy));
    }
    let known: Vec<&str> = TESTERS.iter().map(|(name, _)| *name).collect();
    if !known.contains(&name) {
        let what = format!("`{name}` is not a tester of TIPSY");
        return Err(document.error("tester.type", what, known_words(name, &known)));
    }
    let values = serde_json::to_value(&keys).unwrap_or_default();
    Ok(Test { parameters: one.parameters, values, keys })
}

impl Test {
    /// Whether the test sets a load in Mbit/s, which depends on the frame length.
    pub fn has_rate(&self) -> bool {
        self.keys.rate_limit > 0.0 && self.keys.r#type == "moongen"
    }

    /// The methods equivalent to the test, with their options; `frame_bytes` is the frame length
    /// for a load in Mbit/s.
    pub fn methods(
        &self,
        frame_bytes: Option<f64>,
        remarks: &mut Remarks,
    ) -> Vec<(&'static Entry, Map<String, Value>)> {
        let steps = TESTERS.iter().find(|(name, _)| *name == self.keys.r#type);
        let find = |names: &&[&'static str]| names.iter().find_map(|name| methods::find(name));
        let found: Vec<&'static Entry> =
            steps.into_iter().flat_map(|(_, steps)| steps.iter().filter_map(find)).collect();
        for entry in &found {
            if entry.name == "throughput" && self.keys.r#type != "moongen" {
                remarks.note(format!(
                    "TIPSY's loss-tolerance of {} Mpps is converted to its share of 14.88 Mpps, the \
                     rate of its 10 Gbit/s port",
                    self.keys.loss_tolerance
                ));
            }
        }
        found.into_iter().map(|entry| (entry, self.options(entry, frame_bytes))).collect()
    }

    /// The options of a method that follow from the test's keys.
    fn options(&self, entry: &Entry, frame_bytes: Option<f64>) -> Map<String, Value> {
        let seconds = self.keys.test_time;
        let short = seconds.min(TRIAL_SECONDS);
        let rate = frame_bytes.filter(|_| self.has_rate());
        let rate = rate.map(|bytes| ("rate", json!(self.keys.rate_limit * 1e6 / 8.0 / bytes)));
        let tolerance = (self.keys.loss_tolerance / PORT_MPPS).min(0.99);
        let search = [
            ("loss-tolerance", json!(tolerance)),
            ("trial-duration", json!(short)),
            ("final-duration", json!(seconds)),
            ("max-search-time", json!(120.0 + 4.0 * seconds)),
        ];
        let wanted = match entry.name {
            "forwarding-rate" => {
                let often = [("duration", json!(seconds)), ("repetitions", json!(1))];
                often.into_iter().chain(rate).collect()
            }
            "throughput" => search.to_vec(),
            // TIPSY measures the latency at the limit only, which this method searches itself.
            _ => vec![
                ("search", Value::Object(Map::from_iter(search.map(|(k, v)| (k.to_owned(), v))))),
                ("loads", json!([1.0])),
                ("no-load-rate", json!(0)),
                ("repetitions", json!(1)),
                ("duration", json!(seconds)),
            ],
        };
        let schema = (entry.schema)();
        let place = Place::root(&schema);
        let known = wanted.into_iter().filter(|(key, _)| place.key(key).is_some());
        known.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// Frame rate of 64-byte frames at 10 Gbit/s, the port speed of TIPSY's reference machine, in Mpps.
const PORT_MPPS: f64 = 14.880_952;
/// Duration of search trials in seconds; they may be shorter than the confirming trial (RFC 2544
/// section 24).
const TRIAL_SECONDS: f64 = 1.0;
