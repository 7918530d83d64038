//! The state of a connection to a driver.

use std::sync::Arc;

use engine::Link;
use vhost::vhost_user::Error;

use super::vring::Vring;
use crate::control::Status;
use crate::device::DeviceRing;
use crate::exchange::Lender;
use crate::features;
use crate::memory::Memory;

/// State of a connection, and state that remains across connections.
pub struct Device {
    pub(super) vrings: Vec<Vring>,
    pub(super) memory: Option<Arc<Memory>>,
    pub(super) features: u64,
    /// True if messages may request an acknowledgement.
    pub(super) acknowledges: bool,
    pub(super) frame_bytes_max: usize,
    /// True if either side may leave checksums and cutting to the other.
    pub(super) offloads: bool,
    /// Number of workers; pair `n` belongs to worker `n` modulo this number.
    pub(super) workers: usize,
    pub(super) status: Arc<Status>,
}

impl Device {
    /// Creates a device without a driver; it has a lender for each ring, in each pair the guest's
    /// receive ring first.
    pub fn new(
        lenders: Vec<Lender<DeviceRing>>,
        (frame_bytes_max, offloads): (usize, bool),
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
            offloads,
            workers,
            status,
        }
    }

    /// Returns the features that are offered.
    pub(super) fn offered(&self) -> u64 {
        features::offered(self.pairs(), self.offloads)
    }

    pub(super) fn pairs(&self) -> usize {
        self.vrings.len() / 2
    }

    /// Lends a ring that is ready, and recalls one that is not.
    ///
    /// # Errors
    /// When a ring that is ready cannot be used.
    pub(super) fn update(&mut self, index: usize) -> Result<(), Error> {
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

    /// Recalls all rings.
    pub(super) fn recall_all(&mut self) {
        for (index, vring) in self.vrings.iter_mut().enumerate() {
            if let Some(why) = vring.recall() {
                self.status.set_fact("last-broken-ring", format!("{index}: {why}"));
            }
        }
        self.tell();
    }

    /// Lends all rings that are ready again; a ring that cannot be used now is not lent.
    pub(super) fn update_all(&mut self) {
        for index in 0..self.vrings.len() {
            let _ = self.update(index);
        }
    }

    /// Resets the state of the driver.
    pub(super) fn forget(&mut self) {
        self.recall_all();
        self.vrings.iter_mut().for_each(Vring::forget);
        self.memory = None;
        self.features = 0;
        self.acknowledges = false;
    }

    /// Publishes the state of the link: up when every worker can both send and receive.
    pub(super) fn tell(&self) {
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
                "the driver has enabled queues for {served} of {workers} workers: configure more \
                 queues there"
            )),
            _ => Link::Up,
        });
        self.status.set_fact("queues-receiving", receiving.to_string());
        self.status.set_fact("queues-transmitting", transmitting.to_string());
    }

    pub(super) fn set_features_known(&self) {
        self.status.set_fact("features", features::names(self.features));
    }
}
