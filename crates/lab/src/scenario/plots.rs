//! What to draw: TIPSY's `visualize`.
//!
//! Every path of a plot is checked against what a cell can have before anything is measured. In a
//! file of TIPSY a plot that cannot be drawn is left out with a note, so that the file still loads;
//! in one of our own it is an error.

use std::collections::BTreeSet;

use measure::record::{AxisType, OPERATORS, PATHS, Plot, PlotKind};
use methods::METHODS;
use serde_json::{Map, Value, json};

use super::benchmark::Benchmark;
use super::kind;
use super::tipsy::{self, Remarks};
use super::{Document, ScenarioError, device};
use crate::unit::Functions;
use keys::{Place, nearest, remedy_for_unknown};

/// The keys of a plot.
pub(crate) const KEYS: [&str; 9] =
    ["type", "x-axis", "y-axis", "z-axis", "group-by", "filter", "aggregate", "title", "axis-type"];

/// The kinds of plots, by TIPSY's names.
pub(crate) const KINDS: [(&str, PlotKind); 4] = [
    ("simple", PlotKind::Simple),
    ("table", PlotKind::Table),
    ("contour", PlotKind::Contour),
    ("USL", PlotKind::Usl),
];

/// The scales of axes, by TIPSY's names.
pub(crate) const AXIS_TYPES: [(&str, AxisType); 4] = [
    ("normal", AxisType::Normal),
    ("semilogx", AxisType::SemilogX),
    ("semilogy", AxisType::SemilogY),
    ("loglog", AxisType::LogLog),
];

/// Reads `visualize`.
///
/// # Errors
/// A plot that cannot be drawn, in a file that is not TIPSY's.
pub(super) fn read(
    document: &Document,
    benchmarks: &[Benchmark],
    functions: Functions,
    remarks: &mut Remarks,
) -> Result<Vec<Plot>, ScenarioError> {
    let list = match document.root.get("visualize") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= PLOTS_MAX => list,
        Some(Value::Array(_)) => {
            let what = format!("more than {PLOTS_MAX} plots");
            return Err(document.error("visualize", what, "keep only the useful ones"));
        }
        Some(other) => {
            let what = format!("expected a list of plots, not {}", kind(other));
            return Err(document.error("visualize", what, "begin each with `- x-axis: …`"));
        }
    };
    let is_tipsys = benchmarks.iter().any(|one| one.function_key == "pipeline");
    let paths = paths(benchmarks);
    let mut reader = Reader { document, paths, benchmarks, functions, remarks: &mut *remarks };
    let mut plots: Vec<Plot> = Vec::new();
    let mut left_out: Vec<(String, Vec<String>)> = Vec::new();
    for (at, value) in list.iter().enumerate() {
        match reader.plot(&format!("visualize[{at}]"), value) {
            // Plots that differed in the switch only are the same here.
            Ok(plot) if plots.contains(&plot) => {}
            Ok(plot) => plots.push(plot),
            Err(error) if is_tipsys => {
                let line = error.line.map(|line| format!(" (line {line})")).unwrap_or_default();
                let place = format!("{}{line}", at + 1);
                let remedy = if error.remedy.is_empty() { "" } else { "; " };
                let why = format!("{}{remedy}{}", error.what, error.remedy);
                match left_out.iter_mut().find(|(other, _)| *other == why) {
                    Some((_, places)) => places.push(place),
                    None => left_out.push((why, vec![place])),
                }
            }
            Err(error) => return Err(error),
        }
    }
    for (why, places) in left_out {
        let (plots, are) = if places.len() == 1 { ("plot", "is") } else { ("plots", "are") };
        remarks.note(format!("{plots} {} {are} skipped: {why}", places.join(", ")));
    }
    Ok(plots)
}

struct Reader<'a> {
    document: &'a Document,
    paths: BTreeSet<String>,
    benchmarks: &'a [Benchmark],
    functions: Functions,
    remarks: &'a mut Remarks,
}

