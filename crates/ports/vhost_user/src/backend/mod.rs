//! The device: listens, follows the driver's messages, and lends its rings to the workers.

mod early;
mod requests;
mod state;
mod vring;

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use vhost::vhost_user::{BackendReqHandler, Error};

pub use self::state::Device;
use crate::control::{NO_PEER, Stop};
use crate::socket::{Meeting, pause, wait_for};

/// Serves one driver after the other until the port is closed.
pub fn serve(device: Device, meeting: &Meeting, stop: &Stop) {
    let status = device.status.clone();
    let device = Arc::new(Mutex::new(device));
    while let Some(stream) = meeting.next(stop) {
        let pauses = match stream {
            Ok(stream) => {
                status.set_peer(&stream);
                let why = converse(stream, &device, stop);
                status.set_fact("last-disconnect", why);
                locked(&device).forget();
                status.set_alone(NO_PEER);
                matches!(meeting, Meeting::Connecting { .. })
            }
            Err(why) => {
                status.set_alone(&why);
                true
            }
        };
        if pauses && !pause(RETRY, stop) {
            break;
        }
    }
    locked(&device).forget();
}

/// Serves a driver until it disconnects; returns the reason.
fn converse(stream: UnixStream, device: &Arc<Mutex<Device>>, stop: &Stop) -> String {
    let socket = match stream.try_clone().and_then(|clone| Ok((clone, stream.try_clone()?))) {
        Ok((watched, socket)) => {
            stop.watch(Some(watched));
            socket
        }
        Err(error) => return error.to_string(),
    };
    let mut requests = BackendReqHandler::from_stream(stream, device.clone());
    let why = loop {
        if !wait_for(socket.as_fd(), stop) {
            break "this port was closed".to_owned();
        }
        match early::answer(&socket, &mut locked(device)) {
            Ok(false) => {}
            Ok(true) => continue,
            Err(error) => break error.to_string(),
        }
        match requests.handle_request() {
            Ok(()) | Err(Error::SocketRetry(_)) => {}
            Err(Error::Disconnected) => break "the peer disconnected".to_owned(),
            Err(error) => break format!("a request of the peer failed: {error}"),
        }
    };
    stop.watch(None);
    why
}

/// Locks the device; only the control thread does, and it does not panic while it holds the lock.
fn locked(device: &Mutex<Device>) -> std::sync::MutexGuard<'_, Device> {
    device.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Interval between two attempts to reach a peer.
const RETRY: Duration = Duration::from_millis(100);
