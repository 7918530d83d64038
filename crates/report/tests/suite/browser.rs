//! The page in a real browser: everything of it is there, and nothing is asked for from outside.
//!
//! Chromium by one of its names must be installed (`cargo xtask setup`); `PLUMBLINE_SKIP_PEERS=1`
//! skips this test and says so. What a page looks like is for people to judge, not for this test.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use measure::record::RunRecord;
use roxmltree::Document;

use crate::fixture;

#[test]
fn a_browser_shows_the_whole_page_and_asks_for_nothing() {
    if skipped() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    report::export_all(&fixture::record(), folder.path()).expect("the files are written");
    let written = fs::read_to_string(folder.path().join("report.html")).expect("a page");
    let Loaded { shown, requests, console } = load(folder.path(), "report.html", &[]);
    assert_eq!(console, "", "the page complains");
    assert_eq!(requests, BTreeSet::new(), "the page asks for something from outside");

    let charts = charts(&written);
    assert!(charts.len() >= 5, "the fixture has data for every chart: {charts:?}");
    for title in charts {
        // The browser has understood it as a drawing, and has not dropped its parts.
        let drawing = format!("aria-labelledby=\"{title} ");
        let (_, svg) = shown.split_once(&drawing).unwrap_or_else(|| panic!("no {title} is shown"));
        let svg = svg.split_once("</svg>").expect("a drawing ends").0;
        assert!(
            svg.contains("<text") && MARKS.iter().any(|mark| svg.contains(mark)),
            "{title} is empty"
        );
    }
    for answer in [
        "43.3 Mpps (52.1 Mpps excluding Rx/Tx) at user 1,000",
        "It forwards 5.37 Mpps on each of 2 ports",
    ] {
        assert!(shown.contains(answer), "the answer is not shown: {answer}");
    }

    let failed = html(&fixture::failed_check());
    fs::write(folder.path().join("failed.html"), failed).expect("the folder can be written");
    let shown = load(folder.path(), "failed.html", &[]).shown;
    assert!(shown.contains("no figure is published"), "the failed check is not shown");

    // The same page with a picture from elsewhere: its policy forbids to ask for it.
    let other = written.replacen("<body>", &format!("<body><img src=\"{ELSEWHERE}\">"), 1);
    fs::write(folder.path().join("forbidden.html"), &other).expect("the folder can be written");
    let Loaded { requests, console, .. } = load(folder.path(), "forbidden.html", &[]);
    assert_eq!(requests, BTreeSet::new(), "the page's policy lets a picture through");
    assert!(console.contains("Content Security Policy"), "the browser's complaints are read");
    // And without the policy, so that asking for nothing means something.
    let other = other.replacen("Content-Security-Policy", "no-policy", 1);
    fs::write(folder.path().join("other.html"), other).expect("the folder can be written");
    let requests = load(folder.path(), "other.html", &[]).requests;
    assert_eq!(requests, BTreeSet::from([ELSEWHERE.to_owned()]), "the browser's log was misread");
}

fn html(record: &RunRecord) -> Vec<u8> {
    let exporter = report::EXPORTERS.iter().find(|e| e.name == "html").expect("an exporter");
    (exporter.render)(record).expect("a page")
}

#[test]
fn a_click_on_a_head_sorts_the_table() {
    if skipped() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sizes = html(&fixture::full::sizes());
    fs::write(folder.path().join("report.html"), sizes).expect("the folder can be written");
    // The first table of results: sizes upwards as measured, figures downwards.
    let found = drive(
        folder.path(),
        "const table = page.querySelector('#results table.sortable');
         const column = () => Array.from(table.tBodies[0].rows, (row) => row.cells[0].textContent);
         const head = table.tHead.rows[0].cells[1];
         const found = [column()];
         for (let click = 0; click < 2; click += 1) {
           head.querySelector('button').click();
           found.push(column(), head.getAttribute('aria-sort'));
         }
         return found;",
        &[],
    );
    let upwards: Vec<String> = ["64", "128", "256", "512", "1,024", "1,280", "1,518"]
        .map(|n| format!("pkt-size {n}"))
        .into();
    let downwards: Vec<String> = upwards.iter().rev().cloned().collect();
    let expected = serde_json::json!([upwards, downwards, "ascending", upwards, "descending"]);
    assert_eq!(found, expected);
}

