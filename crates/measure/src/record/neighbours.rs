//! Whether rates at neighbouring frame sizes fit each other.
//!
//! A device spends time on each frame and time on each byte, so a longer frame never raises the
//! rate of frames, and at most costs as many frames as it has more bytes. A rate beyond that, with
//! a margin for what a search leaves open, was disturbed: a stall of milliseconds that fills a ring
//! looks like a device that is five times slower at one size. Such a result is pointed out; it is
//! not corrected.

use serde_json::{Map, Value};

use super::{Cell, Figure, Limit, LimitKind};
use crate::figure_words;

/// Points out rates that do not fit the one at a neighbouring frame size, in the limits and the
/// answers of their outcomes.
pub fn point_out_of_line(cells: &mut [Cell]) {
    for (at, method, limit) in out_of_line(cells) {
        let outcome = cells.get_mut(at).and_then(|cell| cell.outcomes.get_mut(method));
        if let Some(outcome) = outcome {
            let told = outcome.validity.imprecision().is_some();
            outcome.validity.limits.push(limit);
            if !told {
                outcome.tell_imprecision();
            }
        }
    }
}

/// The results out of line: cell, outcome, and what is said of it.
fn out_of_line(cells: &[Cell]) -> Vec<(usize, usize, Limit)> {
    let mut points: Vec<Point<'_>> = cells.iter().enumerate().flat_map(points_of).collect();
    points.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    let mut found: Vec<(usize, usize, Limit)> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let is_next = |other: &&Point<'_>| point.is_beside(other) && other.bytes > point.bytes;
        let Some(next) = points[index + 1..].iter().find(is_next) else { continue };
        let Some((low, high, bound)) = misfit(point, next) else { continue };
        if found.iter().any(|(cell, outcome, _)| (*cell, *outcome) == (low.cell, low.outcome)) {
            continue;
        }
        found.push((low.cell, low.outcome, limit(low, high, bound)));
    }
    found
}

/// A rate at a frame size.
#[derive(Clone, Debug)]
struct Point<'a> {
    cell: usize,
    outcome: usize,
    bytes: f64,
    method: &'a str,
    figure: &'a Figure,
    /// Everything that must be equal for two points to be compared.
    others: (&'a str, &'a str, &'a str, Map<String, Value>),
}

impl Point<'_> {
    fn is_beside(&self, other: &Point<'_>) -> bool {
        self.method == other.method
            && self.figure.name == other.figure.name
            && self.others == other.others
    }
}

/// The valid rates of a cell whose frames have one size.
fn points_of((at, cell): (usize, &Cell)) -> Vec<Point<'_>> {
    let bytes = SIZE_KEYS.iter().find_map(|key| cell.parameters.get(*key)?.as_f64());
    let Some(bytes) = bytes.filter(|bytes| *bytes > 0.0) else { return Vec::new() };
    let mut parameters = cell.parameters.clone();
    SIZE_KEYS.iter().for_each(|key| drop(parameters.remove(*key)));
    let others =
        (cell.benchmark.as_str(), cell.function.as_str(), cell.device.as_str(), parameters);
    cell.outcomes
        .iter()
        .enumerate()
        .filter(|(_, outcome)| outcome.validity.valid)
        .filter_map(|(index, outcome)| {
            let figure = outcome.figures.first()?;
            (figure.unit == "pps" && figure.value > 0.0).then(|| Point {
                cell: at,
                outcome: index,
                bytes,
                method: &outcome.method,
                figure,
                others: others.clone(),
            })
        })
        .collect()
}

/// The lower and the higher of two neighbours that do not fit, and the least rate in line for the
/// lower one; none if they fit.
fn misfit<'p, 'a>(
    short: &'p Point<'a>,
    long: &'p Point<'a>,
) -> Option<(&'p Point<'a>, &'p Point<'a>, f64)> {
    let (of_short, of_long) = (short.figure.value, long.figure.value);
    let by_bytes = (short.bytes + GAP_BYTES) / (long.bytes + GAP_BYTES);
    let least_of_long = of_short * by_bytes * (1.0 - MARGIN);
    let least_of_short = of_long * (1.0 - MARGIN);
    if of_long < least_of_long {
        Some((long, short, least_of_long))
    } else if of_short < least_of_short {
        Some((short, long, least_of_short))
    } else {
        None
    }
}

fn limit(low: &Point<'_>, high: &Point<'_>, least: f64) -> Limit {
    let rate = |value: f64| figure_words(value, &low.figure.unit);
    Limit {
        kind: LimitKind::OutOfLine,
        invalidates: false,
        what: format!(
            "{} at {} bytes do not fit {} at {} bytes, which the length of the frames explains \
             down to {}",
            rate(low.figure.value),
            low.bytes,
            rate(high.figure.value),
            high.bytes,
            rate(least)
        ),
        advice:
            "measure this size again with `repetitions` of 3 and more while nothing else runs; \
                 the stalls of its trials tell what disturbed it"
                .into(),
    }
}

