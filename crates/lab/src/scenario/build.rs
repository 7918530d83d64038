//! From a benchmark of the file to what is measured: its function, device, methods and cells.
//!
//! One benchmark of the file may become several here: one for each test of TIPSY's `tester`, and
//! one for each method along a key of its own. They keep the file's `id`.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::benchmark::Benchmark;
use super::device::{self, DeviceChoice};
use super::entries::Entry;
use super::kind;
use super::method::{self, MethodChoice, SCALE};
use super::sections::{self, FunctionSection};
use super::sweep::Scale;
use super::sweep::{CELLS_MAX, Combination, Section, expand};
use super::tipsy::tester::Test;
use super::tipsy::{self, Remarks};
use super::{Document, ScenarioError, scale};
use crate::unit::Functions;
use keys::Place;

/// State for reading the benchmarks of a file.
pub(super) struct Builder {
    /// The known functions.
    pub functions: Functions,
    /// Notes for the user.
    pub remarks: Remarks,
    /// Benchmarks of the file whose pipeline is not implemented, by their index in the list, with
    /// the reason.
    pub absent: Vec<(usize, ScenarioError)>,
}

/// Methods, and the cells that they measure.
struct Part {
    /// Suffix of the benchmark's name.
    label: String,
    /// The methods.
    methods: Vec<MethodChoice>,
    /// The cells in which the methods measure.
    cells: Vec<Combination>,
    /// TIPSY's tester that the methods replace, if any.
    tester: Option<Value>,
}

impl Builder {
    /// Reads one benchmark of the file; none if its pipeline is not implemented and other
    /// benchmarks may be.
    ///
    /// # Errors
    /// Any error in the benchmark, with its file, line and key.
    pub fn build(&mut self, entry: Entry) -> Result<Vec<Benchmark>, ScenarioError> {
        let Entry { mut document, listed, index } = entry;
        if listed {
            give_default_pipeline(&mut document);
            if let Some(error) = self.absent(&document) {
                self.absent.push((index, error));
                return Ok(Vec::new());
            }
        }
        let function = sections::function(&document, self.functions)?;
        let (unit, key) = (function.unit, function.key);
        let scale = sections::scale_of(&document, key)?;
        let id = id(&document, listed.then_some(index))?;
        let devices = device::read(&document, scale, &mut |note| self.remarks.note(note))?;
        tipsy::sut::read(&document, &mut self.remarks)?;
        let schemas = [unit.config_schema(), unit.traffic_schema()];
        let places = [Place::root(&schemas[0]), Place::root(&schemas[1])];
        let cells = self.cells(&document, &function, places, scale, &id)?;
        let cells = on_devices(&document, cells, &devices)?;
        let parts = self.parts(&document, &function, listed, (places, scale), (cells, &devices))?;
        for part in &parts {
            method::check_methods(&document, unit, &part.methods, &devices)?;
        }
        let several = parts.iter().filter(|part| part.tester.is_none()).count() > 1;
        let document = Arc::new(document);
        let benchmark = |part: Part| Benchmark {
            id: match (several, id.as_str()) {
                (false, id) => id.to_owned(),
                (true, "") => part.label,
                (true, id) => format!("{id}-{}", part.label),
            },
            unit,
            devices: devices.clone(),
            methods: part.methods,
            cells: part.cells,
            tester: part.tester,
            document: Arc::clone(&document),
            function_key: key,
        };
        let benchmarks: Vec<Benchmark> = parts.into_iter().map(benchmark).collect();
        for one in &benchmarks {
            one.cells.iter().try_for_each(|cell| one.configure(cell).map(|_| ()))?;
        }
        Ok(benchmarks)
    }

    /// Why a benchmark is skipped, if its pipeline is one of TIPSY's that is not implemented.
    fn absent(&self, document: &Document) -> Option<ScenarioError> {
        let key = if document.root.contains_key("pipeline") { "pipeline" } else { "function" };
        let name = match document.root.get(key)? {
            Value::Object(map) => map.get("name")?.as_str()?,
            Value::String(name) => name,
            _ => return None,
        };
        let what = tipsy::absent(key, name, self.functions)?;
        let known: Vec<&str> = self.functions.iter().map(|unit| unit.name()).collect();
        let remedy = format!("remove the benchmark; functions: {}", known.join(", "));
        Some(document.error(&format!("{key}.name"), what, remedy))
    }

