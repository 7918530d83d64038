//! A figure over two swept numbers as a surface.

use measure::record::{Cell, RunRecord};

use super::chart::{Chart, identifier};
use super::heat::{Surface, Tile};
use crate::names::Names;
use crate::summary::{figure_name, headline};
use crate::sweeps::outcome_of;
use crate::words::{distinct, leaf, outcomes};

/// One chart for each method whose cells form a grid over the first two swept numbers, with all
/// other keys equal.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let names = Names::of(record);
    let is_number = |key: &&String| {
        record
            .cells
            .iter()
            .all(|c| c.parameters.get(*key).is_some_and(serde_json::Value::is_number))
    };
    let keys: Vec<&String> = names.keys().iter().filter(is_number).collect();
    let [x, y] = keys[..] else { return Vec::new() };
    if names.keys().len() > 2 {
        return Vec::new();
    }
    let methods = distinct(outcomes(record).map(|(_, o)| o.method.as_str()));
    methods.into_iter().filter_map(|method| chart(record, method, x, y)).collect()
}

fn chart(record: &RunRecord, method: &str, x: &str, y: &str) -> Option<Chart> {
    let mut unit = String::new();
    let mut name = String::new();
    let mut tiles = Vec::new();
    for cell in &record.cells {
        let Some(figure) = outcome_of(cell, method).and_then(headline) else { continue };
        let factor = if figure.unit == "pps" { 1e-6 } else { 1.0 };
        unit = if figure.unit == "pps" { "Mpps".into() } else { figure.unit.clone() };
        name = figure_name(&figure.name);
        let number =
            |cell: &Cell, key| cell.parameters.get(key).and_then(serde_json::Value::as_f64);
        let (value, is_bound) = (figure.value * factor, figure.bound.is_some());
        tiles.extend(number(cell, x).zip(number(cell, y)).map(|(x, y)| Tile {
            x,
            y,
            value,
            is_bound,
        }));
    }
    let surface =
        Surface { x: leaf(x).into(), y: leaf(y).into(), z: format!("{name}, {unit}"), tiles };
    let surface = surface.placed();
    if !surface.is_grid() || surface.is_crowded() {
        return None;
    }
    let id = identifier("surface", &[method, x, y]);
    let title = format!("{method} over {} and {}", leaf(x), leaf(y));
    let caption = format!("Each tile is a cell of the scenario: {name} in {unit}.");
    Some(Chart::drawn(&id, &title, &caption, surface.svg(&id, &title, &caption), surface.data()))
}
