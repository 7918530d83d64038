//! Charts of records made to break them: no figure where there is none, no ceiling that is another
//! cell's, no mix of sizes on the axis of sizes, nothing beyond the drawing.

use measure::record::*;
use roxmltree::{Document, Node};
use serde_json::{Value, json};

use crate::fixture::{full, published};

fn page(record: &RunRecord) -> String {
    let exporter = report::EXPORTERS.iter().find(|e| e.name == "html").expect("an exporter");
    let page = String::from_utf8((exporter.render)(record).expect("renders")).expect("is UTF-8");
    let start = page.find("<body>").expect("a body");
    let end = page.find("<script>").expect("a script");
    format!("{}</body>", &page[start..end])
}

/// A chart of a page, from its identifier to its end.
fn chart<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<figure id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    let end = page[start..].find("</figure>").expect("it ends");
    &page[start..start + end]
}

/// Rows of the data of a chart.
fn data(chart: &str) -> Vec<Vec<String>> {
    let chart = format!("{chart}</figure>");
    let tree = Document::parse(&chart).expect("well-formed");
    let body = tree.descendants().find(|n| n.has_tag_name("tbody")).expect("data");
    let text = |node: Node<'_, '_>| node.text().unwrap_or_default().to_owned();
    let cells = |row: Node<'_, '_>| row.children().map(text).collect();
    body.children().map(cells).collect()
}

/// A throughput at a size of the user's frame, in a tunnel of 36 bytes, with the tester's maximum.
fn throughput(size: u64, pps: f64, tester_pps: f64) -> Outcome {
    let figures = [("throughput", pps, "pps"), ("throughput_aggregate", pps, "pps")];
    Outcome {
        trials: vec![full::sent(1_000, 1_000 * (size + 36))],
        baseline: Some(Baseline { tester_pps, ..Baseline::default() }),
        ..full::repeated(&figures, "It forwards.", "throughput")
    }
}

/// Cells by `traffic.pkt-size`, whose ceiling falls as frames grow, and a mix.
fn by_size() -> RunRecord {
    let of = |index: usize, size: Value, outcome| {
        full::cell(index, &[("traffic.pkt-size", size)], vec![outcome])
    };
    let mix = json!({"64": 3, "100": 26, "256": 6, "570": 5, "1300": 6, "1518": 17});
    full::of(
        "by-size",
        vec![
            of(0, json!(64), throughput(64, 8e6, 10e6)),
            of(1, json!(512), throughput(512, 5e6, 6e6)),
            of(2, json!(1518), throughput(1518, 2e6, 2.5e6)),
            of(3, json!("imix"), throughput(300, 4e6, 9e6)),
            of(4, mix, throughput(700, 3e6, 9e6)),
        ],
    )
}

