//! The template device: one that no service suits, so it is refused before anything is set up.

mod options;
#[cfg(test)]
mod tests;

use function_kit::sections::function_key;
use keys::Invalid;
use model_kit::service::Service;
use schemars::Schema;
use serde_json::{Map, Value};

use crate::driver::{Driver, DriverError, Limitation, Running, Start, Unavailable};

pub use options::Options;

/// The driver.
pub struct Template;

impl Driver for Template {
    fn name(&self) -> &'static str {
        "template"
    }

    fn summary(&self) -> &'static str {
        "a device that no service suits"
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(Options)
    }

    fn available(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    fn limitations(
        &self,
        _: &Service,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid> {
        let options = Options::read(options)?;
        let what = format!("the device `{}` gives no service", options.model);
        Err(function_key("", what, "choose another device"))
    }

    fn start(&self, request: &Start<'_>) -> Result<Box<dyn Running>, DriverError> {
        self.limitations(request.service, request.options)?;
        Err(DriverError::new("the device does not start", "choose another device"))
    }
}
