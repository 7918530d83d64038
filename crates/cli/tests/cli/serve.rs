//! Runs in a browser: a real one shows the list, a run, two side by side, and a bench that runs.
//!
//! Chromium must be installed (`cargo xtask setup`); `PLUMBLINE_SKIP_PEERS=1` skips those tests and
//! says so. Hostile requests need no browser.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::report::keep;
use crate::{plumbline, run, temporary_folder, write};

/// A server that does not outlive its test.
struct Serving {
    child: Child,
    address: SocketAddr,
}

impl Serving {
    fn start(folder: &Path) -> Serving {
        let mut child = plumbline(folder)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("it tells its address");
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        let address = address.and_then(|text| text.parse().ok());
        Serving { child, address: address.unwrap_or_else(|| panic!("an address: {line}")) }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sends bytes and takes all that comes back.
    fn exchange(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time limit");
        // A server that has refused already may close its end before all is written.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
            _ => String::from_utf8_lossy(&answer).into_owned(),
        }
    }

    fn get(&self, path: &str) -> String {
        let host = self.address;
        let text = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        self.exchange(text.as_bytes())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[test]
fn hostile_requests_are_refused_and_the_server_goes_on() {
    let folder = temporary_folder();
    keep(folder.path(), "one", |_| {});
    fs::write(folder.path().join("secret.txt"), "precious").expect("writable");
    fs::write(folder.path().join("runs/one/evil.html"), "<script>evil</script>").expect("writable");
    std::os::unix::fs::symlink("/etc", folder.path().join("runs/etc")).expect("writable");
    fs::create_dir(folder.path().join("runs/linked")).expect("writable");
    let secret = folder.path().join("secret.txt");
    let link = folder.path().join("runs/linked/run.json");
    std::os::unix::fs::symlink(secret, link).expect("writable");
    let huge = folder.path().join("runs/huge");
    fs::create_dir(&huge).expect("writable");
    let file = File::create(huge.join("run.json")).expect("writable");
    file.set_len(1 << 40).expect("a hole takes no room");
    // Some kilobytes that become more than any page is made of.
    let zeros = folder.path().join("zeros");
    File::create(&zeros).and_then(|file| file.set_len(65 << 20)).expect("a hole takes no room");
    let bomb = folder.path().join("runs/bomb");
    fs::create_dir(&bomb).expect("writable");
    report::archive::pack(&zeros, &bomb).expect("it is packed");
    let serving = Serving::start(folder.path());
    for path in [
        "/runs/../secret.txt",
        "/../../../../etc/passwd",
        "/runs/%2e%2e/secret.txt",
        "/runs/..%2fsecret.txt/",
        "/runs/one/evil.html",
        "/runs/one/..%2f..%2fsecret.txt",
        "/runs/one/report.html",
        "/runs/etc/passwd",
        "/runs/etc/",
        "/favicon.ico",
    ] {
        let answer = serving.get(path);
        assert_eq!(status(&answer), "404", "{path}: {answer}");
        assert!(!answer.contains("precious") && !answer.contains("root:"), "{path}: {answer}");
    }
    let answer = serving.get("/runs/linked/");
    assert!(status(&answer) == "422" && !answer.contains("precious"), "{answer}");
    for path in ["/runs/huge/", "/runs/bomb/"] {
        let answer = serving.get(path);
        assert!(status(&answer) == "422" && answer.contains("too many for a page"), "{answer}");
    }
    let host = serving.address;
    let post = format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(status(&serving.exchange(post.as_bytes())), "405");
    let body = format!("GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 999999999\r\n\r\n");
    assert_eq!(status(&serving.exchange(body.as_bytes())), "413");
    let rebound = b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(status(&serving.exchange(rebound)), "403");
    let endless = format!("GET / HTTP/1.1\r\nHost: {host}\r\nX: {}", "x".repeat(1 << 20));
    let answer = serving.exchange(endless.as_bytes());
    assert!(matches!(status(&answer), "431" | "400" | ""), "{answer}");
    let many = format!("GET / HTTP/1.1\r\nHost: {host}\r\n{}\r\n", "X: y\r\n".repeat(1000));
    assert!(matches!(status(&serving.exchange(many.as_bytes())), "431" | "400" | ""));
    assert!(matches!(
        status(&serving.exchange(b"\x16\x03\x01\x02\x00 not http\r\n\r\n")),
        "400" | ""
    ));
    let answer = serving.get("/");
    assert_eq!(status(&answer), "200");
    let head = answer.split("\r\n\r\n").next().unwrap_or_default().to_lowercase();
    for header in [
        "content-security-policy: default-src 'none'",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cross-origin-resource-policy: same-origin",
        "cache-control: no-store",
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    assert!(!head.contains("access-control"), "{head}");
}

#[test]
fn idle_connections_do_not_keep_others_out() {
    let folder = temporary_folder();
    keep(folder.path(), "one", |_| {});
    let serving = Serving::start(folder.path());
    // Slow clients: they send half a head and then nothing.
    let slow: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(serving.address).expect("it listens");
            stream.write_all(b"GET / HTTP/1.1\r\nHost:").expect("it takes it");
            stream
        })
        .collect();
    assert_eq!(status(&serving.get("/")), "200");
    drop(slow);
}

#[test]
fn files_of_a_run_are_made_from_its_record() {
    let folder = temporary_folder();
    keep(folder.path(), "one", |_| {});
    let serving = Serving::start(folder.path());
    let answer = serving.get("/runs/one/figures.csv");
    assert!(answer.contains("content-type: text/csv"), "{answer}");
    assert!(answer.contains("attachment; filename=\"figures.csv\""), "{answer}");
    let answer = serving.get("/runs/one/run.json");
    let body = answer.split("\r\n\r\n").nth(1).expect("a body");
    let record: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(record["scenario"]["name"], "mobile-gateway-capacity");
    let listing = serving.get("/api/runs");
    assert!(listing.contains("\"name\":\"one\""), "{listing}");
}

#[test]
fn ctrl_c_ends_the_server_well() {
    let folder = temporary_folder();
    let mut serving = Serving::start(folder.path());
    assert!(serving.get("/").contains("There is no run yet"));
    let _open = TcpStream::connect(serving.address).expect("a connection that stays open");
    kill_process(Pid::from_child(&serving.child), Signal::INT).expect("it runs");
    let code = wait_for("the server to end", || {
        serving.child.try_wait().expect("our child").map(|status| status.code())
    });
    assert_eq!(code, Some(0));
}

#[test]
fn an_address_that_is_taken_or_public_is_told() {
    let folder = temporary_folder();
    let serving = Serving::start(folder.path());
    let taken = serving.address.to_string();
    let ended = run(folder.path(), &["serve", "--listen", &taken]).expect(4);
    assert!(ended.stderr.contains("choose another port"), "{}", ended.stderr);
    let ended = run(folder.path(), &["serve", "--listen", "everywhere"]).expect(2);
    assert!(ended.stderr.contains("as in 127.0.0.1:8484"), "{}", ended.stderr);
    let mut public = plumbline(folder.path())
        .args(["serve", "--listen", "0.0.0.0:0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let error = public.stderr.take().expect("piped");
    BufReader::new(error).read_line(&mut line).expect("it warns");
    assert!(line.starts_with("warning: everyone who can reach"), "{line}");
    public.kill().expect("our child");
    public.wait().expect("our child");
}

/// Two runs and a bench that would take an hour.
const LONG: &str = "\
function: {name: mobile-gateway, user: 10, rate-limit: 10 Gbit/s, fakedrop: false}
methods:
  - {name: capacity, repetitions: 1, duration: 20 ms, warm-up: 0}
  - {name: capacity, repetitions: 1, duration: 1 h, warm-up: 0}
";

#[test]
fn a_browser_lists_opens_compares_and_follows() {
    if std::env::var_os("PLUMBLINE_SKIP_PEERS").is_some_and(|value| value == "1") {
        println!("skipped: PLUMBLINE_SKIP_PEERS=1");
        return;
    }
    let folder = temporary_folder();
    keep(folder.path(), "first", |_| {});
    keep(folder.path(), "sec<nd> & ünd", |record| {
        record["started"] = "2026-11-22T00:00:00Z".into();
    });
    let serving = Serving::start(folder.path());

    // The list, and the script at work in it.
    let list = show(&serving.url("/"));
    assert!(list.contains("sec&lt;nd&gt; &amp; ünd"), "a name is text: {list}");
    assert!(list.contains("<button type=\"button\">began (UTC)</button>"), "sortable: {list}");
    assert!(
        !list.contains("id=\"search\" type=\"search\" autocomplete=\"off\" disabled"),
        "{list}"
    );

    // The first run's page, by its link.
    let link = between(&list, "href=\"", "\"", "/runs/first");
    let page = show(&serving.url(&link));
    assert!(page.contains("Capacity of the mobile-gateway"), "the answer");
    assert!(page.contains("All runs") && page.contains("<svg"), "the way back, and charts");

    // Both ticked, as the form sends them.
    let values: Vec<String> = list
        .split("name=\"run\" value=\"")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .map(|value| value.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        .collect();
    assert_eq!(values, ["sec<nd> & ünd", "first"], "the newest first");
    let sent = values.iter().map(|value| {
        let bytes = value.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        format!("run={bytes}")
    });
    let compared = show(&serving.url(&format!("/compare?{}", sent.collect::<Vec<_>>().join("&"))));
    assert!(compared.contains("Comparison of"), "{compared}");
    assert!(compared.contains("2026-11-21") && compared.contains("2026-11-22"), "{compared}");

    let trend = show(&serving.url("/trend"));
    assert!(trend.contains("Trend of") && trend.contains("All runs"), "{trend}");
    assert!(trend.contains("2 results") || trend.contains("1 results"), "{trend}");

    // A bench that runs, and what is shown when it is killed.
    write(folder.path(), "long.yaml", LONG);
    let mut bench = plumbline(folder.path())
        .args(["bench", "long.yaml", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let name = wait_for("the second measurement", || under_way(folder.path()));
    let list = show(&serving.url("/"));
    assert!(list.contains("measuring") && list.contains("1 of 2"), "{list}");
    let live = show(&serving.url(&format!("/runs/{name}/")));
    assert!(live.contains("A bench is measuring long"), "{live}");
    assert!(live.contains("data-live=\"phase\">capacity"), "{live}");
    let followed = live.split("data-followed=\"").nth(1).and_then(|rest| rest.split('"').next());
    let followed = followed.and_then(|count| count.parse::<u32>().ok());
    assert!(followed >= Some(2), "the page asks again and again: {followed:?}");
    bench.kill().expect("our child");
    bench.wait().expect("our child");
    let list = show(&serving.url("/"));
    assert!(list.contains("killed") && !list.contains(">measuring<"), "{list}");
}

/// The folder of the run whose first measurement is done.
fn under_way(folder: &Path) -> Option<String> {
    for entry in fs::read_dir(folder.join("runs")).ok()?.flatten() {
        let text = fs::read_to_string(entry.path().join("progress.json")).unwrap_or_default();
        let live: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        if live["measurements_done"] == 1 && live["phase"] == "capacity" {
            return entry.file_name().into_string().ok();
        }
    }
    None
}

/// What `ask` finds before the deadline.
fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    while Instant::now() < deadline {
        if let Some(found) = ask() {
            return found;
        }
        std::thread::park_timeout(POLL);
    }
    panic!("waited in vain for {what}")
}

/// The text between two marks that begins with some words.
fn between(text: &str, before: &str, after: &str, beginning: &str) -> String {
    let parts = text.split(before).skip(1).filter_map(|rest| rest.split(after).next());
    let mut parts = parts.filter(|part| part.starts_with(beginning));
    parts.next().unwrap_or_else(|| panic!("nothing begins with {beginning}: {text}")).to_owned()
}

/// A page as the browser has it after some seconds of the page's own time.
fn show(url: &str) -> String {
    let folder = temporary_folder();
    let (shown, told) = (folder.path().join("shown.html"), folder.path().join("told.txt"));
    let create = |path: &Path| File::create(path).expect("writable");
    let spawn = |name: &&str| {
        let mut command = Command::new(name);
        command.args(FLAGS).arg(format!("--user-data-dir={}", folder.path().join("p").display()));
        command.arg("--dump-dom").arg(url);
        command.stdin(Stdio::null()).stdout(create(&shown)).stderr(create(&told));
        match command.spawn() {
            Ok(child) => Some(child),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => panic!("{name} cannot be run: {error}"),
        }
    };
    let mut browser = NAMES.iter().find_map(spawn).expect(
        "chromium is not installed: `cargo xtask setup` does it, PLUMBLINE_SKIP_PEERS=1 skips this",
    );
    let deadline = Instant::now() + DEADLINE;
    let ended = loop {
        match browser.try_wait().expect("our child") {
            Some(status) => break status.success(),
            None if Instant::now() > deadline => break false,
            None => std::thread::park_timeout(POLL),
        }
    };
    let _ = browser.kill();
    let _ = browser.wait();
    let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).expect("there")).into_owned();
    assert!(ended, "chromium did not end well: {}", read(&told));
    read(&shown)
}

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-extensions",
    "--virtual-time-budget=4000",
];

/// Far more than it takes, for machines that are busy.
const DEADLINE: Duration = Duration::from_secs(90);

const POLL: Duration = Duration::from_millis(20);
