//! TIPSY's `sut`: the switch that is measured and the machine it runs on.
//!
//! The function built into this program stands in the switch's place, so its keys change nothing.

use serde_json::Value;

use super::{Remarks, known_words};
use crate::scenario::{Document, ScenarioError, sections};
use keys::remedy_for_unknown;

/// TIPSY's switches.
pub(crate) const TYPES: [&str; 10] =
    ["bess", "ofdpa", "t4p4s", "vpp", "ovs", "openflow", "erfs", "lagopus", "generic", "none"];

/// Keys of `sut`.
pub(crate) const KEYS: [&str; 18] = [
    "type",
    "hostname",
    "tipsy-dir",
    "bess-dir",
    "t4p4s-dir",
    "erfs-dir",
    "lagopus-virtualenv",
    "uplink-port",
    "downlink-port",
    "uplink-vpp-interface",
    "downlink-vpp-interface",
    "coremask",
    "portmask",
    "setup-script",
    "teardown-script",
    "environ",
    "script",
    "default",
];

/// Checks the section and notes its contents.
///
/// # Errors
/// A key or a switch that TIPSY does not have.
pub(in crate::scenario) fn read(
    document: &Document,
    remarks: &mut Remarks,
) -> Result<(), ScenarioError> {
    for (key, value) in sections::object(document, "sut")?.into_iter().flatten() {
        let path = format!("sut.{key}");
        if !KEYS.contains(&key.as_str()) {
            let remedy = remedy_for_unknown(key, &KEYS);
            return Err(document.error(&path, format!("unknown key `{key}`"), remedy));
        }
        if key != "type" {
            remarks.aside("sut", key);
            continue;
        }
        let names = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for name in names {
            match name.as_str() {
                Some(name) if TYPES.contains(&name) => remarks.switch(name),
                Some(name) => {
                    let what = format!("`{name}` is not a switch of TIPSY");
                    return Err(document.error(&path, what, known_words(name, &TYPES)));
                }
                None => {
                    return Err(document.error(&path, "expected a name", known_words("", &TYPES)));
                }
            }
        }
        if names.len() > 1 {
            remarks.note("`sut.type` is a list, but the built-in function is measured once".into());
        }
    }
    Ok(())
}

/// JSON Schema of the section.
pub(crate) fn schema() -> Value {
    let names = serde_json::json!({"enum": TYPES});
    let mut properties = serde_json::Map::new();
    for key in KEYS {
        let schema = match key {
            "type" => serde_json::json!({
                "description": "TIPSY's switch; the built-in function is measured instead.",
                "anyOf": [names, {"type": "array", "items": names}],
            }),
            _ => serde_json::json!({"description": "Key of TIPSY's switch; ignored."}),
        };
        properties.insert(key.to_owned(), schema);
    }
    serde_json::json!({
        "description": "TIPSY's switch; the built-in function is measured instead.",
        "anyOf": [
            {"type": "object", "properties": properties, "additionalProperties": false},
            {"type": "null"},
        ],
    })
}
