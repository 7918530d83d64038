//! The page in a real browser: everything of it is there, and nothing is asked for from outside.
//!
//! Chromium by one of its names must be installed (`cargo xtask setup`); `PLUMBLINE_SKIP_PEERS=1`
//! skips this test and says so. What a page looks like is for people to judge, not for this test.

mod fixture;

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use roxmltree::Document;

#[test]
fn a_browser_shows_the_whole_page_and_asks_for_nothing() {
    if env::var_os("PLUMBLINE_SKIP_PEERS").is_some_and(|value| value == "1") {
        println!("skipped: PLUMBLINE_SKIP_PEERS=1");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    report::export_all(&fixture::record(), folder.path()).expect("the files are written");
    let written = fs::read_to_string(folder.path().join("report.html")).expect("a page");
    let (shown, requests) = load(folder.path(), "report.html");
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
    for answer in ["52.1 Mpps at user 1,000", "It forwards 5.37 Mpps on each of 2 interfaces"] {
        assert!(shown.contains(answer), "the answer is not shown: {answer}");
    }

    let html = report::EXPORTERS.iter().find(|e| e.name == "html").expect("an exporter");
    let failed = (html.render)(&fixture::failed_check()).expect("a page");
    fs::write(folder.path().join("failed.html"), failed).expect("the folder can be written");
    let (shown, _) = load(folder.path(), "failed.html");
    assert!(shown.contains("no figure is published"), "the failed check is not shown");

    // The same page with a picture from elsewhere: its policy forbids to ask for it.
    let other = written.replacen("<body>", &format!("<body><img src=\"{ELSEWHERE}\">"), 1);
    fs::write(folder.path().join("forbidden.html"), &other).expect("the folder can be written");
    let (_, requests) = load(folder.path(), "forbidden.html");
    assert_eq!(requests, BTreeSet::new(), "the page's policy lets a picture through");
    // And without the policy, so that asking for nothing means something.
    let other = other.replacen("Content-Security-Policy", "no-policy", 1);
    fs::write(folder.path().join("other.html"), other).expect("the folder can be written");
    let (_, requests) = load(folder.path(), "other.html");
    assert_eq!(requests, BTreeSet::from([ELSEWHERE.to_owned()]), "the browser's log was misread");
}

/// The identifiers of the charts' titles in a page as it was written.
fn charts(page: &str) -> BTreeSet<String> {
    let start = page.find("<body>").expect("a body");
    let end = page.find("<script>").expect("a script");
    let body = format!("{}</body>", &page[start..end]);
    let body = Document::parse(&body).expect("well-formed");
    let drawings = body.descendants().filter(|node| node.has_tag_name("svg"));
    let labels = drawings.filter_map(|svg| svg.attribute("aria-labelledby"));
    labels.filter_map(|label| label.split(' ').next()).map(str::to_owned).collect()
}

/// A page as the browser has it after loading, and what it made the browser ask for.
fn load(folder: &Path, page: &str) -> (String, BTreeSet<String>) {
    let (shown, complaints) = (folder.join("shown.html"), folder.join("complaints.txt"));
    let log = folder.join("network.json");
    let create = |path: &Path| File::create(path).expect("the folder can be written");
    let mut browser = start(|name| {
        let mut command = Command::new(name);
        command.args(FLAGS);
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
    (read(&shown), requests(&log))
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

/// A browser that does not outlive its test.
struct Browser(Child);

impl Browser {
    /// Whether it ended with success before the deadline.
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

/// Addresses that a page made the browser ask for, from the browser's own log. What the browser asks
/// for itself stands there too, with an initiator that is no page.
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

/// An address that nobody has (RFC 5737 section 3).
const ELSEWHERE: &str = "http://192.0.2.1/picture.png";

/// Under these names distributions install it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// No window, no sandbox (containers have none to offer), and no way out: the proxy does not exist.
const FLAGS: [&str; 11] = [
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
    "--proxy-server=127.0.0.1:9",
];

/// Far more than it takes, for machines that are busy.
const DEADLINE: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(20);
