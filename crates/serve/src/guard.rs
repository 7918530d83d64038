//! What is asked, and whether it is answered at all.
//!
//! Everything here looks at a request's head only and allocates no more than that head.

use hyper::header::HeaderMap;
use hyper::{Method, StatusCode, Uri};
use percent_encoding::percent_decode_str;
use web::{Refused, check, refuse};

/// A valid request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The list of runs.
    List,
    /// One of the common assets of all pages.
    Asset(&'static str),
    /// The page of a run.
    Page(String),
    /// A file of a run, by its name in the run's folder.
    File(String, String),
    /// The comparison of several runs.
    Compare(Vec<String>),
    /// The trend of a scenario, or of that of the newest run.
    Trend(Option<String>),
    /// The list as JSON.
    ListJson,
    /// The progress of running benches as JSON.
    ProgressJson,
}

/// Parses a request.
///
/// # Errors
/// A method other than GET and HEAD, a body, a foreign host name, or an invalid name of a run.
pub fn understand(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Asked, Refused> {
    check(method, headers, &[])?;
    let query = uri.query().unwrap_or_default();
    if uri.path().len() + query.len() > URI_BYTES_MAX {
        return Err(refuse(StatusCode::URI_TOO_LONG, "the address is too long"));
    }
    route(uri.path(), query)
}

fn route(path: &str, query: &str) -> Result<Asked, Refused> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match parts.as_slice() {
        [""] => Ok(Asked::List),
        ["api", "runs"] => Ok(Asked::ListJson),
        ["api", "progress"] => Ok(Asked::ProgressJson),
        ["compare"] => compare(query),
        ["trend"] => trend(query),
        ["runs", run] | ["runs", run, ""] => Ok(Asked::Page(name(run)?)),
        ["runs", run, file] => Ok(Asked::File(name(run)?, name(file)?)),
        ["assets", asset] => {
            let known = ASSETS.iter().find(|(name, _, _)| name == asset);
            known.map(|(name, _, _)| Asked::Asset(name)).ok_or(NOT_FOUND)
        }
        _ => Err(NOT_FOUND),
    }
}

fn compare(query: &str) -> Result<Asked, Refused> {
    let values = query.split('&').filter_map(|pair| pair.strip_prefix("run="));
    let runs: Vec<String> = values
        .take(COMPARED_MAX + 1)
        .map(|value| name(&value.replace('+', " ")))
        .collect::<Result<_, _>>()?;
    match runs.len() {
        2..=COMPARED_MAX => Ok(Asked::Compare(runs)),
        _ => Err(refuse(StatusCode::BAD_REQUEST, "select two to eight runs to compare them")),
    }
}

fn trend(query: &str) -> Result<Asked, Refused> {
    let scenario = query.split('&').find_map(|pair| pair.strip_prefix("scenario="));
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        let name = percent_decode_str(&text).decode_utf8().map_err(|_| NOT_FOUND)?;
        Ok(name.into_owned())
    };
    Ok(Asked::Trend(scenario.filter(|text| !text.is_empty()).map(decoded).transpose()?))
}

/// Decodes a name in the folder of runs: one path component, neither hidden nor `..`.
fn name(encoded: &str) -> Result<String, Refused> {
    let name = percent_decode_str(encoded).decode_utf8().map_err(|_| NOT_FOUND)?;
    let is_part = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.starts_with('.');
    let is_plain = !name.contains(|c: char| matches!(c, '/' | '\\') || c.is_control());
    if is_part && is_plain { Ok(name.into_owned()) } else { Err(NOT_FOUND) }
}

/// Assets of all pages: name, type, content.
pub const ASSETS: &[(&str, &str, &str)] = &[
    ("style.css", "text/css; charset=utf-8", include_str!("assets/style.css")),
    ("script.js", "text/javascript; charset=utf-8", include_str!("assets/script.js")),
];

/// The answer for an unknown path.
pub const NOT_FOUND: Refused =
    Refused { status: StatusCode::NOT_FOUND, why: "there is no page with this name" };

/// Largest number of compared runs.
pub const COMPARED_MAX: usize = 8;

const URI_BYTES_MAX: usize = 4096;

