//! A function that forwards everything, for the tests of the lab: it needs no packet.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use measure::record::Check;
use measure::{
    Direction, Load, MeasureError, Measurer, Stage, StageRole, Trial, TrialProgress, Watch,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::scenario::{DeviceChoice, Functions};
use crate::unit::*;

/// A registry of one.
pub(crate) const FUNCTIONS: Functions = &[&Fake];

pub(crate) struct Fake;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Config {
    /// How many users.
    user: u32,
    /// How many base stations.
    bst: u16,
    /// Natively a list.
    ports: Vec<u16>,
    /// What happens.
    behaviour: Behaviour,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Behaviour {
    Good,
    ForwardsWrongly,
    FailsItsSecondCheck,
    DropsMost,
    HasNoMemory,
    BreaksAtSecondTrial,
    StopsAtSecondTrial,
}

impl Default for Config {
    fn default() -> Config {
        Config { user: 1, bst: 1, ports: Vec::new(), behaviour: Behaviour::Good }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Traffic {
    /// Frame size in bytes.
    pkt_size: u16,
    /// What random choices are drawn from.
    random_seed: u64,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic { pkt_size: 64, random_seed: 1 }
    }
}

impl FunctionUnit for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["fk"]
    }

    fn summary(&self) -> &'static str {
        "forwards everything"
    }

    fn config_schema(&self) -> schemars::Schema {
        schemars::schema_for!(Config)
    }

    fn traffic_schema(&self) -> schemars::Schema {
        schemars::schema_for!(Traffic)
    }

    fn configure(
        &self,
        function: Value,
        traffic: Value,
    ) -> Result<Box<dyn Configured>, ConfigError> {
        let config: Config = parse_section("function", function)?;
        let traffic: Traffic = parse_section("traffic", traffic)?;
        if config.user == 0 {
            return Err(ConfigError::new("function", "user", "must be at least 1, not 0", ""));
        }
        Ok(Box::new(Ready { config, traffic }))
    }
}

struct Ready {
    config: Config,
    traffic: Traffic,
}

impl Configured for Ready {
    fn effective(&self) -> Value {
        json!({"function": self.config, "traffic": self.traffic})
    }

    fn seed(&self) -> u64 {
        self.traffic.random_seed
    }

    fn trace(
        &self,
        count: u64,
        each: &mut dyn FnMut(TraceFrame<'_>) -> io::Result<()>,
    ) -> Result<(), TraceError> {
        for time_ns in 0..count {
            each(TraceFrame { time_ns, port: "uplink", bytes: &[0; 60] })?;
        }
        Ok(())
    }

    fn open(&self, _: &DeviceChoice, host: &OpenOptions) -> Result<Box<dyn OpenDevice>, OpenError> {
        if self.config.behaviour == Behaviour::HasNoMemory {
            let source = io::ErrorKind::OutOfMemory.into();
            return Err(OpenError::Memory { needed_bytes: 1 << 40, source });
        }
        let stop = Arc::clone(&host.stop);
        Ok(Box::new(Device { behaviour: self.config.behaviour, trials: 0, stop }))
    }
}

/// Checks of the behaviour that counts them, which one test has.
static CHECKS: AtomicUsize = AtomicUsize::new(0);

struct Device {
    behaviour: Behaviour,
    trials: usize,
    stop: Arc<AtomicBool>,
}

impl OpenDevice for Device {
    fn facts(&mut self) -> DeviceFacts {
        let details = vec![("layout".to_owned(), json!("flat"))];
        DeviceFacts {
            setup_seconds: 0.25,
            state_bytes: Some(128),
            details,
            ..DeviceFacts::default()
        }
    }

    fn check(&mut self) -> Result<Check, MeasureError> {
        let passed = match self.behaviour {
            Behaviour::ForwardsWrongly => false,
            Behaviour::FailsItsSecondCheck => CHECKS.fetch_add(1, Ordering::Relaxed) != 1,
            _ => true,
        };
        Ok(Check { passed, frames: 1, mismatch_count: u64::from(!passed), ..Check::default() })
    }

    fn measurer(&mut self) -> &mut dyn Measurer {
        self
    }
}

impl Measurer for Device {
    fn measure(
        &mut self,
        load: Load,
        duration: Duration,
        watch: &mut dyn Watch,
    ) -> Result<Trial, MeasureError> {
        self.trials += 1;
        match self.behaviour {
            Behaviour::BreaksAtSecondTrial if self.trials == 2 => {
                return Err(MeasureError::Device("a worker ended".to_owned()));
            }
            Behaviour::StopsAtSecondTrial if self.trials == 2 => {
                self.stop.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(MeasureError::Interrupted);
        }
        let rate = load.rate().map_or(1e6, |rate| rate.0);
        let sent = (rate * duration.as_secs_f64()) as u64;
        watch.at(TrialProgress { elapsed: duration, sent, received: sent });
        let mut trial = trial(load, duration, sent);
        if self.behaviour == Behaviour::DropsMost {
            let kept = sent / 1_000;
            (trial.directions[0].received, trial.directions[0].lost) = (kept, sent - kept);
            let few = sent / 10;
            trial.drops = vec![("rare".into(), few), ("usual".into(), sent - kept - few)];
        }
        Ok(trial)
    }
}

fn trial(load: Load, duration: Duration, sent: u64) -> Trial {
    let latency_ns = hdrhistogram::Histogram::new(2).expect("two digits are allowed");
    let direction = Direction {
        name: "uplink".to_owned(),
        intended: sent,
        sent,
        received: sent,
        lost: 0,
        ring_full: 0,
        duplicated: 0,
        reordered: 0,
        misdelivered: 0,
        sent_bytes: sent * 64,
        latency_ns,
        last_lost_ns: None,
    };
    let role = StageRole::Function;
    let stage = Stage { name: "forward".to_owned(), role, packets: sent, ticks: sent * 100 };
    Trial {
        effective: duration,
        directions: vec![direction],
        stages: vec![stage],
        ..Trial::new(load, duration, 1e9)
    }
}