#[test]
fn charts_and_text_follow_dark_mode() {
    if skipped() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = html(&fixture::full::grid());
    fs::write(folder.path().join("report.html"), page).expect("the folder can be written");
    let colours = |flags: &[&str]| {
        drive(
            folder.path(),
            "const of = (selector, what) => frame.contentWindow.getComputedStyle(page.querySelector(selector))[what];
             return [of('body', 'backgroundColor'), of('body', 'color'), of('figure svg text', 'fill'),
                     of('figure svg path[stroke*=series]', 'stroke')];",
            flags,
        )
    };
    let (light, dark) = (colours(&[LIGHT]), colours(&[DARK]));
    assert_eq!(light[0], "rgb(255, 255, 255)");
    assert_eq!(dark[0], "rgb(18, 22, 29)");
    for what in 1..4 {
        assert!(light[what].is_string() && light[what] != dark[what], "{light} {dark}");
    }
    assert_eq!(dark[1], dark[2], "a chart's text is as light as the page's");
}

#[test]
fn every_page_is_quiet() {
    if skipped() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut pages: Vec<(&str, Vec<u8>)> =
        fixture::full::all().iter().map(|(name, record)| (*name, html(record))).collect();
    pages.push(("runs", report::comparison_page(&[fixture::full::sizes(), fixture::record()])));
    for (name, page) in pages {
        fs::write(folder.path().join("report.html"), page).expect("the folder can be written");
        let Loaded { requests, console, .. } = load(folder.path(), "report.html", &[]);
        assert_eq!((console.as_str(), requests), ("", BTreeSet::new()), "{name}");
    }
}

/// Whether the user skips tests with a browser.
pub fn skipped() -> bool {
    let skipped = env::var_os("PLUMBLINE_SKIP_PEERS").is_some_and(|value| value == "1");
    if skipped {
        println!("skipped: PLUMBLINE_SKIP_PEERS=1");
    }
    skipped
}

/// Runs a script next to `report.html`, with access to `frame` and `page`, and returns its result.
/// The page keeps its policy, which permits only its own script.
pub fn drive(folder: &Path, script: &str, flags: &[&str]) -> serde_json::Value {
    let outer = format!(
        "<!doctype html><meta charset=utf-8><iframe src=report.html></iframe><pre></pre><script>
         const frame = document.querySelector('iframe');
         const run = (page) => {{ {script} }};
         frame.onload = () => {{
           document.querySelector('pre').textContent = JSON.stringify(run(frame.contentDocument));
         }};
         </script>"
    );
    fs::write(folder.join("outer.html"), outer).expect("the folder can be written");
    let flags: Vec<&str> =
        flags.iter().copied().chain(["--allow-file-access-from-files"]).collect();
    let Loaded { shown, console, .. } = load(folder, "outer.html", &flags);
    assert_eq!(console, "", "the page or the script complains");
    let (_, after) = shown.split_once("<pre>").expect("the outer page is shown");
    let found = after.split_once("</pre>").expect("and whole").0;
    serde_json::from_str(found).unwrap_or_else(|e| panic!("{e}: {found}"))
}

/// The identifiers of the chart titles in the source of a page.
fn charts(page: &str) -> BTreeSet<String> {
    let start = page.find("<body>").expect("a body");
    let end = page.find("<script>").expect("a script");
    let body = format!("{}</body>", &page[start..end]);
    let body = Document::parse(&body).expect("well-formed");
    let drawings = body.descendants().filter(|node| node.has_tag_name("svg"));
    let labels = drawings.filter_map(|svg| svg.attribute("aria-labelledby"));
    labels.filter_map(|label| label.split(' ').next()).map(str::to_owned).collect()
}