/// Largest length of a file name, in bytes.
const NAME_BYTES_MAX: usize = 255;

#[cfg(test)]
mod tests {
    use hyper::header::{CONTENT_LENGTH, HOST};

    use super::*;

    fn ask(path: &str) -> Result<Asked, StatusCode> {
        ask_as("127.0.0.1:8080", path)
    }

    fn ask_as(host: &str, path: &str) -> Result<Asked, StatusCode> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().expect("a header"));
        let uri: Uri = path.parse().expect("an address");
        understand(&Method::GET, &uri, &headers).map_err(|refused| refused.status)
    }

    #[test]
    fn pages_are_found_by_their_address() {
        assert_eq!(ask("/"), Ok(Asked::List));
        assert_eq!(ask("/api/runs"), Ok(Asked::ListJson));
        assert_eq!(ask("/runs/a%20b/"), Ok(Asked::Page("a b".into())));
        assert_eq!(ask("/runs/a/run.json"), Ok(Asked::File("a".into(), "run.json".into())));
        let two = Asked::Compare(vec!["a".into(), "b c".into()]);
        assert_eq!(ask("/compare?run=a&run=b+c"), Ok(two));
        assert_eq!(ask("/trend"), Ok(Asked::Trend(None)));
        assert_eq!(ask("/trend?scenario=a+b%2f"), Ok(Asked::Trend(Some("a b/".into()))));
        assert_eq!(ask("/trend?scenario=%ff"), Err(StatusCode::NOT_FOUND));
        assert_eq!(ask("/assets/style.css"), Ok(Asked::Asset("style.css")));
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for path in [
            "/runs/../",
            "/runs/..",
            "/runs/%2e%2e/",
            "/runs/%2e%2e%2fetc",
            "/runs/..%2f..%2fetc%2fpasswd",
            "/runs/a%2f..%2f../",
            "/runs/a/..%2frun.json",
            "/runs/%00",
            "/runs/a%5c..",
            "/runs/.hidden/",
            "/runs/%ff",
            "//etc/passwd",
            "/runs//",
            "/runs/a/b/c",
            "/assets/../lib.rs",
        ] {
            assert_eq!(ask(path), Err(StatusCode::NOT_FOUND), "{path}");
        }
        let long = format!("/runs/{}", "x".repeat(256));
        assert_eq!(ask(&long), Err(StatusCode::NOT_FOUND));
        let longer = format!("/?{}", "x".repeat(5000));
        assert_eq!(ask(&longer), Err(StatusCode::URI_TOO_LONG));
        assert_eq!(ask("/compare?run=a"), Err(StatusCode::BAD_REQUEST));
        assert_eq!(ask(&format!("/compare?{}", "run=a&".repeat(9))), Err(StatusCode::BAD_REQUEST));
        assert_eq!(ask("/compare?run=a&run=..%2fb"), Err(StatusCode::NOT_FOUND));
    }

    #[test]
    fn a_foreign_name_for_this_machine_is_refused() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:8080", "192.0.2.7:8080"] {
            assert_eq!(ask_as(host, "/"), Ok(Asked::List), "{host}");
        }
        for host in
            ["example.com", "127.0.0.1.example.com:80", "localhost.example.com", "", "[", "a:b"]
        {
            assert_eq!(ask_as(host, "/"), Err(StatusCode::FORBIDDEN), "{host}");
        }
        let none = understand(&Method::GET, &Uri::from_static("/"), &HeaderMap::new());
        assert_eq!(none.map_err(|refused| refused.status), Err(StatusCode::FORBIDDEN));
    }

    #[test]
    fn only_questions_without_a_body_are_answered() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "127.0.0.1".parse().expect("a header"));
        let uri = Uri::from_static("/");
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::CONNECT]
        {
            let refused = understand(&method, &uri, &headers).expect_err("it changes something");
            assert_eq!(refused.status, StatusCode::METHOD_NOT_ALLOWED, "{method}");
        }
        assert!(understand(&Method::HEAD, &uri, &headers).is_ok());
        headers.insert(CONTENT_LENGTH, "1".parse().expect("a header"));
        let refused = understand(&Method::GET, &uri, &headers).expect_err("it has a body");
        assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    }
}
