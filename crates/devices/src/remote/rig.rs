//! The device itself, with the tester's ends of its links.

use std::time::Duration;

use engine::Acknowledgement;
use machine::clock;
use measure::Conditions;
use model_kit::{Configured, Model, WorkloadOf};
use serde_json::{Map, Value};

use crate::driver::{self, Driver, Limitation, Running};
use crate::embedded::Host;
use crate::sessions::Opened;
use crate::tester::changes::Control;
use crate::tester::link::{Link, PortLink};

/// A device that is set up for a function.
pub struct Remote<N: Model> {
    pub(super) driver: &'static dyn Driver,
    pub(super) model: Configured<N>,
    pub(super) options: Map<String, Value>,
    pub(super) host: Host,
    pub(super) limitations: Vec<Limitation>,
    /// The running device; `None` after it could not be set up again.
    pub(super) rig: Option<Rig>,
    pub(super) setup: Duration,
    pub(super) conditions: Conditions,
    /// True if changes were applied, so that the state is no longer the configured one.
    pub(super) changed: bool,
    pub(super) sessions: Opened<WorkloadOf<N>>,
}

/// A running device with the tester's ends of its links. The links drop first, because they may be
/// in namespaces of the device.
pub(super) struct Rig {
    pub(super) links: Vec<Vec<PortLink>>,
    pub(super) running: Box<dyn Running>,
}

/// Control of a device in JSON; a device without one gets no requests.
pub(super) struct Spoken<'a> {
    pub(super) control: Option<&'a mut dyn driver::Control>,
}

impl<U: serde::Serialize> Control<U> for Spoken<'_> {
    fn workers(&self) -> usize {
        usize::from(self.control.is_some())
    }

    fn request(&mut self, _: usize, update: &U) -> Option<u64> {
        let update = serde_json::to_value(update).ok()?;
        self.control.as_mut()?.request(&update)
    }

    fn acknowledged(&mut self, _: usize) -> Option<Acknowledgement> {
        self.control.as_mut()?.acknowledged()
    }
}

/// Discards frames of an earlier trial.
pub(super) fn drain(links: &mut [Vec<PortLink>]) {
    for link in links.iter_mut().flatten() {
        for _ in 0..DRAINED_MAX {
            if !link.fetch(clock::now()) {
                break;
            }
            while link.next_frame().is_some() {}
        }
    }
}

/// Largest number of bursts that are discarded before a trial, so that a flood of other senders
/// does not delay its start forever.
const DRAINED_MAX: usize = 10_000;
