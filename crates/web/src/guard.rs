//! Which requests are answered at all: those that only read, asked under a name of this machine.
//!
//! Everything here looks at a request's head only.

use hyper::header::{CONTENT_LENGTH, HOST, HeaderMap, TRANSFER_ENCODING};
use hyper::{Method, StatusCode};

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The status.
    pub status: StatusCode,
    /// What is wrong and what to do, for a person.
    pub why: &'static str,
}

/// Whether a request may be answered.
///
/// # Errors
/// Another method than GET and HEAD, a body, a foreign host.
pub fn check(method: &Method, headers: &HeaderMap) -> Result<(), Refused> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(refuse(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered"));
    }
    let has_length = headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0");
    if has_length || headers.contains_key(TRANSFER_ENCODING) {
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "a request has no body here"));
    }
    host(headers)
}

/// A refusal and what to tell.
pub fn refuse(status: StatusCode, why: &'static str) -> Refused {
    Refused { status, why }
}

/// Refuses names that are not this machine's own: an address, or `localhost`.
fn host(headers: &HeaderMap) -> Result<(), Refused> {
    let mut hosts = headers.get_all(HOST).iter();
    let foreign = refuse(
        StatusCode::FORBIDDEN,
        "this server answers under its address or as localhost only; open it by its address",
    );
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(foreign) };
    let Ok(host) = host.to_str() else { return Err(foreign) };
    let name = match host.strip_prefix('[') {
        // An IPv6 address in brackets.
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let own = name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok();
    if own { Ok(()) } else { Err(foreign) }
}