/// Keys whose numbers are the frame size in bytes.
const SIZE_KEYS: [&str; 2] = ["traffic.pkt-size", "traffic.frame-size"];

/// What a frame costs in the cable or in memory beyond its bytes, in bytes.
const GAP_BYTES: f64 = 20.0;

/// How far rates may differ beyond what the length explains: the precisions of both searches, and
/// what caches and batches do.
const MARGIN: f64 = 0.3;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::{Outcome, Validity};

    fn cell(bytes: Value, mpps: f64, device: &str) -> Cell {
        let parameters = json!({"traffic.pkt-size": bytes, "device.name": device});
        let outcome = Outcome {
            method: "throughput".into(),
            answer: "It forwards.".into(),
            figures: vec![Figure::single("throughput", mpps * 1e6, "pps")],
            validity: Validity::from_limits(Vec::new()),
            ..Outcome::default()
        };
        Cell {
            parameters: parameters.as_object().cloned().unwrap_or_default(),
            device: device.into(),
            outcomes: vec![outcome],
            ..Cell::default()
        }
    }

    /// The sizes that are pointed out of a sweep.
    fn pointed_out(sweep: &[(u32, f64)]) -> Vec<u32> {
        let mut cells: Vec<Cell> =
            sweep.iter().map(|(bytes, mpps)| cell(json!(bytes), *mpps, "embedded")).collect();
        point_out_of_line(&mut cells);
        let out = |(at, cell): (usize, &Cell)| {
            let outcome = &cell.outcomes[0];
            let said = outcome.answer.contains("Valid, imprecise: ");
            assert_eq!(said, outcome.validity.imprecision().is_some(), "{}", outcome.answer);
            said.then(|| sweep[at].0)
        };
        cells.iter().enumerate().filter_map(out).collect()
    }

    #[test]
    fn falls_and_rises_that_frame_lengths_do_not_explain_are_pointed_out() {
        // Measured on shared machines before rings were deep enough for their stalls.
        let vm = [(64, 2.74), (256, 2.60), (512, 1.01), (1024, 1.85), (1518, 0.225)];
        assert_eq!(pointed_out(&vm), [512, 1518]);
        let xrv = [(84, 7.6), (256, 10.8), (512, 2.4), (1518, 0.55)];
        assert_eq!(pointed_out(&xrv), [512, 1518], "7.6 and 10.8 may be caches and batches");
        let vcpe = [(64, 6.6), (82, 15.1), (128, 4.3), (256, 15.5), (512, 2.6)];
        assert_eq!(pointed_out(&vcpe), [64, 128, 512]);
    }

    #[test]
    fn rates_that_fall_as_bytes_do_fit_in_any_order() {
        assert_eq!(pointed_out(&[(64, 14.88), (512, 2.35), (1518, 0.813)]), [0_u32; 0]);
        assert_eq!(pointed_out(&[(1518, 5.9), (64, 7.0), (512, 6.6)]), [0_u32; 0]);
        assert_eq!(pointed_out(&[(64, 7.0)]), [0_u32; 0]);
    }

    #[test]
    fn only_neighbours_that_differ_in_nothing_else_are_compared() {
        let mut cells = vec![
            cell(json!(64), 10.0, "embedded"),
            cell(json!(128), 1.0, "linux"),
            cell(json!("imix"), 1.0, "embedded"),
            cell(json!(128), 0.1, "embedded"),
        ];
        cells[3].outcomes[0].validity.valid = false;
        point_out_of_line(&mut cells);
        assert!(cells.iter().all(|cell| cell.outcomes[0].validity.limits.is_empty()));
    }

    #[test]
    fn what_is_said_names_both_rates_and_the_remedy() {
        let mut cells = vec![cell(json!(256), 5.0, "embedded"), cell(json!(512), 1.0, "embedded")];
        point_out_of_line(&mut cells);
        let limit = cells[1].outcomes[0].validity.imprecision().expect("a fall to a fifth");
        assert!(limit.what.starts_with("1.00 Mpps at 512 bytes do not fit 5.00 Mpps at 256 bytes"));
        assert!(limit.advice.contains("`repetitions`") && !limit.invalidates);
        assert_eq!(cells[1].outcomes[0].validity.words(), "valid, imprecise");
        assert_eq!(cells[0].outcomes[0].validity.words(), "valid");
    }
}
