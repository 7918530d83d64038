//! Records by the names of their runs, read once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use measure::record::{Cell, RunRecord};
use report::archive::record_file;
use serde_json::Value;

use crate::tree::root;

/// The folder of the records.
pub fn folder() -> PathBuf {
    root().join("results")
}

/// The record of a run.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn run(name: &str) -> Result<Arc<RunRecord>, String> {
    static READ: Mutex<BTreeMap<String, Arc<RunRecord>>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().expect("nobody panics while reading");
    if let Some(record) = read.get(name) {
        return Ok(record.clone());
    }
    let record = report::read(&record_file(&folder().join(name))).map_err(|e| e.to_string())?;
    let record = Arc::new(record);
    read.insert(name.to_owned(), record.clone());
    Ok(record)
}

/// A result that is no run: what a command of `cargo xtask` has written.
///
/// # Errors
/// When there is none, or it is no JSON.
pub fn file(name: &str) -> Result<Value, String> {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{name}: {e}"))
}

/// The cell of an identifier, or of its first keys; of a run of one cell, `-` is it.
///
/// # Errors
/// When there is none, or not just one.
pub fn cell<'a>(record: &'a RunRecord, id: &str) -> Result<&'a Cell, String> {
    if id == "-" && record.cells.len() == 1 {
        return Ok(&record.cells[0]);
    }
    let begins = |cell: &&Cell| cell.id.strip_prefix(id).is_some_and(|rest| rest.starts_with(','));
    let whole = record.cells.iter().find(|cell| cell.id == id);
    let mut beginning = record.cells.iter().filter(begins);
    let found = whole.or_else(|| beginning.next().filter(|_| beginning.next().is_none()));
    let ids = || record.cells.iter().map(|cell| cell.id.as_str()).collect::<Vec<_>>().join("  ");
    found.ok_or_else(|| format!("{} has no cell {id}; it has {}", record.name(), ids()))
}

/// Holds that two records are of one host, so that their figures may be divided.
///
/// # Errors
/// When they are not; it says what differs.
pub fn same_host(one: &RunRecord, other: &RunRecord) -> Result<(), String> {
    if one.host.is_like(&other.host) {
        return Ok(());
    }
    let of = |record: &RunRecord| format!("{} is of {}", record.name(), record.host.cpu_model);
    Err(format!("no ratio of figures of two hosts: {}, {}", of(one), of(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_two_hosts_are_not_divided() {
        let of = |name| run(name).expect("the record is there");
        let epyc = of("cgnat-capacity-20261124T081712Z");
        let xeon = of("cgnat-capacity-20261123T065559Z");
        let refused = same_host(&epyc, &xeon).expect_err("an EPYC and a Xeon");
        assert!(refused.contains("AMD EPYC") && refused.contains("Intel(R) Xeon"), "{refused}");
        let before = of("cgnat-capacity-20261124T081851Z");
        assert_eq!(same_host(&epyc, &before), Ok(()));
    }

    #[test]
    fn a_cell_is_named_in_full() {
        let record = run("cgnat-capacity-20261124T081712Z").expect("the record is there");
        assert!(cell(&record, "million:base").is_ok());
        assert!(cell(&record, "million").is_err_and(|problem| problem.contains("million:base")));
        assert!(cell(&record, "-").is_err(), "it has several");
    }
}
