//! A chart: its drawing, its words, and the data beside it.
//!
//! Charts are drawn by `kuva` in stand-in colours that [`Chart::new`] turns into CSS variables, so
//! that one style sheet gives light, dark and printed colours. The SVG scales with the page, has a
//! title and a description for those who cannot see it, and refers to nothing outside the page.

use kuva::prelude::*;
use kuva::render::layout::TickFormat;
use kuva::render::theme::Theme;
use measure::record::{Cell, Outcome, RunRecord};

use crate::names::Names;
use crate::words::outcomes;

/// A drawn chart.
pub(in crate::html) struct Chart {
    pub(in crate::html) group: Group,
    /// Which kind it is, of those of a page.
    pub(in crate::html) kind: usize,
    pub(in crate::html) id: String,
    pub(in crate::html) title: String,
    /// What it shows, for the caption.
    pub(in crate::html) caption: String,
    pub(in crate::html) svg: String,
    pub(in crate::html) data: Data,
}

/// Where a chart stands on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::html) enum Group {
    /// Shows a result.
    Result,
    /// Shows how a result was found.
    Diagnosis,
}

/// The data behind a chart.
pub(in crate::html) struct Data {
    pub(in crate::html) head: Vec<String>,
    pub(in crate::html) rows: Vec<Vec<String>>,
}

impl Chart {
    /// Draws plots into a chart. The description is what a reader hears who does not see it.
    pub(super) fn new(
        id: &str,
        title: &str,
        caption: &str,
        plots: Vec<Plot>,
        layout: Layout,
        data: Data,
    ) -> Self {
        if plots.is_empty() {
            return Self::nothing(id, title, caption, data);
        }
        let svg = adapt(&render_to_svg(plots, layout), id, title, caption);
        Self::drawn(id, title, caption, maud::PreEscaped(svg), data)
    }

    /// The data in the place of a drawing, of which no value has a place on the axes.
    fn nothing(id: &str, title: &str, caption: &str, data: Data) -> Self {
        let caption = format!("No value of this chart can be drawn. {caption}");
        Self::drawn(id, title, &caption, maud::html! {}, data)
    }

    /// Several drawings side by side as one chart.
    pub(super) fn panels(
        id: &str,
        title: &str,
        caption: &str,
        panels: Vec<(Vec<Plot>, Layout)>,
        data: Data,
    ) -> Self {
        let drawn = panels.into_iter().filter(|(plots, _)| !plots.is_empty());
        let panels: Vec<(Vec<Plot>, Layout)> = drawn.collect();
        if panels.is_empty() {
            return Self::nothing(id, title, caption, data);
        }
        let mut svg = String::from("<div class=\"panels\">");
        for (index, (plots, layout)) in panels.into_iter().enumerate() {
            let id = format!("{id}-{}", index + 1);
            svg.push_str(&adapt(&render_to_svg(plots, layout), &id, title, caption));
        }
        svg.push_str("</div>");
        Self::drawn(id, title, caption, maud::PreEscaped(svg), data)
    }

    /// A table in the place of a chart.
    pub(super) fn table(id: &str, title: &str, caption: &str, data: Data) -> Self {
        Self::drawn(id, title, caption, maud::html! {}, data)
    }

    /// A chart drawn without the crate.
    pub(super) fn drawn(
        id: &str,
        title: &str,
        caption: &str,
        svg: maud::Markup,
        data: Data,
    ) -> Self {
        let (group, svg) = (Group::Result, svg.into_string());
        Self {
            group,
            kind: 0,
            id: id.into(),
            title: title.into(),
            caption: caption.into(),
            svg,
            data,
        }
    }

    /// The same among the charts that show how a result was found.
    pub(super) fn of_diagnosis(self) -> Self {
        Self { group: Group::Diagnosis, ..self }
    }
}

/// The first charts that a figure of each outcome yields, among those that show how a result was
/// found.
pub(super) fn diagnoses(
    record: &RunRecord,
    chart: fn(&Names, &Cell, &Outcome) -> Option<Chart>,
) -> Vec<Chart> {
    let names = Names::of(record);
    outcomes(record)
        .filter_map(|(cell, outcome)| chart(&names, cell, outcome))
        .map(Chart::of_diagnosis)
        .take(CHARTS_MAX)
        .collect()
}

/// The name of a result; one that is not valid says so wherever it is drawn.
pub(super) fn with_validity(name: String, outcome: &Outcome) -> String {
    if outcome.validity.valid { name } else { format!("{name} (NOT VALID)") }
}

/// A sentence on results for which a chart has no room; empty if there are none.
pub(super) fn left_out_words(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " One more result is in the table of results.".into(),
        n => format!(" {n} more results are in the table of results."),
    }
}

/// The look that all charts share.
pub(super) fn styled(layout: Layout) -> Layout {
    let theme = Theme {
        background: "none".into(),
        axis_color: INK.into(),
        grid_color: GRID.into(),
        tick_color: INK.into(),
        text_color: INK.into(),
        legend_bg: "none".into(),
        legend_border: "none".into(),
        box_median: INK.into(),
        ..Theme::light()
    };
    layout
        .with_theme(theme)
        .with_width(WIDTH)
        .with_label_size(14)
        .with_tick_size(13)
        .with_body_size(13)
        .with_legend_box(false)
}

