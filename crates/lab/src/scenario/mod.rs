//! Scenarios: which function, device, traffic and methods, and over which values.
//!
//! Reading a file goes in steps: `files` (paths to texts), the crate `document` (text to values with
//! lines, several to one, which keys there are), then a file each: `entries` (a file to its benchmarks), `sweep` (lists to cells), `build` (all of it to what is measured), `plan`, `thresholds` and
//! `plots`. What comes out is complete and valid: every cell was configured once, so nothing of the
//! file can fail after the first measurement.
//!
//! TIPSY's files are scenarios too: `pipeline` is another word for `function`, everything else has
//! its default, and of lists only the first value is used unless `scale` says otherwise. What its
//! other sections mean is in `tipsy`.

mod build;
pub(crate) mod device;
mod entries;
mod files;
pub(crate) mod plan;
pub(crate) mod plots;
pub(crate) mod scale;
pub(crate) mod sections;
mod small;
pub mod sweep;
pub(crate) mod thresholds;
pub(crate) mod tipsy;

use std::path::Path;
use std::sync::Arc;

use measure::record::Plot;
use serde_json::{Map, Value};

use build::Builder;
pub use device::DeviceChoice;
pub use document::{Document, DocumentError as ScenarioError, keys};
use document::{Kind, in_plain_words, kind, tree};
pub use scale::ALONG;
pub use sections::MethodChoice;
pub use sweep::Scale;
pub use tipsy::PIPELINES as TIPSY_PIPELINES;

use crate::unit::{ConfigError, Configured, FunctionUnit};
use keys::Place;
use sweep::{CELLS_MAX, Combination};
use tipsy::Remarks;

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
    /// Which published figures stand beside its own, by the beginnings of their names.
    pub references: Vec<String>,
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
    /// Its name as the file has it, which several may share; empty where the file is one benchmark.
    pub id: String,
    /// The function to measure.
    pub unit: &'static dyn FunctionUnit,
    /// What implements it, at least one.
    pub devices: Vec<DeviceChoice>,
    /// What to find out, in this order, of each cell.
    pub methods: Vec<MethodChoice>,
    /// The combinations of values to measure, at least one.
    pub cells: Vec<Combination>,
    /// What TIPSY's `tester` asked for, where the methods stand for one.
    pub tester: Option<Value>,
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
    /// Reads a scenario file, or all of a directory merged as TIPSY merges them.
    ///
    /// # Errors
    /// Whatever is wrong with the file, by file, line and key.
    pub fn read(path: &Path, functions: Functions) -> Result<Scenario, ScenarioError> {
        let file = path.display().to_string();
        Scenario::of(&file, &files::read(path)?, functions)
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
        Scenario::of(file, &[(file.to_owned(), text)], functions)
    }

    fn of(
        file: &str,
        texts: &[files::Named],
        functions: Functions,
    ) -> Result<Scenario, ScenarioError> {
        let mut root: Option<tree::Tree> = None;
        for (name, text) in texts {
            let next = Document::tree(&SCENARIO, name, text)?;
            root = Some(match root {
                None => next,
                Some(earlier) => earlier.merge(next)?,
            });
        }
        let Some(root) = root else {
            return Err(ScenarioError::of_file(file, "there is no scenario", "name a file"));
        };
        let entries::Parts { document, entries } = entries::take_apart(root, file)?;
        let (benchmarks, mut remarks) = benchmarks(entries, functions)?;
        Ok(Scenario {
            file: file.to_owned(),
            name: sections::name(&document)?,
            description: sections::text(&document, "description")?.unwrap_or_default(),
            references: sections::texts(&document, "references")?,
            plan: plan::read(&document, &benchmarks)?,
            thresholds: thresholds::read(&document, &benchmarks)?,
            plots: plots::read(&document, &benchmarks, functions, &mut remarks)?,
            benchmarks,
            notes: remarks.into_notes(),
            text: files::joined(texts),
        })
    }

    /// All cells with their benchmarks, in the order of the file.
    pub fn cells(&self) -> impl Iterator<Item = (&Benchmark, &Combination)> {
        self.benchmarks.iter().flat_map(|one| one.cells.iter().map(move |cell| (one, cell)))
    }
}

/// What the entries of a file are to measure, at least one benchmark and no more cells than a run
/// may have.
fn benchmarks(
    entries: Vec<entries::Entry>,
    functions: Functions,
) -> Result<(Vec<Benchmark>, Remarks), ScenarioError> {
    let mut builder = Builder { functions, remarks: Remarks::default(), absent: Vec::new() };
    let mut benchmarks = Vec::new();
    let mut cells = 0_usize;
    for entry in entries {
        let listed = entry.listed;
        let whole = Arc::new(entry.document.clone());
        let built = builder.build(entry)?;
        cells += built.iter().map(|one| one.cells.len()).sum::<usize>();
        if cells > CELLS_MAX {
            let what =
                format!("the lists make more than {CELLS_MAX} cells, all benchmarks together");
            let remedy = "shorten the lists, or divide the benchmarks among several files";
            return Err(whole.error(if listed { "" } else { "methods" }, what, remedy));
        }
        benchmarks.extend(built);
    }
    let mut absent = builder.absent.into_iter();
    if benchmarks.is_empty()
        && let Some((_, error)) = absent.next()
    {
        return Err(error);
    }
    for (index, error) in absent {
        let place = error.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        builder.remarks.note(format!("benchmark[{index}]{place} is left out: {}", error.what));
    }
    build::tell_apart(&mut benchmarks);
    Ok((benchmarks, builder.remarks))
}

impl Benchmark {
    /// The device that a cell is measured on.
    pub fn device(&self, cell: &Combination) -> &DeviceChoice {
        &self.devices[cell.device.min(self.devices.len() - 1)]
    }

    /// Configures the function and its workload for one cell, without setting anything up.
    ///
    /// # Errors
    /// The key whose value the function refuses.
    pub fn configure(&self, cell: &Combination) -> Result<Box<dyn Configured>, ScenarioError> {
        let section =
            |index: usize| Value::Object(cell.sections.get(index).cloned().unwrap_or_default());
        let configured = self.unit.configure(section(0), section(1));
        let suits = |one: Box<dyn Configured>| one.suits(self.device(cell)).map(|()| one);
        configured.and_then(suits).map_err(|error| self.in_file(cell, error))
    }

    /// Puts the file, the line, and the word the file uses to an error of a unit.
    fn in_file(&self, cell: &Combination, error: ConfigError) -> ScenarioError {
        let key = match error.path.strip_prefix("function") {
            Some(rest) => format!("{}{rest}", self.function_key),
            None => error.path.clone(),
        };
        let what = self.with_range(&error.path, in_plain_words(&error.what));
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

    /// The range of a whole number as the unit has it, where the parser only knows its own.
    fn with_range(&self, path: &str, what: String) -> String {
        let Some((section, key)) = path.split_once('.') else { return what };
        let schema = match section {
            "function" => self.unit.config_schema(),
            _ => self.unit.traffic_schema(),
        };
        let range =
            key.split('.').try_fold(Place::root(&schema), Place::key).and_then(Place::range);
        match (range, what.rsplit_once("a whole number")) {
            (Some((least, most)), Some((before, _))) => {
                format!("{before}a whole number from {least} to {most}")
            }
            _ => what,
        }
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

/// What messages call such a file.
pub const SCENARIO: Kind = Kind {
    noun: "scenario",
    folder: "scenarios",
    starting_point: "start from scenarios/mobile-gateway.yaml; `plumbline schema` lists every key",
};

#[cfg(test)]
mod tests;
