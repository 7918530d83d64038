//! Figures of frames that are in no cache when the function gets them.

use measure::record::Figure;
use measure::{StageRole, Trial};

use super::rates::{packets, rate};
use crate::figures::over_repetitions;

/// The function's rate, and its ticks by stage: stages of the bench, which removes the frames from
/// the caches, say nothing.
pub(super) fn figures(trials: &[Trial]) -> Vec<Figure> {
    let over = |value: &dyn Fn(&Trial) -> f64| trials.iter().map(value).collect::<Vec<f64>>();
    let of_function = over(&|trial| rate(trial, |role| role == StageRole::Function));
    let mut figures = Vec::from_iter(over_repetitions("function_cold_pps", "pps", &of_function));
    let Some(first) = trials.first() else { return figures };
    for (index, stage) in first.stages.iter().enumerate() {
        if stage.role == StageRole::Function {
            let of_stage =
                |t: &Trial| t.stages.get(index).map_or(0.0, |s| s.ticks as f64 / packets(t));
            let figure = over_repetitions("ticks_cold_per_packet", "ticks", &over(&of_stage));
            figures.extend(figure.map(|figure| figure.of(&stage.name)));
        }
    }
    figures
}
