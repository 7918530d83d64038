//! Rates against frame size, in frames and in bits, with the ceiling of each size: what the line
//! rate of the link allows where it is known, else what the tester alone sends and takes back.
//!
//! A mix of sizes has no place on this axis; it stands among the bars. Bits are those of the frames
//! that were sent, so a method that sends none over a link, as a closed loop, has none.

use measure::record::{Cell, RunRecord};

use super::chart::{Chart, Data, identifier};
use super::curves::{Axis, Curve, Drawing, Look, data, number, range};
use super::published;
use super::swept::{RATES, bar_words, frame_len, wire_bits};
use crate::references::{Counts, Reference};
use crate::sweeps::{self, Group, Sweep, is_size, outcome_of};

/// One chart for each method that was measured with several frame sizes.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let sweeps = sweeps::of(&record.cells);
    let sizes: Vec<_> = sweeps.iter().filter(|s| is_size(&s.key)).collect();
    let of_method = |(method, figures): &(&str, &[(&str, &str)])| {
        let charts = sizes.iter().filter_map(|sweep| chart(record, (method, figures), sweep));
        charts.collect::<Vec<_>>()
    };
    RATES.iter().flat_map(of_method).collect()
}

fn chart(
    record: &RunRecord,
    (method, figures): (&str, &[(&str, &str)]),
    sweep: &Sweep<'_>,
) -> Option<Chart> {
    let others = others(record, method, sweep);
    // The first figure of a throughput is the one that a link's line rate limits: that of each port
    // and direction. What others published is of all ports together.
    let shown = match (method, others.is_empty()) {
        ("throughput", true) => &figures[..1],
        ("throughput", false) => &figures[1..],
        _ => figures,
    };
    let frames: Vec<Curve> =
        shown.iter().flat_map(|(f, name)| sweep.curves(method, f, name, 1e-6)).collect();
    let bits: Vec<Curve> =
        shown.iter().flat_map(|(f, name)| sweep.curves_in_bits(method, f, name)).collect();
    if frames.is_empty() {
        return None;
    }
    let per_port = others.is_empty();
    let limit = (method == "throughput").then(|| Limit::of(sweep, per_port)).flatten();
    let most = frames.iter().flat_map(|c| &c.points).map(|p| p.y * 1e6).fold(0.0, f64::max);
    // A ceiling far above would press what was measured to the bottom.
    let is_far = |limit: &Limit| limit.least() > FAR * most;
    let ceiling = limit.as_ref().map_or(String::new(), |limit| limit.words(is_far(limit)));
    let limit = limit.filter(|limit| !is_far(limit));
    let bars = bar_words(&frames);
    let table_of_ours = with_bits(data("frame size, bytes", "Mpps", &frames), &frames, &bits);
    let more = match others.is_empty() {
        true => "",
        false => {
            " Dotted curves and single marks are published figures, with bit rates interpreted as \
             on the wire; their sources are listed below."
        }
    };
    let xs: Vec<f64> =
        frames.iter().chain(&others).flat_map(|c| c.points.iter().map(|p| p.x)).collect();
    let axis = || Axis {
        min: Some(0.0),
        max: Some(range(&xs).1 * 1.05),
        ..Axis::linear("frame size, bytes")
    };
    let has_bits = !bits.is_empty();
    let panel = |mut curves: Vec<Curve>, others: Vec<Curve>, label: &str, is_bits: bool| {
        curves.extend(limit.iter().flat_map(|limit| limit.curves(is_bits)));
        curves.extend(others);
        let drawing = Drawing::new(axis(), Axis::linear(label).with_zero());
        if has_bits { drawing.half().of(&curves) } else { drawing.of(&curves) }
    };
    let others_in_bits = others.iter().map(in_bits).collect();
    let mut panels = vec![panel(frames, others, "Mpps", false)];
    if has_bits {
        panels.push(panel(bits, others_in_bits, "Gbit/s on the wire", true));
    }
    let wire = match has_bits {
        true => {
            " Bits per second are those of the frames sent, with their tunnels and tags, the frame \
             check sequence, and the 20 bytes of preamble, start delimiter and gap of each frame."
        }
        false => "",
    };
    Some(Chart::panels(
        &identifier("size", &[method, &sweep.key]),
        &format!("{method} against frame size"),
        &format!("Frames per second by the size of the user's frame.{wire}{bars}{ceiling}{more}"),
        panels,
        table_of_ours,
    ))
}

/// The data of the curves with a column of bits, where a point has them.
fn with_bits(mut table: Data, frames: &[Curve], bits: &[Curve]) -> Data {
    if bits.is_empty() {
        return table;
    }
    let in_bits = |name: &str, x: f64| {
        let curve = bits.iter().find(|curve| curve.name == name)?;
        curve.points.iter().find(|point| point.x == x).map(|point| number(point.y))
    };
    let points = frames.iter().flat_map(|c| c.points.iter().map(move |p| (c.name.as_str(), p.x)));
    for (row, (name, x)) in table.rows.iter_mut().zip(points) {
        row.push(in_bits(name, x).unwrap_or_default());
    }
    table.head.push("Gbit/s on the wire".into());
    table
}

