//! `convergence`: how long a control plane of routes takes until its last client has every route.
//!
//! **Goals.** A device is started, all sessions come up, and the feeders tell their tables. The
//! time is that from the first byte of a feeder to the last route of the last client, and beside it
//! the times of all clients, route updates per second, the processor time of device and tester, and
//! memory. Then, by key: routes that change at a steady rate, clients that lose their sessions, a
//! restart, everything withdrawn, clients that read nothing.
//!
//! **Non-goals.** Convergence of forwarding (RFC 7747), which needs a data plane behind the device.
//!
//! **How.** The tester holds every client's table against the one that it must have, attribute by
//! attribute; if a single client of an event has something else, the event has no figure. Its own
//! ceiling is measured in the run: the same bytes to as many clients from a server that only
//! writes. Where a device is close to it, the result says that the tester may be the limit.

mod config;
mod happened;
mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use measure::record::{Limit, Outcome, Validity};
use measure::{MeasureError, Measurer, Routing, RoutingEvent, Subject};
use serde_json::Value;

pub use config::Config;
use config::NAME;
use happened::Happened;

use crate::figures::{KnownFigure, known};
use crate::method::to_value;
use crate::{Entry, Method, Observer, Step};

/// Entry of the registry.
pub const ENTRY: Entry = Entry {
    name: NAME,
    summary: "time until every client of a route reflector has every route",
    subject: Subject::Routes,
    standards: &[],
    figures: FIGURES,
    read: |value| crate::entry::read(value, Config::validate),
    schema: || schemars::schema_for!(Config),
};

impl Method for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn configuration(&self) -> Value {
        to_value(self)
    }

    fn time_bound(&self) -> Duration {
        self.longest()
    }

    fn run(
        &self,
        measurer: &mut dyn Measurer,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, MeasureError> {
        let Some(routing) = measurer.routing() else {
            return Err(MeasureError::Unsupported("it exchanges no routes with peers"));
        };
        let size = routing.size();
        let slow = self.slow_clients.max(self.lost_clients);
        if slow >= size.clients.max(1) {
            return Err(MeasureError::Unsupported(
                "`slow-clients` and `lost-clients` must be fewer than its clients",
            ));
        }
        let tables = (0..self.repetitions).map(|_| RoutingEvent::Table { slow: 0 });
        let mut all: Vec<Happened> = Vec::new();
        let mut alone = None;
        for event in tables.chain(self.further()) {
            let happened = self.let_happen(routing, observer, event, all.len())?;
            let is_wrong = !happened.convergence.wrong.is_empty();
            all.push(happened);
            if is_wrong {
                // What follows would begin with tables that are not right.
                break;
            }
            if all.len() == self.repetitions as usize {
                alone = routing.tester_alone(self.patience.duration(), &mut Watched(observer))?;
            }
        }
        let mut limits = report::limits(&all, alone.as_ref());
        limits.extend(report::unfinished(&all, self.events() - 1));
        Ok(self.outcome(report::Said { size, all: &all, alone: alone.as_ref() }, limits))
    }
}

impl Config {
    fn let_happen(
        &self,
        routing: &mut dyn Routing,
        observer: &mut dyn Observer,
        event: RoutingEvent,
        done: usize,
    ) -> Result<Happened, MeasureError> {
        let left = self.events().saturating_sub(done);
        let patience = self.patience.duration();
        let all = patience.saturating_mul(u32::try_from(left).unwrap_or(u32::MAX));
        let mut step = Step::new(report::name(event), left, all, None);
        (step.index, step.duration) = (done, patience);
        observer.starting(&step);
        let convergence = routing.converge(event, patience, &mut Watched(observer))?;
        Ok(Happened { event, convergence })
    }

    fn outcome(&self, said: report::Said<'_>, limits: Vec<Limit>) -> Outcome {
        Outcome {
            method: NAME.into(),
            configuration: self.configuration(),
            answer: report::answer(&said),
            aggregation: "times from the first byte of a feeder to the last route of the last \
                          client; route updates of all clients together"
                .into(),
            figures: report::figures(&said),
            series: report::series(&said),
            validity: Validity::from_limits(limits),
            ..Outcome::default()
        }
    }
}

/// Forwards progress to an observer, but for what was sent: routes that are not told yet are no
/// lost frames.
struct Watched<'a>(&'a mut dyn Observer);

impl measure::Watch for Watched<'_> {
    fn at(&mut self, progress: measure::TrialProgress) {
        self.0.at(measure::TrialProgress { sent: 0, ..progress });
    }
}

/// Figures of this method.
const FIGURES: &[KnownFigure] = &[
    known("change_time_max", "ns"),
    known("change_time_p50", "ns"),
    known("change_time_p99", "ns"),
    known("convergence_device_cpu", "ns"),
    known("convergence_resident", "bytes"),
    known("convergence_socket_memory", "bytes"),
    known("convergence_tester_alone", "ns"),
    known("convergence_tester_cpu", "ns"),
    known("convergence_time", "ns"),
    known("convergence_time_first", "ns"),
    known("convergence_time_p50", "ns"),
    known("convergence_updates_rate", "1/s"),
    known("restart_time", "ns"),
    known("restart_withdrawals_seen", "clients"),
    known("return_time", "ns"),
    known("sessions_up_time", "ns"),
    known("slow_clients_resident", "bytes"),
    known("slow_clients_time", "ns"),
    known("withdrawal_time", "ns"),
];
