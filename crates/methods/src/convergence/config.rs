//! Keys of `convergence`.

use std::time::Duration;

use keys::Invalid;
use measure::{RoutingEvent, Seconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name in scenario files.
pub(super) const NAME: &str = "convergence";

/// Keys of the method `convergence`: what happens to the device after the first table, and how long
/// it has for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Longest time for each event; a client that does not have what it must by then has failed.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub patience: Seconds,
    /// How often the device is started anew and told the whole table; the result is the median.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: u32,
    /// Changes of routes per second after the first table, all feeders together; 0 for none.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub changes: f64,
    /// How long these changes go on.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub changes_for: Seconds,
    /// Clients that lose their sessions at once and come back; 0 for none.
    pub lost_clients: u32,
    /// Whether the device is killed and started again.
    pub restart: bool,
    /// Whether the feeders withdraw everything in the end.
    pub withdraw: bool,
    /// Clients that read nothing in one further start, until all others have everything; 0 for no
    /// such start.
    pub slow_clients: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            patience: Seconds(120.0),
            repetitions: 3,
            changes: 0.0,
            changes_for: Seconds(10.0),
            lost_clients: 0,
            restart: false,
            withdraw: true,
            slow_clients: 0,
        }
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        if self.patience.0 <= self.changes_for.0 && self.changes > 0.0 {
            let what = "must be shorter than `patience`".to_owned();
            return Err(Invalid::new("changes-for", what, "raise `patience`"));
        }
        Ok(())
    }

    /// Returns the events behind the tables, in their order. Those that need the table whole come
    /// before the one that takes it away.
    pub(super) fn further(&self) -> Vec<RoutingEvent> {
        let mut events = Vec::new();
        if self.changes > 0.0 {
            let duration = self.changes_for.duration();
            events.push(RoutingEvent::Flaps { per_s: self.changes, duration });
        }
        if self.lost_clients > 0 {
            events.push(RoutingEvent::LoseClients { clients: self.lost_clients });
        }
        if self.restart {
            events.push(RoutingEvent::Restart);
        }
        if self.withdraw {
            events.push(RoutingEvent::WithdrawAll);
        }
        if self.slow_clients > 0 {
            events.push(RoutingEvent::Table { slow: self.slow_clients });
        }
        events
    }

    /// Returns how many events there are, with that of the tester alone.
    pub(super) fn events(&self) -> usize {
        self.repetitions as usize + 1 + self.further().len()
    }

    /// Returns the longest time of all of them.
    pub(super) fn longest(&self) -> Duration {
        self.patience.duration().saturating_mul(u32::try_from(self.events()).unwrap_or(u32::MAX))
    }
}