/// A page after loading.
struct Loaded {
    /// The document as the browser has it.
    shown: String,
    /// Addresses that the page made the browser request.
    requests: BTreeSet<String>,
    /// Console output of the page, without that of the browser itself.
    console: String,
}

fn load(folder: &Path, page: &str, flags: &[&str]) -> Loaded {
    let (shown, complaints) = (folder.join("shown.html"), folder.join("complaints.txt"));
    let log = folder.join("network.json");
    let create = |path: &Path| File::create(path).expect("the folder can be written");
    let mut browser = start(|name| {
        let mut command = Command::new(name);
        command.args(FLAGS).args(flags);
        command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
        command.arg(format!("--log-net-log={}", log.display()));
        command.arg("--dump-dom").arg(format!("file://{}", folder.join(page).display()));
        // To files: nobody has to read while it writes.
        command.stdin(Stdio::null()).stdout(create(&shown)).stderr(create(&complaints));
        command
    });
    let read = |path: &Path| {
        String::from_utf8_lossy(&fs::read(path).expect("the file was created")).into_owned()
    };
    let ended = browser.ended();
    assert!(ended, "chromium did not end well in {DEADLINE:?}:\n{}", read(&complaints));
    let console = read(&complaints);
    let console: Vec<&str> = console.lines().filter(|line| line.contains("CONSOLE")).collect();
    Loaded { shown: read(&shown), requests: requests(&log), console: console.join("\n") }
}

/// Starts the browser by the first of its names that exists.
fn start(command: impl Fn(&str) -> Command) -> Browser {
    for name in NAMES {
        match command(name).spawn() {
            Ok(child) => return Browser(child),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => panic!("{name} cannot be run: {error}"),
        }
    }
    panic!(
        "chromium is not installed: install it by `cargo xtask setup`, or skip this test by \
         PLUMBLINE_SKIP_PEERS=1"
    )
}

/// A browser process that is killed when this value is dropped.
struct Browser(Child);

impl Browser {
    /// Waits for the process; returns whether it ended successfully before the deadline.
    fn ended(&mut self) -> bool {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            if let Some(status) = self.0.try_wait().expect("the child is ours") {
                return status.success();
            }
            thread::park_timeout(POLL);
        }
        false
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It has ended already but for the case of the deadline.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Addresses that a page requested, from the browser's own log. The browser's own requests are in
/// the log, too, with an initiator that is not a page.
fn requests(log: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(log).expect("the browser writes the log");
    let log: serde_json::Value = serde_json::from_str(&text).expect("the log is whole");
    let events = log["events"].as_array().expect("the log has events").iter();
    let of_pages = events.map(|event| &event["params"]).filter(|parameters| {
        parameters["initiator"].as_str().is_some_and(|initiator| initiator != "not an origin")
    });
    of_pages.filter_map(|parameters| parameters["url"].as_str()).map(str::to_owned).collect()
}

/// What the data of a chart is drawn with.
const MARKS: [&str; 3] = ["<path", "<rect", "<circle"];

/// An address that no host has (RFC 5737 section 3).
const ELSEWHERE: &str = "http://192.0.2.1/picture.png";

/// Program names under which distributions install Chromium.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Flags for the browser: no window, no sandbox (containers cannot provide it), and no network (the
/// proxy does not exist).
const FLAGS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--enable-logging=stderr",
    "--proxy-server=127.0.0.1:9",
];

/// Flag for the preference of dark colours.
const DARK: &str = "--blink-settings=preferredColorScheme=0";
const LIGHT: &str = "--blink-settings=preferredColorScheme=1";

/// Time limit, far longer than necessary, for busy machines.
const DEADLINE: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(20);
