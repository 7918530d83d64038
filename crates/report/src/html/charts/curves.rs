//! Curves over two axes, which most charts are: points with bars of their spread, lines that differ
//! in colour and in dash, marks without a line, lines of reference, bands.

use std::sync::Arc;

use kuva::plot::band::BandPlot;
use kuva::plot::line::{LinePlot, LineStyle};
use kuva::plot::scatter::{MarkerShape, ScatterPlot};
use kuva::prelude::*;
use kuva::render::annotations::{ReferenceLine, ShadedRegion};
use kuva::render::layout::TickFormat;

use super::chart::{Data, HEIGHT, MUTED, WIDTH, colour, short_count, styled};

/// A point, with the ends of its error bar if it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) bar: Option<[f64; 2]>,
    /// Whether the value is a lower bound, which is drawn as an arrowhead.
    pub(super) is_bound: bool,
}

/// A curve: a series of points.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) points: Vec<Point>,
    pub(super) look: Look,
    /// Index of the curve whose colour it shares; none for a colour of its own.
    pub(super) like: Option<usize>,
}

/// Style of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// A line with a marker on each point.
    Measured,
    /// A line without markers, for laws and limits.
    Law,
    /// Markers without a line.
    Marks,
    /// Markers without a line that are not filled.
    Hollow,
    /// A thin line with markers, for published figures.
    Published,
    /// The area between the ends of the points' error bars.
    Band,
}

/// A function that formats the value of a tick.
pub(super) type Words = Arc<dyn Fn(f64) -> String + Send + Sync>;

/// An axis of a drawing.
#[derive(Clone)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) is_log: bool,
    pub(super) format: Words,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
}

/// A drawing of curves, without the curves.
pub(super) struct Drawing {
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Vertical lines: position, and whether the line is solid.
    pub(super) at_x: Vec<(f64, bool)>,
    /// Dashed horizontal lines with their names.
    pub(super) at_y: Vec<(f64, String)>,
    /// A shaded horizontal band, as values on the vertical axis.
    pub(super) band_y: Option<[f64; 2]>,
    /// A shaded vertical band, as values on the horizontal axis.
    pub(super) band_x: Option<[f64; 2]>,
}

impl Curve {
    /// A curve of points without error bars.
    pub(super) fn new(
        name: &str,
        look: Look,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let point = |(x, y): (f64, f64)| Point { x, y, bar: None, is_bound: false };
        let mut points: Vec<Point> =
            points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()).map(point).collect();
        if !matches!(look, Look::Marks | Look::Hollow) {
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        Self { name: name.into(), points, look, like: None }
    }
}

impl Axis {
    /// A linear axis with short numbers.
    pub(super) fn linear(label: &str) -> Self {
        Self {
            label: label.into(),
            is_log: false,
            format: Arc::new(short_count),
            min: None,
            max: None,
        }
    }

    /// A logarithmic axis with short numbers.
    pub(super) fn log(label: &str) -> Self {
        Self { is_log: true, ..Self::linear(label) }
    }

    /// An axis that is logarithmic if the values span at least a decade, and linear otherwise, with
    /// margins.
    pub(super) fn spanning(label: &str, values: &[f64]) -> Self {
        let (min, max) = range(values);
        if min > 0.0 && max / min >= 10.0 {
            return Self { min: Some(min / 1.4), max: Some(max * 1.4), ..Self::log(label) };
        }
        let room = ((max - min) * 0.06).max(max.abs() * 0.01);
        // Only what is nowhere negative ends at zero.
        let low = if min < 0.0 { min - room } else { (min - room).max(0.0) };
        Self { min: Some(low), max: Some(max + room), ..Self::linear(label) }
    }

    /// Whether the axis has a place for a value.
    fn has(&self, value: f64) -> bool {
        value.abs() < VALUE_MAX && (!self.is_log || value > LOG_MIN)
    }

    /// The ends of the axis, apart from each other, as far as they are set.
    fn ends(&self) -> [Option<f64>; 2] {
        let [min, max] = [self.min, self.max].map(|end| end.filter(|end| self.has(*end)));
        match (min, max) {
            (Some(min), Some(max)) if min < max => [Some(min), Some(max)],
            (Some(min), Some(_)) if self.is_log => [Some(min / 2.0), Some(min * 2.0)],
            (Some(min), Some(_)) => [Some(min), Some(min + min.abs().max(1.0))],
            ends => ends.into(),
        }
    }

