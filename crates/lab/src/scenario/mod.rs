//! Scenarios: which function, device, traffic and methods, and over which values.
//!
//! Reading a file goes in steps: `files` (paths to texts), the crate `document` (text to values
//! with lines, several to one, which keys there are), then a file each: `entries` (a file to its
//! benchmarks), `sweep` (lists to cells), `build` (all of it to what is measured), `plan`,
//! `thresholds` and `plots`. What comes out is complete and valid: every cell was configured once,
//! so nothing of the file can fail after the first measurement.
//!
//! A command line may set keys over those of the file, or do without one (`given`); the text of the
//! scenario is then that of both together, so that it can be run again.
//!
//! TIPSY's files are scenarios too: `pipeline` is another word for `function`, everything else has
//! its default, and of lists only the first value is used unless `scale` says otherwise. What its
//! other sections mean is in `tipsy`.

mod benchmark;
mod build;
pub(crate) mod device;
mod entries;
mod files;
mod given;
pub(crate) mod method;
pub(crate) mod plan;
pub(crate) mod plots;
pub(crate) mod scale;
pub(crate) mod sections;
mod smoke;
pub mod sweep;
pub(crate) mod thresholds;
pub(crate) mod tipsy;

use std::path::Path;
use std::sync::Arc;

use measure::record::Plot;

pub use benchmark::Benchmark;
use build::Builder;
pub use device::DeviceChoice;
pub use document::{Document, DocumentError as ScenarioError};
use document::{kind, tree};
pub use files::SCENARIO;
pub use given::Given;
pub use method::MethodChoice;
pub use plan::Plan;
pub use scale::ALONG;
pub use sweep::Scale;
pub use thresholds::Threshold;
pub use tipsy::PIPELINES as TIPSY_PIPELINES;

pub use crate::unit::Functions;
use sweep::{CELLS_MAX, Combination};
use tipsy::Remarks;

/// A scenario that was read and validated.
pub struct Scenario {
    /// Path of the file as named by the user.
    pub file: String,
    /// The text of the file; with the keys in it that the command line set, if it set any.
    pub text: String,
    /// Name of the scenario, by default that of the file; usable as a folder name.
    pub name: String,
    /// Description of the scenario.
    pub description: String,
    /// Prefixes of the names of published figures that the report shows.
    pub references: Vec<String>,
    /// The benchmarks, at least one.
    pub benchmarks: Vec<Benchmark>,
    /// Repetitions and order of the measurements.
    pub plan: Plan,
    /// Thresholds that the results must meet for the bench to pass.
    pub thresholds: Vec<Threshold>,
    /// Plots in addition to the usual charts.
    pub plots: Vec<Plot>,
    /// Notes on how the file was interpreted.
    pub notes: Vec<String>,
}

impl Scenario {
    /// Reads a scenario file, or all files of a directory, merged as TIPSY merges them.
    ///
    /// # Errors
    /// Any error in the file, with its line and key.
    pub fn read(path: &Path, functions: Functions) -> Result<Scenario, ScenarioError> {
        Scenario::given(&Given { path: Some(path.to_owned()), ..Given::default() }, functions)
    }

    /// Reads what a command line names: a file or a directory, or a function without a file, with
    /// the keys that it sets.
    ///
    /// # Errors
    /// Any error in the file or in what is set, with its line or option, and key.
    pub fn given(given: &Given, functions: Functions) -> Result<Scenario, ScenarioError> {
        let texts = match &given.path {
            Some(path) => files::read(path)?,
            None => Vec::new(),
        };
        Scenario::of(&given.file(), &texts, given, functions)
    }

    /// Parses the text of a scenario file named `file`.
    ///
    /// # Errors
    /// Any error in the text, with its line and key.
    pub fn parse(
        file: &str,
        text: String,
        functions: Functions,
    ) -> Result<Scenario, ScenarioError> {
        Scenario::of(file, &[(file.to_owned(), text)], &Given::default(), functions)
    }

    fn of(
        file: &str,
        texts: &[files::Named],
        given: &Given,
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
        let mut text = files::joined(texts);
        let root = match root {
            Some(root) if given.is_plain() => root,
            root => {
                let root = given.over(root)?;
                text = given.text(&root);
                root
            }
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
            text,
        })
    }

    /// Keeps only the cells with these ids, and the thresholds that are about one of them.
    ///
    /// # Errors
    /// The first id that no cell has.
    pub fn keep_cells<'a>(&mut self, ids: &'a [String]) -> Result<(), &'a str> {
        let has = |id: &&String| self.cells().any(|(_, cell)| cell.id == **id);
        if let Some(unknown) = ids.iter().find(|id| !has(id)) {
            return Err(unknown);
        }
        for benchmark in &mut self.benchmarks {
            benchmark.cells.retain(|cell| ids.contains(&cell.id));
        }
        self.benchmarks.retain(|benchmark| !benchmark.cells.is_empty());
        let kept: Vec<Combination> = self.cells().map(|(_, cell)| cell.clone()).collect();
        self.thresholds
            .retain(|threshold| kept.iter().any(|cell| threshold.is_about(&cell.parameters)));
        Ok(())
    }

    /// All cells with their benchmarks, in the order of the file.
    pub fn cells(&self) -> impl Iterator<Item = (&Benchmark, &Combination)> {
        self.benchmarks.iter().flat_map(|one| one.cells.iter().map(move |cell| (one, cell)))
    }
}

/// The benchmarks of the entries of a file: at least one, and at most the permitted number of
/// cells.
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
            let remedy = "shorten the lists, or split the benchmarks over several files";
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
        builder.remarks.note(format!("benchmark[{index}]{place} is skipped: {}", error.what));
    }
    build::tell_apart(&mut benchmarks);
    Ok((benchmarks, builder.remarks))
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
