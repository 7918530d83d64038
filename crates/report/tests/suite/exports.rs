//! The exporters for programs, read again by others' parsers: JSON lines, JUnit XML, figures.csv.

use std::collections::BTreeMap;

use measure::record::{RunRecord, Status, ThresholdVerdict};
use roxmltree::{Document, Node};
use serde_json::Value;

use crate::fixture;

fn file(name: &str, record: &RunRecord) -> String {
    let exporter = report::EXPORTERS.iter().find(|e| e.name == name).expect("an exporter");
    String::from_utf8((exporter.render)(record).expect("renders")).expect("is UTF-8")
}

fn lines(record: &RunRecord) -> Vec<serde_json::Map<String, Value>> {
    let text = file("jsonl", record);
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect()
}

#[test]
fn every_line_is_flat_and_says_of_what_it_is() {
    let record = fixture::record();
    let lines = lines(&record);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &lines {
        *kinds.entry(line["record"].as_str().expect("a kind")).or_default() += 1;
        assert_eq!(line["run"], "mobile-gateway-capacity-20261121T120000Z");
        let flat = |value: &Value| !value.is_object() && !value.is_array() && !value.is_null();
        assert!(line.values().all(flat), "{line:?}");
    }
    let outcomes: Vec<_> = record.cells.iter().flat_map(|cell| &cell.outcomes).collect();
    assert_eq!(kinds["cell"], record.cells.len());
    assert_eq!(kinds["outcome"], outcomes.len());
    assert_eq!(kinds["figure"], outcomes.iter().map(|o| o.figures.len()).sum::<usize>());
    assert_eq!(kinds["trial"], outcomes.iter().map(|o| o.trials.len()).sum::<usize>());
    let figure = lines.iter().find(|line| line["record"] == "figure").expect("one");
    assert_eq!(figure["figure"], "function_pps");
    assert_eq!(figure["unit"], "pps");
    assert_eq!(figure["parameter.function.user"], 1000);
    assert!(figure["value"].is_f64() && figure["valid"] == true, "{figure:?}");
    let trial = lines.iter().rfind(|line| line.contains_key("uplink.sent")).expect("an open loop");
    assert!(trial["uplink.latency_p99_ns"].is_u64(), "{trial:?}");
    assert_eq!(trial["event.handover.requested"], 1000);
}

#[test]
fn a_first_line_and_a_figure_are_as_reviewed() {
    let text = file("jsonl", &fixture::record());
    let first = |kind: &str| {
        let start = format!("{{\"record\":\"{kind}\"");
        text.lines().find(|line| line.starts_with(&start)).expect("a line of each kind")
    };
    let chosen = ["run", "cell", "outcome", "figure", "trial"].map(first).join("\n");
    insta::assert_snapshot!("jsonl", chosen);
}

/// A run with one cell for each kind of failure.
fn troubled() -> RunRecord {
    let mut record = fixture::record();
    record.status = Status::Interrupted;
    record.cells[0].check = fixture::failed_check().cells[0].check.clone();
    record.cells[0].outcomes.clear();
    let limit = &mut record.cells[1].outcomes[1].validity;
    limit.valid = false;
    limit.limits[0].invalidates = true;
    record.cells[2].error = Some("no memory for <1000000> users\u{1b}[0m".into());
    record.cells[3].error = Some("interrupted before the cell was finished".into());
    record.cells[3].outcomes.clear();
    let threshold = |cell: usize, met: bool| ThresholdVerdict {
        cell: record.cells[cell].id.clone(),
        method: "capacity".into(),
        figure: "function_pps".into(),
        condition: ">= 50 Mpps".into(),
        value: Some(45e6),
        met,
        answer: "function_pps is 45 Mpps".into(),
    };
    record.thresholds = vec![threshold(1, false), threshold(2, true)];
    record
}

fn attribute<'a>(node: &Node<'a, '_>, name: &str) -> &'a str {
    node.attribute(name).unwrap_or_else(|| panic!("{} has no {name}", node.tag_name().name()))
}

