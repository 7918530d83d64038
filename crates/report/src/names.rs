//! What cells are called in tables and charts: by as few of the swept keys as tell them apart.
//!
//! Where several keys change together the first of them names the cell, and [`Names::together`]
//! says which were left out; the page's table of cells has all of them.

use measure::record::{Cell, RunRecord};
use serde_json::Value;

use crate::words::{cell_words, distinct, leaf, value_words};

/// The swept keys that name the cells of a record.
pub(crate) struct Names {
    /// Dotted keys in the order of the scenario.
    keys: Vec<String>,
    /// Keys that also change, but distinguish no further cells.
    together: Vec<String>,
    /// Whether cells belong to several benchmarks, whose names are then part of the name.
    benchmarks: bool,
}

impl Names {
    /// Selects the keys that distinguish the cells of a record.
    pub(crate) fn of(record: &RunRecord) -> Self {
        Self::of_cells(&record.cells.iter().collect::<Vec<_>>())
    }

    /// Selects the keys that distinguish the given cells.
    pub(crate) fn of_cells(cells: &[&Cell]) -> Self {
        let benchmarks = cells.iter().any(|cell| cell.benchmark != cells[0].benchmark);
        let mut names = Self { keys: Vec::new(), together: Vec::new(), benchmarks };
        // Benchmarks may sweep different keys.
        let swept = distinct(cells.iter().flat_map(|c| c.parameters.keys().map(String::as_str)));
        for key in swept {
            let key = key.to_string();
            let count = told_apart(cells, &names.keys);
            names.keys.push(key.clone());
            if told_apart(cells, &names.keys) == count {
                names.keys.pop();
                if told_apart(cells, std::slice::from_ref(&key)) > 1 {
                    names.together.push(key);
                }
            }
        }
        names
    }

    /// The dotted keys that name a cell.
    pub(crate) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The key without its path, if there is only one.
    pub(crate) fn only_key(&self) -> Option<&str> {
        match self.keys.as_slice() {
            [key] if !self.benchmarks => Some(leaf(key)),
            _ => None,
        }
    }

    /// A cell's name: `user 1,000`.
    pub(crate) fn of_cell(&self, cell: &Cell) -> String {
        self.without(cell, "").unwrap_or_else(|| cell_words(cell))
    }

    /// A cell's name without one key; none if nothing is left.
    pub(crate) fn without(&self, cell: &Cell, key: &str) -> Option<String> {
        let keys = self.keys.iter().filter(|name| *name != key);
        let benchmark = Some(&cell.benchmark).filter(|name| self.benchmarks && !name.is_empty());
        let words: Vec<String> = benchmark
            .cloned()
            .into_iter()
            .chain(keys.filter_map(|key| Some(format!("{} {}", leaf(key), words(cell, key)?))))
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// A cell's name under a heading that contains the key: `1,000`.
    pub(crate) fn heading(&self, cell: &Cell) -> String {
        match self.keys.as_slice() {
            [key] if !self.benchmarks => words(cell, key).unwrap_or_else(|| cell_words(cell)),
            _ => self.of_cell(cell),
        }
    }

    /// A sentence on keys that change together with those in the names; none if there are none.
    pub(crate) fn together(&self) -> Option<String> {
        let list =
            |keys: &[String]| keys.iter().map(|key| leaf(key)).collect::<Vec<_>>().join(" and ");
        let verb = if self.together.len() == 1 { "changes" } else { "change" };
        (!self.together.is_empty())
            .then(|| format!("{} {verb} together with {}.", list(&self.together), list(&self.keys)))
    }
}

fn words(cell: &Cell, key: &str) -> Option<String> {
    cell.parameters.get(key).map(value_words)
}

/// Number of cells that differ in at least one of the keys.
fn told_apart(cells: &[&Cell], keys: &[String]) -> usize {
    let mut seen: Vec<Vec<Option<&Value>>> = Vec::new();
    for cell in cells {
        let values = keys.iter().map(|key| cell.parameters.get(key)).collect();
        if !seen.contains(&values) {
            seen.push(values);
        }
    }
    seen.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cells(parameters: &[Value]) -> Vec<Cell> {
        let cell = |parameters: &Value| {
            let parameters = parameters.as_object().cloned().unwrap_or_default();
            Cell { parameters, function: "gateway".into(), ..Cell::default() }
        };
        parameters.iter().map(cell).collect()
    }

    #[test]
    fn keys_that_change_together_are_one_name() {
        let cells =
            cells(&[json!({"f.user": 1000, "f.bst": 10}), json!({"f.user": 2000, "f.bst": 20})]);
        let names = Names::of_cells(&cells.iter().collect::<Vec<_>>());
        assert_eq!(names.of_cell(&cells[1]), "user 2,000");
        assert_eq!(names.heading(&cells[1]), "2,000");
        assert_eq!(names.together().as_deref(), Some("bst changes together with user."));
    }

    #[test]
    fn a_key_is_named_where_it_tells_cells_apart() {
        let cells = cells(&[
            json!({"f.user": 1, "f.on": true, "size": 64}),
            json!({"f.user": 1, "f.on": true, "size": "imix"}),
            json!({"f.user": 2, "f.on": true, "size": 64}),
        ]);
        let names = Names::of_cells(&cells.iter().collect::<Vec<_>>());
        assert_eq!(names.of_cell(&cells[1]), "user 1, size imix");
        assert_eq!(names.heading(&cells[1]), "user 1, size imix");
        assert_eq!(names.without(&cells[1], "f.user").as_deref(), Some("size imix"));
        assert_eq!(names.together(), None);
    }

    #[test]
    fn cells_of_several_benchmarks_carry_their_names() {
        let mut cells = cells(&[json!({"f.user": 1}), json!({"f.user": 2}), json!({"f.bst": 5})]);
        cells[2].benchmark = "stations".into();
        let names = Names::of_cells(&cells.iter().collect::<Vec<_>>());
        assert_eq!(names.of_cell(&cells[0]), "user 1");
        assert_eq!(names.of_cell(&cells[2]), "stations");
        assert_eq!(names.heading(&cells[1]), "user 2");
    }

    #[test]
    fn a_single_cell_is_named_by_all_it_has() {
        let cells = cells(&[json!({"f.user": 1, "f.on": true})]);
        assert_eq!(
            Names::of_cells(&cells.iter().collect::<Vec<_>>()).of_cell(&cells[0]),
            "user 1, on true"
        );
    }
}
