//! Every figure that a method gives, by name, with the unit it has in the record.
//!
//! A scenario may set thresholds to figures and plots may show them, and both are read before
//! anything is measured. A test of the lab runs every method and holds that none gives a figure, or
//! a unit, that is not here.

/// A figure that some method gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFigure {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
}

/// All figures, sorted by name.
pub const FIGURES: &[KnownFigure] = &[
    known("accepted_p50", "ns"),
    known("accepted_p99", "ns"),
    known("achieved_updates", "1/s"),
    known("back_to_back_frames", "frames"),
    known("blackout_max", "ns"),
    known("blackout_p50", "ns"),
    known("blackout_p99", "ns"),
    known("blocked_time", "ns"),
    known("blocked_time_per_update", "ns"),
    known("burst_share_percent", "percent"),
    known("burst_step", "frames"),
    known("conforming_dropped_percent", "percent"),
    known("conforming_dropped_policers", "policers"),
    known("corrected_buffer_time", "ns"),
    known("duration", "s"),
    known("error_median_percent", "percent"),
    known("error_worst_percent", "percent"),
    known("forwarded", "pps"),
    known("forwarding_rate", "pps"),
    known("forwarding_rate_aggregate", "pps"),
    known("forwarding_rate_max", "pps"),
    known("function_pps", "pps"),
    known("goal_lower_bound", "pps"),
    known("goal_throughput", "pps"),
    known("goal_upper_bound", "pps"),
    known("implied_buffer_time", "ns"),
    known("late_frames", "frames"),
    known("latency_max", "ns"),
    known("latency_mean", "ns"),
    known("latency_min", "ns"),
    known("latency_p50", "ns"),
    known("latency_p50_slope", "ns/h"),
    known("latency_p50_slope_high", "ns/h"),
    known("latency_p50_slope_low", "ns/h"),
    known("latency_p90", "ns"),
    known("latency_p99", "ns"),
    known("latency_p99_9", "ns"),
    known("latency_p99_9_slope", "ns/h"),
    known("latency_p99_9_slope_high", "ns/h"),
    known("latency_p99_9_slope_low", "ns/h"),
    known("latency_pdv", "ns"),
    known("load", "pps"),
    known("loss_fraction", "fraction"),
    known("loss_inversions", "loads"),
    known("loss_percent", "percent"),
    known("loss_slope", "1/h"),
    known("loss_slope_high", "1/h"),
    known("loss_slope_low", "1/h"),
    known("lossless_longest", "s"),
    known("lossless_rate", "pps"),
    known("lost_frames", "frames"),
    known("maximum_rate", "pps"),
    known("memory_slope", "B/h"),
    known("memory_slope_high", "B/h"),
    known("memory_slope_low", "B/h"),
    known("ns_per_packet", "ns"),
    known("offered_rate", "pps"),
    known("policers", "policers"),
    known("recovery_time", "ns"),
    known("recovery_time_mean", "ns"),
    known("reference_throughput", "pps"),
    known("refused_updates", "updates"),
    known("restarts", "restarts"),
    known("slices_with_loss", "slices"),
    known("step", "frames"),
    known("throughput", "pps"),
    known("throughput_aggregate", "pps"),
    known("throughput_aggregate_l1", "bit/s"),
    known("throughput_aggregate_l2", "bit/s"),
    known("throughput_changed", "pps"),
    known("throughput_kept_percent", "percent"),
    known("throughput_l1", "bit/s"),
    known("throughput_l2", "bit/s"),
    known("throughput_unchanged", "pps"),
    known("ticks_per_packet", "ticks"),
    known("total_pps", "pps"),
    known("uncertainty_percent", "percent"),
    known("updates", "1/s"),
    known("visible_p50", "ns"),
    known("visible_p99", "ns"),
    known("wall_clock_pps", "pps"),
    known("within_tolerance_percent", "percent"),
];

const fn known(name: &'static str, unit: &'static str) -> KnownFigure {
    KnownFigure { name, unit }
}
