//! The interfaces of the host before workers run, and with what these join.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use engine::{Plane, PlaneSetup, PuntLimit};
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::interface::Interface;
use crate::error::RunError;
use crate::read::Configuration;

/// The interfaces of the host, open, before workers run.
pub(crate) struct Opened {
    pub(super) interfaces: Vec<Interface>,
    /// With what workers join.
    pub joining: Joining,
    pub(super) names: &'static [&'static str],
}

/// With what a worker joins the control plane.
#[derive(Clone, Debug)]
pub struct Joining {
    pub(super) limits: Vec<PuntLimit>,
    pub(super) ticks_per_s: f64,
    pub(super) secret: [u64; 2],
    pub(super) alarm: Arc<EventFd>,
}

impl Opened {
    /// Opens the interfaces that a configuration asks for; nothing where it has neither interfaces
    /// nor a controller that hears of the workers. Without interfaces and controllers
    /// that take packets, workers hand over what they notice and no packets.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn open(
        configuration: &Configuration,
        ticks_per_s: f64,
    ) -> Result<Option<Opened>, RunError> {
        let function = &configuration.function.configured;
        let wanted = function.host_interfaces();
        let has_interfaces = !wanted.is_empty();
        let tells = !configuration.controllers.is_empty() && !configuration.cores.is_empty();
        if !has_interfaces && !tells {
            return Ok(None);
        }
        let frame_bytes_max = configuration.workers.frame_bytes_max;
        let open = |one| Interface::open(one, frame_bytes_max);
        let interfaces = wanted.iter().map(open).collect::<Result<_, _>>()?;
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let alarm = EventFd::from_flags(flags)
            .map_err(|error| RunError::setup(format!("no event counter: {error}"), ""))?;
        let has_takers = configuration.controllers.iter().any(|one| !one.takes().is_empty());
        let names = if has_interfaces || has_takers { function.names().punts } else { &[] };
        let joining = Joining {
            limits: names.iter().map(|reason| configuration.punt.limit(reason)).collect(),
            ticks_per_s,
            secret: [(); 2].map(|()| RandomState::new().build_hasher().finish()),
            alarm: Arc::new(alarm),
        };
        Ok(Some(Opened { interfaces, joining, names }))
    }
}

impl Joining {
    /// Joins a worker.
    pub fn join<F: engine::Function>(&self, worker: &mut engine::Worker<F>) -> Plane {
        let alarm = Arc::clone(&self.alarm);
        worker.join_plane(PlaneSetup {
            limits: &self.limits,
            ticks_per_s: self.ticks_per_s,
            secret: self.secret,
            wake: Box::new(move || {
                // A counter at its end wakes as well.
                let _ = alarm.write(1);
            }),
        })
    }
}
