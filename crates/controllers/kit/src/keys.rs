//! What the keys of several controllers have in common.

use std::net::SocketAddr;

use function_kit::Invalid;
use protocol_kit::Endpoint;

/// Creates the error of a controller's key that cannot be used.
pub fn invalid(key: &str, what: String, remedy: &str) -> Invalid {
    Invalid { section: "controller", key: key.into(), what, remedy: remedy.into() }
}

/// Reads where the key `at` says that another program is found: at an address with a port, or at
/// the path of a Unix socket.
///
/// # Errors
/// When it is neither; the remedy names `examples`.
pub fn endpoint(at: &str, examples: [&str; 2]) -> Result<Endpoint, Invalid> {
    if at.starts_with('/') {
        return Ok(Endpoint::Unix(at.to_owned()));
    }
    let address: Option<SocketAddr> = at.parse().ok();
    let address = address.filter(|address| address.port() != 0);
    address.map(Endpoint::Tcp).ok_or_else(|| {
        let what = format!("is `{at}`, which is neither an address nor a path");
        let [address, path] = examples;
        invalid("at", what, &format!("Write it as `{address}` or `{path}`"))
    })
}
