//! Every function of this program as a unit of the lab, on the embedded device and on all others.

use std::io;
use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use devices::embedded::{Embedded, Host};
use functions::{Invalid, NetworkFunction, SetupError};
use machine::clock::Clock;
use measure::record::Check;
use measure::{MeasureError, Measurer};
use serde_json::{Value, json};
use traffic::{Stamp, Workload};

use crate::remote;
use crate::scenario::DeviceChoice;
use crate::unit::{
    ConfigError, Configured, DeviceFacts, FunctionUnit, OpenDevice, OpenError, OpenOptions,
    TraceError, TraceFrame, parse_section,
};

/// A function as the registry holds it.
pub struct Unit<N>(PhantomData<N>);

impl<N> Unit<N> {
    /// The unit of a function.
    pub const fn new() -> Unit<N> {
        Unit(PhantomData)
    }
}

impl<N> Default for Unit<N> {
    fn default() -> Unit<N> {
        Unit::new()
    }
}

impl<N: NetworkFunction> FunctionUnit for Unit<N> {
    fn name(&self) -> &'static str {
        N::NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        N::ALIASES
    }

    fn meant_by(&self, alias: &str) -> Vec<(&'static str, Value)> {
        N::meant_by(alias)
    }

    fn summary(&self) -> &'static str {
        N::SUMMARY
    }

    fn config_schema(&self) -> schemars::Schema {
        schemars::schema_for!(N::Config)
    }

    fn traffic_schema(&self) -> schemars::Schema {
        schemars::schema_for!(N::Traffic)
    }

    fn configure(
        &self,
        function: Value,
        traffic: Value,
    ) -> Result<Box<dyn Configured>, ConfigError> {
        let mut config: N::Config = parse_section("function", function)?;
        let mut traffic: N::Traffic = parse_section("traffic", traffic)?;
        N::validate(&mut config, &mut traffic).map_err(|invalid| {
            let Invalid { section, key, what, remedy } = invalid;
            ConfigError::new(section, key, what, remedy)
        })?;
        Ok(Box::new(Cell::<N> { config, traffic }))
    }
}

/// A validated configuration.
struct Cell<N: NetworkFunction> {
    config: N::Config,
    traffic: N::Traffic,
}

impl<N: NetworkFunction> Configured for Cell<N> {
    fn effective(&self) -> Value {
        json!({ "function": self.config, "traffic": self.traffic })
    }

    fn seed(&self) -> u64 {
        N::seed(&self.traffic)
    }

    /// Directions take turns; each sends a frame every microsecond.
    fn trace(
        &self,
        count: u64,
        each: &mut dyn FnMut(TraceFrame<'_>) -> io::Result<()>,
    ) -> Result<(), TraceError> {
        let clock = Clock::with_rate(1e9);
        let workload = N::workload(&self.config, &self.traffic, clock);
        let directions = workload.directions().to_vec();
        let mut buffer = Vec::new();
        for index in 0..count {
            let direction = (index % directions.len() as u64) as usize;
            let sequence = index / directions.len() as u64;
            let time_ns = sequence * TRACE_INTERVAL_NS + direction as u64;
            let draw = workload.draw(direction, sequence);
            buffer.clear();
            buffer.resize(workload.frame_len(&draw), 0);
            let stamp = Stamp { stream: direction as u16, sequence, time: time_ns };
            workload.write(&draw, stamp, &mut buffer);
            let port = N::PORTS[usize::from(directions[direction].from.0)];
            each(TraceFrame { time_ns, port, bytes: &buffer })?;
        }
        Ok(())
    }

    fn suits(&self, device: &DeviceChoice) -> Result<(), ConfigError> {
        remote::suits::<N>(&self.config, device)
    }

    fn open(
        &self,
        device: &DeviceChoice,
        host: &OpenOptions,
    ) -> Result<Box<dyn OpenDevice>, OpenError> {
        let options = Host {
            tester_core: host.tester_core,
            worker_cores: host.worker_cores.clone(),
            clock: host.clock,
            stop: host.stop.clone(),
        };
        if let Some(driver) = device.device.driver {
            let sections = (self.config.clone(), self.traffic.clone());
            return remote::open::<N>(driver, sections, device, options);
        }
        let device = Embedded::<N>::open(self.config.clone(), self.traffic.clone(), options)
            .map_err(open_error)?;
        let (what, population) = N::population(&self.config);
        let stop = host.stop.clone();
        if stop.load(Ordering::Relaxed) {
            return Err(OpenError::Host("interrupted".into()));
        }
        Ok(Box::new(Opened { device, what, population, workers: N::workers(&self.config) }))
    }
}

/// The embedded device, set up.
struct Opened<N: NetworkFunction> {
    device: Embedded<N>,
    what: &'static str,
    population: u64,
    workers: usize,
}

impl<N: NetworkFunction> OpenDevice for Opened<N> {
    fn facts(&mut self) -> DeviceFacts {
        let state_bytes = self.device.state_bytes();
        DeviceFacts {
            setup_seconds: self.device.setup_time().as_secs_f64(),
            version: None,
            state_bytes: Some(state_bytes),
            resident_bytes: Some(machine::memory::resident_bytes()).filter(|bytes| *bytes > 0),
            state_bytes_per_user: Some(state_bytes as f64 / self.population.max(1) as f64),
            details: vec![
                ("workers".into(), json!(self.workers)),
                (self.what.into(), json!(self.population)),
            ],
        }
    }

    fn check(&mut self) -> Result<Check, MeasureError> {
        self.device.check()
    }

    fn measurer(&mut self) -> &mut dyn Measurer {
        &mut self.device
    }
}

fn open_error(error: SetupError) -> OpenError {
    match error {
        SetupError::Memory { source, .. } => OpenError::Memory { needed_bytes: 0, source },
        SetupError::Table { .. } | SetupError::Listen { .. } => OpenError::Host(error.to_string()),
    }
}

/// Between two frames of a direction in a trace.
const TRACE_INTERVAL_NS: u64 = 1000;