    /// The axis of a swept key, and the position of each value on it. It is logarithmic if the
    /// values span at least a decade; zero is then placed a decade below the smallest other value.
    pub(super) fn of_free(label: &str, values: &[f64]) -> (Self, impl Fn(f64) -> f64 + use<>) {
        let positive: Vec<f64> = values.iter().copied().filter(|v| *v > 0.0).collect();
        let (min, max) = range(&positive);
        let has_zero = values.contains(&0.0);
        let is_log = positive.len() == values.iter().filter(|v| **v != 0.0).count()
            && min > 0.0
            && max / min >= 10.0;
        let zero = min / 10.0;
        let axis = match (is_log, has_zero) {
            (true, true) => {
                let words = move |v: f64| if v < zero * 1.5 { "0".into() } else { short_count(v) };
                let axis = Self { min: Some(zero / 1.6), max: Some(max * 1.4), ..Self::log(label) };
                axis.in_words(words)
            }
            _ => Self::spanning(label, values),
        };
        let place = move |value: f64| if is_log && value == 0.0 { zero } else { value };
        (axis, place)
    }

    /// The axis, extended to zero unless it is logarithmic or goes below it.
    pub(super) fn with_zero(self) -> Self {
        let goes_below = self.min.is_some_and(|min| min < 0.0);
        if self.is_log || goes_below { self } else { Self { min: Some(0.0), ..self } }
    }

    /// The axis with another format of its ticks.
    pub(super) fn in_words(self, format: impl Fn(f64) -> String + Send + Sync + 'static) -> Self {
        Self { format: Arc::new(format), ..self }
    }
}

impl Drawing {
    /// A drawing with the full width of the page.
    pub(super) fn new(x: Axis, y: Axis) -> Self {
        let (at_x, at_y) = (Vec::new(), Vec::new());
        Self { x, y, width: WIDTH, height: HEIGHT, at_x, at_y, band_y: None, band_x: None }
    }

    /// A drawing with half the width of the page, for two panels.
    pub(super) fn half(self) -> Self {
        Self { width: WIDTH / 2.0, ..self }
    }

    /// The plots of the curves and their layout, for the plotting crate. What has no place on the
    /// axes is left out, and so are curves that nobody could tell apart, which the legend counts.
    pub(super) fn of(&self, curves: &[Curve]) -> (Vec<Plot>, Layout) {
        let placed: Vec<Curve> = curves.iter().map(|curve| self.placed(curve)).collect();
        let shown = placed.iter().enumerate().filter(|(_, c)| !c.points.is_empty());
        let (drawn, more): (Vec<_>, Vec<_>) =
            shown.partition(|(index, _)| *index < CURVES_DISTINCT_MAX);
        let mut plots: Vec<Plot> = drawn
            .into_iter()
            .flat_map(|(index, curve)| plots_of(curve, curve.like.unwrap_or(index)))
            .collect();
        if let Some((_, curve)) = more.first() {
            // Without a line of its own: one point, drawn with no width.
            let point = curve.points.iter().take(1).map(|p| (p.x, p.y)).collect::<Vec<_>>();
            let note = LinePlot::new().with_data(point).with_color(MUTED).with_stroke_width(0.0);
            plots.push(note.with_legend(format!("and {} more, in the data", more.len())).into());
        }
        if plots.is_empty() {
            return (plots, Layout::new((0.0, 1.0), (0.0, 1.0)));
        }
        let mut layout = styled(Layout::auto_from_plots(&plots))
            .with_width(self.width)
            .with_height(self.height)
            .with_x_label(self.x.label.as_str())
            .with_y_label(self.y.label.as_str())
            .with_x_tick_format(TickFormat::Custom(self.x.format.clone()))
            .with_y_tick_format(TickFormat::Custom(self.y.format.clone()))
            .with_force_margins(LEFT, RIGHT)
            .with_y_label_offset(-14.0, 0.0)
            .with_legend_position(LegendPosition::OutsideBottomColumns);
        if self.x.is_log {
            layout = layout.with_log_x();
        }
        if self.y.is_log {
            layout = layout.with_log_y();
        }
        for (value, is_solid) in self.at_x.iter().filter(|line| self.x.has(line.0)) {
            layout =
                layout.with_reference_line(styled_line(ReferenceLine::vertical(*value), *is_solid));
        }
        for (value, name) in self.at_y.iter().filter(|line| self.y.has(line.0)) {
            let line = ReferenceLine::horizontal(*value).with_label(name.as_str());
            layout = layout.with_reference_line(styled_line(line, false));
        }
        let region = |region: ShadedRegion| region.with_color(MUTED).with_opacity(0.18);
        if let Some([low, high]) =
            self.band_y.filter(|band| band.iter().all(|end| self.y.has(*end)))
        {
            layout = layout.with_shaded_region(region(ShadedRegion::horizontal(low, high)));
        }
        if let Some([low, high]) =
            self.band_x.filter(|band| band.iter().all(|end| self.x.has(*end)))
        {
            layout = layout.with_shaded_region(region(ShadedRegion::vertical(low, high)));
        }
        (plots, self.bounded(layout))
    }

