//! A function that forwards everything, for the tests of the lab: it needs no packet.

use std::any::Any;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use function_kit::sections::function_key;
use function_kit::{Invalid, PortName, Shard};
use keys::parsed;
use machine::clock::Clock;
use measure::record::Check;
use measure::{
    Conditions, Direction, Load, MeasureError, Measurer, Stage, StageRole, Subject, Trial,
    TrialProgress, Watch,
};
use model_kit::check::{Expected, Step};
use model_kit::erased::{Frame, Judge, Source};
use model_kit::service::Service;
use packet::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use traffic::Stamp;

use crate::scenario::{DeviceChoice, Functions};
use crate::unit::*;

/// A registry with one function.
pub(crate) const FUNCTIONS: Functions = &[&Fake];

pub(crate) struct Fake;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Config {
    /// Number of users.
    user: u32,
    /// Number of base stations.
    bst: u16,
    /// Port numbers; a key whose value is a list.
    ports: Vec<u16>,
    /// Behaviour of the fake device.
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
    /// Seed of all random choices.
    random_seed: u64,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic { pkt_size: 64, random_seed: 1 }
    }
}

impl Listed for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["fk"]
    }

    fn meant_by(&self, _: &str) -> Vec<(&'static str, Value)> {
        Vec::new()
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
}

struct Ready {
    config: Config,
    traffic: Traffic,
}

impl Sections for Ready {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn section(&self) -> Map<String, Value> {
        json!(self.config).as_object().cloned().expect("keys")
    }

    fn traffic(&self) -> Map<String, Value> {
        json!(self.traffic).as_object().cloned().expect("keys")
    }

    fn population(&self) -> (&'static str, u64) {
        ("users", self.config.user.into())
    }

    fn seed(&self) -> u64 {
        self.traffic.random_seed
    }

    fn forwarding(&self) -> Option<&dyn Configured> {
        Some(self)
    }
}

impl Configured for Ready {
    fn config(&self) -> Map<String, Value> {
        self.section()
    }

    fn ports(&self) -> Vec<PortName> {
        vec![PortName::new("uplink")]
    }

    fn initial(&self) -> Box<dyn Iterator<Item = Value> + '_> {
        Box::new(std::iter::empty())
    }

    fn beside(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn service(&self) -> Service {
        // One that devices know.
        <models::l2_switch::L2Switch as model_kit::Model>::service(&Default::default())
    }

    fn frames(&self, _: Clock) -> Box<dyn Source> {
        Box::new(Nothing)
    }

    fn judge(&self, _: Shard) -> Box<dyn Judge> {
        Box::new(Nothing)
    }

    fn sample(&self) -> Vec<Step<Value>> {
        Vec::new()
    }

    fn unreachable(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
}

/// Frames and verdicts that nobody asks for.
struct Nothing;

impl Source for Nothing {
    fn directions(&self) -> &[traffic::Direction] {
        &[]
    }

    fn frame_len(&self, _: Frame) -> usize {
        60
    }

    fn steering(&self, _: Frame) -> u32 {
        0
    }

    fn write(&self, _: Frame, _: Stamp, _: &mut [u8]) {}
}

impl Judge for Nothing {
    fn expect(&mut self, _: PortId, _: &[u8], _: Duration) -> Expected {
        Expected::Punt
    }

    fn apply(&mut self, _: &Value, _: Duration) -> bool {
        false
    }

    fn made(&mut self, _: Duration) -> Vec<Expected> {
        Vec::new()
    }
}

impl FunctionUnit for Fake {
    fn subject(&self) -> Subject {
        Subject::Frames
    }

    fn read(
        &self,
        function: Map<String, Value>,
        traffic: Map<String, Value>,
    ) -> Result<Arc<dyn Sections>, Invalid> {
        let config: Config = parsed("function", Value::Object(function))?;
        let traffic: Traffic = parsed("traffic", Value::Object(traffic))?;
        if config.user == 0 {
            return Err(function_key("user", "must be at least 1, not 0".to_owned(), ""));
        }
        Ok(Arc::new(Ready { config, traffic }))
    }

    fn suits(&self, sections: &dyn Sections, device: &DeviceChoice) -> Result<(), Invalid> {
        sections.forwarding().map_or(Ok(()), |model| crate::remote::suits(model, device))
    }

    fn open(
        &self,
        sections: &dyn Sections,
        _: &DeviceChoice,
        host: &OpenOptions,
    ) -> Result<Box<dyn OpenDevice>, OpenError> {
        let sections: &dyn Any = sections;
        let ready = sections.downcast_ref::<Ready>().expect("it is what was read");
        let behaviour = ready.config.behaviour;
        if behaviour == Behaviour::HasNoMemory {
            let source = io::ErrorKind::OutOfMemory.into();
            return Err(OpenError::Memory { needed_bytes: 1 << 40, source });
        }
        let stop = Arc::clone(&host.stop);
        Ok(Box::new(Device { behaviour, trials: 0, stop }))
    }
}

/// Number of checks made under the behaviour that counts them, which one test uses.
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

    fn set_conditions(&mut self, conditions: &Conditions) -> Result<(), MeasureError> {
        let others = Conditions { cold_frames: false, ..*conditions };
        match others == Conditions::default() {
            true => Ok(()),
            false => Err(MeasureError::Unsupported("it knows no other conditions")),
        }
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
