//! The kinds of ports there are, by the `type` that a configuration names.
//!
//! A port's crate knows its own keys and how to open itself; this list is all that others know of it.
//! A new kind is a crate beside this one and a line in [`PORTS`].

use std::marker::PhantomData;

use engine::{KeyError, Opened, PortError, PortKind, PortRequest};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// All kinds, in the order of the help text.
pub const PORTS: &[&dyn Kind] = &[
    &Entry::<port_af_packet::AfPacket>::new(),
    &Entry::<port_af_xdp::AfXdp>::new(),
    &Entry::<port_memif::Memif>::new(),
    &Entry::<port_vhost_user::VhostUser>::new(),
];

/// A kind of port.
pub trait Kind: Sync {
    /// The `type` in a configuration.
    fn name(&self) -> &'static str;

    /// One line of help.
    fn summary(&self) -> &'static str;

    /// JSON Schema of its keys beside `type`.
    fn schema(&self) -> Schema;

    /// Whether it can be used on this machine.
    ///
    /// # Errors
    /// What is missing, and the one command that would enable it.
    fn available(&self) -> Result<(), PortError>;

    /// Reads and checks the keys beside `type`.
    ///
    /// # Errors
    /// The first key that cannot be used.
    fn read(&self, keys: Value) -> Result<Box<dyn Configured>, KeyError>;
}

/// The configuration of a port, read and checked.
pub trait Configured: Send + Sync {
    /// Opens it.
    ///
    /// # Errors
    /// What is wrong, naming the interface, file or socket, and what to do.
    fn open(&self, request: &PortRequest) -> Result<Opened, PortError>;

    /// All keys with their defaults filled in: what is recorded, and what a reload compares.
    fn effective(&self) -> Value;
}

/// The kind of this name.
pub fn find(name: &str) -> Option<&'static dyn Kind> {
    PORTS.iter().copied().find(|kind| kind.name() == name)
}

/// A port's crate as an entry of the list.
pub struct Entry<K>(PhantomData<fn() -> K>);

impl<K> Entry<K> {
    /// The entry of a kind.
    pub const fn new() -> Entry<K> {
        Entry(PhantomData)
    }
}

impl<K> Default for Entry<K> {
    fn default() -> Entry<K> {
        Entry::new()
    }
}

impl<K: PortKind> Kind for Entry<K>
where
    K::Config: Serialize + DeserializeOwned + JsonSchema,
{
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn summary(&self) -> &'static str {
        K::SUMMARY
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(K::Config)
    }

    fn available(&self) -> Result<(), PortError> {
        K::available()
    }

    fn read(&self, keys: Value) -> Result<Box<dyn Configured>, KeyError> {
        let config: K::Config = serde_path_to_error::deserialize(keys).map_err(|error| {
            let path = error.path().to_string();
            let key = if path == "." { String::new() } else { path };
            KeyError { key, what: error.inner().to_string() }
        })?;
        K::validate(&config)?;
        let effective = serde_json::to_value(&config)
            .map_err(|error| KeyError { key: String::new(), what: error.to_string() })?;
        Ok(Box::new(Read::<K> { config, effective }))
    }
}

/// A configuration with its kind.
struct Read<K: PortKind> {
    config: K::Config,
    effective: Value,
}

impl<K: PortKind> Configured for Read<K> {
    fn open(&self, request: &PortRequest) -> Result<Opened, PortError> {
        K::open(&self.config, request)
    }

    fn effective(&self) -> Value {
        self.effective.clone()
    }
}