    /// The curve with the points that the axes have a place for.
    fn placed(&self, curve: &Curve) -> Curve {
        let points = curve.points.iter().filter(|p| self.x.has(p.x) && self.y.has(p.y));
        let with_bar = |p: &Point| {
            // An end below a logarithmic axis reaches down to where the drawing ends.
            let low = |low: f64| if self.y.has(low) { low } else { p.y / 10.0 };
            let bar = p.bar.filter(|[low, high]| !low.is_nan() && self.y.has(*high));
            Point { bar: bar.map(|[least, high]| [low(least), high]), ..*p }
        };
        Curve { points: points.map(with_bar).collect(), name: shortened(&curve.name), ..*curve }
    }

    fn bounded(&self, mut layout: Layout) -> Layout {
        let (x, y) = (self.x.ends(), self.y.ends());
        if let Some(min) = x[0] {
            layout = layout.with_x_axis_min(min);
        }
        if let Some(max) = x[1] {
            layout = layout.with_x_axis_max(max);
        }
        if let Some(min) = y[0] {
            layout = layout.with_y_axis_min(min);
        }
        if let Some(max) = y[1] {
            layout = layout.with_y_axis_max(max);
        }
        layout
    }
}

/// A curve as plots of the plotting crate, with the colour and dash pattern of its index.
fn plots_of(curve: &Curve, index: usize) -> Vec<Plot> {
    if curve.look == Look::Band {
        return vec![band(curve, index)];
    }
    let points: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.x, p.y)).collect();
    let mut plots = Vec::new();
    let is_marks = matches!(curve.look, Look::Marks | Look::Hollow);
    if !is_marks {
        let (width, style) = match curve.look {
            Look::Law => (1.8, dash(index)),
            Look::Published => (1.2, LineStyle::Dotted),
            _ => (2.4, dash(index)),
        };
        let mut line = LinePlot::new()
            .with_data(points.clone())
            .with_color(colour(index))
            .with_stroke_width(width)
            .with_line_style(style);
        if !curve.name.is_empty() {
            line = line.with_legend(curve.name.as_str());
        }
        plots.push(line.into());
    }
    if curve.look != Look::Law {
        let bar = |p: &Point| {
            p.bar.map_or((0.0, 0.0), |[low, high]| ((p.y - low).max(0.0), (high - p.y).max(0.0)))
        };
        let figures = curve.points.iter().filter(|point| !point.is_bound);
        let mut dots = ScatterPlot::new()
            .with_data(figures.clone().map(|p| (p.x, p.y)).collect::<Vec<_>>())
            .with_y_err_asymmetric(figures.map(bar).collect::<Vec<_>>())
            .with_marker(MARKERS[index % MARKERS.len()])
            .with_color(colour(index))
            .with_size(5.0);
        if curve.look == Look::Hollow {
            dots = dots.with_marker_opacity(0.0).with_marker_stroke_width(2.0);
        }
        if is_marks && !curve.name.is_empty() {
            dots = dots.with_legend(curve.name.as_str());
        }
        plots.push(dots.into());
        let bounds = curve.points.iter().filter(|point| point.is_bound);
        let bounds: Vec<(f64, f64)> = bounds.map(|p| (p.x, p.y)).collect();
        if !bounds.is_empty() {
            let arrows = ScatterPlot::new().with_data(bounds).with_marker(MarkerShape::Triangle);
            plots.push(arrows.with_color(colour(index)).with_size(9.0).into());
        }
    }
    plots
}

