//! This program's controller in a process of its own: `plumbline run`.

use keys::Invalid;
use schemars::Schema;
use serde_json::{Map, Value, json};

use super::daemon::{self, Daemon, Options, Recipe};
use super::driver::{RoutingDriver, RoutingRunning, RoutingService, RoutingStart};
use super::{own, place};
use crate::driver::{Driver, DriverError, Limitation, SECTION, Unavailable};
use crate::process::Process as Forwarding;

/// The driver.
pub struct Process;

impl RoutingDriver for Process {
    fn name(&self) -> &'static str {
        Forwarding.name()
    }

    fn summary(&self) -> &'static str {
        Forwarding.summary()
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(Options)
    }

    fn available(&self) -> Result<(), Unavailable> {
        daemon::installed(&[daemon::SETPRIV])
    }

    fn limitations(
        &self,
        service: &RoutingService,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid> {
        keys::read::<Options>(SECTION, options.clone())?;
        own::limitations(service)
    }

    fn start(&self, request: &RoutingStart<'_>) -> Result<Box<dyn RoutingRunning>, DriverError> {
        let options: Options = keys::read(SECTION, request.options.clone())?;
        self.limitations(request.service, request.options)?;
        let path = match &options.program {
            Some(_) => daemon::program(options.program.as_ref(), ("plumbline", ""))?,
            None => this_program()?,
        };
        let (address, folder) = (place::free()?, daemon::folder()?);
        let mut controller = own::keys(request.service, address);
        controller.insert("name".to_owned(), own::NAME.into());
        let text = json!({
            "name": "device",
            "controllers": [controller],
            "control": {"socket": folder.file("control.sock")},
            "log": {"level": "warn"},
        });
        let file = daemon::write(&folder, "device.yaml", &text.to_string())?;
        let recipe = Recipe {
            name: "`plumbline run`",
            version: daemon::version(&path, "--version"),
            address,
            words: [&path, "run", &file].map(str::to_owned).to_vec(),
            again: Vec::new(),
            says: None,
            knows_peers: Box::new(|| true),
            folder,
        };
        Daemon::start(recipe, request)
    }
}

fn this_program() -> Result<String, DriverError> {
    let path = std::env::current_exe().map_err(|error| {
        let what = format!("the path of this program is unknown: {error}");
        DriverError::new(what, "set its path in `program`")
    })?;
    Ok(path.display().to_string())
}
