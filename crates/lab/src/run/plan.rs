//! The order in which a run measures.
//!
//! Cells are measured in random order, drawn anew for each repetition from the seed of the plan, so
//! that a machine that becomes slower (or its neighbours busier) during the run does not look like
//! an effect of the swept key. That holds for a single repetition too. The values of the key that a
//! scenario compares are measured side by side, method by method, in random order within each pair.
//! Deliberately not here: what has been measured already; the order does not depend on it.

use std::collections::HashMap;

use measure::record::BENCHMARKS;
use serde_json::{Map, Value};
use traffic::random::{Random, below};

use crate::scenario::Scenario;

/// One measurement of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measurement {
    /// Index of the cell, in the order of the scenario.
    pub cell: usize,
    /// Index of the method in the cell's benchmark.
    pub method: usize,
    /// Number of the repetition, from 0.
    pub repetition: u32,
    /// Position in the order, from 0.
    pub position: usize,
    /// Identifier of a pair: shared by measurements that are made side by side, and by no other.
    pub pair: usize,
}

/// The facts of a cell on which the order depends.
pub(super) struct Shape {
    benchmark: usize,
    parameters: Map<String, Value>,
    methods: usize,
}

/// All measurements of a scenario in the order in which they are made.
pub(super) fn order(scenario: &Scenario) -> Vec<Measurement> {
    let shape = |(at, one): (usize, &crate::scenario::Benchmark)| {
        let methods = one.methods.len();
        let shapes = one.cells.iter().map(move |cell| Shape {
            benchmark: at,
            parameters: cell.parameters.clone(),
            methods,
        });
        shapes.collect::<Vec<_>>()
    };
    let shapes: Vec<Shape> = scenario.benchmarks.iter().enumerate().flat_map(shape).collect();
    let plan = &scenario.plan;
    order_of(&shapes, plan.seed, plan.repetitions.max(1), plan.compare.as_deref())
}

fn order_of(
    shapes: &[Shape],
    seed: u64,
    repetitions: u32,
    compare: Option<&str>,
) -> Vec<Measurement> {
    let groups = groups(shapes, compare);
    let mut order = Vec::new();
    let mut pair = 0;
    for repetition in 0..repetitions {
        let mut dice = Dice::new(seed, repetition);
        let mut shuffled: Vec<&Vec<usize>> = groups.iter().collect();
        dice.shuffle(&mut shuffled);
        for group in shuffled {
            let methods = group.iter().map(|cell| shapes[*cell].methods).max().unwrap_or(0);
            for method in 0..methods {
                let mut cells = group.clone();
                dice.shuffle(&mut cells);
                for cell in cells {
                    let position = order.len();
                    order.push(Measurement { cell, method, repetition, position, pair });
                }
                pair += 1;
            }
        }
    }
    order
}

/// Groups of cells that are measured side by side: those that differ in the compared key alone.
fn groups(shapes: &[Shape], compare: Option<&str>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known: HashMap<(usize, String), usize> = HashMap::new();
    for (cell, shape) in shapes.iter().enumerate() {
        let is_known = |key: &&str| *key == BENCHMARKS || shape.parameters.contains_key(*key);
        let Some(key) = compare.filter(is_known) else {
            groups.push(vec![cell]);
            continue;
        };
        let benchmark = if key == BENCHMARKS { 0 } else { shape.benchmark };
        let others: Vec<(&String, &Value)> =
            shape.parameters.iter().filter(|(name, _)| *name != key).collect();
        let group = *known.entry((benchmark, format!("{others:?}"))).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(cell);
    }
    groups
}

/// A stream of random numbers.
struct Dice {
    random: Random,
    drawn: u64,
}

impl Dice {
    fn new(seed: u64, repetition: u32) -> Dice {
        Dice { random: Random::new(seed, ORDER_STREAM + u64::from(repetition)), drawn: 0 }
    }

    /// Shuffles the items (Fisher-Yates).
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let bits = (self.random.at(self.drawn) >> 32) as u32;
            self.drawn += 1;
            items.swap(end, below(bits, end as u32 + 1) as usize);
        }
    }
}

/// Random streams of orders, distinct from those of workloads.
const ORDER_STREAM: u64 = 0x706c_616e_0000_0000;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;

    fn shapes(users: u32) -> Vec<Shape> {
        let mut shapes = Vec::new();
        for user in 0..users {
            for policer in [true, false] {
                let parameters = json!({"function.user": user, "function.policer": policer});
                let parameters = parameters.as_object().expect("an object").clone();
                shapes.push(Shape { benchmark: 0, parameters, methods: 2 });
            }
        }
        shapes
    }

    #[test]
    fn every_measurement_is_there_once_in_an_order_that_the_seed_decides() {
        let order = |seed| order_of(&shapes(5), seed, 3, None);
        let all: HashSet<_> =
            order(7).iter().map(|one| (one.cell, one.method, one.repetition)).collect();
        assert_eq!((order(7).len(), all.len()), (10 * 2 * 3, 10 * 2 * 3));
        assert!(order(7).iter().enumerate().all(|(at, one)| one.position == at));
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let cells = |repetition| -> Vec<usize> {
            order(7).iter().filter(|one| one.repetition == repetition).map(|one| one.cell).collect()
        };
        assert_ne!(cells(0), cells(1), "each repetition has an order of its own");
        assert!(order(7).windows(2).all(|two| two[0].repetition <= two[1].repetition));
    }

    #[test]
    fn the_methods_of_a_cell_follow_each_other_so_that_it_is_set_up_once() {
        let order = order_of(&shapes(5), 1, 2, None);
        for two in order.chunks(2) {
            assert_eq!((two[0].cell, two[0].method, two[1].method), (two[1].cell, 0, 1));
        }
    }

    #[test]
    fn compared_values_stand_side_by_side_in_either_order() {
        let order = order_of(&shapes(20), 1, 2, Some("function.policer"));
        let mut first_is_smaller = 0;
        for two in order.chunks(2) {
            let (a, b) = (two[0], two[1]);
            assert_eq!((a.method, a.repetition, a.pair), (b.method, b.repetition, b.pair));
            assert_eq!(a.cell / 2, b.cell / 2, "they share all other keys");
            assert_ne!(a.cell, b.cell);
            first_is_smaller += u32::from(a.cell < b.cell);
        }
        assert!((20..60).contains(&first_is_smaller), "{first_is_smaller} of 80");
    }
}
