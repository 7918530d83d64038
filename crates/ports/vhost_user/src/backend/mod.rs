//! The device: listens, follows the driver's messages, and lends its rings to the workers.

mod early;
mod requests;
mod vring;

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::Link;
use vhost::vhost_user::{BackendReqHandler, Error};

use self::vring::Vring;
use crate::control::{NO_PEER, Status, Stop};
use crate::device::DeviceRing;
use crate::exchange::Lender;
use crate::features;
use crate::memory::Memory;
use crate::socket::{Meeting, pause, wait_for};

/// The state of a connection, and what outlives it.
pub struct Device {
    vrings: Vec<Vring>,
    memory: Option<Arc<Memory>>,
    features: u64,
    /// Messages may ask for an answer that they were followed.
    acknowledges: bool,
    frame_bytes_max: usize,
    /// Pair `n` is worker `n` modulo this number's.
    workers: usize,
    status: Arc<Status>,
}

impl Device {
    /// A device without a driver; a lender for each ring, the guest's receiving ones first of each
    /// pair.
    pub fn new(
        lenders: Vec<Lender<DeviceRing>>,
        frame_bytes_max: usize,
        workers: usize,
        status: Arc<Status>,
    ) -> Device {
        let vrings = lenders.into_iter().map(Vring::new).collect();
        Device {
            vrings,
            memory: None,
            features: 0,
            acknowledges: false,
            frame_bytes_max,
            workers,
            status,
        }
    }

    /// Serves one driver after the other until it is time to end.
    pub fn serve(self, meeting: &Meeting, stop: &Stop) {
        let status = self.status.clone();
        let device = Arc::new(Mutex::new(self));
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

    fn pairs(&self) -> usize {
        self.vrings.len() / 2
    }

    /// Lends what is ready, has back what is not.
    ///
    /// # Errors
    /// When a ring that is ready cannot be used.
    fn update(&mut self, index: usize) -> Result<(), Error> {
        let terms = (self.features, self.frame_bytes_max);
        let Some(vring) = self.vrings.get_mut(index) else { return Err(Error::InvalidParam) };
        let changed = vring.update(self.memory.as_ref(), terms);
        self.tell();
        if let Err(why) = changed {
            self.status.set_fact("last-refused-ring", format!("{index}: {why}"));
            return Err(Error::InvalidParam);
        }
        Ok(())
    }

    /// Has all rings back.
    fn recall_all(&mut self) {
        for (index, vring) in self.vrings.iter_mut().enumerate() {
            if let Some(why) = vring.recall() {
                self.status.set_fact("last-broken-ring", format!("{index}: {why}"));
            }
        }
        self.tell();
    }

    /// Lends again what is ready; a ring that cannot be used now stays here.
    fn update_all(&mut self) {
        for index in 0..self.vrings.len() {
            let _ = self.update(index);
        }
    }

    /// Forgets the driver.
    fn forget(&mut self) {
        self.recall_all();
        self.vrings.iter_mut().for_each(Vring::forget);
        self.memory = None;
        self.features = 0;
        self.acknowledges = false;
    }

    /// Makes the link's state known: up when every worker can both send and receive.
    fn tell(&self) {
        let workers = self.workers;
        let lent = |first: usize, worker: usize| {
            let pairs = (worker..self.pairs()).step_by(workers.max(1));
            pairs.filter(|pair| self.vrings[2 * pair + first].is_lent()).count()
        };
        let mut served = 0;
        let (mut receiving, mut transmitting) = (0, 0);
        for worker in 0..workers {
            let [transmits, receives] = [lent(0, worker), lent(1, worker)];
            served += usize::from(transmits > 0 && receives > 0);
            receiving += receives;
            transmitting += transmits;
        }
        self.status.set_link(match served {
            0 => Link::Down("the driver has not enabled its rings".to_owned()),
            _ if served < workers => Link::Down(format!(
                "the driver has enabled queues for {served} of {workers} workers: give it as many"
            )),
            _ => Link::Up,
        });
        self.status.set_fact("queues-receiving", receiving.to_string());
        self.status.set_fact("queues-transmitting", transmitting.to_string());
    }

    fn set_features_known(&self) {
        self.status.set_fact("features", features::names(self.features));
    }
}

/// Follows a driver until it goes; tells why.
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
            Err(error) => break format!("a request cannot be followed: {error}"),
        }
    };
    stop.watch(None);
    why
}

/// Only the control thread locks it, and its work does not panic.
fn locked(device: &Mutex<Device>) -> std::sync::MutexGuard<'_, Device> {
    device.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Between two attempts to reach a peer.
const RETRY: Duration = Duration::from_millis(100);
