//! What a page looks like on a telephone, on a laptop and on paper, as far as a browser can tell:
//! no row higher than a screen, no column cut off, an appendix that unfolds.

use std::path::{Path, PathBuf};

use measure::record::RunRecord;
use serde_json::json;

use crate::browser::{drive, skipped};
use crate::fixture;

/// Records of the fixture, and published ones with long names, many cells and many columns.
fn records() -> Vec<(String, RunRecord)> {
    let fixtures = fixture::full::all().into_iter().map(|(name, record)| (name.to_owned(), record));
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let published = PUBLISHED.iter().map(|name| {
        let path: PathBuf = results.join(name).join("run.json.gz");
        ((*name).to_owned(), report::read(&path).expect("it is published"))
    });
    let all = fixtures.chain([("gateway".into(), fixture::record())]);
    all.chain([("long".into(), fixture::hostile::hostile(&fixture::full::sizes()))])
        .chain(published)
        .collect()
}

#[test]
fn no_row_is_higher_than_a_screen_and_no_column_is_cut_off() {
    if skipped() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut findings = Vec::new();
    for (name, record) in records() {
        let page = page(&record);
        std::fs::write(folder.path().join("report.html"), page).expect("the folder can be written");
        let found = drive(folder.path(), MEASURE, &["--hide-scrollbars"]);
        let mut hold = |is_so: bool, what: String| {
            if !is_so {
                findings.push(format!("{name}: {what}"));
            }
        };
        let high = &found["high"];
        hold(*high == json!([]), format!("rows of 500 px at a width of 390 px: {high}"));
        for (what, width) in [("narrow", 390), ("wide", 1280)] {
            hold(found[what] == json!(width), format!("the page itself scrolls at {width} px"));
        }
        // Names of an attack have no blank to break at; they scroll.
        let cut = &found["cut"];
        let is_whole = *cut == json!([]) || name == "long";
        hold(is_whole, format!("tables cut off at a width of 1,280 px: {cut}"));
        let of = |what: &str| found[what].as_f64().unwrap_or(f64::INFINITY);
        hold(of("topology") < 600.0, format!("the topology at {} px", of("topology")));
        hold(of("chart") < 760.0, format!("the first chart at {} px", of("chart")));
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn paper_has_configuration_and_trials_unfolded_in_an_appendix() {
    if skipped() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = page(&fixture::record());
    std::fs::write(folder.path().join("report.html"), page).expect("the folder can be written");
    let found = drive(
        folder.path(),
        "const closed = () => page.querySelectorAll('.appendix details:not([open])').length;
         const sections = Array.from(page.querySelectorAll('main > section'), (one) => one.id);
         const found = [sections.slice(-2), closed() > 0];
         frame.contentWindow.dispatchEvent(new Event('beforeprint'));
         found.push(closed(), page.querySelectorAll('#check details[open]').length);
         frame.contentWindow.dispatchEvent(new Event('afterprint'));
         found.push(closed() > 0);
         return found;",
        &[],
    );
    assert_eq!(found, json!([["trials", "scenario"], true, 0, 0, true]));
}

fn page(record: &RunRecord) -> Vec<u8> {
    let exporter = report::EXPORTERS.iter().find(|e| e.name == "html").expect("an exporter");
    (exporter.render)(record).expect("a page")
}

/// Unfolds everything and measures at both widths.
const MEASURE: &str = "
    const view = frame.contentWindow;
    const show = (width) => { frame.style.cssText = `border:0;width:${width}px;height:900px`; };
    const top = (selector) => page.querySelector(selector)?.getBoundingClientRect().top ?? 0;
    const found = {};
    show(1280);
    found.topology = top('header .topology');
    found.chart = top('header figure');
    for (const details of page.querySelectorAll('details')) details.open = true;
    found.wide = page.documentElement.scrollWidth;
    const tables = Array.from(page.querySelectorAll('.scroll')).filter((one) => one.querySelector('table'));
    found.cut = tables.filter((one) => one.scrollWidth > one.clientWidth + 1)
      .map((one) => `${one.getAttribute('aria-label')}: ${one.scrollWidth} of ${one.clientWidth} px`);
    show(390);
    found.narrow = page.documentElement.scrollWidth;
    found.high = Array.from(page.querySelectorAll('tr, .bars li, .limits li'))
      .filter((row) => row.getBoundingClientRect().height >= 500)
      .map((row) => `${row.getBoundingClientRect().height} px: ${row.textContent.slice(0, 80)}`);
    return found;";

/// Runs with many columns, cells, methods or remarks.
const PUBLISHED: &[&str] = &[
    "cisco-vswitch-vm-to-vm-20261122T023442Z",
    "compare-l3-20261121T203525Z",
    "mobile-gateway-20261121T165745Z",
    "mobile-gateway-methods-20261121T170752Z",
    "router-services-capacity-20261124T042618Z",
    "rr-today-20261129T104157Z",
];