/// The area between the ends of the error bars.
fn band(curve: &Curve, index: usize) -> Plot {
    let end = |end: usize| {
        let of = move |p: &Point| p.bar.map_or(p.y, |bar| bar[end]);
        curve.points.iter().map(of).collect::<Vec<f64>>()
    };
    let xs: Vec<f64> = curve.points.iter().map(|p| p.x).collect();
    let mut band = BandPlot::new(xs, end(0), end(1)).with_color(colour(index)).with_opacity(0.25);
    if !curve.name.is_empty() {
        band = band.with_legend(curve.name.as_str());
    }
    band.into()
}

/// The data of curves as a table.
pub(super) fn data(x: &str, y: &str, curves: &[Curve]) -> Data {
    let bars = curves.iter().flat_map(|c| &c.points).any(|p| p.bar.is_some());
    let mut head = vec!["series".to_string(), x.into(), y.into()];
    head.extend(bars.then(|| ["from".to_string(), "to".to_string()]).into_iter().flatten());
    let row = |name: &str, p: &Point| {
        let mut row = vec![name.to_string(), number(p.x), number(p.y)];
        if bars {
            row.extend(p.bar.map_or([String::new(), String::new()], |bar| bar.map(number)));
        }
        row
    };
    let rows = curves.iter().flat_map(|c| c.points.iter().map(move |p| row(&c.name, p))).collect();
    Data { head, rows }
}

/// Formats a number of a data table with six significant digits, without unit.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value.is_finite() { "0".into() } else { String::new() };
    }
    let magnitude = value.abs().log10().floor();
    let places = (5.0 - magnitude).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// The smallest and the largest value; 0 and 1 if there are none.
pub(super) fn range(values: &[f64]) -> (f64, f64) {
    let (min, max) = values
        .iter()
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), v| (min.min(*v), max.max(*v)));
    if min <= max { (min, max) } else { (0.0, 1.0) }
}

fn styled_line(line: ReferenceLine, is_solid: bool) -> ReferenceLine {
    line.with_color(MUTED)
        .with_dasharray(if is_solid { "1 0" } else { "6 4" })
        .with_stroke_width(1.5)
}

/// The name with its middle left out, if it is too long for a legend; the data has it whole.
pub(super) fn shortened(name: &str) -> String {
    let count = name.chars().count();
    if count <= NAME_MAX {
        return name.into();
    }
    let half = NAME_MAX / 2;
    let head: String = name.chars().take(half).collect();
    let tail: String = name.chars().skip(count - half).collect();
    format!("{head} … {tail}")
}

fn dash(index: usize) -> LineStyle {
    match index % 4 {
        0 => LineStyle::Solid,
        1 => LineStyle::Dashed,
        2 => LineStyle::DashDot,
        _ => LineStyle::Dotted,
    }
}

/// The most curves of a drawing, as many as there are colours.
const CURVES_DISTINCT_MAX: usize = 12;

/// The longest name in a drawing, in characters.
const NAME_MAX: usize = 56;

/// Values beyond this have no place on an axis, nor those of at most [`LOG_MIN`] on a logarithmic
/// one: no figure is as large or as small, and drawings compute with them.
const VALUE_MAX: f64 = 1e15;
const LOG_MIN: f64 = 1e-10;

/// Space for the tick labels and the label of the axis, in units of the drawing.
const LEFT: f64 = 96.0;
const RIGHT: f64 = 30.0;

/// Markers of curves, so that they differ without colour, too.
/// Without the triangle, which says "at least".
const MARKERS: [MarkerShape; 4] =
    [MarkerShape::Circle, MarkerShape::Square, MarkerShape::Star, MarkerShape::Diamond];