impl Reader<'_> {
    fn plot(&mut self, path: &str, value: &Value) -> Result<Plot, ScenarioError> {
        let Value::Object(keys) = value else {
            let what = format!("expected a mapping of keys to values, not {}", kind(value));
            return Err(self.document.error(path, what, "write `x-axis` and `y-axis` below it"));
        };
        if let Some(key) = keys.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let what = format!("unknown key `{key}`");
            let remedy = remedy_for_unknown(key, &KEYS);
            return Err(self.document.error(&format!("{path}.{key}"), what, remedy));
        }
        if keys.get("aggregate").is_some_and(|all| !matches!(all, Value::Null) && *all != json!([]))
        {
            let what = "`aggregate` needs a MongoDB server, which is not supported";
            let remedy = "use `filter` and `group-by`, or process trials.csv";
            return Err(self.document.error(&format!("{path}.aggregate"), what, remedy));
        }
        let kind = self.choice(path, keys, "type", &KINDS)?;
        let filter = self.filter(path, keys)?;
        let z_axis = self.path(path, keys, "z-axis")?;
        if kind == PlotKind::Contour && z_axis.is_none() {
            let what = "a contour needs a `z-axis`";
            return Err(self.document.error(path, what, "name the path that its colours show"));
        }
        let title = match keys.get("title") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(title)) => title.clone(),
            Some(other) => other.to_string(),
        };
        let required = |path: Option<String>, key: &str, document: &Document, place: &str| {
            let what = format!("a plot needs an `{key}`");
            path.ok_or_else(|| document.error(place, what, "name the path that it shows"))
        };
        let x_axis = self.path(path, keys, "x-axis")?;
        let y_axis = self.list(path, keys, "y-axis")?;
        required(y_axis.first().cloned(), "y-axis", self.document, path)?;
        Ok(Plot {
            kind,
            title,
            x_axis: required(x_axis, "x-axis", self.document, path)?,
            y_axis,
            z_axis,
            group_by: self.list(path, keys, "group-by")?,
            filter,
            axis_type: self.choice(path, keys, "axis-type", &AXIS_TYPES)?,
        })
    }

    fn choice<T: Copy>(
        &self,
        path: &str,
        keys: &Map<String, Value>,
        key: &str,
        choices: &[(&str, T)],
    ) -> Result<T, ScenarioError> {
        let value = match keys.get(key) {
            None | Some(Value::Null) => return Ok(choices[0].1),
            Some(value) => value,
        };
        let found = choices.iter().find(|(name, _)| value == name);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            let what = format!("{value} is not a valid {key} of a plot");
            let remedy = format!("one of {}", names.join(", "));
            self.document.error(&format!("{path}.{key}"), what, remedy)
        })
    }

    fn path(
        &self,
        path: &str,
        keys: &Map<String, Value>,
        key: &str,
    ) -> Result<Option<String>, ScenarioError> {
        let mut list = self.list(path, keys, key)?;
        match list.len() {
            0 | 1 => Ok(list.pop()),
            _ => {
                let what = format!("`{key}` is one path, not a list");
                Err(self.document.error(
                    &format!("{path}.{key}"),
                    what,
                    "write one plot for each path",
                ))
            }
        }
    }

    /// One or several paths; none if the key is absent or empty.
    fn list(
        &self,
        path: &str,
        keys: &Map<String, Value>,
        key: &str,
    ) -> Result<Vec<String>, ScenarioError> {
        let place = format!("{path}.{key}");
        let list = match keys.get(key) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(list)) if list.len() > PATHS_MAX => {
                let what = format!("more than {PATHS_MAX} paths");
                return Err(self.document.error(&place, what, "split them over several plots"));
            }
            Some(Value::Array(list)) => list.as_slice(),
            Some(single) => std::slice::from_ref(single),
        };
        let known = list.iter().filter(|one| *one != "").map(|one| self.known(&place, one));
        known.collect()
    }

    /// Checks that a cell can have a value at a path.
    fn known(&self, place: &str, value: &Value) -> Result<String, ScenarioError> {
        let Value::String(path) = value else {
            let what = format!("expected a path such as `pipeline.user`, not {}", kind(value));
            return Err(self.document.error(place, what, "docs/scenarios.md lists the paths"));
        };
        if self.paths.contains(path) || self.is_figure(path) {
            return Ok(path.clone());
        }
        let remedy = match nearest(path, self.paths.iter()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "docs/scenarios.md lists the paths".to_owned(),
        };
        Err(self.document.error(place, format!("no result has a value `{path}`"), remedy))
    }

    /// Whether a path is `method.figure` or `method.figure.part`.
    fn is_figure(&self, path: &str) -> bool {
        let mut parts = path.split('.');
        let method = parts.next().unwrap_or_default();
        let figure = parts.next().unwrap_or_default();
        METHODS.iter().any(|entry| entry.name == method)
            && methods::figures().iter().any(|known| known.name == figure)
    }

    fn filter(
        &mut self,
        path: &str,
        keys: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ScenarioError> {
        let place = format!("{path}.filter");
        let conditions = match keys.get("filter") {
            None | Some(Value::Null) => return Ok(Map::new()),
            Some(Value::Object(conditions)) => conditions,
            Some(other) => {
                let what = format!("expected a mapping of paths to values, not {}", kind(other));
                return Err(self.document.error(&place, what, "write `{pipeline.user: 1000}`"));
            }
        };
        let mut filter = Map::new();
        for (path, wanted) in conditions {
            let place = format!("{place}.{path}");
            if path == "sut.type" {
                let note = "filters by `sut.type` are ignored in plots: there is one device".into();
                self.remarks.note(note);
                continue;
            }
            self.known(&place, &Value::String(path.clone()))?;
            self.operators(&place, wanted)?;
            let name = if path.ends_with(".name") {
                self.own_name(&place, wanted)?
            } else {
                wanted.clone()
            };
            filter.insert(path.clone(), name);
        }
        Ok(filter)
    }

    /// A function's own name for TIPSY's alias.
    fn own_name(&self, place: &str, wanted: &Value) -> Result<Value, ScenarioError> {
        let Some(name) = wanted.as_str() else { return Ok(wanted.clone()) };
        let key = if place.ends_with("pipeline.name") { "pipeline" } else { "function" };
        if let Some(what) = tipsy::absent(key, name, self.functions) {
            return Err(self.document.error(place, what, ""));
        }
        let unit = self
            .benchmarks
            .iter()
            .map(|one| one.unit)
            .find(|unit| unit.name() == name || unit.aliases().contains(&name));
        Ok(unit.map_or_else(|| wanted.clone(), |unit| unit.name().into()))
    }

    fn operators(&self, place: &str, wanted: &Value) -> Result<(), ScenarioError> {
        let Value::Object(conditions) = wanted else { return Ok(()) };
        for (operator, operand) in conditions {
            if !OPERATORS.contains(&operator.as_str()) {
                let what = format!("`{operator}` is not a known operator of a filter");
                let remedy = format!("one of {}", OPERATORS.join(", "));
                return Err(self.document.error(&format!("{place}.{operator}"), what, remedy));
            }
            self.operators(&format!("{place}.{operator}"), operand)?;
        }
        Ok(())
    }
}

