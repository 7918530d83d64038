//! A surface over two numbers as a grid of tiles, each with its value: the one drawing that is not
//! made by the crate, whose tiles have one colour of text for all and no place for what is missing.
//!
//! The tiles' colours are steps between paper and accent on which the page's ink stays legible, in
//! the light and in the dark.

use maud::{Markup, html};

use super::chart::{Data, WIDTH, short_count, trimmed};
use super::curves::range;

/// Values over two numbers.
pub(super) struct Surface {
    /// Label of the columns.
    pub(super) x: String,
    /// Label of the rows.
    pub(super) y: String,
    /// Label of the values, with their unit.
    pub(super) z: String,
    /// The values with their coordinates.
    pub(super) tiles: Vec<Tile>,
}

/// A value with its coordinates.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) value: f64,
    /// Whether the value is a lower bound.
    pub(super) is_bound: bool,
}

impl Surface {
    /// Whether there are at least two columns and rows, and most of the grid is filled.
    pub(super) fn is_grid(&self) -> bool {
        let (xs, ys) = (self.places(|t| t.x), self.places(|t| t.y));
        xs.len() > 1 && ys.len() > 1 && self.tiles.len() * 2 > xs.len() * ys.len()
    }

    /// Whether two values have one place, of which a tile could show only one.
    pub(super) fn is_crowded(&self) -> bool {
        let mut places: Vec<(f64, f64)> = self.tiles.iter().map(|t| (t.x, t.y)).collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        places.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// The surface without what has no place on it or no value.
    pub(super) fn placed(mut self) -> Self {
        self.tiles.retain(|t| t.x.is_finite() && t.y.is_finite() && t.value.is_finite());
        self
    }

    fn places(&self, of: fn(&Tile) -> f64) -> Vec<f64> {
        let mut places: Vec<f64> = self.tiles.iter().map(of).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// The tiles as a data table.
    pub(super) fn data(&self) -> Data {
        let number = super::curves::number;
        let rows = self.tiles.iter().map(|t| {
            let sign = if t.is_bound { "≥ " } else { "" };
            vec![number(t.x), number(t.y), format!("{sign}{}", number(t.value))]
        });
        Data { head: vec![self.x.clone(), self.y.clone(), self.z.clone()], rows: rows.collect() }
    }

    /// Draws the tiles.
    pub(super) fn svg(&self, id: &str, title: &str, description: &str) -> Markup {
        let (xs, ys) = (self.places(|t| t.x), self.places(|t| t.y));
        let (width, height) = ((WIDTH - LEFT - RIGHT) / xs.len() as f64, tile_height(ys.len()));
        let bottom = TOP + height * ys.len() as f64;
        // The smallest row stands at the bottom, as on any axis.
        let row_y = |row: usize| bottom - height * (row + 1) as f64;
        html! {
            svg viewBox={ "0 0 " (WIDTH) " " (bottom + BELOW) } role="img" fill="var(--ink)"
                aria-labelledby={ (id) "-title " (id) "-desc" } font-size="13" {
                title id={ (id) "-title" } { (title) }
                desc id={ (id) "-desc" } { (description) }
                @for (row, y) in ys.iter().enumerate() {
                    text x=(LEFT - 8.0) y=(round(row_y(row) + height / 2.0 + 4.5)) text-anchor="end" { (short_count(*y)) }
                    @for (column, x) in xs.iter().enumerate() {
                        (self.tile(*x, *y, LEFT + width * column as f64, row_y(row), width, height))
                    }
                }
                @for (column, x) in xs.iter().enumerate() {
                    text x=(round(LEFT + width * (column as f64 + 0.5))) y=(bottom + 20.0) text-anchor="middle" { (short_count(*x)) }
                }
                text x=((LEFT + WIDTH - RIGHT) / 2.0) y=(bottom + 44.0) text-anchor="middle" font-size="14" { (self.x) }
                text transform={ "translate(18," ((TOP + bottom) / 2.0) ") rotate(-90)" } text-anchor="middle" font-size="14" { (self.y) }
                text x=(LEFT) y="18" font-size="14" { (self.z) }
            }
        }
    }

    fn tile(&self, x: f64, y: f64, left: f64, top: f64, width: f64, height: f64) -> Markup {
        let found = self.tiles.iter().find(|t| t.x == x && t.y == y);
        let step = found.map(|tile| self.step(tile.value));
        let words = |tile: &Tile| match tile.is_bound {
            true => format!("≥ {}", short(tile.value)),
            false => short(tile.value),
        };
        let fill = step.map_or("none".into(), |step| format!("var(--heat-{step})"));
        html! {
            rect x=(round(left + 1.0)) y=(round(top + 1.0)) width=(round(width - 2.0)) height=(round(height - 2.0))
                fill=(fill) stroke="var(--line)" {}
            text x=(round(left + width / 2.0)) y=(round(top + height / 2.0 + 4.5)) text-anchor="middle" {
                (found.map_or("–".into(), words))
            }
        }
    }

    /// Index of the colour step of a value.
    fn step(&self, value: f64) -> usize {
        let (min, max) = range(&self.tiles.iter().map(|t| t.value).collect::<Vec<_>>());
        let share = if max > min { (value - min) / (max - min) } else { 0.5 };
        1 + ((share * STEPS as f64) as usize).min(STEPS - 1)
    }
}

/// Formats a number with three significant digits.
fn short(value: f64) -> String {
    let magnitude = value.abs().max(1e-9).log10().floor();
    match value.abs() {
        v if v >= 10_000.0 => short_count((value / 1000.0).round() * 1000.0),
        _ => {
            let places = (2.0 - magnitude).clamp(0.0, 4.0) as usize;
            trimmed(format!("{value:.places$}").parse().unwrap_or(value))
        }
    }
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn tile_height(rows: usize) -> f64 {
    (300.0 / rows as f64).clamp(26.0, 60.0)
}

/// Number of colours in the page's style sheet.
const STEPS: usize = 7;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BELOW: f64 = 58.0;
