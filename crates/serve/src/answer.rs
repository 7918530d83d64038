//! From what was asked to a response: status, headers, body.
//!
//! Every response forbids what it does not need: scripts but the known ones, frames, sniffing,
//! keeping a copy.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use lab::alive::State;
use measure::record::RunRecord;
use report::{EXPORTERS, PAGE_POLICY};
use serde_json::json;
use web::Refused;

use crate::archive::{Archive, Unreadable};
use crate::guard::{ASSETS, Asked, NOT_FOUND};
use crate::pages;

/// A response under construction.
pub struct Answer {
    status: StatusCode,
    kind: &'static str,
    /// Content security policy of the page, in addition to the common one.
    policy: &'static str,
    body: Vec<u8>,
    /// File name under which a browser saves the response.
    saved_as: Option<&'static str>,
}

/// Answers a valid request. It reads files, so it must not run on the server's thread.
pub fn answer(archive: &Archive, asked: &Asked) -> Answer {
    match asked {
        Asked::List => {
            let page = pages::list(archive.folder(), &archive.list(), &archive.progress());
            Answer::page(StatusCode::OK, page.into_string())
        }
        Asked::Asset(name) => asset(name),
        Asked::Page(run) => shown(archive, run),
        Asked::File(run, file) => match archive.read(run) {
            Ok(record) => exported(&record, file),
            Err(unreadable) => Answer::of_unreadable(run, unreadable),
        },
        Asked::Compare(runs) => compared(archive, runs),
        Asked::Trend(scenario) => {
            let trend = archive.trend(scenario.as_deref());
            let way_back =
                pages::way_back(None).into_string() + &pages::trends(&trend).into_string();
            Answer::report(report::trend_page(&trend), way_back)
        }
        Asked::ListJson => Answer::json(&json!(archive.list())),
        Asked::ProgressJson => {
            let of = |(run, state): &(String, State)| json!({"run": run, "state": pages::word(state), "live": live(state)});
            Answer::json(&archive.progress().iter().map(of).collect())
        }
    }
}

/// The answer to a refused request.
pub fn refusal(refused: &Refused) -> Answer {
    Answer::page(refused.status, pages::refusal(refused.status, refused.why).into_string())
}

fn asset(name: &str) -> Answer {
    match ASSETS.iter().find(|(known, _, _)| *known == name) {
        None => refusal(&NOT_FOUND),
        Some((_, kind, content)) => Answer {
            kind,
            body: content.as_bytes().to_vec(),
            ..Answer::page(StatusCode::OK, String::new())
        },
    }
}

/// A run's page: the progress while a bench is measuring, otherwise the report.
fn shown(archive: &Archive, run: &str) -> Answer {
    if let State::Running(live) = archive.state(run) {
        let page = pages::running(run, &live);
        return Answer::page(StatusCode::OK, page.into_string());
    }
    let record = match archive.read(run) {
        Ok(record) => record,
        Err(unreadable) => return Answer::of_unreadable(run, unreadable),
    };
    match EXPORTERS.iter().find(|one| one.name == "html").map(|one| (one.render)(&record)) {
        Some(Ok(page)) => Answer::report(page, pages::way_back(Some(run)).into_string()),
        Some(Err(error)) => Answer::of_unreadable(run, Unreadable::Problem(error.to_string())),
        None => refusal(&NOT_FOUND),
    }
}

fn compared(archive: &Archive, runs: &[String]) -> Answer {
    let mut records = Vec::new();
    for run in runs {
        match archive.read(run) {
            Ok(record) => records.push(record),
            Err(unreadable) => return Answer::of_unreadable(run, unreadable),
        }
    }
    // The others are compared with the first, which a reader expects to be the oldest.
    records.sort_by(|a, b| a.started.cmp(&b.started));
    Answer::report(report::comparison_page(&records), pages::way_back(None).into_string())
}

/// A file of a run, rendered from its record.
fn exported(record: &RunRecord, file: &str) -> Answer {
    let exporter = EXPORTERS.iter().find(|one| one.file == file && one.name != "html");
    match exporter.map(|one| (one, (one.render)(record))) {
        None => refusal(&NOT_FOUND),
        Some((_, Err(error))) => {
            Answer::of_unreadable(file, Unreadable::Problem(error.to_string()))
        }
        Some((exporter, Ok(body))) => {
            let kind = match exporter.file.rsplit('.').next() {
                Some("json") => "application/json",
                Some("csv") => "text/csv; charset=utf-8",
                Some("xml") => "application/xml",
                _ => "application/octet-stream",
            };
            let page = Answer::page(StatusCode::OK, String::new());
            Answer { kind, body, saved_as: Some(exporter.file), ..page }
        }
    }
}

fn live(state: &State) -> serde_json::Value {
    match state {
        State::Unknown => serde_json::Value::Null,
        State::Ended(live) | State::Gone(live) | State::Running(live) => json!(live),
    }
}

impl Answer {
    fn page(status: StatusCode, body: String) -> Answer {
        let kind = "text/html; charset=utf-8";
        Answer { status, kind, policy: POLICY, body: body.into_bytes(), saved_as: None }
    }

    fn json(value: &serde_json::Value) -> Answer {
        let body = value.to_string();
        Answer { kind: "application/json", ..Answer::page(StatusCode::OK, body) }
    }

    /// The self-contained page of a report, extended by links to the list.
    fn report(page: Vec<u8>, way_back: String) -> Answer {
        let page =
            String::from_utf8_lossy(&page).replacen("<body>", &format!("<body>{way_back}"), 1);
        Answer { policy: PAGE_POLICY, ..Answer::page(StatusCode::OK, page) }
    }

    fn of_unreadable(run: &str, unreadable: Unreadable) -> Answer {
        match unreadable {
            Unreadable::Refused(refused) => refusal(&refused),
            Unreadable::Problem(problem) => {
                let page = pages::problem(run, &problem);
                Answer::page(StatusCode::UNPROCESSABLE_ENTITY, page.into_string())
            }
        }
    }

    /// Converts to an HTTP response.
    pub fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let mut set = |name: &'static str, value: &'static str| {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        };
        set("content-type", self.kind);
        for (name, value) in ALWAYS {
            set(name, value);
        }
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            set("allow", "GET, HEAD");
        }
        if let Ok(value) = HeaderValue::from_str(&format!("{}; {NO_FRAMES}", self.policy)) {
            headers.insert(HeaderName::from_static("content-security-policy"), value);
        }
        if let Some(file) = self.saved_as {
            let value = HeaderValue::from_str(&format!("attachment; filename=\"{file}\""));
            if let Ok(value) = value {
                headers.insert(HeaderName::from_static("content-disposition"), value);
            }
        }
        response
    }
}

/// Content security policy of the server's own pages: only its own style, script and JSON.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src data:; form-action 'self'; base-uri 'none'";

/// A policy that only a header can express.
const NO_FRAMES: &str = "frame-ancestors 'none'";

/// Headers of every response.
const ALWAYS: [(&str, &str); 5] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];
