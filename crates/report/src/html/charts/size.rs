//! Throughput against frame size, in frames and in bits, with the line that theory allows: the line
//! rate of the link where it is known, else what the tester alone sends and takes back.

use measure::record::{Cell, RunRecord};

use super::curves::{Axis, Curve, Drawing, Look, data, range};
use super::sweeps::{self, RATES, Sweep, bar_words, is_size, outcome_of};
use super::{Chart, identifier};

/// One chart for each method that was measured with several sizes.
pub(super) fn charts(record: &RunRecord) -> Vec<Chart> {
    let sweeps = sweeps::of(record);
    let sizes: Vec<_> = sweeps.iter().filter(|s| is_size(&s.key)).collect();
    let of_method = |(method, figures): &(&str, &[(&str, &str)])| {
        let charts = sizes.iter().filter_map(|sweep| chart(method, figures, sweep));
        charts.collect::<Vec<_>>()
    };
    RATES.iter().flat_map(of_method).collect()
}

fn chart(method: &str, figures: &[(&str, &str)], sweep: &Sweep<'_>) -> Option<Chart> {
    // The first figure is the one that a link's line rate limits: on each interface.
    let is_throughput = method == "throughput";
    let shown = if is_throughput { &figures[..1] } else { figures };
    let frames: Vec<Curve> =
        shown.iter().flat_map(|(f, name)| sweep.curves(method, f, name, 1e-6)).collect();
    let xs: Vec<f64> = frames.iter().flat_map(|c| c.points.iter().map(|p| p.x)).collect();
    if frames.is_empty() {
        return None;
    }
    let limit = is_throughput.then(|| Limit::of(sweep)).flatten();
    let bits: Vec<Curve> = frames.iter().map(in_bits).collect();
    let table = data("frame size, bytes", "Mpps", &frames);
    let bars = bar_words(&frames);
    let axis = || Axis {
        min: Some(0.0),
        max: Some(range(&xs).1 * 1.05),
        ..Axis::linear("frame size, bytes")
    };
    let panel = |mut curves: Vec<Curve>, label: &str, theory: fn(&Limit, f64) -> f64| {
        curves.extend(limit.as_ref().and_then(|limit| limit.curve(&xs, theory)));
        Drawing::new(axis(), Axis::linear(label).with_zero()).half().of(&curves)
    };
    let panels =
        vec![panel(frames, "Mpps", Limit::mpps), panel(bits, "Gbit/s on the wire", Limit::gbps)];
    let theory = limit.map_or(String::new(), |limit| format!(" {}.", limit.words()));
    Some(Chart::panels(
        &identifier("size", &[method, &sweep.key]),
        &format!("{method} against frame size"),
        &format!(
            "Frames a second, and the same in bits on the wire: each frame with its check sequence \
             and the 20 bytes of preamble, start delimiter and gap. A mix of sizes stands at its \
             mean.{bars}{theory}"
        ),
        panels,
        table,
    ))
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

/// What nothing on this link, or with this tester, can exceed.
enum Limit {
    /// Bits a second of the link.
    Line(f64),
    /// Frames a second that the tester alone does.
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

    fn curve(&self, xs: &[f64], theory: fn(&Self, f64) -> f64) -> Option<Curve> {
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
                "There is no link whose rate would limit; the line is what the tester alone sent \
                 and took back, {}",
                measure::Pps(*pps)
            ),
        }
    }
}

/// The rate of the link in bits a second, where the device or the method names it so.
fn line_rate_bps(cell: &Cell) -> Option<f64> {
    let device = cell.configuration.get("device")?;
    let rate =
        ["link-rate", "link-speed", "line-rate-bps"].iter().find_map(|key| device.get(key))?;
    rate.as_f64().filter(|bps| *bps > 0.0)
}

/// Bits of a frame on the wire; preamble, start delimiter and gap are 20 bytes (IEEE 802.3).
fn wire_bits(size: f64) -> f64 {
    (size + 20.0) * 8.0
}

/// Points of the line of theory.
const STEPS: u32 = 48;
