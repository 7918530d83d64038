//! What each device's processors spent on a packet, side by side: the time in stages where it is
//! told, and the rest of the CPU time.

use kuva::plot::bar::BarPlot;
use kuva::prelude::*;
use measure::record::{Cell, Outcome, RunRecord};

use super::chart::{
    CHARTS_MAX, Chart, Data, colour, identifier, left_out_words, short_count, styled, ticks,
    with_validity,
};
use super::curves::shortened;
use crate::names::Names;
use crate::words::{distinct, outcomes};

/// One chart for each method that reports CPU time in at least two cells.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let methods = distinct(outcomes(record).map(|(_, o)| o.method.as_str()));
    methods.into_iter().filter_map(|method| chart(record, method)).take(CHARTS_MAX).collect()
}

fn chart(record: &RunRecord, method: &str) -> Option<Chart> {
    let names = Names::of(record);
    let spent = |(cell, outcome): (_, &Outcome)| {
        Some((cell, with_validity(names.of_cell(cell), outcome), Spent::of(outcome)?))
    };
    let of_method = outcomes(record).filter(|(_, outcome)| outcome.method == method);
    let mut measured: Vec<(&Cell, String, Spent)> = of_method.filter_map(spent).collect();
    let left_out = measured.len().saturating_sub(BARS_MAX);
    measured.truncate(BARS_MAX);
    if measured.len() < 2 {
        return None;
    }
    let mut bars = BarPlot::new().with_width(0.72).with_horizontal(true);
    // A horizontal bar chart is drawn from the bottom; the first cell belongs on top.
    for (_, name, spent) in measured.iter().rev() {
        let parts = vec![(spent.busy_ns, colour(0)), (spent.rest_ns(), colour(1))];
        bars = bars.with_group(shortened(name), parts);
    }
    let legend = vec!["in the stages of the function", "all other CPU time of the device"];
    let plots = vec![Plot::from(bars.with_legend(legend).with_stacked())];
    let layout = styled(Layout::auto_from_plots(&plots))
        .with_height(140.0 + 34.0 * measured.len() as f64)
        .with_x_label("CPU time per packet, ns")
        .with_x_tick_format(ticks(short_count))
        .with_legend_position(LegendPosition::OutsideBottomColumns);
    let row = |(cell, name, spent): &(&Cell, String, Spent)| {
        let number = |ns: f64| format!("{ns:.1}");
        let busy = if spent.busy_ns > 0.0 { number(spent.busy_ns) } else { String::new() };
        vec![name.clone(), cell.device.clone(), busy, number(spent.cpu_ns)]
    };
    let head = ["cell", "device", "in stages, ns", "CPU time, ns"].map(String::from).into();
    Some(Chart::new(
        &identifier("cpu", &[method]),
        &format!("CPU time per packet by device ({method})"),
        &format!(
            "CPU time of the device, divided by the frames that came back. A polling device uses \
             its cores completely, so its time outside of stages is mostly waiting. If a device \
             does not report stages, all its time has the second colour.{}",
            left_out_words(left_out)
        ),
        plots,
        layout,
        Data { head, rows: measured.iter().map(row).collect() },
    ))
}

/// CPU time per packet, in nanoseconds.
struct Spent {
    cpu_ns: f64,
    /// The part spent in stages, in nanoseconds; 0 if unknown.
    busy_ns: f64,
}

impl Spent {
    fn of(outcome: &Outcome) -> Option<Spent> {
        let value = |name| outcome.figure(name).map(|figure| figure.value);
        let cpu_ns = value("device_cpu_per_packet").filter(|ns| ns.is_finite())?;
        Some(Spent {
            cpu_ns,
            busy_ns: value("device_busy_per_packet").filter(|ns| ns.is_finite()).unwrap_or(0.0),
        })
    }

    fn rest_ns(&self) -> f64 {
        (self.cpu_ns - self.busy_ns).max(0.0)
    }
}

/// Largest number of cells in the chart; the results table has the rest.
const BARS_MAX: usize = 24;
