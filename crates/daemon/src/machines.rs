//! The machines beside functions, on a thread of their own that no worker waits for: they carry
//! what a function says to others by sockets, which its worker does not touch.

use std::sync::Arc;

use function_kit::Companion;
use host::{Machines, Observer};

use crate::error::RunError;
use crate::logs::Last;

/// Drives machines, which an observer sees, until the result is dropped. What goes wrong with their
/// sockets is logged, once as long as it is the same.
///
/// # Errors
/// When files that a machine needs are of no use, or a thread is not available.
pub(crate) fn drive(
    machines: Vec<Companion>,
    observer: &Arc<Observer>,
) -> Result<Machines, RunError> {
    let mut last = Last::default();
    let tell = move |error: &host::SocketError| {
        let text = error.to_string();
        if last.is_new(&text) {
            tracing::warn!("{text}");
        }
    };
    Machines::start(machines, (observer, "beside the workers"), tell)
        .map_err(|error| RunError::setup(error.to_string(), ""))
}
