//! Packets and ticks of a trial in a closed loop.

use measure::{StageRole, Trial};

/// Packets of the workload that the workers processed, at least 1 to avoid a division by 0.
pub(super) fn packets(trial: &Trial) -> f64 {
    let by_workers: u64 = trial.workers.iter().map(|w| w.packets).sum();
    let by_stages = trial.stages.iter().map(|s| s.packets).max().unwrap_or(0);
    by_workers.max(by_stages).max(1) as f64
}

/// Ticks of the stages whose role is wanted.
pub(super) fn ticks(trial: &Trial, wanted: impl Fn(StageRole) -> bool) -> f64 {
    trial.stages.iter().filter(|s| wanted(s.role)).map(|s| s.ticks as f64).sum()
}

/// Packets per second if the workers executed only the wanted stages.
pub(super) fn rate(trial: &Trial, wanted: impl Fn(StageRole) -> bool) -> f64 {
    let ticks = ticks(trial, wanted);
    let workers = trial.workers.len().max(1) as f64;
    if ticks > 0.0 { workers * trial.ticks_per_second * packets(trial) / ticks } else { 0.0 }
}

pub(super) fn wall_clock_pps(trial: &Trial) -> f64 {
    let seconds = trial.effective.as_secs_f64();
    if seconds > 0.0 { packets(trial) / seconds } else { 0.0 }
}