#[test]
fn continuous_integration_sees_failures_errors_and_what_was_skipped() {
    let text = file("junit", &troubled());
    let document = Document::parse(&text).expect("well-formed");
    let case = |suite: usize, name: &str| {
        let suites: Vec<_> = document.root_element().children().filter(Node::is_element).collect();
        let found = suites[suite].children().find(|n| n.attribute("name") == Some(name));
        let case = found.unwrap_or_else(|| panic!("no {name} in suite {suite}"));
        let verdict = case.children().find(|n| n.is_element() && !n.has_tag_name("system-out"));
        let kind = verdict.map(|n| n.tag_name().name().to_owned());
        let words = verdict.map(|n| attribute(&n, "message").to_owned()).unwrap_or_default();
        (kind.unwrap_or_else(|| "passed".into()), words)
    };
    assert_eq!(case(0, "functional check").0, "failure");
    assert_eq!(case(1, "functional check").0, "passed");
    assert_eq!(case(1, "capacity").0, "passed");
    let (kind, words) = case(1, "throughput");
    assert!(kind == "error" && words.contains("492 frames were lost"), "{kind}: {words}");
    assert_eq!(case(1, "capacity: function_pps >= 50 Mpps").0, "failure");
    assert_eq!(case(2, "capacity: function_pps >= 50 Mpps").0, "passed");
    let (kind, words) = case(2, "the whole cell");
    assert!(kind == "error" && words.contains("<1000000> users\u{fffd}"), "{kind}: {words}");
    assert_eq!(case(3, "the whole cell").0, "skipped");
}

#[test]
fn the_elements_stand_in_the_order_of_the_usual_schemas_and_the_counts_add_up() {
    for record in [troubled(), fixture::record(), fixture::failed_check()] {
        let text = file("junit", &record);
        let document = Document::parse(&text).expect("well-formed");
        let root = document.root_element();
        assert!(root.has_tag_name("testsuites"));
        for suite in root.children().filter(Node::is_element) {
            in_order(&suite, &["properties", "testcase"]);
            for name in ["name", "timestamp", "hostname"] {
                assert!(!attribute(&suite, name).is_empty(), "{name}");
            }
            counts(&suite);
            for case in suite.children().filter(|n| n.has_tag_name("testcase")) {
                in_order(&case, &["skipped", "error", "failure", "system-out"]);
                assert!(!attribute(&case, "classname").is_empty());
                assert!(attribute(&case, "time").parse::<f64>().is_ok());
            }
        }
        counts(&root);
    }
}

fn in_order(node: &Node<'_, '_>, order: &[&str]) {
    let place = |child: Node<'_, '_>| {
        let name = child.tag_name().name().to_owned();
        order.iter().position(|one| *one == name).unwrap_or_else(|| panic!("a stray {name}"))
    };
    let places: Vec<usize> = node.children().filter(Node::is_element).map(place).collect();
    assert!(places.is_sorted(), "{places:?} of {order:?}");
}

fn counts(node: &Node<'_, '_>) {
    for (name, element) in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")] {
        let found = node.descendants().filter(|n| n.has_tag_name(element)).count();
        assert_eq!(attribute(node, name), found.to_string(), "{name}");
    }
}

#[test]
fn an_interrupted_run_without_an_unfinished_cell_still_says_so() {
    let mut record = fixture::record();
    record.status = Status::Interrupted;
    record.set_message();
    let text = file("junit", &record);
    assert!(
        text.contains("<skipped message=\"interrupted before the last measurement\""),
        "{text}"
    );
}

#[test]
fn figures_are_a_table_that_no_spreadsheet_takes_for_formulas() {
    let mut record = fixture::record();
    record.scenario.name = "=HYPERLINK(\"http://x\")".into();
    record.cells[0].outcomes[0].figures[0].of = Some("@sum, \"quoted\"\nnext".into());
    let text = file("figures", &record);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let column = |name: &str| header.iter().position(|h| h == name).expect("a column");
    let rows: Vec<csv::StringRecord> = reader.records().map(|r| r.expect("a row")).collect();
    let outcomes = record.cells.iter().flat_map(|cell| &cell.outcomes);
    assert_eq!(rows.len(), outcomes.map(|o| o.figures.len()).sum::<usize>());
    assert_eq!(&rows[0][column("scenario")], "'=HYPERLINK(\"http://x\")");
    assert_eq!(&rows[0][column("of")], "'@sum, \"quoted\"\nnext");
    assert_eq!(&rows[0][column("function.user")], "1000");
    assert_eq!(&rows[0][column("unit")], "pps");
    for row in &rows {
        for field in row {
            let number = field.parse::<f64>().is_ok();
            assert!(number || !field.starts_with(['=', '+', '-', '@']), "{field}");
        }
    }
}