    /// The combinations of the values of function and traffic.
    fn cells(
        &mut self,
        document: &Document,
        function: &FunctionSection,
        [config, packets]: [Place<'_>; 2],
        scale: Scale,
        id: &str,
    ) -> Result<Vec<Combination>, ScenarioError> {
        let mut traffic = sections::object(document, "traffic")?.cloned().unwrap_or_default();
        let is_tipsy = function.key == "pipeline";
        if is_tipsy {
            tipsy::clear_traffic(document, (&mut traffic, packets), &mut self.remarks)?;
        }
        let parts = [
            Section {
                key_in_file: function.key,
                name: "function",
                values: &function.values,
                schema: config,
            },
            Section { key_in_file: "traffic", name: "traffic", values: &traffic, schema: packets },
        ];
        sections::check_parts(document, &parts)?;
        let expansion = expand(document, &parts, scale)?;
        for note in expansion.notes {
            self.remarks.note(if id.is_empty() {
                note
            } else {
                format!("benchmark `{id}`: {note}")
            });
        }
        if is_tipsy {
            let written = document.root.get(function.key).and_then(Value::as_object);
            let (function, traffic) = ((&function.values, config), (&traffic, packets));
            tipsy::note_defaults(function, traffic, written, &mut self.remarks);
        }
        Ok(expansion.combinations)
    }

    fn parts(
        &mut self,
        document: &Document,
        function: &FunctionSection,
        listed: bool,
        (places, scale): ([Place<'_>; 2], Scale),
        (cells, devices): (Vec<Combination>, &[DeviceChoice]),
    ) -> Result<Vec<Part>, ScenarioError> {
        let entries = method::method_entries(document)?;
        let has_tester = document.root.get("tester").is_some_and(|tester| !tester.is_null());
        let is_tipsys = listed && function.key == "pipeline";
        match entries {
            Some(entries) => of_methods(document, entries, places, cells),
            None if has_tester || is_tipsys => {
                let tests = tipsy::tester::read(document, scale, &mut self.remarks)?;
                self.of_tests(document, &tests, &cells)
            }
            None => {
                let methods = method::default_methods(document, function.unit.subject(), devices)?;
                Ok(vec![Part { label: String::new(), methods, cells, tester: None }])
            }
        }
    }

    /// One part for each test, and for each frame length if the load depends on it.
    fn of_tests(
        &mut self,
        document: &Document,
        tests: &[Test],
        cells: &[Combination],
    ) -> Result<Vec<Part>, ScenarioError> {
        if tests.len().saturating_mul(cells.len()) > CELLS_MAX {
            let what = format!("its lists make more than {CELLS_MAX} cells");
            return Err(document.error("tester", what, "shorten the lists"));
        }
        let mut parts = Vec::new();
        for test in tests {
            let mut groups: Vec<(Option<f64>, Vec<Combination>)> = Vec::new();
            for cell in cells {
                let bytes = if test.has_rate() { Some(frame_bytes(document, cell)?) } else { None };
                let cell = cell.with_parameters(&test.parameters);
                match groups.iter_mut().find(|(other, _)| *other == bytes) {
                    Some((_, group)) => group.push(cell),
                    None => groups.push((bytes, vec![cell])),
                }
            }
            for (bytes, cells) in groups {
                let methods = test.methods(bytes, &mut self.remarks);
                let methods = methods.iter().map(|(entry, options)| {
                    method::method(document, "tester", entry.name, options)
                });
                let methods: Vec<MethodChoice> = methods.collect::<Result<_, _>>()?;
                let tester = Some(test.values.clone());
                parts.push(Part { label: String::new(), methods, cells, tester });
            }
        }
        Ok(parts)
    }
}

/// The cells of a part, on each device.
fn on_devices(
    document: &Document,
    cells: Vec<Combination>,
    devices: &[DeviceChoice],
) -> Result<Vec<Combination>, ScenarioError> {
    if devices.len() == 1 && devices[0].parameters.is_empty() {
        return Ok(cells);
    }
    if cells.len().saturating_mul(devices.len()) > CELLS_MAX {
        let what = format!("its lists make more than {CELLS_MAX} cells");
        return Err(document.error("device", what, "shorten the lists"));
    }
    let mut ids: HashMap<String, usize> = HashMap::new();
    let mut all = Vec::new();
    for cell in &cells {
        for (index, device) in devices.iter().enumerate() {
            let mut on = cell.with_parameters(&device.parameters);
            on.device = index;
            let times = ids.entry(on.id.clone()).or_default();
            *times += 1;
            if *times > 1 {
                on.id += &format!("~{times}");
            }
            all.push(on);
        }
    }
    Ok(all)
}

/// One part for all methods that sweep no key, and one for each method that sweeps one.
fn of_methods(
    document: &Document,
    entries: Vec<method::MethodEntry>,
    [function, traffic]: [Place<'_>; 2],
    cells: Vec<Combination>,
) -> Result<Vec<Part>, ScenarioError> {
    let mut plain = Vec::new();
    let mut scaled = Vec::new();
    for entry in entries {
        if entry.name == SCALE {
            let schemas = [("function", function), ("traffic", traffic)];
            let scaling = scale::read(document, &entry.path, &entry.options, schemas)?;
            let cells = scale::cells(document, &scaling, &cells)?;
            let label = scale::label(&scaling);
            let methods = vec![scaling.method];
            scaled.push(Part { label, methods, cells, tester: None });
        } else {
            plain.push(method::method(document, &entry.path, &entry.name, &entry.options)?);
        }
    }
    if !plain.is_empty() {
        let label = "all".to_owned();
        scaled.insert(0, Part { label, methods: plain, cells, tester: None });
    }
    Ok(scaled)
}

/// The frame length in bytes, on which a load in Mbit/s depends.
fn frame_bytes(document: &Document, cell: &Combination) -> Result<f64, ScenarioError> {
    match cell.value("traffic.pkt-size") {
        None => Ok(TIPSY_FRAME_BYTES),
        Some(value) => value.as_f64().filter(|bytes| *bytes > 0.0).ok_or_else(|| {
            let what = "a load in Mbit/s needs frames of one length";
            let remedy = "give `traffic.pkt-size` as a number, or use `methods` with a rate in pps";
            document.error("tester.rate-limit", what, remedy)
        }),
    }
}

/// Sets TIPSY's default pipeline, the mobile gateway, in entries that have none.
fn give_default_pipeline(document: &mut Document) {
    let absent = |key: &str| document.root.get(key).is_none_or(Value::is_null);
    if absent("pipeline") && absent("function") {
        document.root.shift_remove("function");
        let default = Map::from_iter([("name".to_owned(), tipsy::DEFAULT_PIPELINE.into())]);
        document.root.insert("pipeline".into(), Value::Object(default));
    }
}

/// The name of a benchmark: as in the file, or by its position in the list.
fn id(document: &Document, index: Option<usize>) -> Result<String, ScenarioError> {
    let Some(index) = index else { return Ok(String::new()) };
    for key in ["id", "name"] {
        match document.root.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => return Ok(text.clone()),
            Some(Value::Number(number)) => return Ok(number.to_string()),
            Some(other) => {
                let what = format!("expected a text, not {}", kind(other));
                return Err(document.error(key, what, "write one value"));
            }
        }
    }
    Ok(format!("benchmark-{}", index + 1))
}

/// Gives every cell of the scenario a unique id if there are several benchmarks.
pub(super) fn tell_apart(benchmarks: &mut [Benchmark]) {
    if benchmarks.len() < 2 {
        return;
    }
    let mut taken = std::collections::HashMap::new();
    for benchmark in benchmarks {
        let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let prefix: String = benchmark
            .id
            .chars()
            .take(ID_CHARS_MAX)
            .map(|c| if safe(c) { c } else { '-' })
            .collect();
        for cell in &mut benchmark.cells {
            let id = match prefix.as_str() {
                "" => cell.id.clone(),
                prefix => format!("{prefix}:{}", cell.id),
            };
            let times: &mut usize = taken.entry(id.clone()).or_insert(0);
            *times += 1;
            cell.id = if *times == 1 { id } else { format!("{id}~{times}") };
        }
    }
}

/// TIPSY's default of `traffic.pkt-size`, in bytes.
const TIPSY_FRAME_BYTES: f64 = 64.0;
const ID_CHARS_MAX: usize = 40;
