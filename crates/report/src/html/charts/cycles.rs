//! Where the cycles go: TSC cycles per packet by stage, stacked, for each cell, beside what one
//! access to memory of that size costs on this machine.

use kuva::plot::bar::BarPlot;
use kuva::prelude::*;
use measure::Bytes;
use measure::record::{Cell, Outcome, RandomAccess, RunRecord};

use super::chart::{Chart, Data, MUTED, colour, left_out_words, styled, with_validity};
use super::curves::shortened;
use crate::names::Names;
use crate::words::outcomes;

/// The chart of cycles by stage; none if no outcome has them.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    chart(record).into_iter().collect()
}

fn chart(record: &RunRecord) -> Option<Chart> {
    let mut measured: Vec<(&Cell, &Outcome)> =
        outcomes(record).filter(|(_, o)| o.parts(FIGURE).next().is_some()).collect();
    let left_out = measured.len().saturating_sub(BARS_MAX);
    measured.truncate(BARS_MAX);
    if measured.is_empty() {
        return None;
    }
    let names = Names::of(record);
    let stages = stages(&measured);
    let mut bars = BarPlot::new().with_width(0.72).with_horizontal(true);
    let mut head = vec!["cell".to_string()];
    head.extend(stages.iter().cloned());
    head.extend(
        ["all stages", "state", "one access alone", "one of several in flight"].map(String::from),
    );
    let mut rows = Vec::new();
    // A horizontal bar chart is drawn from the bottom; the first cell belongs on top.
    for (cell, outcome) in measured.iter().rev() {
        let value = |stage: &String| {
            let found = outcome.parts(FIGURE).find(|f| f.of.as_ref() == Some(stage));
            found.map(|f| f.value).filter(|ticks| ticks.is_finite()).unwrap_or(0.0)
        };
        let name = with_validity(names.of_cell(cell), outcome);
        let memory = Memory::of(record, cell);
        if let Some(ticks) = memory.overlapped_ticks {
            // Every bar of a stacked chart has as many parts; all but the last are empty here.
            let mut parts: Vec<(f64, &str)> = (0..stages.len()).map(|s| (0.0, colour(s))).collect();
            parts.push((ticks, MUTED));
            bars = bars.with_group(format!("memory, {}", memory.size), parts);
        }
        let mut parts: Vec<(f64, &str)> =
            stages.iter().enumerate().map(|(s, stage)| (value(stage), colour(s))).collect();
        parts.push((0.0, MUTED));
        bars = bars.with_group(shortened(&name), parts);
        rows.push(row(name, &stages, value, &memory));
    }
    rows.reverse();
    let mut legend: Vec<&str> = stages.iter().map(String::as_str).collect();
    legend.push("one memory access");
    let (count, legend_rows) = (bars.groups.len(), legend.len().div_ceil(LEGEND_COLUMNS));
    let plots = vec![Plot::from(bars.with_legend(legend).with_stacked())];
    let layout = styled(Layout::auto_from_plots(&plots))
        .with_height(110.0 + 34.0 * count as f64 + LEGEND_ROW * legend_rows as f64)
        .with_x_label("TSC cycles per packet")
        .with_legend_position(LegendPosition::OutsideBottomColumns);
    let caption = format!(
        "Median TSC cycles per packet of the workload, by stage. The grey bar is one random \
         access, with several in flight, to memory of the size of the state, measured on this \
         machine before the run: it shows the cost of a cache miss.{}",
        left_out_words(left_out)
    );
    Some(Chart::new(
        "cycles",
        "TSC cycles per packet by stage",
        &caption,
        plots,
        layout,
        Data { head, rows },
    ))
}

/// Cost of one access to the state, from the host's probe.
struct Memory {
    size: String,
    alone_ticks: Option<f64>,
    overlapped_ticks: Option<f64>,
}

impl Memory {
    fn of(record: &RunRecord, cell: &Cell) -> Self {
        let Some(bytes) = cell.state_bytes.filter(|b| *b > 0) else {
            return Self { size: "not told".into(), alone_ticks: None, overlapped_ticks: None };
        };
        let ticks = |probe: Option<&RandomAccess>| {
            probe.map(|p| p.ns_per_access * record.host.tsc.ticks_per_second * 1e-9)
        };
        let nearest = |overlapped: bool| {
            record
                .host
                .random_access_probe
                .iter()
                .filter(|p| (p.in_flight > 1) == overlapped && p.bytes > 0)
                .min_by(|a, b| distance(a.bytes, bytes).total_cmp(&distance(b.bytes, bytes)))
        };
        Self {
            size: Bytes(bytes as f64).to_string(),
            alone_ticks: ticks(nearest(false)),
            overlapped_ticks: ticks(nearest(true)),
        }
    }
}

/// Distance of two sizes as a ratio on a logarithmic scale.
fn distance(a: u64, b: u64) -> f64 {
    (a as f64 / b as f64).ln().abs()
}

fn row(
    cell: String,
    stages: &[String],
    value: impl Fn(&String) -> f64,
    memory: &Memory,
) -> Vec<String> {
    let ticks = |ticks: Option<f64>| ticks.map_or(String::new(), |t| format!("{t:.1}"));
    let mut row = vec![cell];
    row.extend(stages.iter().map(|stage| format!("{:.1}", value(stage))));
    row.push(format!("{:.1}", stages.iter().map(&value).sum::<f64>()));
    row.extend([memory.size.clone(), ticks(memory.alone_ticks), ticks(memory.overlapped_ticks)]);
    row
}

/// The stages of all outcomes without duplicates, in the order of the packet path.
fn stages(measured: &[(&Cell, &Outcome)]) -> Vec<String> {
    let mut stages: Vec<String> = Vec::new();
    for name in measured.iter().flat_map(|(_, o)| o.parts(FIGURE)).filter_map(|f| f.of.clone()) {
        if !stages.contains(&name) {
            stages.push(name);
        }
    }
    stages
}

/// Number of columns of the plotting crate's legend below the chart.
const LEGEND_COLUMNS: usize = 4;
const LEGEND_ROW: f64 = 22.0;

const FIGURE: &str = "ticks_per_packet";

/// Largest number of cells in the chart; the results table has the rest.
const BARS_MAX: usize = 16;
