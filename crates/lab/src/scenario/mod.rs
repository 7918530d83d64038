//! Scenarios: which function, device, traffic and methods, and over which values.
//!
//! Reading a file goes in steps, a file each: `load` (text to values with lines), `keys` (which keys
//! there are), `sweep` (lists to cells). What comes out is complete and valid: every cell was
//! configured once, so nothing of the file can fail after the first measurement.
//!
//! TIPSY's pipeline files are scenarios too: `pipeline` is another word for `function`, everything
//! else has its default, and of lists only the first value is used unless `scale` says otherwise.

mod error;
pub mod keys;
mod load;
mod sections;
pub mod sweep;

use std::path::Path;

use serde_json::Value;

pub use error::ScenarioError;
pub use load::Document;
pub use sections::{DEVICES, DeviceChoice, MethodChoice};
pub use sweep::Scale;

use crate::unit::{ConfigError, Configured, FunctionUnit};
use keys::Place;
use sweep::{Combination, Section, expand};

/// The functions a front end knows, in the order of its help.
pub type Functions = &'static [&'static dyn FunctionUnit];

/// A scenario, read and valid.
pub struct Scenario {
    /// The file as the user named it.
    pub file: String,
    /// The text of the file.
    pub text: String,
    /// Its name, from the file's name where it gives none; fit to name a folder.
    pub name: String,
    /// What it says of itself.
    pub description: String,
    /// The function to measure.
    pub unit: &'static dyn FunctionUnit,
    /// What implements it.
    pub device: DeviceChoice,
    /// What to find out, in this order, of each cell.
    pub methods: Vec<MethodChoice>,
    /// The combinations of values to measure, at least one.
    pub cells: Vec<Combination>,
    /// What the user should know of how the file was understood.
    pub notes: Vec<String>,
    document: Document,
    function_key: &'static str,
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// Whatever is wrong with the file, by file, line and key.
    pub fn read(path: &Path, functions: Functions) -> Result<Scenario, ScenarioError> {
        let file = path.display().to_string();
        let text = load::read_text(path)?;
        Scenario::parse(&file, text, functions)
    }

    /// Reads the text of a scenario file named `file`.
    ///
    /// # Errors
    /// As [`Scenario::read`].
    pub fn parse(
        file: &str,
        text: String,
        functions: Functions,
    ) -> Result<Scenario, ScenarioError> {
        let document = Document::parse(file, &text)?;
        sections::check_top_level(&document)?;
        let function = sections::function(&document, functions)?;
        let (unit, function_key) = (function.unit, function.key);
        let traffic = sections::object(&document, "traffic")?.cloned().unwrap_or_default();
        let schemas = [unit.config_schema(), unit.traffic_schema()];
        let parts = [
            Section {
                key_in_file: function_key,
                name: "function",
                values: &function.values,
                schema: Place::root(&schemas[0]),
            },
            Section {
                key_in_file: "traffic",
                name: "traffic",
                values: &traffic,
                schema: Place::root(&schemas[1]),
            },
        ];
        for part in &parts {
            sections::check_keys(&document, part.key_in_file, part.values, part.schema)?;
        }
        let scale = sections::scale(&document, function_key)?;
        let expansion = expand(&document, &parts, scale)?;
        let scenario = Scenario {
            file: file.to_owned(),
            name: sections::name(&document)?,
            description: sections::text(&document, "description")?.unwrap_or_default(),
            unit,
            device: sections::device(&document)?,
            methods: sections::methods(&document)?,
            cells: expansion.combinations,
            notes: expansion.notes,
            text,
            document,
            function_key,
        };
        for cell in &scenario.cells {
            scenario.configure(cell)?;
        }
        Ok(scenario)
    }

    /// Configures the function and its workload for one cell, without setting anything up.
    ///
    /// # Errors
    /// The key whose value the function refuses.
    pub fn configure(&self, cell: &Combination) -> Result<Box<dyn Configured>, ScenarioError> {
        let section =
            |index: usize| Value::Object(cell.sections.get(index).cloned().unwrap_or_default());
        self.unit.configure(section(0), section(1)).map_err(|error| self.in_file(cell, error))
    }

    /// Puts the file, the line, and the word the file uses to an error of a unit.
    fn in_file(&self, cell: &Combination, error: ConfigError) -> ScenarioError {
        let key = match error.path.strip_prefix("function") {
            Some(rest) => format!("{}{rest}", self.function_key),
            None => error.path.clone(),
        };
        let what = error::in_plain_words(&error.what);
        let what = match (cell.parameters.get(&error.path), cell.value(&error.path)) {
            (Some(value), _) => format!("{what} (value {value} of the list)"),
            (None, Some(Value::String(text))) if !what.contains(text.as_str()) => {
                format!("{what}: `{text}`")
            }
            _ => what,
        };
        let remedy = match error.remedy.as_str() {
            "" => "`plumbline schema` tells what each key takes",
            remedy => remedy,
        };
        self.document.error(&key, what, remedy)
    }
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scenario")
            .field("file", &self.file)
            .field("name", &self.name)
            .field("function", &self.unit.name())
            .field("cells", &self.cells.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