/// Published figures for the same sizes, in Mpps.
fn others(record: &RunRecord, method: &str, sweep: &Sweep<'_>) -> Vec<Curve> {
    let counts = match method {
        "capacity" => Counts::Function,
        "throughput" => Counts::Throughput,
        _ => return Vec::new(),
    };
    let all = published::of(record, sweep);
    let alike: Vec<&Reference> = all.iter().filter(|r| r.counts == counts).collect();
    published::curves(&alike, published::size_place, published::mpps)
}

/// A published curve in Gbit/s: the frames of others are as long as they say.
fn in_bits(curve: &Curve) -> Curve {
    let mut curve = curve.clone();
    for point in &mut curve.points {
        let factor = wire_bits(point.x) * 1e-3;
        point.y *= factor;
        point.bar = point.bar.map(|bar| bar.map(|end| end * factor));
    }
    curve
}

/// What rates cannot exceed, by frame size.
struct Limit {
    is_line_rate: bool,
    /// A curve for each that we have: its name, and for each size the frames per second and the
    /// bits of a frame on the wire.
    ceilings: Vec<(String, Vec<Ceiling>)>,
}

/// The ceiling of one frame size.
struct Ceiling {
    size: f64,
    pps: f64,
    /// Bits of a frame on the wire, if it is known.
    bits: Option<f64>,
}

impl Limit {
    /// The ceilings of a sweep, for one port or for all of a cell together; none if there are so
    /// many that they would hide what was measured.
    fn of(sweep: &Sweep<'_>, per_port: bool) -> Option<Self> {
        let line = sweep.cells().find_map(line_rate_bps);
        let ceiling = |(size, cell): &(f64, &Cell)| {
            let outcome = outcome_of(cell, "throughput")?;
            let ports = outcome.trials.first().map_or(1, |trial| trial.directions.len().max(1));
            let bits = frame_len(outcome).map(wire_bits);
            let tester = || outcome.baseline.map(|baseline| baseline.tester_pps);
            let pps = line.and_then(|bps| Some(bps / bits?)).or_else(tester);
            let factor = if per_port { 1.0 } else { ports as f64 };
            let pps = pps.filter(|pps| *pps > 0.0 && pps.is_finite())? * factor;
            Some(Ceiling { size: *size, pps, bits })
        };
        let of_group = |group: &Group<'_>| {
            let mut ceilings: Vec<Ceiling> = group.cells.iter().filter_map(ceiling).collect();
            ceilings.sort_by(|a, b| a.size.total_cmp(&b.size));
            (group.name.clone().unwrap_or_default(), ceilings)
        };
        let mut ceilings: Vec<_> = sweep.groups.iter().map(of_group).collect();
        ceilings.retain(|(_, ceilings)| ceilings.len() > 1);
        let is_few = (1..=CEILINGS_MAX).contains(&ceilings.len());
        is_few.then_some(Self { is_line_rate: line.is_some(), ceilings })
    }

    fn curves(&self, is_bits: bool) -> Vec<Curve> {
        let what = if self.is_line_rate { "line rate" } else { "tester alone" };
        let of_group = |(name, ceilings): &(String, Vec<Ceiling>)| {
            let name = if name.is_empty() { what.into() } else { format!("{what}, {name}") };
            let point = |at: &Ceiling| match is_bits {
                true => Some((at.size, at.pps * at.bits? * 1e-9)),
                false => Some((at.size, at.pps * 1e-6)),
            };
            Curve::new(&name, Look::Law, ceilings.iter().filter_map(point))
        };
        self.ceilings.iter().map(of_group).filter(|curve| curve.points.len() > 1).collect()
    }

    /// The lowest ceiling, in frames per second.
    fn least(&self) -> f64 {
        let all = self.ceilings.iter().flat_map(|(_, ceilings)| ceilings);
        all.map(|ceiling| ceiling.pps).fold(f64::INFINITY, f64::min)
    }

    fn words(&self, is_far: bool) -> String {
        let what = match self.is_line_rate {
            true => "The line rate of the link with the frames of each size",
            false => {
                "There is no link with a line rate; what the tester alone sent and took back with \
                 the frames of each size"
            }
        };
        match is_far {
            true => {
                let least = measure::Pps(self.least());
                format!(" {what} lies above this chart: it is {least} or more.")
            }
            false => format!(" {what} is drawn as the ceiling of that size."),
        }
    }
}

/// Line rate of the link in bits per second, if the device or the method configures it.
fn line_rate_bps(cell: &Cell) -> Option<f64> {
    let device = cell.configuration.get("device")?;
    let rate =
        ["link-rate", "link-speed", "line-rate-bps"].iter().find_map(|key| device.get(key))?;
    rate.as_f64().filter(|bps| *bps > 0.0)
}

/// How many times what was measured a ceiling may be at most to be drawn.
const FAR: f64 = 2.0;

/// The most ceilings in one drawing; more would hide what was measured.
const CEILINGS_MAX: usize = 2;
