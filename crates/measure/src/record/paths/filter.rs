//! Conditions on one value, the part of MongoDB's query language that TIPSY uses without MongoDB.

use std::cmp::Ordering;

use serde_json::Value;

/// The operators that `holds` supports.
pub const OPERATORS: [&str; 7] = ["$lt", "$lte", "$gt", "$gte", "$ne", "$in", "$not"];

/// Whether a value equals the wanted value, or meets all its conditions. An unknown operator never
/// holds; the scenario reader refuses it before.
pub fn holds(value: &Value, wanted: &Value) -> bool {
    let Value::Object(conditions) = wanted else { return equal(value, wanted) };
    conditions.iter().all(|(operator, operand)| {
        let order = || order(value, operand);
        match operator.as_str() {
            "$lt" => order() == Some(Ordering::Less),
            "$lte" => order().is_some_and(Ordering::is_le),
            "$gt" => order() == Some(Ordering::Greater),
            "$gte" => order().is_some_and(Ordering::is_ge),
            "$ne" => !equal(value, operand),
            "$in" => operand.as_array().is_some_and(|all| all.iter().any(|one| equal(value, one))),
            "$not" => !holds(value, operand),
            _ => false,
        }
    })
}

/// Equality in which 1 and 1.0 are equal.
fn equal(one: &Value, other: &Value) -> bool {
    one == other || order(one, other) == Some(Ordering::Equal)
}

fn order(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}