/// An identifier from names of a record, fit for an attribute and for a file's name.
pub(super) fn identifier(kind: &str, parts: &[&str]) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let parts = parts.iter().map(|part| part.chars().map(clean).collect::<String>());
    std::iter::once(kind.to_string()).chain(parts).collect::<Vec<_>>().join("-")
}

/// A series' stand-in colour.
pub(super) fn colour(series: usize) -> &'static str {
    SERIES[series % SERIES.len()]
}

/// A tick format from a function.
pub(super) fn ticks(format: fn(f64) -> String) -> TickFormat {
    TickFormat::Custom(std::sync::Arc::new(format))
}

/// A count as people write it on an axis: `1k`, `10M`.
pub(super) fn short_count(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    format!("{}{unit}", trimmed(scaled))
}

/// A loss in percent as people read it; none below what is drawn as none.
pub(super) fn loss_words(percent: f64) -> String {
    match percent {
        p if p <= LOSS_FLOOR * 1.5 => "none".into(),
        p if p < 0.0999 => format!("{} ppm", trimmed(p * 1e4)),
        p => format!("{} %", trimmed(p)),
    }
}

/// Three digits that count, and none behind the point that say nothing.
pub(super) fn trimmed(value: f64) -> String {
    let magnitude = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    let places = (2.0 - magnitude).clamp(3.0, 9.0) as usize;
    let text = format!("{value:.places$}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Turns the drawing of the crate into a part of our page: scales, is described, takes its colours
/// from the page, and has identifiers of its own.
fn adapt(svg: &str, id: &str, title: &str, description: &str) -> String {
    let body = svg.split_once('>').map_or("", |(_, rest)| rest);
    let size =
        |name| -> f64 { attribute(svg, name).and_then(|text| text.parse().ok()).unwrap_or(0.0) };
    // Legends of many rows reach below what the crate takes for the height.
    let height = lowest_text(svg).map_or(size("height"), |y| size("height").max(y + BELOW_TEXT));
    let mut body = whole_label(body).replace("kuva-clip-", &format!("{id}-clip-"));
    for (index, series) in SERIES.iter().enumerate() {
        body = body.replace(series, &format!("var(--series-{})", index + 1));
    }
    for (stand_in, variable) in [(INK, "--ink"), (GRID, "--grid"), (MUTED, "--muted")] {
        body = body.replace(stand_in, &format!("var({variable})"));
    }
    // Tick marks and some strokes are black whatever the theme says.
    let body = body.replace("\"#000000\"", "\"var(--ink)\"").replace("\"black\"", "\"var(--ink)\"");
    format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\" \
         fill=\"var(--ink)\"><title id=\"{id}-title\">{}</title><desc id=\"{id}-desc\">{}</desc>{body}",
        size("width"),
        height,
        escape(title),
        escape(description),
    )
}

/// The drawing with the label of its vertical axis at its left edge: the crate takes ticks for as
/// wide as the numbers behind their words, and draws the label beyond the edge or over the words.
fn whole_label(body: &str) -> String {
    let Some((before, turned)) = body.split_once("transform=\"rotate(-90,") else {
        return body.into();
    };
    let (Some(start), Some((x, _))) = (before.rfind("<text x=\""), turned.split_once(',')) else {
        return body.into();
    };
    let (head, text) = before.split_at(start);
    let moved = LABEL_X.to_string();
    let (text, turned) = (text.replacen(x, &moved, 1), turned.replacen(x, &moved, 1));
    format!("{head}{text}transform=\"rotate(-90,{turned}")
}

/// Where the base line of the lowest text is.
fn lowest_text(svg: &str) -> Option<f64> {
    let texts = svg.split("<text").skip(1);
    let lines = texts.filter_map(|text| attribute(text, "y")?.parse::<f64>().ok());
    lines.max_by(f64::total_cmp)
}

/// The value of an attribute of the first element.
fn attribute<'a>(svg: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = svg.split_once('>')?;
    let (_, rest) = head.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Drawing width in units of the SVG; the page scales it.
pub(super) const WIDTH: f64 = 860.0;

pub(super) const HEIGHT: f64 = 420.0;

/// Where the label of a vertical axis stands, written upwards; further left it would be cut.
const LABEL_X: f64 = 16.0;

/// Room below the base line of a text.
const BELOW_TEXT: f64 = 10.0;

// Stand-in colours: any distinct ones that the drawing crate hands through.
const INK: &str = "#010203";
const GRID: &str = "#010204";
pub(super) const MUTED: &str = "#010205";
const SERIES: [&str; 12] = [
    "#010211", "#010212", "#010213", "#010214", "#010215", "#010216", "#010217", "#010218",
    "#010219", "#01021a", "#01021b", "#01021c",
];

/// Where no loss is drawn, in percent: it has no place on a logarithmic axis. A tenth of a frame in
/// a million.
pub(super) const LOSS_FLOOR: f64 = 1e-5;

/// How many charts of one kind are open; further ones are folded.
pub(in crate::html) const CHARTS_OPEN: usize = 8;

/// The most charts of one kind that are shown; the page tells that there are more.
pub(in crate::html) const CHARTS_SHOWN: usize = 64;

/// The most charts of one kind that are drawn: the last is not shown, and tells that there are
/// more.
pub(super) const CHARTS_MAX: usize = CHARTS_SHOWN + 1;
