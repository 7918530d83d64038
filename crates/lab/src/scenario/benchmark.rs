//! A benchmark: a function on a device, with what to find out of it.

use std::sync::Arc;

use function_kit::Invalid;
use serde_json::Value;

use super::device::DeviceChoice;
use super::method::{MethodChoice, captures_suit};
use super::sweep::Combination;
use super::{Document, ScenarioError};
use crate::unit::{FunctionUnit, Sections};

/// A function on one or more devices, with its methods and swept values.
pub struct Benchmark {
    /// Name of the benchmark in the file, which several may share; empty if the file is one
    /// benchmark.
    pub id: String,
    /// The function.
    pub unit: &'static dyn FunctionUnit,
    /// The devices, at least one.
    pub devices: Vec<DeviceChoice>,
    /// The methods, in the order in which they measure each cell.
    pub methods: Vec<MethodChoice>,
    /// The combinations of values, at least one.
    pub cells: Vec<Combination>,
    /// TIPSY's `tester`, if the methods replace one.
    pub tester: Option<Value>,
    pub(super) document: Arc<Document>,
    pub(super) function_key: &'static str,
}

impl Benchmark {
    /// The device on which a cell is measured.
    pub fn device(&self, cell: &Combination) -> &DeviceChoice {
        &self.devices[cell.device.min(self.devices.len() - 1)]
    }

    /// Configures the function and its workload for one cell, without setting anything up.
    ///
    /// # Errors
    /// The key whose value the function refuses.
    pub fn configure(&self, cell: &Combination) -> Result<Arc<dyn Sections>, ScenarioError> {
        let section = |index: usize| cell.sections.get(index).cloned().unwrap_or_default();
        let read = self.unit.read(section(0), section(1));
        let suits = |one: Arc<dyn Sections>| {
            self.unit.suits(&*one, self.device(cell))?;
            one.captures().map_or(Ok(()), |it| captures_suit(it, &self.methods))?;
            Ok(one)
        };
        read.and_then(suits).map_err(|error| self.in_file(cell, &error))
    }

    /// Adds the file, the line, and the key as written in the file to the error of a unit.
    fn in_file(&self, cell: &Combination, error: &Invalid) -> ScenarioError {
        let path = error.path();
        let key = match path.strip_prefix("function") {
            Some(rest) => format!("{}{rest}", self.function_key),
            None => path.clone(),
        };
        let what = error.what.clone();
        let what = match (cell.parameters.get(&path), cell.value(&path)) {
            (Some(value), _) => format!("{what} (value {value} of the list)"),
            (None, Some(Value::String(text))) if !what.contains(text.as_str()) => {
                format!("{what}: `{text}`")
            }
            _ => what,
        };
        let remedy = match error.remedy.as_str() {
            "" => "`plumbline schema` lists the values of each key",
            remedy => remedy,
        };
        self.document.error(&key, what, remedy)
    }
}
