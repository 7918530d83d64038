//! What operators are shown of a running function beside counters and tables.

use std::collections::{BTreeMap, HashSet};

use function_kit::{Condition, Measured, Neighbour, Spoken, Sum};
use functions::{Running, TablePage};
use machine::clock;
use packet::PortId;
use serde_json::{Map, Value, json};

use super::Team;
use crate::unit::Refused;

impl Team {
    /// Returns the neighbours of all workers, at most `limit` of each; one that several workers
    /// have is there once.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn neighbours(&mut self, limit: usize) -> Result<Vec<Neighbour>, Refused> {
        self.gather(move |function| function.neighbours(limit))
    }

    /// Returns those of a protocol in a state, at most `limit` of each worker.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn neighbours_in(
        &mut self,
        of: (&'static str, &'static str),
        limit: usize,
    ) -> Result<Vec<Neighbour>, Refused> {
        self.gather(move |function| function.neighbours_in(of, limit))
    }

    fn gather(
        &mut self,
        look: impl Fn(&dyn Running) -> Vec<Neighbour> + Copy + Send + 'static,
    ) -> Result<Vec<Neighbour>, Refused> {
        let mut all: Vec<Neighbour> = Vec::new();
        for member in &mut self.members {
            let found = member.look(move |function| look(&**function))?;
            let known: HashSet<_> = all.iter().map(key).collect();
            let new: Vec<_> = found.into_iter().filter(|one| !known.contains(&key(one))).collect();
            all.extend(new);
        }
        Ok(all)
    }

    /// Tells all workers what the link of a port carries.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn set_mtu(&mut self, port: PortId, mtu: u16) -> Result<(), Refused> {
        self.members.iter_mut().try_for_each(|member| member.look(move |it| it.set_mtu(port, mtu)))
    }

    /// Returns the tally that grows with each line of the function.
    pub fn lines_told_by(&self) -> Option<&'static str> {
        self.config.lines_told_by()
    }

    /// Takes the lines that the function has for the log, with their workers.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn lines(&mut self) -> Result<Vec<(usize, String)>, Refused> {
        let mut all = Vec::new();
        for (worker, member) in self.members.iter_mut().enumerate() {
            let lines = member.look(|function| function.lines())?;
            all.extend(lines.into_iter().map(|line| (worker, line)));
        }
        Ok(all)
    }

    /// Returns what of the function's tables is told as metrics: a list of metrics with samples.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn measured(&mut self) -> Result<Value, Refused> {
        let mut metrics = Vec::new();
        for one in self.config.measured() {
            let entries = self.entries(one.table)?;
            metrics.extend(metrics_of(one, &entries));
        }
        Ok(Value::Array(metrics))
    }

    /// Returns the entries of a short table of all workers.
    fn entries(&mut self, name: &str) -> Result<Vec<Value>, Refused> {
        let Some(table) = self.config.tables().iter().position(|one| *one == name) else {
            return Ok(Vec::new());
        };
        let mut entries = Vec::new();
        for member in &mut self.members {
            let mut from = Some(0);
            while let Some(place) = from {
                let page: TablePage = member.look(move |function| {
                    function.table_page(table, place, MEASURED_PAGE, clock::now())
                })?;
                entries.extend(page.entries);
                from = page.next;
            }
        }
        Ok(entries)
    }

    /// Begins the end of all workers in good order, and returns how much of it is left.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub fn wind_down(&mut self) -> Result<u64, Refused> {
        let left = self.members.iter_mut().map(|member| member.look(|it| it.wind_down()));
        left.sum()
    }

    /// Returns what raises alarms of the function.
    pub fn conditions(&self) -> &'static [Condition] {
        self.config.conditions()
    }

    /// Returns a protocol that the workers speak.
    pub fn spoken(&self, protocol: &str) -> Option<&'static Spoken> {
        self.config.speaks().iter().find(|one| one.protocol == protocol)
    }
}

/// The metrics of a table's entries, in which those with the same labels are one.
fn metrics_of(one: &Measured, entries: &[Value]) -> Vec<Value> {
    let labels = |entry: &Value| -> Map<String, Value> {
        one.labels.iter().map(|label| ((*label).to_owned(), entry[*label].clone())).collect()
    };
    let metric = |(key, sum, help): &(&str, Sum, &str)| {
        let mut samples: BTreeMap<String, (Map<String, Value>, u64)> = BTreeMap::new();
        for entry in entries {
            let (labels, number) = (labels(entry), entry[*key].as_u64().unwrap_or_default());
            let name = Value::Object(labels.clone()).to_string();
            let (_, value) = samples.entry(name).or_insert((labels, 0));
            *value = match sum {
                Sum::All => value.saturating_add(number),
                Sum::Largest => number.max(*value),
            };
        }
        let samples = samples.into_values();
        let samples: Vec<_> =
            samples.map(|(labels, value)| json!({"labels": labels, "value": value})).collect();
        let name = format!("{}_{key}", one.table).replace('-', "_");
        json!({"name": name, "help": help, "samples": samples})
    };
    one.values.iter().map(metric).collect()
}

/// Entries of a measured table that a worker tells between two batches.
const MEASURED_PAGE: usize = 64;

/// What tells one neighbour from the others.
fn key(one: &Neighbour) -> (&'static str, String, String) {
    (one.protocol, one.interface.clone(), one.address.clone())
}
