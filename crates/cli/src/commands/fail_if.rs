//! Conditions of `plumbline report A B` that let a pipeline stop at a regression.

use std::str::FromStr;

use measure::record::{Comparison, Verdict};

use crate::problem::Problem;

/// A ratio of a later run to the first one that is a failure: `capacity.function < 0.95`.
#[derive(Clone, Debug, PartialEq)]
pub struct FailIf {
    text: String,
    method: String,
    figure: String,
    is_below: bool,
    ratio: f64,
}

impl FromStr for FailIf {
    type Err = String;

    fn from_str(text: &str) -> Result<FailIf, String> {
        let wrong = || format!("{EXPECTED}, as in `capacity.function < 0.95`");
        let (what, ratio) = text.split_once(['<', '>']).ok_or_else(wrong)?;
        let (method, figure) = what.trim().split_once('.').ok_or_else(wrong)?;
        let ratio: f64 = ratio.trim().parse().map_err(|_| wrong())?;
        if method.is_empty() || figure.is_empty() || !(ratio.is_finite() && ratio > 0.0) {
            return Err(wrong());
        }
        Ok(FailIf {
            text: text.to_owned(),
            method: method.to_owned(),
            figure: figure.to_owned(),
            is_below: text.contains('<'),
            ratio,
        })
    }
}

impl FailIf {
    /// Returns what fails, a line each.
    ///
    /// # Errors
    /// When nothing is compared that the condition names.
    pub fn judge(&self, all: &[Comparison]) -> Result<Vec<String>, Problem> {
        let named: Vec<&Comparison> = all.iter().filter(|one| self.names(one)).collect();
        if named.is_empty() {
            let mut known: Vec<String> = all.iter().map(name).collect();
            known.sort();
            known.dedup();
            let what =
                format!("--fail-if: the runs have no figure in common that `{self}` is about");
            let remedy = match known.is_empty() {
                true => "compare runs of the same scenario on the same host".to_owned(),
                false => format!("these are compared: {}", known.join(", ")),
            };
            return Err(Problem::of_usage(what, remedy));
        }
        let failed = named.into_iter().filter(|one| self.fails(one));
        Ok(failed.map(|one| format!("{self}: {}", report::comparison_words(one))).collect())
    }

    fn names(&self, one: &Comparison) -> bool {
        one.method == self.method
            && (one.figure == self.figure
                || name(one) == format!("{}.{}", self.method, self.figure))
    }

    /// Whether the ratio is beyond the limit. What noise explains is no failure; where nothing is
    /// known of the noise, the ratio decides.
    fn fails(&self, one: &Comparison) -> bool {
        let beyond = if self.is_below { one.ratio < self.ratio } else { one.ratio > self.ratio };
        beyond && (one.verdict != Verdict::Inconclusive || one.confidence_95.is_none())
    }
}

impl std::fmt::Display for FailIf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text.trim())
    }
}

/// A figure as a condition names it, without its unit: `capacity.function`.
fn name(one: &Comparison) -> String {
    let figure = &one.figure;
    let bare = ["_pps", "_ns", "_percent"].iter().find_map(|unit| figure.strip_suffix(unit));
    format!("{}.{}", one.method, bare.unwrap_or(figure).replace('_', "-"))
}

const EXPECTED: &str = "expected METHOD.FIGURE, < or >, and a ratio to the first run";

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(ratio: f64, verdict: Verdict) -> Comparison {
        Comparison {
            method: "capacity".into(),
            figure: "function_pps".into(),
            ratio,
            verdict,
            confidence_95: Some([ratio * 0.9, ratio * 1.1]),
            ..Comparison::default()
        }
    }

    #[test]
    fn a_ratio_beyond_the_limit_fails_and_noise_does_not() {
        let condition: FailIf = "capacity.function < 0.95".parse().expect("one");
        let failed = |one: Comparison| condition.judge(&[one]).expect("it is compared").len();
        assert_eq!(failed(comparison(0.9, Verdict::Lower)), 1);
        assert_eq!(failed(comparison(0.96, Verdict::Same)), 0);
        assert_eq!(failed(comparison(0.9, Verdict::Inconclusive)), 0);
        let single = Comparison { confidence_95: None, ..comparison(0.9, Verdict::Inconclusive) };
        assert_eq!(failed(single), 1, "nothing is known of its noise");
        let more: FailIf = "capacity.function_pps>1.1".parse().expect("one");
        assert_eq!(more.judge(&[comparison(1.2, Verdict::Higher)]).expect("compared").len(), 1);
    }

    #[test]
    fn what_is_no_condition_or_names_nothing_is_refused() {
        for text in ["", "capacity", "capacity < 1", "capacity.function", "a.b < x", "a.b < -1"] {
            assert!(text.parse::<FailIf>().is_err(), "{text}");
        }
        let condition: FailIf = "capacity.total < 0.95".parse().expect("one");
        let problem = condition.judge(&[comparison(1.0, Verdict::Same)]).expect_err("no such one");
        let words = problem.to_string();
        assert!(words.contains("these are compared: capacity.function"), "{words}");
    }
}
