//! Metrics and health over HTTP, and what promtool thinks of them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use daemon::protocol::Ask;
use serde_json::Value;

use crate::kit::{BRIDGE, Run, pass, start};

pub fn address(run: &Run) -> String {
    let ready = run.ask(Ask::Ready).expect("it answers");
    let url = ready["metrics"].as_str().expect("an address").to_owned();
    url.trim_start_matches("http://").trim_end_matches("/metrics").to_owned()
}

fn request(address: &str, text: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    stream.write_all(text.as_bytes()).expect("it takes it");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

pub fn get(address: &str, path: &str) -> String {
    request(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"),
    )
}

#[test]
fn metrics_are_good_and_health_is_told() {
    let run = start(&format!("{BRIDGE}metrics: {{listen: \"127.0.0.1:0\"}}\n"));
    let (mut sender, _keep) = run.far("down");
    let (_other, mut receiver) = run.far("up");
    pass(25, &mut sender, &mut receiver);
    let address = address(&run);
    let answer = get(&address, "/metrics");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.to_lowercase().contains("text/plain; version=0.0.4"), "{head}");
    assert!(body.contains("plumbline_port_sent_packets_total{port=\"uplink\"} 25\n"), "{body}");
    assert!(
        body.contains("plumbline_dropped_packets_total{reason=\"invalid-source\"} 0\n"),
        "{body}"
    );
    check_by_promtool(body);
    check_dashboard(body);
    assert!(get(&address, "/health").starts_with("HTTP/1.1 200"));
    let ready = get(&address, "/ready");
    assert!(ready.starts_with("HTTP/1.1 200") && ready.contains("\"ready\":true"), "{ready}");
    assert!(get(&address, "/").starts_with("HTTP/1.1 404"));
    let foreign = "GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert!(request(&address, foreign).starts_with("HTTP/1.1 403"));
    let post = format!("POST /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    assert!(request(&address, &post).starts_with("HTTP/1.1 405"));
    run.stop().expect("it ends well");
    assert!(TcpStream::connect(&address).is_err(), "nobody listens any more");
}

#[test]
fn names_that_the_machine_has_are_answered_while_others_never_end_their_requests() {
    let keys = "metrics: {listen: \"127.0.0.1:0\", hosts: [nat.example]}\n";
    let run = start(&format!("{BRIDGE}{keys}"));
    let address = address(&run);
    let half: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("it listens");
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: ").expect("it takes it");
            stream
        })
        .collect();
    for (host, status) in [
        ("nat.example", 200),
        ("NAT.example:9475", 200),
        ("localhost", 200),
        ("other.example", 403),
        ("nat.example.evil.example", 403),
    ] {
        let asked = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = request(&address, &asked);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {answer}");
    }
    drop(half);
    run.stop().expect("it ends well");
}

/// Holds that the dashboard asks for metrics that a daemon exports, by labels that they have.
fn check_dashboard(body: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/grafana/plumbline.json");
    let text = std::fs::read_to_string(path).expect("the dashboard is there");
    let dashboard: Value = serde_json::from_str(&text).expect("it is JSON");
    let panels = dashboard["panels"].as_array().expect("it has panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut asked = 0;
    for expression in targets.filter_map(|target| target["expr"].as_str()) {
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let names: Vec<&str> = words.filter(|word| word.starts_with("plumbline_")).collect();
        assert!(!names.is_empty(), "{expression} asks for nothing");
        for name in &names {
            assert!(body.contains(&format!("# TYPE {name} ")), "{name} is no metric: {body}");
        }
        let by = expression.split_once("sum by (").and_then(|(_, rest)| rest.split_once(')'));
        for label in by.map_or("", |(labels, _)| labels).split(", ").filter(|l| !l.is_empty()) {
            let mut samples = body.lines().filter(|line| line.starts_with(names[0]));
            // A metric without samples yet has no labels either.
            let is_there = samples.clone().count() == 0
                || samples.any(|line| line.contains(&format!("{label}=\"")));
            assert!(is_there, "{} has no label {label}: {body}", names[0]);
        }
        asked += names.len();
    }
    assert!(asked >= panels.len(), "every panel asks for something");
}

fn check_by_promtool(body: &str) {
    let spawned = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        println!("skipped: promtool is not installed (Debian's package `prometheus`)");
        return;
    };
    let mut input = child.stdin.take().expect("piped");
    input.write_all(body.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("our child");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.is_empty(), "{told}{body}");
}
