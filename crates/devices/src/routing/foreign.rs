//! Drivers of daemons of other making: what is a daemon's own is a [`Foreign`], and all else is the
//! same for each.

use std::net::SocketAddr;
use std::path::PathBuf;

use keys::Invalid;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::daemon::{self, Daemon, Options, Recipe};
use super::driver::{RoutingDriver, RoutingRunning, RoutingService, RoutingStart};
use super::place;
use crate::driver::{DriverError, Limitation, SECTION, Unavailable};
use crate::folder::Folder;

/// A daemon of other making.
pub(super) trait Foreign: Sync {
    /// The name in `device.name` of a scenario.
    const NAME: &'static str;
    /// A one-line summary.
    const SUMMARY: &'static str;
    /// The program in Debian, and its package.
    const PROGRAM: (&'static str, &'static str);
    /// The argument by which the program tells its version.
    const VERSION: &'static str;
    /// The keys of the `device` section.
    type Keys: Keys;

    /// As [`RoutingDriver::available`].
    fn available() -> Result<(), Unavailable> {
        daemon::installed(&[Self::PROGRAM, daemon::SETPRIV])
    }

    /// Returns a version of the line in which the program tells it.
    fn version(line: String) -> String {
        line
    }

    /// As [`RoutingDriver::limitations`].
    fn limitations(service: &RoutingService, keys: &Self::Keys)
    -> Result<Vec<Limitation>, Invalid>;

    /// Writes what the daemon reads into its folder, and returns how it is started.
    ///
    /// # Errors
    /// When that cannot be written.
    fn prepare(
        service: &RoutingService,
        keys: &Self::Keys,
        place: &Place<'_>,
    ) -> Result<Prepared, DriverError>;
}

/// The keys of a daemon.
pub(super) trait Keys: Serialize + DeserializeOwned + JsonSchema {
    /// Returns the program to start, if it is not the installed one.
    fn program(&self) -> Option<&PathBuf>;
}

impl Keys for Options {
    fn program(&self) -> Option<&PathBuf> {
        self.program.as_ref()
    }
}

/// What a daemon is given.
pub(super) struct Place<'a> {
    /// Its program.
    pub program: &'a str,
    /// Where it is to listen.
    pub address: SocketAddr,
    /// Its folder.
    pub folder: &'a Folder,
}

/// How a daemon is started.
pub(super) struct Prepared {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Further arguments of a daemon that was there before.
    pub again: Vec<String>,
    /// What it says, in a line, when it does what it was told.
    pub says: Option<&'static str>,
    /// Whether it knows its peers, once it listens.
    pub knows_peers: Box<dyn Fn() -> bool + Send>,
}

impl Prepared {
    /// Starts with these words, first and later, a daemon that knows its peers when it listens.
    pub fn new(words: &[&str]) -> Prepared {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Prepared { words, again: Vec::new(), says: None, knows_peers: Box::new(|| true) }
    }
}

impl<D: Foreign> RoutingDriver for D {
    fn name(&self) -> &'static str {
        D::NAME
    }

    fn summary(&self) -> &'static str {
        D::SUMMARY
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(D::Keys)
    }

    fn version(&self, options: &Map<String, Value>) -> String {
        let keys = read::<D>(options).ok();
        let program = keys.as_ref().and_then(Keys::program);
        daemon::program(program, D::PROGRAM).map_or(String::new(), |path| version::<D>(&path))
    }

    fn available(&self) -> Result<(), Unavailable> {
        D::available()
    }

    fn limitations(
        &self,
        service: &RoutingService,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid> {
        service.refuse_policies(D::NAME)?;
        D::limitations(service, &read::<D>(options)?)
    }

    fn start(&self, request: &RoutingStart<'_>) -> Result<Box<dyn RoutingRunning>, DriverError> {
        let keys = read::<D>(request.options)?;
        D::limitations(request.service, &keys)?;
        let path = daemon::program(keys.program(), D::PROGRAM)?;
        let (address, folder) = (place::free()?, daemon::folder()?);
        let place = Place { program: &path, address, folder: &folder };
        let Prepared { words, again, says, knows_peers } =
            D::prepare(request.service, &keys, &place)?;
        let (name, version) = (D::NAME, version::<D>(&path));
        let recipe = Recipe { name, version, address, folder, words, again, says, knows_peers };
        Daemon::start(recipe, request)
    }
}

fn read<D: Foreign>(options: &Map<String, Value>) -> Result<D::Keys, Invalid> {
    keys::read(SECTION, options.clone())
}

fn version<D: Foreign>(path: &str) -> String {
    D::version(daemon::version(path, D::VERSION))
}
