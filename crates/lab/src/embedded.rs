//! Every function of this program as a unit of the lab, on the embedded device and on all others.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use devices::embedded::{Embedded, Host};
use function_kit::{Invalid, NetworkFunction, SetupError};
use measure::record::Check;
use measure::{MeasureError, Measurer, Subject};
use model_kit::Model;
use model_kit::erased::{Kind, Sections, Unit};
use serde_json::{Map, Value};

use crate::remote;
use crate::scenario::DeviceChoice;
use crate::unit::{DeviceFacts, FunctionUnit, OpenDevice, OpenError, OpenOptions};

impl<N: Model> FunctionUnit for Unit<N> {
    fn subject(&self) -> Subject {
        Subject::Frames
    }

    fn read(
        &self,
        section: Map<String, Value>,
        traffic: Map<String, Value>,
    ) -> Result<Arc<dyn Sections>, Invalid> {
        Kind::read(self, section, traffic).map(|model| model as Arc<dyn Sections>)
    }

    fn suits(&self, sections: &dyn Sections, device: &DeviceChoice) -> Result<(), Invalid> {
        sections.forwarding().map_or(Ok(()), |model| remote::suits(model, device))
    }

    fn open(
        &self,
        sections: &dyn Sections,
        device: &DeviceChoice,
        host: &OpenOptions,
    ) -> Result<Box<dyn OpenDevice>, OpenError> {
        let sections: &dyn Any = sections;
        let Some(model) = sections.downcast_ref::<model_kit::Configured<N>>() else {
            return Err(OpenError::Host(format!("this is no configuration of {}", N::Unit::NAME)));
        };
        let options = Host {
            tester_core: host.tester_core,
            worker_cores: host.worker_cores.clone(),
            clock: host.clock,
            stop: host.stop.clone(),
        };
        if let Some(driver) = device.device.driver {
            return remote::open(driver, model.clone(), device, options);
        }
        let (what, population) = model.population();
        let workers = model.workers();
        let remark = model.replay.as_ref().and_then(|captures| captures.remark());
        let device = Embedded::open(model.clone(), options).map_err(open_error)?;
        if host.stop.load(Ordering::Relaxed) {
            return Err(OpenError::Host("interrupted".into()));
        }
        Ok(Box::new(Opened { device, what, population, workers, remark }))
    }
}

/// The embedded device, set up.
struct Opened<N: Model> {
    device: Embedded<N>,
    what: &'static str,
    population: u64,
    workers: usize,
    remark: Option<String>,
}

impl<N: Model> OpenDevice for Opened<N> {
    fn facts(&mut self) -> DeviceFacts {
        let state_bytes = self.device.state_bytes();
        DeviceFacts {
            setup_seconds: self.device.setup_time().as_secs_f64(),
            version: None,
            state_bytes: Some(state_bytes),
            resident_bytes: Some(machine::memory::resident_bytes()).filter(|bytes| *bytes > 0),
            state_bytes_per_user: Some(state_bytes as f64 / self.population.max(1) as f64),
            details: DeviceFacts::of_function(
                self.workers,
                (self.what, self.population),
                self.remark.clone(),
            ),
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
        SetupError::Table { .. } => OpenError::Host(error.to_string()),
    }
}