/// Every path at which a cell of these benchmarks can have a value, without figures.
fn paths(benchmarks: &[Benchmark]) -> BTreeSet<String> {
    let mut paths: BTreeSet<String> = PATHS.iter().map(|known| known.path.to_owned()).collect();
    let mut seen = BTreeSet::new();
    for unit in benchmarks.iter().map(|one| one.unit) {
        if !seen.insert(unit.name()) {
            continue;
        }
        let (config, traffic) = (unit.config_schema(), unit.traffic_schema());
        for key in Place::root(&config).keys() {
            paths.insert(format!("pipeline.{key}"));
            paths.insert(format!("function.{key}"));
        }
        paths.extend(Place::root(&traffic).keys().iter().map(|key| format!("traffic.{key}")));
    }
    paths.insert("function.name".into());
    paths.extend(tipsy::tester::SENSE.map(|key| format!("tester.{key}")));
    paths.extend(device::DEVICE_KEYS.map(|key| format!("device.{key}")));
    for choice in benchmarks.iter().flat_map(|one| &one.devices) {
        let Some(schema) = choice.device.schema() else { continue };
        paths.extend(Place::root(&schema).keys().iter().map(|key| format!("device.{key}")));
    }
    paths
}

/// JSON Schema of `visualize`.
pub(crate) fn schema() -> Value {
    let path = json!({"type": "string"});
    let paths = json!({"anyOf": [path, {"type": "array", "items": path}]});
    json!({
        "description": "Plots, in TIPSY's form; docs/scenarios.md lists the paths.",
        "anyOf": [{"type": "array", "items": {
            "type": "object",
            "properties": {
                "type": {"description": "Kind of the plot; by default `simple`.",
                    "enum": KINDS.map(|(name, _)| name)},
                "x-axis": {"description": "Path of the horizontal axis.", "anyOf": [path]},
                "y-axis": {"description": "Paths of the vertical axis.", "anyOf": [paths]},
                "z-axis": {"description": "Path of a contour plot's colours.", "anyOf": [path]},
                "group-by": {"description": "Paths whose combinations of values get a curve each.",
                    "anyOf": [paths]},
                "filter": {"description": "Selection of results: paths and their required values.",
                    "type": "object"},
                "aggregate": {"description": "MongoDB aggregation; not supported, no plot is drawn.",
                    "type": "array"},
                "title": {"description": "Title; `{pipeline.user}` is replaced by the value.",
                    "type": "string"},
                "axis-type": {"description": "Scales of the axes; by default `normal`.",
                    "enum": AXIS_TYPES.map(|(name, _)| name)},
            },
            "required": ["x-axis", "y-axis"],
            "additionalProperties": false,
        }}, {"type": "null"}],
    })
}

const PLOTS_MAX: usize = 200;
const PATHS_MAX: usize = 50;
