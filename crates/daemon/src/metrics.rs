//! Metrics for Prometheus, and health, over HTTP.
//!
//! `/metrics` is the text format 0.0.4 made from what `show` tells; `/health` answers 200 while the
//! daemon does what it is asked, `/ready` while all its ports are up. The names of metrics are
//! listed in docs/running.md.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode, Uri};
use serde_json::{Value, json};

use crate::config::Metrics;
use crate::error::RunError;
use crate::inbox::Remote;
use crate::protocol::{Ask, View};

/// Server of the metrics; dropping it stops it.
pub(crate) struct Exposed {
    /// Address on which it listens.
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Exposed {
    /// Starts the server.
    ///
    /// # Errors
    /// When the address is in use, or not an address of this machine.
    pub fn start(metrics: &Metrics, remote: Remote) -> Result<Exposed, RunError> {
        let failed = |error: &dyn std::fmt::Display| {
            RunError::setup(format!("metrics: {error}"), "choose another `metrics.listen`")
        };
        let server = web::Server::bind(metrics.listen).map_err(|error| failed(&error))?;
        let address = server.address().map_err(|error| failed(&error))?;
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let names = metrics.hosts.clone();
        let answer: web::Answer =
            Arc::new(move |method, uri, headers| match web::check(method, headers, &names) {
                Ok(()) => respond(&remote, uri),
                Err(refused) => response(refused.status, TEXT, format!("{}\n", refused.why)),
            });
        let body = move || {
            if let Err(error) = server.run(&asked, answer) {
                tracing::error!(%error, "metrics server stopped");
            }
        };
        let thread = thread::Builder::new().name("metrics".into()).spawn(body);
        let thread = thread.map_err(|error| failed(&error))?;
        tracing::info!(%address, "metrics server started");
        Ok(Exposed { address, stop, thread: Some(thread) })
    }
}

impl Drop for Exposed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn respond(remote: &Remote, uri: &Uri) -> Response<Full<Bytes>> {
    let show = |view| remote.ask_within(Ask::Show(view), PATIENCE);
    match uri.path() {
        "/metrics" => match (show(View::All), show(View::Tables), show(View::Measured)) {
            (Ok(all), Ok(tables), Ok(measured)) => {
                let names = measured["controllers"].as_array().into_iter().flatten();
                // One that does not answer leaves the others theirs; there is an alarm of it.
                let of = |name: &Value| {
                    let name = name.as_str()?.to_owned();
                    let metrics = remote.ask_within(Ask::Metrics(name.clone()), PATIENCE).ok()?;
                    Some((name, metrics))
                };
                let controllers: Vec<(String, Value)> = names.filter_map(of).collect();
                let text = render(&all, &tables, &measured, &controllers);
                response(StatusCode::OK, EXPOSITION, text)
            }
            _ => response(StatusCode::SERVICE_UNAVAILABLE, TEXT, "no answer\n".to_owned()),
        },
        "/health" => match remote.ask_within(Ask::Ready, PATIENCE) {
            Ok(ready) => response(StatusCode::OK, JSON, format!("{ready}\n")),
            Err(_) => response(StatusCode::SERVICE_UNAVAILABLE, TEXT, "no answer\n".to_owned()),
        },
        "/ready" => match show(View::Ports) {
            Ok(shown) => ready(&shown),
            Err(_) => response(StatusCode::SERVICE_UNAVAILABLE, TEXT, "no answer\n".to_owned()),
        },
        _ => {
            let text = "the pages are /metrics, /health and /ready\n".to_owned();
            response(StatusCode::NOT_FOUND, TEXT, text)
        }
    }
}

fn ready(shown: &Value) -> Response<Full<Bytes>> {
    let ports = shown["ports"].as_object().into_iter().flatten();
    let down: serde_json::Map<String, Value> = ports
        .filter(|(_, port)| port["link_up"] == false)
        .map(|(name, port)| (name.clone(), port["link_down_because"].clone()))
        .collect();
    let status = match down.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    response(status, JSON, format!("{}\n", json!({"ready": down.is_empty(), "down": down})))
}

fn response(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A text in the Prometheus format that is being built, metric by metric.
struct Exposition(String);

impl Exposition {
    /// Adds the head of a metric.
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP plumbline_{name} {help}\n# TYPE plumbline_{name} {kind}");
    }

    /// Adds a value of a metric.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let _ = write!(self.0, "plumbline_{name}");
        for (index, (label, text)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{before}{label}=\"{text}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    /// Adds a metric with a value for each entry of a mapping.
    fn by(
        &mut self,
        (name, kind, help): Head,
        label: &str,
        entries: &Value,
        value: impl Fn(&Value) -> f64,
    ) {
        self.metric(name, kind, help);
        for (key, entry) in entries.as_object().into_iter().flatten() {
            self.sample(name, &[(label, key)], value(entry));
        }
    }
}

/// Name, type and help text of a metric.
type Head = (&'static str, &'static str, &'static str);

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

/// Converts nanoseconds to seconds.
fn seconds(value: &Value) -> f64 {
    number(value) / 1e9
}

/// Returns all metrics, from the answers to `show`.
fn render(
    all: &Value,
    tables: &Value,
    measured: &Value,
    controllers: &[(String, Value)],
) -> String {
    let mut text = Exposition(String::new());
    text.metric("uptime_seconds", "gauge", "Time since the start of the daemon.");
    text.sample("uptime_seconds", &[], number(&all["uptime_s"]));
    workers(&mut text, &all["workers"]);
    let head = ("alarms", "gauge", "Alarms that are raised, by severity.");
    text.by(head, "severity", &all["alarms"], number);
    let function = &all["drops"]["function"];
    let head = ("dropped_packets_total", "counter", "Packets dropped by the function, by reason.");
    text.by(head, "reason", function, number);
    let head = ("tallies_total", "counter", "Other counters of the function, by name.");
    text.by(head, "tally", &all["counters"]["tallies"], number);
    ports(&mut text, &all["ports"]);
    punts(&mut text, &all["punts"]);
    let head = ("stage_seconds_total", "counter", "Time by stage, over all workers.");
    text.by(head, "stage", &all["stages"], |stage| seconds(&stage["ns"]));
    let head = ("stage_packets_total", "counter", "Packets by stage, over all workers.");
    text.by(head, "stage", &all["stages"], |stage| number(&stage["packets"]));
    let head = ("table_entries", "gauge", "Entries in a table.");
    text.by(head, "table", &tables["tables"], |table| number(&table["used"]));
    let head = ("table_capacity_entries", "gauge", "Largest number of entries of a table.");
    text.by(head, "table", &tables["tables"], |table| number(&table["capacity"]));
    text.metric("state_bytes", "gauge", "Memory of the function's state.");
    text.sample("state_bytes", &[], number(&tables["state_bytes"]));
    if let Some(standby) = tables.get("standby") {
        text.metric(
            "standby_synchronised",
            "gauge",
            "1 while the standby has acknowledged all \
                                                      changes, otherwise 0.",
        );
        let is_synchronised = standby["synchronised"].as_bool().unwrap_or(false);
        text.sample("standby_synchronised", &[], f64::from(u8::from(is_synchronised)));
        let help = "Changes that the standby has not acknowledged.";
        text.metric("standby_unacknowledged_changes", "gauge", help);
        text.sample("standby_unacknowledged_changes", &[], number(&standby["unacknowledged"]));
    }
    for one in measured["measured"].as_array().into_iter().flatten() {
        made(&mut text, one["name"].as_str().unwrap_or_default(), one);
    }
    for (controller, metrics) in controllers {
        for one in metrics["metrics"].as_array().into_iter().flatten() {
            let name = one["name"].as_str().unwrap_or_default();
            made(&mut text, &format!("{}_{name}", controller.replace('-', "_")), one);
        }
    }
    text.0
}

/// Adds a metric that a function or a controller has made.
fn made(text: &mut Exposition, name: &str, metric: &Value) {
    let [kind, help] = ["kind", "help"].map(|key| metric[key].as_str());
    text.metric(name, kind.unwrap_or("gauge"), help.unwrap_or_default());
    for sample in metric["samples"].as_array().into_iter().flatten() {
        let labels = sample["labels"].as_object().into_iter().flatten();
        let labels: Vec<(&str, &str)> =
            labels.map(|(label, value)| (&**label, value.as_str().unwrap_or_default())).collect();
        text.sample(name, &labels, number(&sample["value"]));
    }
}

/// Converts a value to the unit of its metric.
type Reading = fn(&Value) -> f64;

fn workers(text: &mut Exposition, workers: &Value) {
    let counters: [(Head, &str, Reading); 7] = [
        (("received_packets_total", "counter", "Packets received."), "received", number),
        (("made_packets_total", "counter", "Packets that the function generated."), "made", number),
        (
            (
                "forwarded_packets_total",
                "counter",
                "Packets that a port accepted for transmission.",
            ),
            "forwarded",
            number,
        ),
        (
            (
                "transmit_full_packets_total",
                "counter",
                "Packets that a port did not accept for \
                                                        transmission.",
            ),
            "transmit_full",
            number,
        ),
        (
            ("punted_packets_total", "counter", "Packets punted to the control plane."),
            "punted",
            number,
        ),
        (
            ("busy_seconds_total", "counter", "Time that workers spent on packets."),
            "busy_ns",
            seconds,
        ),
        (
            ("gap_seconds_total", "counter", "Time in which a worker did not run on its core."),
            "gaps_ns",
            seconds,
        ),
    ];
    for ((name, kind, help), key, value) in counters {
        text.metric(name, kind, help);
        for (index, worker) in workers.as_array().into_iter().flatten().enumerate() {
            let (index, core) = (index.to_string(), worker["core"].to_string());
            text.sample(name, &[("worker", &index), ("core", &core)], value(&worker[key]));
        }
    }
}

fn ports(text: &mut Exposition, ports: &Value) {
    let head = ("port_up", "gauge", "1 while the link is up, otherwise 0.");
    text.by(head, "port", ports, |port| f64::from(u8::from(port["link_up"] == true)));
    let counters: [(Head, &str); 4] = [
        (
            (
                "port_received_packets_total",
                "counter",
                "Frames received by a port and passed to \
                                                     workers.",
            ),
            "received",
        ),
        (
            ("port_received_bytes_total", "counter", "Bytes of the frames received."),
            "received_bytes",
        ),
        (("port_sent_packets_total", "counter", "Frames transmitted on the link."), "sent"),
        (("port_sent_bytes_total", "counter", "Bytes of the frames transmitted."), "sent_bytes"),
    ];
    for (head, key) in counters {
        text.by(head, "port", ports, |port| number(&port[key]));
    }
    let name = "port_dropped_packets_total";
    text.metric(name, "counter", "Frames lost in a port, by direction and reason.");
    for (port, keys) in ports.as_object().into_iter().flatten() {
        for direction in ["receive", "transmit"] {
            for (reason, count) in keys["drops"][direction].as_object().into_iter().flatten() {
                let labels =
                    [("port", port.as_str()), ("direction", direction), ("reason", reason)];
                text.sample(name, &labels, number(count));
            }
        }
    }
}

/// What goes to the host and comes from it; nothing without interfaces of the host.
fn punts(text: &mut Exposition, punts: &Value) {
    let Some(interfaces) = punts["interfaces"].as_object() else { return };
    let name = "punts_total";
    text.metric(name, "counter", "Packets for the host, by reason and outcome.");
    for (reason, outcomes) in punts["reasons"].as_object().into_iter().flatten() {
        for (outcome, count) in outcomes.as_object().into_iter().flatten() {
            let labels = [("reason", reason.as_str()), ("outcome", outcome)];
            text.sample(name, &labels, number(count));
        }
    }
    let name = "host_interface_frames_total";
    text.metric(name, "counter", "Frames of the host's interfaces, by outcome.");
    for (interface, outcomes) in interfaces {
        for (outcome, count) in outcomes.as_object().into_iter().flatten() {
            let labels = [("interface", interface.as_str()), ("outcome", outcome)];
            text.sample(name, &labels, number(count));
        }
    }
    for (name, help, key) in [
        ("host_late_turns_total", "Turns of the host's thread that took over 10 ms.", "late_turns"),
        ("host_restarts_total", "Panics of the host's thread.", "restarts"),
    ] {
        text.metric(name, "counter", help);
        text.sample(name, &[], number(&punts[key]));
    }
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Time limit for a scrape to wait for the daemon.
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_values_scaled() {
        let all = json!({
            "uptime_s": 1.5,
            "workers": [{"core": 3, "received": 7, "busy_ns": 2_000_000_000_u64}],
            "drops": {"function": {"no-route": 2}},
            "alarms": {"major": 2},
            "punts": {"reasons": {"arp": {"over_rate": 4}}, "interfaces": {"up0": {"down": 6}},
                      "late_turns": 2},
            "ports": {"a\"b": {"link_up": true, "drops": {"receive": {"ring-full": 4}}}},
        });
        let tables = json!({"tables": {"users": {"used": 1, "capacity": 5}}});
        let samples = json!([{"labels": {"pool": "192.0.2.0/24", "state": "open"}, "value": 3}]);
        let pools = json!({"name": "pools_used", "help": "Ports.", "samples": samples});
        let text = render(&all, &tables, &json!({"measured": [pools]}), &[]);
        for line in [
            "plumbline_uptime_seconds 1.5",
            "plumbline_received_packets_total{worker=\"0\",core=\"3\"} 7",
            "plumbline_busy_seconds_total{worker=\"0\",core=\"3\"} 2",
            "plumbline_dropped_packets_total{reason=\"no-route\"} 2",
            "plumbline_port_up{port=\"a\\\"b\"} 1",
            "plumbline_port_dropped_packets_total{port=\"a\\\"b\",direction=\"receive\",\
             reason=\"ring-full\"} 4",
            "plumbline_punts_total{reason=\"arp\",outcome=\"over_rate\"} 4",
            "plumbline_host_interface_frames_total{interface=\"up0\",outcome=\"down\"} 6",
            "plumbline_host_late_turns_total 2",
            "plumbline_alarms{severity=\"major\"} 2",
            "plumbline_table_capacity_entries{table=\"users\"} 5",
            "plumbline_pools_used{pool=\"192.0.2.0/24\",state=\"open\"} 3",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
    }
}
