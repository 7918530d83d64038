//! What TIPSY's files mean here: its pipelines, and the sections that describe machines.
//!
//! A file of TIPSY loads unchanged. What has a meaning here is understood (`tester` becomes
//! methods), what has none is left aside with one note that names it, and what would mislead if it
//! were left aside is refused with the reason.

pub(crate) mod sut;
pub(crate) mod tester;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Document, ScenarioError};
use crate::unit::Functions;
use keys::{Place, nearest};

/// TIPSY's pipelines with a description of each.
pub const PIPELINES: [(&str, &str); 10] = [
    ("portfwd", "TIPSY's port forwarder"),
    ("l2fwd", "TIPSY's switch with static tables"),
    ("l3fwd", "TIPSY's router"),
    ("fw", "TIPSY's firewall"),
    ("nat", "TIPSY's source NAT"),
    ("mgw", "TIPSY's mobile gateway"),
    ("bng", "TIPSY's broadband gateway"),
    ("vmgw", "TIPSY's virtual mobile gateway behind a data-centre gateway"),
    ("gwlb", "TIPSY's access gateway and load balancer"),
    ("none", "TIPSY's empty pipeline, for switches that the user programs"),
];

/// The default pipeline of TIPSY's entries.
pub(super) const DEFAULT_PIPELINE: &str = "mgw";

/// Keys of `traffic` that configure TIPSY's trace files, and have no meaning for a tester that
/// generates frames while sending.
pub(crate) const TRAFFIC_ASIDE: [&str; 8] = [
    "thread",
    "output",
    "conf",
    "ascii",
    "trace-generator-cmd",
    "trace-generator-pareto-a",
    "trace-generator-pareto-b",
    "trace-generator-pareto-scale",
];

/// The key of `traffic` for the tunnel of uplink packets.
const TUNNEL: &str = "tunneling-method";

/// Notes on a file of TIPSY, each made once.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// Individual notes, in the order of occurrence.
    notes: Vec<String>,
    /// Keys that were ignored.
    aside: BTreeSet<String>,
    /// Switches that the built-in function replaces.
    switches: BTreeSet<String>,
    /// Defaults that the file relies on and that differ here.
    defaults: BTreeSet<&'static str>,
}

impl Remarks {
    /// Adds a note, unless it exists.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Records an ignored key.
    pub fn aside(&mut self, section: &str, key: &str) {
        self.aside.insert(format!("{section}.{key}"));
    }

    /// Records a switch that is not measured.
    pub fn switch(&mut self, name: &str) {
        self.switches.insert(name.to_owned());
    }

    /// All notes as sentences.
    pub fn into_notes(self) -> Vec<String> {
        let mut notes = self.notes;
        if !self.switches.is_empty() {
            let names: Vec<String> = self.switches.iter().map(|name| format!("`{name}`")).collect();
            notes.push(format!(
                "the function built into this program is measured instead of TIPSY's switch ({})",
                names.join(", ")
            ));
        }
        if !self.aside.is_empty() {
            let keys: Vec<&str> = self.aside.iter().map(String::as_str).collect();
            notes.push(format!(
                "ignored, because they concern other machines and programs: {}",
                keys.join(", ")
            ));
        }
        if !self.defaults.is_empty() {
            let each: Vec<&str> = self.defaults.iter().copied().collect();
            notes.push(format!("different from TIPSY, or unexpected: {}", each.join("; ")));
        }
        notes
    }
}

/// The note on a pipeline of TIPSY that this program does not implement; none for all other names.
/// A function of the same name that a section `pipeline` names is another one: those that read
/// TIPSY's keys have TIPSY's name for an alias.
pub(super) fn absent(key: &str, name: &str, functions: Functions) -> Option<String> {
    let is_ours = functions
        .iter()
        .any(|unit| unit.aliases().contains(&name) || (unit.name() == name && key != "pipeline"));
    let (_, what) = PIPELINES.iter().find(|(known, _)| *known == name && !is_ours)?;
    let has_another = functions.iter().any(|unit| unit.name() == name);
    Some(match has_another {
        true => format!("`{name}` is {what}, whose keys the function of that name does not have"),
        false => format!("`{name}` is {what}; Plumbline does not implement it yet"),
    })
}

/// Removes the keys of TIPSY's trace files from `traffic`.
///
/// # Errors
/// `json`, because it names a file with further keys that would not be read.
pub(super) fn clear_traffic(
    document: &Document,
    (traffic, place): (&mut Map<String, Value>, Place<'_>),
    remarks: &mut Remarks,
) -> Result<(), ScenarioError> {
    for key in TRAFFIC_ASIDE {
        if traffic.shift_remove(key).is_some() {
            remarks.aside("traffic", key);
        }
    }
    // TIPSY's `default` gives it to pipelines that have no tunnel, too.
    if place.key(TUNNEL).is_none() {
        traffic.shift_remove(TUNNEL);
    }
    match traffic.shift_remove("json") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(document.error(
            "traffic.json",
            "names a file with further keys, which is not read",
            "write its keys into `traffic`, and remove this one",
        )),
    }
}

/// Notes the defaults that a file of TIPSY relies on and that differ here.
pub(super) fn note_defaults(
    function: (&Map<String, Value>, Place<'_>),
    traffic: (&Map<String, Value>, Place<'_>),
    written: Option<&Map<String, Value>>,
    remarks: &mut Remarks,
) {
    if left_out(traffic, TUNNEL) && left_out(function, "tunnel") {
        remarks.defaults.insert(
            "the tunnel is GTP-U; TIPSY's default is VXLAN (`tunneling-method: vxlan` in `traffic`)",
        );
    }
    if traffic.1.key("pkt-size").is_some() {
        remarks.defaults.insert(
            "`pkt-size` is the frame with its check sequence, without a tunnel, where TIPSY counts \
             the tunnel and leaves the check sequence out",
        );
    }
    if left_out(traffic, "dir") {
        remarks.defaults.insert("`dir` is absent, so only the uplink is measured");
    }
    // TIPSY's name of the function has meant it.
    let states = |key: &str| written.is_some_and(|written| written.contains_key(key));
    if function.0.contains_key("rate-limit") && !states("rate-limit") {
        remarks.defaults.insert(
            "`rate-limit` is left out, so that each bearer has TIPSY's default of 10000 byte/s and \
             most of the load is dropped; TIPSY's examples set 40000000000",
        );
    }
}

fn left_out((values, place): (&Map<String, Value>, Place<'_>), key: &str) -> bool {
    !values.contains_key(key) && place.key(key).is_some()
}

/// Advice for a top-level key that only older files of TIPSY have.
pub(super) fn remedy_for_old(key: &str) -> Option<&'static str> {
    (key == "environment")
        .then_some("older files of TIPSY use it: move its `sut` and `tester` to `default`")
}

/// Advice for an unknown word: the nearest known word, or all of them.
fn known_words(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("one of {}", known.join(", ")),
    }
}
