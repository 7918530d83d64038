//! The cells of a run: planned, taken from earlier runs, set up, checked, and put together.

use std::collections::HashMap;

use measure::record::{Cell, Measured, merge};
use serde_json::json;

use super::cache::{Entry, Found, Reuse};
use super::host::{Host, options};
use super::key::{Asked, Surroundings, of_repetition};
use super::observer::{Phase, RunObserver};
use super::plan::Measurement;
use super::state::{Early, Run, Store};
use super::{drops, plan};
use crate::scenario::Benchmark;
use crate::scenario::sweep::Combination;
use crate::unit::{OpenDevice, OpenError, Sections};

impl Run<'_> {
    /// Determines the order of the measurements, and takes those that earlier runs have made.
    pub(super) fn plan(&mut self, reuse: &Reuse, observer: &mut dyn RunObserver) {
        let order = plan::order(self.scenario);
        self.store = self.open_store(reuse, observer);
        self.ask();
        for pair in order.chunk_by(|a, b| a.pair == b.pair) {
            match self.known(pair, observer) {
                Some(entries) => {
                    pair.iter().zip(entries).for_each(|(one, entry)| self.adopt(one, entry));
                }
                None => self.queue.extend_from_slice(pair),
            }
        }
        for one in &self.queue {
            self.slots[one.cell].left += 1;
        }
        (0..self.slots.len()).for_each(|index| self.merge(index));
        self.record.plan.measurements = order.len();
        self.record.plan.from_cache = order.len() - self.queue.len();
        observer.planned(order.len(), self.record.plan.from_cache);
    }

    fn open_store(&self, reuse: &Reuse, observer: &mut dyn RunObserver) -> Option<Store> {
        let (cache, fresh) = match reuse {
            Reuse::Nothing => return None,
            Reuse::Missing(cache) => (cache.clone(), false),
            Reuse::Fresh(cache) => (cache.clone(), true),
        };
        let Some(surroundings) = Surroundings::of(&self.record.host) else {
            observer.note(
                "this program's file cannot be read, so its version is unknown: no measurement is \
                 reused from earlier runs or stored for later ones",
            );
            return None;
        };
        let run = format!("{} {}", self.record.started, std::process::id());
        Some(Store { cache, surroundings, fresh, run })
    }

    /// Computes the hash of the inputs of each method.
    fn ask(&mut self) {
        let Some(store) = &self.store else { return };
        let compare = self.scenario.plan.compare.as_deref();
        let mut asked_before: HashMap<String, usize> = HashMap::new();
        for slot in &mut self.slots {
            let Ok(configured) = slot.benchmark.configure(slot.combination) else { continue };
            let configuration =
                configuration(slot.benchmark, slot.combination, configured.as_ref(), self.host);
            let choice = slot.benchmark.device(slot.combination);
            let version = choice.device.version(&choice.options);
            let compared_by = compare.filter(|key| slot.combination.parameters.contains_key(*key));
            let question = |choice: &crate::scenario::MethodChoice| {
                let mut asked = Asked {
                    function: slot.benchmark.unit.name(),
                    device_version: &version,
                    configuration: &configuration,
                    seed: configured.seed(),
                    method: choice.method.as_ref(),
                    compared_by,
                    occurrence: 0,
                };
                let first = store.surroundings.question(&asked);
                let before = asked_before.entry(first.clone()).or_default();
                asked.occurrence = *before;
                *before += 1;
                if asked.occurrence == 0 { first } else { store.surroundings.question(&asked) }
            };
            slot.questions = slot.benchmark.methods.iter().map(question).collect();
        }
    }

    /// Earlier measurements for a pair that is measured side by side: all of them, if they were
    /// measured side by side, or none.
    fn known(&self, pair: &[Measurement], observer: &mut dyn RunObserver) -> Option<Vec<Entry>> {
        let store = self.store.as_ref().filter(|store| !store.fresh)?;
        let mut entries: Vec<Entry> = Vec::new();
        for one in pair {
            match store.cache.load(&self.key(one)?) {
                Found::Entry(entry) => entries.push(*entry),
                Found::Nothing => return None,
                Found::Unusable(why) => {
                    observer.note(&format!("{why}; it is measured again"));
                    return None;
                }
            }
        }
        let together = entries.windows(2).all(|two| two[0].run == two[1].run);
        let right = |(one, entry): (&Measurement, &Entry)| {
            let method = &self.slots[one.cell].benchmark.methods[one.method].method;
            entry.outcome.method == method.name()
        };
        (together && pair.iter().zip(&entries).all(right)).then_some(entries)
    }

    /// The key under which a measurement is stored.
    pub(super) fn key(&self, one: &Measurement) -> Option<String> {
        let question = self.slots[one.cell].questions.get(one.method)?;
        Some(of_repetition(question, one.repetition))
    }

    fn adopt(&mut self, one: &Measurement, entry: Entry) {
        let Entry { cell: known, outcome, .. } = entry;
        self.times.add(self.slots[one.cell].group, one.method, outcome.seconds);
        let cell = self.cell(one.cell);
        if cell.check.is_none() {
            cell.configuration = known.configuration;
            cell.device_version = known.device_version;
            cell.seed = known.seed;
            cell.state_bytes = known.state_bytes;
            cell.state_bytes_per_user = known.state_bytes_per_user;
            cell.resident_bytes = known.resident_bytes;
            cell.sessions_open = known.sessions_open;
            cell.setup_seconds = known.setup_seconds;
            cell.check = known.check;
        }
        self.slots[one.cell].measured[one.method].push(Measured {
            index: one.repetition,
            position: one.position,
            from_cache: true,
            outcome,
        });
    }

    /// The record's cell for a slot, created on first use.
    pub(super) fn cell(&mut self, index: usize) -> &mut Cell {
        let at = self.slots[..index].iter().filter(|slot| slot.begun).count();
        let slot = &mut self.slots[index];
        if !slot.begun {
            slot.begun = true;
            let tool = &self.host.tool;
            let cell = Cell {
                id: slot.combination.id.clone(),
                parameters: slot.combination.parameters.clone(),
                benchmark: slot.benchmark.id.clone(),
                function: slot.benchmark.unit.name().to_owned(),
                device: slot.benchmark.device(slot.combination).name().to_owned(),
                // The embedded device is part of this program; others say so once they are set up.
                device_version: format!("{} ({})", tool.version, tool.commit),
                ..Cell::default()
            };
            self.record.cells.insert(at, cell);
        }
        &mut self.record.cells[at]
    }

    /// Makes the measurements of one visit to a cell; returns false if the user stopped the run.
    pub(super) fn visit(&mut self, visit: &[Measurement], observer: &mut dyn RunObserver) -> bool {
        let index = visit[0].cell;
        if self.is_stopping() {
            self.stopped = true;
            return false;
        }
        let made_before = self.made;
        if !self.slots[index].closed {
            let ended = self.try_visit(visit, observer);
            self.settle(index, ended);
            self.merge(index);
            let slot = &self.slots[index];
            if slot.closed || slot.left == 0 {
                observer.cell_finished(self.cell(index));
            }
        }
        // What a failed cell leaves out is over, too.
        self.made = made_before + visit.len();
        !self.stopped
    }

    fn try_visit(
        &mut self,
        visit: &[Measurement],
        observer: &mut dyn RunObserver,
    ) -> Result<(), Early> {
        let Some(mut device) = self.prepare(visit[0].cell, observer)? else { return Ok(()) };
        for one in visit {
            self.measure_one(one, device.as_mut(), observer)?;
            self.made += 1;
            self.slots[one.cell].left -= 1;
        }
        Ok(())
    }

    /// Sets up and checks a cell, without measuring; returns false if the user stopped the run.
    pub(super) fn check(&mut self, index: usize, observer: &mut dyn RunObserver) -> bool {
        if self.is_stopping() {
            self.stopped = true;
            return false;
        }
        let ended = self.prepare(index, observer).map(drop);
        self.settle(index, ended);
        if !self.stopped {
            observer.cell_finished(self.cell(index));
        }
        !self.stopped
    }

    fn settle(&mut self, index: usize, ended: Result<(), Early>) {
        match ended {
            Ok(()) => {}
            Err(Early::Failed(why)) => {
                self.cell(index).error = Some(why);
                self.slots[index].closed = true;
            }
            Err(Early::Unavailable(unavailable)) => {
                self.cell(index).unavailable = Some(unavailable);
                self.slots[index].closed = true;
            }
            Err(Early::Interrupted) => {
                self.slots[index].left = self.slots[index].left.max(1);
                self.stopped = true;
            }
        }
    }

    /// Marks each cell that a stopped run left unfinished.
    pub(super) fn mark_unfinished(&mut self) {
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            if slot.begun && slot.left > 0 && !slot.closed {
                self.cell(index).error =
                    Some("interrupted before the cell was finished".to_owned());
            }
        }
    }

    /// Sets up a device and checks it, once per run; none if it differs from the oracle.
    fn prepare(
        &mut self,
        index: usize,
        observer: &mut dyn RunObserver,
    ) -> Result<Option<Box<dyn OpenDevice>>, Early> {
        let count = self.slots.len();
        observer.cell_starting(index, count, self.cell(index));
        observer.phase(Phase::SettingUp);
        let mut device = self.open(index)?;
        if self.slots[index].checked {
            return Ok(Some(device));
        }
        observer.phase(Phase::Checking);
        let check = device.check().map_err(|error| self.early(&error))?;
        let passed = check.passed;
        self.cell(index).check = Some(check);
        if !passed {
            // A figure of a device that forwards wrongly would only mislead.
            self.slots[index].closed = true;
            self.slots[index].measured.iter_mut().for_each(Vec::clear);
            return Ok(None);
        }
        self.slots[index].checked = true;
        Ok(Some(device))
    }

    fn open(&mut self, index: usize) -> Result<Box<dyn OpenDevice>, Early> {
        let (benchmark, combination) = (self.slots[index].benchmark, self.slots[index].combination);
        let configured =
            benchmark.configure(combination).map_err(|error| Early::Failed(error.to_string()))?;
        let host = self.host;
        let cell = self.cell(index);
        cell.configuration = configuration(benchmark, combination, configured.as_ref(), host);
        cell.seed = configured.seed();
        let choice = benchmark.device(combination);
        let opened = benchmark.unit.open(&*configured, choice, &options(choice, host));
        let mut device = opened.map_err(|error| match error {
            OpenError::Unavailable(unavailable) => Early::Unavailable(unavailable),
            other => self.failed(other.to_string()),
        })?;
        let facts = device.facts();
        let sessions = device.measurer().sessions();
        let cell = self.cell(index);
        if let Some(version) = facts.version {
            cell.device_version = version;
        }
        for (name, value) in facts.details {
            cell.configuration["device"][name] = value;
        }
        cell.state_bytes = facts.state_bytes;
        cell.state_bytes_per_user = facts.state_bytes_per_user;
        cell.setup_seconds = Some(facts.setup_seconds);
        cell.resident_bytes = facts.resident_bytes;
        cell.sessions_open = sessions.map(|there| there.open);
        Ok(device)
    }

    /// Merges the repetitions of a cell.
    fn merge(&mut self, index: usize) {
        if !self.slots[index].begun {
            return;
        }
        let measured = self.slots[index].measured.iter();
        let merged = measured.filter_map(|repetitions| merge(repetitions.clone()));
        let mut outcomes: Vec<_> = merged.collect();
        outcomes.iter_mut().for_each(drops::tell);
        self.cell(index).outcomes = outcomes;
    }
}

/// The complete configuration of a cell, with all defaults.
fn configuration(
    benchmark: &Benchmark,
    combination: &Combination,
    configured: &dyn Sections,
    host: &Host,
) -> serde_json::Value {
    let choice = benchmark.device(combination);
    let options = options(choice, host);
    let mut configuration = configured.effective();
    configuration["device"] = json!({
        "name": choice.name(),
        "tester-core": options.tester_core,
        "worker-cores": options.worker_cores,
    });
    for (key, value) in &choice.options {
        configuration["device"][key] = value.clone();
    }
    if let Some(tester) = &benchmark.tester {
        configuration["tester"] = tester.clone();
    }
    configuration
}
