//! Which requests are answered at all: those that only read, asked under a name of this machine.
//!
//! Everything here looks at a request's head only.

use hyper::header::{CONTENT_LENGTH, HOST, HeaderMap, TRANSFER_ENCODING};
use hyper::{Method, StatusCode};

/// Refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// HTTP status.
    pub status: StatusCode,
    /// Description of the error and remedy, for users.
    pub why: &'static str,
}

/// Checks whether a request may be answered; `names` are names of this machine beside its addresses
/// and `localhost`.
///
/// # Errors
/// A method other than GET and HEAD, a body, a foreign host.
pub fn check(method: &Method, headers: &HeaderMap, names: &[String]) -> Result<(), Refused> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(refuse(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered"));
    }
    let has_length = headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0");
    if has_length || headers.contains_key(TRANSFER_ENCODING) {
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "requests with a body are not accepted"));
    }
    host(headers, names)
}

/// Creates a refusal with its text.
pub fn refuse(status: StatusCode, why: &'static str) -> Refused {
    Refused { status, why }
}

/// Refuses host names other than this machine's own: an address, or `localhost`.
fn host(headers: &HeaderMap, names: &[String]) -> Result<(), Refused> {
    let mut hosts = headers.get_all(HOST).iter();
    let foreign = refuse(
        StatusCode::FORBIDDEN,
        "this server accepts only its address, localhost and the names that it was given as host name",
    );
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(foreign) };
    let Ok(host) = host.to_str() else { return Err(foreign) };
    let name = match host.strip_prefix('[') {
        // An IPv6 address in brackets.
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_name = |known: &str| name.eq_ignore_ascii_case(known);
    let is_known = is_name("localhost") || names.iter().any(|known| is_name(known));
    let own = is_known || name.parse::<std::net::IpAddr>().is_ok();
    if own { Ok(()) } else { Err(foreign) }
}
