//! The charts of a page: each file one kind, each chart an SVG with its data beside it.

mod added;
mod asked;
mod bars;
mod boxes;
mod bursts;
mod chart;
mod churn;
mod cpu;
mod curves;
mod cycles;
mod events;
mod floods;
mod heat;
mod kept;
mod latency;
mod loads;
mod loss;
mod percentiles;
mod policer;
mod published;
mod recovery;
mod scale;
mod search;
mod series;
mod sessions;
mod size;
mod soak;
mod surface;
mod swept;
mod times;
mod trend;
mod workers;

use measure::record::RunRecord;

pub(super) use chart::{CHARTS_OPEN, CHARTS_SHOWN, Chart, Data, Group};
pub(super) use trend::trend_chart;

/// All charts for which a record has data, in reading order; each knows its kind.
pub(super) fn of(record: &RunRecord) -> Vec<Chart> {
    let kinds: &[fn(&RunRecord) -> Vec<Chart>] = &[
        size::charts,
        bars::charts,
        scale::charts,
        kept::charts,
        times::charts,
        added::charts,
        floods::charts,
        workers::charts,
        surface::charts,
        loss::charts,
        loads::charts,
        boxes::charts,
        churn::charts,
        bursts::charts,
        recovery::charts,
        policer::charts,
        soak::charts,
        sessions::charts,
        series::charts,
        cycles::charts,
        cpu::charts,
        latency::charts,
        search::charts,
        events::charts,
    ];
    let of_kind = |(kind, charts): (usize, &fn(&RunRecord) -> Vec<Chart>)| {
        charts(record).into_iter().map(move |chart| Chart { kind, ..chart })
    };
    kinds.iter().enumerate().flat_map(of_kind).collect()
}

/// Takes out the chart for the first screen: what is compared side by side, else the first result.
pub(super) fn leading(record: &RunRecord, mut charts: Vec<Chart>) -> (Option<Chart>, Vec<Chart>) {
    let is_compared = record.plan.compare.is_some();
    let place = |wanted: &dyn Fn(&Chart) -> bool| charts.iter().position(wanted);
    let bars = || place(&|chart| is_compared && chart.id.starts_with("bars-"));
    let result = || place(&|chart| chart.group == Group::Result);
    let found = bars().or_else(result);
    let leading = found.map(|at| charts.remove(at));
    (leading, charts)
}

/// The plots that the scenario requests.
pub(super) fn asked(record: &RunRecord) -> Vec<Chart> {
    asked::charts(record)
}
