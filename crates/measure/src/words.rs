//! Figures as engineers write them: a value of the record with its unit, in few digits.

use serde_json::{Map, Value};

use crate::{Ratio, si};

/// Formats a figure of the record with its unit: `12.3 Mpps`, `1.25 µs`, `0.5 %`.
pub fn figure_words(value: f64, unit: &str) -> String {
    match unit {
        "pps" | "bit/s" | "B" => si(value, unit),
        "bytes" => si(value, "B"),
        "1/s" => format!("{}/s", rounded(value)),
        "ns" => si(value * 1e-9, "s"),
        "fraction" => rounded(value),
        "percent" if value == 0.0 => "0 %".into(),
        "percent" => Ratio(value / 100.0).to_string(),
        "ticks" => format!("{value:.1} TSC cycles"),
        other => format!("{} {other}", rounded(value)),
    }
}

/// Formats a value of a swept key as people write it: digits in groups, and a mix of frame sizes as
/// `mix of 6 sizes`. Nobody reads JSON in a table.
pub fn value_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(n) => n.as_u64().map_or_else(|| n.to_string(), |n| grouped(&n.to_string())),
        Value::Object(sizes) if is_mix(sizes) => format!("mix of {} sizes", sizes.len()),
        Value::Array(parts) if parts.iter().any(|part| part.is_object() || part.is_array()) => {
            format!("list of {}", parts.len())
        }
        Value::Array(parts) => parts.iter().map(value_words).collect::<Vec<_>>().join(" "),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| format!("{key} {}", value_words(value));
            fields.iter().map(field).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// Whether an object is a mix of frame sizes: several sizes with their weights.
fn is_mix(object: &Map<String, Value>) -> bool {
    let is_size =
        |(size, weight): (&String, &Value)| size.parse::<u64>().is_ok() && weight.is_number();
    object.len() > 1 && object.iter().all(is_size)
}

/// Formats a number with four significant digits and without trailing zeros; whole numbers in full,
/// grouped by three from five digits on.
fn rounded(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor();
    let places = (3.0 - magnitude).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false if value.abs() >= 10_000.0 => grouped(&text),
        false => text,
    }
}

/// Groups digits by three, behind an optional sign.
fn grouped(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let mut text = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_with_their_unit() {
        assert_eq!(figure_words(12.3e6, "pps"), "12.3 Mpps");
        assert_eq!(figure_words(12_300.0, "ns"), "12.3 µs");
        assert_eq!(figure_words(0.5, "percent"), "0.5 %");
        assert_eq!(figure_words(0.443_376_354, "fraction"), "0.4434");
        assert_eq!(figure_words(123_456.0, "frames"), "123,456 frames");
        assert_eq!(figure_words(-1_234_567.0, "frames"), "-1,234,567 frames");
        assert_eq!(figure_words(1_234.0, "frames"), "1234 frames");
        assert_eq!(figure_words(10_000.0, "1/s"), "10,000/s");
        assert_eq!(figure_words(2.5, "frames"), "2.5 frames");
    }

    #[test]
    fn a_mix_of_sizes_is_no_json() {
        let words = |value| value_words(&value);
        let mix =
            serde_json::json!({"64": 3, "100": 26, "256": 6, "570": 5, "1300": 6, "1518": 17});
        assert_eq!(words(mix), "mix of 6 sizes");
        assert_eq!(words(serde_json::json!("imix")), "imix");
        assert_eq!(words(serde_json::json!([{"a": 1}, {"a": 2}])), "list of 2");
        assert_eq!(words(serde_json::json!({"rate": 1000, "on": true})), "rate 1,000 on true");
        assert_eq!(words(serde_json::json!([1, 2])), "1 2");
    }
}