#[test]
fn each_size_has_its_own_ceiling_and_a_mix_has_no_place_among_sizes() {
    let page = page(&by_size());
    let chart = chart(&page, "size-throughput-traffic-pkt-size");
    assert!(chart.contains("drawn as the ceiling of that size"), "{chart}");
    let sizes: Vec<String> = data(chart).into_iter().map(|row| row[1].clone()).collect();
    assert_eq!(sizes, ["64", "512", "1518"], "mixes stand elsewhere");
    // The tester's curve falls: its ends are not at one height.
    let panels = format!(
        "<div>{}</div>",
        chart
            .split_once("<div class=\"panels\">")
            .expect("panels")
            .1
            .split_once("</div>")
            .expect("they end")
            .0
    );
    let tree = Document::parse(&panels).expect("well-formed");
    let svg = tree.descendants().find(|n| n.has_tag_name("svg")).expect("a drawing");
    let lines: Vec<Vec<f64>> = svg
        .descendants()
        .filter(|n| n.has_tag_name("path") && n.attribute("fill") == Some("none"))
        .filter_map(|n| n.attribute("d"))
        .map(heights)
        .filter(|heights| heights.len() == 3)
        .collect();
    assert_eq!(lines.len(), 2, "ours and the tester's, a point for each size");
    for line in &lines {
        assert!(line[0] < line[1] && line[1] < line[2], "the larger, the fewer: {line:?}");
    }
    assert!(lines[1].iter().zip(&lines[0]).all(|(tester, ours)| tester < ours), "{lines:?}");
    for words in ["pkt-size imix", "pkt-size mix of 6 sizes"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(
        !page.split("<section id=\"trials\"").next().expect("a page").contains("&quot;1300&quot;")
    );
}

/// The vertical positions of a path of straight lines.
fn heights(path: &str) -> Vec<f64> {
    let numbers = path.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'));
    let numbers: Vec<f64> = numbers.filter_map(|text| text.parse().ok()).collect();
    numbers.chunks_exact(2).map(|pair| pair[1]).collect()
}

#[test]
fn bits_on_the_wire_are_those_of_the_frame_with_its_tunnel() {
    let page = page(&by_size());
    let chart = chart(&page, "size-throughput-traffic-pkt-size");
    assert!(chart.contains("with their tunnels and tags"), "{chart}");
    // 2 Mpps of 1,518 bytes of the user, 36 of the tunnel and 20 of preamble and gap.
    let last = data(chart).pop().expect("a row");
    let gbps = |bytes: f64| 2e6 * bytes * 8.0 / 1e9;
    assert_eq!(last.last().map(|text| text.parse()), Some(Ok(gbps(1518.0 + 36.0 + 20.0))));
    assert_eq!(chart.matches("<svg").count(), 2);
    // A closed loop has no wire.
    let mut closed = by_size();
    for outcome in closed.cells.iter_mut().flat_map(|cell| &mut cell.outcomes) {
        outcome.trials.iter_mut().for_each(|trial| trial.load = LoadRecord::ClosedLoop);
    }
    let page = self::page(&closed);
    let chart = self::chart(&page, "size-throughput-traffic-pkt-size");
    assert!(!chart.contains("Gbit/s on the wire"), "{chart}");
}

#[test]
fn a_ceiling_far_above_is_told_and_not_drawn() {
    let mut record = by_size();
    for outcome in record.cells.iter_mut().flat_map(|cell| &mut cell.outcomes) {
        outcome.baseline = Some(Baseline { tester_pps: 60e6, ..Baseline::default() });
    }
    let page = page(&record);
    let chart = chart(&page, "size-throughput-traffic-pkt-size");
    assert!(chart.contains("lies above this chart: it is 60.0 Mpps or more"), "{chart}");
    assert!(!chart.contains(">tester alone<"));
}

#[test]
fn a_tile_and_a_curve_say_that_a_value_is_a_bound() {
    let mut grid = full::grid();
    let figures = grid.cells.iter_mut().flat_map(|c| &mut c.outcomes).flat_map(|o| &mut o.figures);
    figures.for_each(|figure| figure.bound = Some(Bound::AtLeast));
    let page = page(&grid);
    let surface = chart(&page, "surface-capacity-function-user-function-server");
    assert!(surface.contains(">≥ "), "tiles have the sign");
    assert!(page.contains("Triangles are lower bounds"));
    let mut workers = full::workers();
    let figures = workers.cells.iter_mut().flat_map(|c| &mut c.outcomes);
    figures.flat_map(|o| &mut o.figures).for_each(|f| f.bound = Some(Bound::AtLeast));
    let page = self::page(&workers);
    assert!(chart(&page, "workers-capacity-function-core").contains("no fit"), "a law of bounds");
}

/// A change of a record, and its name.
type Damage = (&'static str, fn(&mut RunRecord));

const DAMAGES: &[Damage] = &[
    ("no number", |record| values(record, |_, _| f64::NAN)),
    ("some infinite", |record| values(record, |at, v| if at % 3 == 0 { f64::INFINITY } else { v })),
    ("all zero", |record| values(record, |_, _| 0.0)),
    ("below zero", |record| values(record, |_, value| -value)),
    ("a huge range", |record| {
        values(record, |at, value| value * 10f64.powi(i32::try_from(at % 200).unwrap_or(0) - 100))
    }),
    ("one row", |record| {
        let outcomes = record.cells.iter_mut().flat_map(|cell| &mut cell.outcomes);
        for outcome in outcomes {
            outcome.series.iter_mut().for_each(|series| series.rows.truncate(1));
            outcome.trials.truncate(1);
            outcome.repetitions.truncate(1);
        }
    }),
    ("one cell", |record| record.cells.truncate(1)),
    ("bounds", |record| {
        let outcomes = record.cells.iter_mut().flat_map(|cell| &mut cell.outcomes);
        outcomes.flat_map(|o| &mut o.figures).for_each(|f| f.bound = Some(Bound::AtLeast));
    }),
    ("long names", |record| {
        for cell in &mut record.cells {
            cell.benchmark =
                format!("{} of a carrier {}", cell.benchmark, "very-long-name ".repeat(12));
        }
    }),
    ("many series", |record| {
        let cells = record.cells.clone();
        for number in 0..14 {
            record.cells.extend(cells.iter().cloned().map(|mut cell| {
                cell.benchmark = format!("benchmark {number}");
                cell.id = format!("{}-{number}", cell.id);
                cell
            }));
        }
    }),
];

/// Changes every number of results, by its place.
fn values(record: &mut RunRecord, to: impl Fn(usize, f64) -> f64) {
    let mut at = 0;
    let mut next = |value: &mut f64| {
        *value = to(at, *value);
        at += 1;
    };
    for outcome in record.cells.iter_mut().flat_map(|cell| &mut cell.outcomes) {
        let repeated = outcome.repetitions.iter_mut().flat_map(|one| &mut one.figures);
        for figure in outcome.figures.iter_mut().chain(repeated) {
            next(&mut figure.value);
            if let Some(spread) = &mut figure.spread {
                [&mut spread.min, &mut spread.median, &mut spread.max, &mut spread.mean]
                    .into_iter()
                    .for_each(&mut next);
                spread.confidence_95.iter_mut().flatten().for_each(&mut next);
            }
        }
        let rows = outcome.series.iter_mut().flat_map(|series| &mut series.rows);
        rows.flatten().flatten().for_each(&mut next);
        for trial in &mut outcome.trials {
            next(&mut trial.loss_percent);
        }
        outcome.baseline.iter_mut().for_each(|baseline| next(&mut baseline.tester_pps));
    }
}

#[test]
fn no_record_breaks_a_chart() {
    let mut records: Vec<RunRecord> = full::all().into_iter().map(|(_, record)| record).collect();
    records.extend([by_size(), published::tables(), published::floods()]);
    records.extend([published::added(), published::sessions()]);
    for record in &records {
        for (damage, apply) in DAMAGES {
            // A copy of many cells is not needed for many series.
            if *damage == "many series" && record.cells.len() > 8 {
                continue;
            }
            let mut broken = record.clone();
            apply(&mut broken);
            let name = format!("{}: {damage}", record.scenario.name);
            let page = page(&broken);
            let tree = Document::parse(&page).unwrap_or_else(|e| panic!("{name}: {e}"));
            for svg in tree.descendants().filter(|n| n.has_tag_name("svg")) {
                is_drawn(&name, svg);
            }
            let _ = report::terminal::render(&broken, 80);
        }
    }
}

/// Holds that every number of a drawing is one, and that its texts lie on it.
fn is_drawn(name: &str, svg: Node<'_, '_>) {
    let title = svg.attribute("aria-labelledby").unwrap_or_default();
    let view: Vec<f64> = svg
        .attribute("viewBox")
        .unwrap_or_default()
        .split(' ')
        .filter_map(|text| text.parse().ok())
        .collect();
    let [_, _, width, height] = view[..] else { panic!("{name}: {title} has no view box") };
    for node in svg.descendants().filter(Node::is_element) {
        for attribute in node.attributes() {
            let value = attribute.value();
            if attribute.name() == "aria-labelledby" || attribute.name() == "id" {
                continue;
            }
            let is_number = !value.contains("NaN") && !value.contains("inf");
            assert!(is_number, "{name}: {title}: {}=\"{value}\"", attribute.name());
        }
        if !node.has_tag_name("text") {
            continue;
        }
        let number = |name| node.attribute(name).and_then(|text| text.parse::<f64>().ok());
        if let (Some(x), Some(y)) = (number("x"), number("y")) {
            let is_inside = (-1.0..=width + 1.0).contains(&x) && (-1.0..=height + 1.0).contains(&y);
            assert!(is_inside, "{name}: {title}: {:?} at {x} {y}", node.text());
        }
    }
}
