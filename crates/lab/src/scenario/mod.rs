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
use std::sync::Arc;

use measure::record::Plot;
use serde_json::{Map, Value};

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
    /// What to measure, at least one.
    pub benchmarks: Vec<Benchmark>,
    /// How often, and in which order.
    pub plan: Plan,
    /// What the results must be for the bench to pass.
    pub thresholds: Vec<Threshold>,
    /// What to draw beside the usual charts.
    pub plots: Vec<Plot>,
    /// What the user should know of how the file was understood.
    pub notes: Vec<String>,
}

/// A function on a device, with what to find out of it, over some values.
pub struct Benchmark {
    /// Its name; empty where the file has only one.
    pub id: String,
    /// The function to measure.
    pub unit: &'static dyn FunctionUnit,
    /// What implements it.
    pub device: DeviceChoice,
    /// What to find out, in this order, of each cell.
    pub methods: Vec<MethodChoice>,
    /// The combinations of values to measure, at least one.
    pub cells: Vec<Combination>,
    document: Arc<Document>,
    function_key: &'static str,
}

/// How often to measure, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the order is drawn from.
    pub seed: u64,
    /// How often each method measures each cell.
    pub repetitions: u32,
    /// The swept key (`function.policer`) whose values are measured side by side, in pairs.
    pub compare: Option<String>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { seed: 1, repetitions: 1, compare: None }
    }
}

/// What a figure must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The method; any that gives the figure where there is none.
    pub method: Option<String>,
    /// The figure, as the record names it.
    pub figure: String,
    /// Of which direction or stage.
    pub of: Option<String>,
    /// The cells it holds for: swept keys and the values they must have; all where empty.
    pub cells: Map<String, Value>,
    /// The least it may be, in the figure's unit.
    pub at_least: Option<f64>,
    /// The most it may be.
    pub at_most: Option<f64>,
    /// As the file has it: `>= 5 Mpps`.
    pub text: String,
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
        let document = Arc::new(document);
        let benchmark = Benchmark {
            id: String::new(),
            unit,
            device: sections::device(&document)?,
            methods: sections::methods(&document)?,
            cells: expansion.combinations,
            document: Arc::clone(&document),
            function_key,
        };
        for cell in &benchmark.cells {
            benchmark.configure(cell)?;
        }
        Ok(Scenario {
            file: file.to_owned(),
            name: sections::name(&document)?,
            description: sections::text(&document, "description")?.unwrap_or_default(),
            benchmarks: vec![benchmark],
            plan: Plan::default(),
            thresholds: Vec::new(),
            plots: Vec::new(),
            notes: expansion.notes,
            text,
        })
    }

    /// All cells with their benchmarks, in the order of the file.
    pub fn cells(&self) -> impl Iterator<Item = (&Benchmark, &Combination)> {
        self.benchmarks.iter().flat_map(|one| one.cells.iter().map(move |cell| (one, cell)))
    }
}

impl Benchmark {
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
            .field("benchmarks", &self.benchmarks.len())
            .field("cells", &self.cells().count())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
