//! Throughput against frame size, in frames and in bits, with the line that theory allows: the line
//! rate of the link where it is known, else what the tester alone sends and takes back.

use measure::record::{Cell, RunRecord};

use super::chart::{Chart, identifier};
use super::curves::{Axis, Curve, Drawing, Look, data, range};
use super::published;
use super::swept::{RATES, bar_words, wire_bits};
use crate::references::{Counts, Reference};
use crate::sweeps::{self, Sweep, is_size, outcome_of};

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
    // The first figure of a throughput is the one that a link's line rate limits: on each
    // interface. What others published is of all interfaces together.
    let shown = match (method, others.is_empty()) {
        ("throughput", true) => &figures[..1],
        ("throughput", false) => &figures[1..],
        _ => figures,
    };
    let mut frames: Vec<Curve> =
        shown.iter().flat_map(|(f, name)| sweep.curves(method, f, name, 1e-6)).collect();
    if frames.is_empty() {
        return None;
    }
    let limit = (method == "throughput").then(|| Limit::of(sweep)).flatten();
    let interfaces = if others.is_empty() { 1.0 } else { interfaces(sweep) };
    let bars = bar_words(&frames);
    let table_of_ours = data("frame size, bytes", "Mpps", &frames);
    let more = match others.is_empty() {
        true => String::new(),
        false => {
            " Dotted curves and single marks are published figures, with bit rates interpreted as \
             on the wire; their sources are listed below."
                .to_owned()
        }
    };
    frames.extend(others);
    let xs: Vec<f64> = frames.iter().flat_map(|c| c.points.iter().map(|p| p.x)).collect();
    let bits: Vec<Curve> = frames.iter().map(in_bits).collect();
    let axis = || Axis {
        min: Some(0.0),
        max: Some(range(&xs).1 * 1.05),
        ..Axis::linear("frame size, bytes")
    };
    let panel = |mut curves: Vec<Curve>, label: &str, theory: fn(&Limit, f64) -> f64| {
        let law = |limit: &Limit| limit.curve(&xs, |limit, x| theory(limit, x) * interfaces);
        curves.extend(limit.as_ref().and_then(law));
        Drawing::new(axis(), Axis::linear(label).with_zero()).half().of(&curves)
    };
    let panels =
        vec![panel(frames, "Mpps", Limit::mpps), panel(bits, "Gbit/s on the wire", Limit::gbps)];
    let theory = limit.map_or(String::new(), |limit| format!(" {}.", limit.words()));
    Some(Chart::panels(
        &identifier("size", &[method, &sweep.key]),
        &format!("{method} against frame size"),
        &format!(
            "Frames per second, and bits per second on the wire, including the frame check \
             sequence and the 20 bytes of preamble, start delimiter and gap of each frame. A mix \
             of sizes is drawn at its mean.{bars}{theory}{more}"
        ),
        panels,
        table_of_ours,
    ))
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
    published::curves(&alike, |r| published::size_place(r, sweep), published::mpps)
}

/// Number of interfaces on which frames were sent simultaneously.
fn interfaces(sweep: &Sweep<'_>) -> f64 {
    let count = |cell: &Cell| {
        let outcome = outcome_of(cell, "throughput")?;
        Some(outcome.trials.first()?.directions.len().max(1) as f64)
    };
    sweep.cells().find_map(count).unwrap_or(1.0)
}

fn in_bits(curve: &Curve) -> Curve {
    let mut curve = curve.clone();
    for point in &mut curve.points {
        let factor = wire_bits(point.x) * 1e-3;
        point.y *= factor;
        point.bar = point.bar.map(|bar| bar.map(|end| end * factor));
    }
    curve
}

/// Upper limit of the rate on this link or with this tester.
enum Limit {
    /// Line rate of the link, in bits per second.
    Line(f64),
    /// Maximum of the tester alone, in frames per second.
    Tester(f64),
}

impl Limit {
    fn of(sweep: &Sweep<'_>) -> Option<Self> {
        let line = sweep.cells().find_map(line_rate_bps).map(Self::Line);
        let tester = || {
            let baselines = sweep.cells().filter_map(|c| outcome_of(c, "throughput")?.baseline);
            let fastest = baselines.map(|b| b.tester_pps).fold(0.0, f64::max);
            (fastest > 0.0).then_some(Self::Tester(fastest))
        };
        line.or_else(tester)
    }

    fn mpps(&self, size: f64) -> f64 {
        match self {
            Self::Line(bps) => bps / wire_bits(size) / 1e6,
            Self::Tester(pps) => pps / 1e6,
        }
    }

    fn gbps(&self, size: f64) -> f64 {
        self.mpps(size) * wire_bits(size) / 1e3
    }

    fn curve(&self, xs: &[f64], theory: impl Fn(&Self, f64) -> f64) -> Option<Curve> {
        let (min, max) = range(xs);
        let steps = (0..=STEPS).map(|step| min + (max - min) * f64::from(step) / f64::from(STEPS));
        let name = match self {
            Self::Line(_) => "theoretical",
            Self::Tester(_) => "tester alone",
        };
        Some(Curve::new(name, Look::Law, steps.map(|x| (x, theory(self, x)))))
    }

    fn words(&self) -> String {
        match self {
            Self::Line(bps) => {
                format!("The theoretical line is a link of {:.0} Gbit/s", bps / 1e9)
            }
            Self::Tester(pps) => format!(
                "There is no link with a line rate; the line is the maximum of the tester alone, \
                 {}",
                measure::Pps(*pps)
            ),
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

/// Points of the line of theory.
const STEPS: u32 = 48;
