//! The template device refuses keys that it does not know.

use serde_json::json;

use super::*;

#[test]
fn unknown_keys_are_refused() {
    let keys = json!({"model": "a", "colour": "red"});
    let error = Options::read(keys.as_object().expect("an object")).expect_err("one too many");
    assert!(error.what.contains("colour"), "{error}");
}
