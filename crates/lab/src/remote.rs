//! Functions of this program on devices of another making.

use std::sync::atomic::Ordering;

use devices::driver::{Driver, DriverError};
use devices::embedded::Host;
use devices::remote::Remote;
use functions::NetworkFunction;
use measure::record::{Check, Unavailable};
use measure::{MeasureError, Measurer};
use serde_json::json;

use crate::scenario::DeviceChoice;
use crate::unit::{ConfigError, DeviceFacts, OpenDevice, OpenError};

/// Whether a device can do the function at all, with the keys that the scenario gives it.
pub(crate) fn suits<N: NetworkFunction>(
    config: &N::Config,
    device: &DeviceChoice,
) -> Result<(), ConfigError> {
    let Some(driver) = device.device.driver else { return Ok(()) };
    match driver.limitations(&N::service(config), &device.options) {
        Ok(_) => Ok(()),
        Err(DriverError { what, remedy }) => {
            Err(ConfigError { path: "device".to_owned(), what, remedy })
        }
    }
}

/// Sets a device up.
pub(crate) fn open<N: NetworkFunction>(
    driver: &'static dyn Driver,
    (config, traffic): (N::Config, N::Traffic),
    device: &DeviceChoice,
    host: Host,
) -> Result<Box<dyn OpenDevice>, OpenError> {
    driver.available_for(&N::service(&config)).map_err(|missing| {
        OpenError::Unavailable(Unavailable { why: missing.why, remedy: missing.remedy })
    })?;
    let (what, population) = N::population(&config);
    let workers = N::workers(&config);
    let stop = host.stop.clone();
    let options = device.options.clone();
    let opened = Remote::<N>::open(driver, (config, traffic), options, host);
    let device = opened.map_err(|DriverError { what, remedy }| {
        OpenError::Host(if remedy.is_empty() { what } else { format!("{what}; {remedy}") })
    })?;
    if stop.load(Ordering::Relaxed) {
        return Err(OpenError::Host("interrupted".into()));
    }
    Ok(Box::new(Opened { device, what, population, workers }))
}

/// A device, set up.
struct Opened<N: NetworkFunction> {
    device: Remote<N>,
    what: &'static str,
    population: u64,
    workers: usize,
}

impl<N: NetworkFunction> OpenDevice for Opened<N> {
    fn facts(&mut self) -> DeviceFacts {
        let facts = self.device.facts();
        let mut details = vec![
            ("workers".into(), json!(self.workers)),
            (self.what.into(), json!(self.population)),
        ];
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
