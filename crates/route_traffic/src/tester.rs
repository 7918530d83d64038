//! The tester of a control plane of routes, as a method sees it.
//!
//! `core` joins sessions and what clients were told, `event` is what all events have in common,
//! `events` lets the ones happen that change no single route, `flaps` those that do, and `alone`
//! measures the tester without a device.

mod core;

mod event;

mod events;

mod flaps;

mod alone;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::{Convergence, MeasureError, Routing, RoutingEvent, RoutingSize, Watch};

use crate::device::Device;
use crate::plan::Plan;
use crate::tester::core::Core;
use crate::tester::event::Event;

/// Feeders and clients around a device.
#[derive(Debug)]
pub struct Tester<D> {
    core: Core,
    device: D,
    /// Whether there was a first event.
    has_begun: bool,
}

impl<D: Device> Tester<D> {
    /// Prepares what feeders send, and what clients are to have; nothing is connected. The flag
    /// stops whatever is under way.
    ///
    /// # Errors
    /// In words that say what to change.
    pub fn new(plan: Plan, device: D, stop: Arc<AtomicBool>) -> Result<Tester<D>, String> {
        let core = Core::new(plan, stop)?;
        Ok(Tester { core, device, has_begun: false })
    }

    /// Returns the device.
    pub fn device(&mut self) -> &mut D {
        &mut self.device
    }

    /// Returns how many clients were told something else than the leading one, or in another order.
    pub fn own_tables(&self) -> usize {
        self.core.heard.own_tables()
    }
}

impl<D: Device> Routing for Tester<D> {
    fn size(&self) -> RoutingSize {
        self.core.size()
    }

    fn converge(
        &mut self,
        event: RoutingEvent,
        patience: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Convergence, MeasureError> {
        let Tester { core, device, has_begun } = self;
        let is_table = matches!(event, RoutingEvent::Table { .. });
        if !is_table && !*has_begun {
            return Err(MeasureError::Unsupported("the first event has to be a table"));
        }
        if !is_table && event != RoutingEvent::Restart {
            core.check_sessions()?;
        }
        *has_begun = true;
        let mut happening = Event::new(device, watch, patience);
        match event {
            RoutingEvent::Table { slow } => events::table(core, &mut happening, slow),
            RoutingEvent::WithdrawAll => events::withdraw_all(core, &mut happening),
            RoutingEvent::Flaps { per_s, duration } => {
                flaps::flaps(core, &mut happening, per_s, duration)
            }
            RoutingEvent::LoseClients { clients } => {
                events::lose_clients(core, &mut happening, clients)
            }
            RoutingEvent::Restart => events::restart(core, &mut happening),
        }
    }

    fn tester_alone(
        &mut self,
        patience: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Option<Convergence>, MeasureError> {
        alone::measure(&mut self.core, patience, watch)
    }
}
