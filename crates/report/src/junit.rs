//! `junit.xml`: the run as continuous integration knows tests.
//!
//! A cell is a test suite; its functional check, each of its methods and each threshold are test
//! cases. A failed check and a missed threshold are failures; a device that failed and a
//! measurement that is not valid are errors, for nothing is known then; what Ctrl-C left out is
//! skipped. The elements stand in the order that the common JUnit schemas ask for: properties
//! before test cases, and in a test case skipped, error, failure, output.

use std::io;

use measure::record::{Cell, Check, Mismatch, Outcome, RunRecord, Status, ThresholdVerdict};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::{Exporter, ReportError};

/// The registry line.
pub(crate) const EXPORTER: Exporter = Exporter {
    name: "junit",
    file: "junit.xml",
    summary: "checks, methods and thresholds as tests, for CI systems",
    render,
};

/// The document.
fn render(record: &RunRecord) -> Result<Vec<u8>, ReportError> {
    let failed = |e: io::Error| ReportError::Format { format: "JUnit XML", problem: e.to_string() };
    let suites = suites(record);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    document(&mut writer, record, &suites).map_err(failed)?;
    let mut text = writer.into_inner();
    text.push(b'\n');
    Ok(text)
}

/// The test cases of one cell.
struct Suite {
    name: String,
    started: String,
    properties: Vec<(String, String)>,
    tests: Vec<Test>,
}

struct Test {
    name: String,
    class: String,
    seconds: f64,
    verdict: Verdict,
    output: String,
}

enum Verdict {
    Passed,
    Skipped(String),
    /// An error, whose result is unknown: kind and message.
    Error(&'static str, String),
    /// A failure: kind and message.
    Failure(&'static str, String),
}

fn suites(record: &RunRecord) -> Vec<Suite> {
    let mut suites: Vec<Suite> = record.cells.iter().map(|cell| suite(record, cell)).collect();
    let told = |suite: &Suite| suite.tests.iter().any(|t| matches!(t.verdict, Verdict::Skipped(_)));
    if record.status == Status::Interrupted && !suites.iter().any(told) {
        suites.push(Suite {
            name: "not measured".into(),
            started: record.finished.clone(),
            properties: Vec::new(),
            tests: vec![Test {
                name: "the rest of the run".into(),
                class: record.scenario.name.clone(),
                seconds: 0.0,
                verdict: Verdict::Skipped(record.message.clone()),
                output: String::new(),
            }],
        });
    }
    suites
}

fn suite(record: &RunRecord, cell: &Cell) -> Suite {
    let class = format!("{}.{}", record.scenario.name, cell.id);
    let test = |name: &str, seconds, verdict, output: &str| Test {
        name: name.into(),
        class: class.clone(),
        seconds,
        verdict,
        output: output.into(),
    };
    let interrupted = cell.error.as_ref().filter(|error| error.starts_with("interrupted"));
    let mut tests = Vec::new();
    if let Some(check) = &cell.check {
        let words = crate::terminal::check_words(check);
        let verdict = match check.passed {
            true => Verdict::Passed,
            false => Verdict::Failure("check-failed", words.clone()),
        };
        let said = if check.left_out().is_some() { words } else { String::new() };
        tests.push(test("functional check", 0.0, verdict, &(said + &mismatches(cell))));
    }
    for outcome in &cell.outcomes {
        let verdict = match interrupted {
            Some(why) if !outcome.validity.valid => Verdict::Skipped(why.clone()),
            _ => measured(outcome),
        };
        tests.push(test(&outcome.method, outcome.seconds, verdict, &outcome.answer));
    }
    for threshold in record.thresholds.iter().filter(|one| one.cell == cell.id) {
        let name = format!("{}: {} {}", threshold.method, threshold.figure, threshold.condition);
        let verdict = match interrupted {
            Some(why) if threshold.value.is_none() => Verdict::Skipped(why.clone()),
            _ => met(threshold),
        };
        tests.push(test(&name, 0.0, verdict, &threshold.answer));
    }
    if let Some(error) = &cell.error {
        let verdict = match interrupted {
            Some(why) => Verdict::Skipped(why.clone()),
            None => Verdict::Error("device-failed", error.clone()),
        };
        tests.push(test("the whole cell", 0.0, verdict, ""));
    }
    if let Some(unavailable) = &cell.unavailable {
        let verdict = Verdict::Error("device-unavailable", unavailable.to_string());
        tests.push(test("the whole cell", 0.0, verdict, ""));
    }
    let properties = [
        ("function", &cell.function),
        ("device", &cell.device),
        ("device_version", &cell.device_version),
    ];
    let mut properties: Vec<(String, String)> =
        properties.map(|(key, value)| (key.into(), value.clone())).into();
    properties.extend(check_properties(cell));
    let words = |value: &serde_json::Value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    properties.extend(cell.parameters.iter().map(|(key, value)| (key.clone(), words(value))));
    let started = cell.outcomes.first().map(|o| o.started.clone()).filter(|s| !s.is_empty());
    Suite {
        name: format!("{}: {}", record.scenario.name, cell.label()),
        started: started.unwrap_or_else(|| record.started.clone()),
        properties,
        tests,
    }
}

/// Properties of the check's claim, with the reasons for a partial claim.
fn check_properties(cell: &Cell) -> Vec<(String, String)> {
    let Some(check) = &cell.check else { return Vec::new() };
    let left_out = check.left_out();
    let claim = match (check.passed, &left_out) {
        (false, _) => "none",
        (true, Some(_)) => "partial",
        (true, None) => "full",
    };
    let mut properties = vec![("check_claim".to_owned(), claim.to_owned())];
    properties.extend(left_out.map(|what| ("check_left_out".to_owned(), what)));
    properties
}

fn mismatches(cell: &Cell) -> String {
    let of = |check: &Check| -> String {
        let one = |m: &Mismatch| {
            format!("{}\n  expected {}\n  got {}\n", check.named(m), m.expected, m.got)
        };
        check.mismatches.iter().map(one).collect()
    };
    cell.check.as_ref().map_or(String::new(), of)
}

fn measured(outcome: &Outcome) -> Verdict {
    match outcome.validity.limits.iter().find(|limit| limit.invalidates) {
        Some(limit) => Verdict::Error("not-valid", format!("{}; {}", limit.what, limit.advice)),
        None if !outcome.validity.valid => Verdict::Error("not-valid", outcome.answer.clone()),
        None => Verdict::Passed,
    }
}

fn met(threshold: &ThresholdVerdict) -> Verdict {
    match threshold.met {
        true => Verdict::Passed,
        false => Verdict::Failure("threshold-missed", threshold.answer.clone()),
    }
}

type Xml = Writer<Vec<u8>>;

fn document(xml: &mut Xml, record: &RunRecord, suites: &[Suite]) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all = || suites.iter().flat_map(|suite| &suite.tests);
    let element = counted(xml, "testsuites", &plain(&record.name()), record.seconds, all());
    element.write_inner_content(|xml| {
        suites.iter().try_for_each(|one| write_suite(xml, record, one))
    })?;
    Ok(())
}

/// An element with the counters that both kinds of suites have.
fn counted<'x, 't>(
    xml: &'x mut Xml,
    element: &'static str,
    name: &str,
    seconds: f64,
    tests: impl Iterator<Item = &'t Test> + Clone,
) -> quick_xml::writer::ElementWriter<'x, Vec<u8>> {
    let count = |is: fn(&Verdict) -> bool| tests.clone().filter(|t| is(&t.verdict)).count();
    xml.create_element(element)
        .with_attribute(("name", name))
        .with_attribute(("tests", tests.clone().count().to_string().as_str()))
        .with_attribute((
            "failures",
            count(|v| matches!(v, Verdict::Failure(..))).to_string().as_str(),
        ))
        .with_attribute(("errors", count(|v| matches!(v, Verdict::Error(..))).to_string().as_str()))
        .with_attribute(("time", format!("{seconds:.3}").as_str()))
}

