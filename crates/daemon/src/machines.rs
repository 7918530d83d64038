//! The machines beside functions, on a thread of their own that no worker waits for: they carry
//! what a function says to others by sockets, which its worker does not touch.

use function_kit::Companion;
use host::Machines;

use crate::error::RunError;

/// Drives machines until the result is dropped. What goes wrong with their sockets is logged, once
/// as long as it is the same.
///
/// # Errors
/// When a thread is not available.
pub(crate) fn drive(machines: Vec<Companion>) -> Result<Machines, RunError> {
    let mut last = String::new();
    let tell = move |error: &host::SocketError| {
        let text = error.to_string();
        if last != text {
            tracing::warn!("{text}");
            last = text;
        }
    };
    Machines::start(machines, tell)
        .map_err(|error| RunError::setup(format!("no thread beside the workers: {error}"), ""))
}
