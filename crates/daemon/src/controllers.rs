//! The controllers that a file names: `controllers`, or `controller` for a single one.

use std::sync::Arc;

use controller_kit::erased::{Configured, Kind as ControllerKind};
use document::{Document, DocumentError, kind};
use serde_json::{Map, Value};

use crate::sections::{SEE_SCHEMA, check_keys, no_mapping};

/// Reads the controllers, of which none has the name of another one.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn controllers(
    document: &Document,
    known: &[&'static dyn ControllerKind],
) -> Result<Vec<Arc<dyn Configured>>, DocumentError> {
    let root = &document.root;
    let given: Vec<(String, &Value)> = match (root.get("controller"), root.get("controllers")) {
        (None, None | Some(Value::Null)) => Vec::new(),
        (Some(one), None) => vec![("controller".to_owned(), one)],
        (None, Some(Value::Array(all))) => {
            let section = |number| format!("controllers[{number}]");
            all.iter().enumerate().map(|(number, one)| (section(number), one)).collect()
        }
        (None, Some(other)) => {
            let what = format!("expected a list of controllers, not {}", kind(other));
            let remedy = "write `controllers: [{name: …}, {name: …}]`";
            return Err(document.error("controllers", what, remedy));
        }
        (Some(_), Some(_)) => {
            let what = "there are both `controller` and `controllers`";
            let remedy = "`controller` is the short form for one: move it into the list";
            return Err(document.error("controller", what, remedy));
        }
    };
    let mut all: Vec<Arc<dyn Configured>> = Vec::new();
    for (section, value) in given {
        let one = controller(document, (&section, value), known)?;
        if all.iter().any(|other| other.name() == one.name()) {
            let what = format!("there is a second controller `{}`", one.name());
            let remedy =
                "give all its keys in one, since each has a function's changes of its kind";
            return Err(document.error(&section, what, remedy));
        }
        let claims = one.claims();
        for other in &all {
            if let Some(kind) = other.claims().into_iter().find(|kind| claims.contains(kind)) {
                let [first, second] = [other.name(), one.name()];
                let what = format!("`{first}` and `{second}` both make changes like `{kind}`");
                let remedy = "remove one of them, or give one keys by which it leaves these to the \
                              other: each takes away in time what it has not made";
                return Err(document.error(&section, what, remedy));
            }
            let takes = one.takes();
            if let Some(reason) = other.takes().into_iter().find(|reason| takes.contains(reason)) {
                let [first, second] = [other.name(), one.name()];
                let what = format!("`{first}` and `{second}` both take the frames of `{reason}`");
                let remedy = "remove one of them: a frame goes to one controller";
                return Err(document.error(&section, what, remedy));
            }
        }
        all.push(one);
    }
    Ok(all)
}

fn controller(
    document: &Document,
    (section, value): (&str, &Value),
    known: &[&'static dyn ControllerKind],
) -> Result<Arc<dyn Configured>, DocumentError> {
    let names: Vec<&str> = known.iter().map(|one| one.name()).collect();
    let named = format!("controllers: {}", names.join(", "));
    let mut keys = match value {
        Value::String(name) => Map::from_iter([("name".to_owned(), name.as_str().into())]),
        Value::Object(keys) => keys.clone(),
        other => return Err(no_mapping(document, section, other)),
    };
    let at = format!("{section}.name");
    let name = match keys.shift_remove("name") {
        Some(Value::String(name)) => name,
        _ => return Err(document.error(&at, "the name is missing", named)),
    };
    let Some(found) = known.iter().find(|one| one.name() == name) else {
        return Err(document.error(&at, format!("there is no controller `{name}`"), named));
    };
    check_keys(document, section, &keys, &found.schema())?;
    found.read(keys).map_err(|bad| document.invalid(section, bad, SEE_SCHEMA))
}
