//! Functions of this program on devices of another making.

use std::sync::atomic::Ordering;

use devices::driver::{Driver, DriverError};
use devices::embedded::Host;
use devices::remote::Remote;
use function_kit::Invalid;
use function_kit::sections::function_key;
use measure::record::{Check, Unavailable};
use measure::{MeasureError, Measurer};
use model_kit::{Configured, Model, erased};

use crate::scenario::DeviceChoice;
use crate::unit::{DeviceFacts, OpenDevice, OpenError};

/// Checks that a device supports the function with the keys of the scenario.
///
/// # Errors
/// When it does not, or one of the device's own keys is invalid.
pub(crate) fn suits(model: &dyn erased::Configured, device: &DeviceChoice) -> Result<(), Invalid> {
    if !device.device.forwards() {
        let what = format!("{} reflects routes and forwards no frames", device.name());
        return Err(function_key("name", what, "use another device for this function"));
    }
    if let Some((section, _)) = model.beside().first()
        && !device.device.driver.is_some_and(Driver::runs_beside)
    {
        let what = format!("{} runs no {section} beside the function", device.name());
        let remedy = "Set `device: process`, which runs it as a daemon";
        return Err(function_key("set-up", what, remedy));
    }
    let Some(driver) = device.device.driver else { return Ok(()) };
    driver.limitations(&model.service(), &device.options).map(drop)
}

/// Sets a device up.
pub(crate) fn open<N: Model>(
    driver: &'static dyn Driver,
    model: Configured<N>,
    device: &DeviceChoice,
    host: Host,
) -> Result<Box<dyn OpenDevice>, OpenError> {
    driver.available_with(&model.service(), &device.options).map_err(|missing| {
        OpenError::Unavailable(Unavailable { why: missing.why, remedy: missing.remedy })
    })?;
    let (what, population) = model.population();
    let workers = model.workers();
    let remark = model.replay.as_ref().and_then(|captures| captures.remark());
    let stop = host.stop.clone();
    let options = device.options.clone();
    let opened = Remote::open(driver, model, options, host);
    let device = opened.map_err(|DriverError { what, remedy }| {
        OpenError::Host(if remedy.is_empty() { what } else { format!("{what}; {remedy}") })
    })?;
    if stop.load(Ordering::Relaxed) {
        return Err(OpenError::Host("interrupted".into()));
    }
    Ok(Box::new(Opened { device, what, population, workers, remark }))
}

/// A device, set up.
struct Opened<N: Model> {
    device: Remote<N>,
    what: &'static str,
    population: u64,
    workers: usize,
    remark: Option<String>,
}

impl<N: Model> OpenDevice for Opened<N> {
    fn facts(&mut self) -> DeviceFacts {
        let facts = self.device.facts();
        let of_function = (self.what, self.population);
        let mut details = DeviceFacts::of_function(self.workers, of_function, self.remark.clone());
        details.extend(facts.details);
        DeviceFacts {
            setup_seconds: self.device.setup_time().as_secs_f64(),
            version: Some(facts.version),
            resident_bytes: self.device.usage().resident_bytes,
            details,
            ..DeviceFacts::default()
        }
    }

    fn check(&mut self) -> Result<Check, MeasureError> {
        self.device.check()
    }

    fn measurer(&mut self) -> &mut dyn Measurer {
        &mut self.device
    }
}