fn write_suite(xml: &mut Xml, record: &RunRecord, suite: &Suite) -> io::Result<()> {
    let seconds: f64 = suite.tests.iter().map(|test| test.seconds).sum();
    let skipped = suite.tests.iter().filter(|t| matches!(t.verdict, Verdict::Skipped(_))).count();
    let host = record.host.hostname.as_deref().unwrap_or("localhost");
    counted(xml, "testsuite", &plain(&suite.name), seconds, suite.tests.iter())
        .with_attribute(("skipped", skipped.to_string().as_str()))
        .with_attribute(("timestamp", plain(&suite.started).as_str()))
        .with_attribute(("hostname", plain(host).as_str()))
        .write_inner_content(|xml| {
            if !suite.properties.is_empty() {
                xml.create_element("properties").write_inner_content(|xml| {
                    suite.properties.iter().try_for_each(|(key, value)| {
                        xml.create_element("property")
                            .with_attribute(("name", plain(key).as_str()))
                            .with_attribute(("value", plain(value).as_str()))
                            .write_empty()
                            .map(|_| ())
                    })
                })?;
            }
            suite.tests.iter().try_for_each(|test| write_test(xml, test))
        })
        .map(|_| ())
}

fn write_test(xml: &mut Xml, test: &Test) -> io::Result<()> {
    let element = xml
        .create_element("testcase")
        .with_attribute(("name", plain(&test.name).as_str()))
        .with_attribute(("classname", plain(&test.class).as_str()))
        .with_attribute(("time", format!("{:.3}", test.seconds).as_str()));
    element.write_inner_content(|xml| {
        match &test.verdict {
            Verdict::Passed => {}
            Verdict::Skipped(why) => {
                let message = plain(why);
                xml.create_element("skipped")
                    .with_attribute(("message", message.as_str()))
                    .write_empty()?;
            }
            Verdict::Error(kind, what) => reason(xml, "error", kind, what)?,
            Verdict::Failure(kind, what) => reason(xml, "failure", kind, what)?,
        }
        if !test.output.is_empty() {
            let output = plain(&test.output);
            xml.create_element("system-out").write_text_content(BytesText::new(&output))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn reason(xml: &mut Xml, element: &'static str, kind: &str, what: &str) -> io::Result<()> {
    let what = plain(what);
    xml.create_element(element)
        .with_attribute(("type", kind))
        .with_attribute(("message", what.as_str()))
        .write_text_content(BytesText::new(&what))
        .map(|_| ())
}

/// The text without characters that XML 1.0 (section 2.2) does not permit, even escaped.
fn plain(text: &str) -> String {
    let fine = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
    let fine = |c: char| fine(c) && !matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if fine(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}
