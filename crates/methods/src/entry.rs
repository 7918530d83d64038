//! What a registry knows of a method.

use keys::Invalid;
use measure::Subject;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Method;
use crate::figures::KnownFigure;

/// An entry of the registry.
pub struct Entry {
    /// Name of the method in scenario files.
    pub name: &'static str,
    /// Summary for the help text, one line.
    pub summary: &'static str,
    /// What the method measures of a device.
    pub subject: Subject,
    /// The clauses of standards that the method follows or refers to.
    pub standards: &'static [&'static str],
    /// Figures of this method, in addition to the shared ones.
    pub figures: &'static [KnownFigure],
    /// Parses a configuration; absent keys get their defaults.
    pub read: fn(Value) -> Result<Box<dyn Method>, Invalid>,
    /// JSON Schema of the configuration.
    pub schema: fn() -> schemars::Schema,
}

/// Parses and validates a configuration; the error names the invalid key.
pub(crate) fn read<C>(
    value: Value,
    validate: fn(&C) -> Result<(), Invalid>,
) -> Result<Box<dyn Method>, Invalid>
where
    C: DeserializeOwned + Serialize + JsonSchema + Method + 'static,
{
    let config: C = keys::read("", value)?;
    validate(&config)?;
    Ok(Box::new(config))
}

/// The error of a configuration that the registry refuses.
#[cfg(test)]
pub(crate) fn refused(method: &dyn Method) -> Invalid {
    let entry = crate::find(method.name()).expect("a method of the registry");
    (entry.read)(method.configuration()).err().expect("it is refused")
}
