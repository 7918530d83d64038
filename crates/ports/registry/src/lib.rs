//! The kinds of ports there are, by the `type` that a configuration names.
//!
//! A port's crate knows its own keys and how to open itself; this list is all that others know of
//! it. Every kind may have a section `fault`, which is put in front of it here. A new kind is a
//! crate beside this one and a line in [`PORTS`].

use std::marker::PhantomData;

use engine::{Opened, PortError, PortKind, PortRequest};
use keys::Invalid;
use port_fault::FaultConfig;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// All port types, in the order of the help text.
pub static PORTS: &[&dyn Kind] = &[
    &Entry::<port_af_packet::AfPacket>::new(),
    &Entry::<port_af_xdp::AfXdp>::new(),
    &Entry::<port_memif::Memif>::new(),
    &Entry::<port_pcap::Pcap>::new(),
    &Entry::<port_tap::Tap>::new(),
    &Entry::<port_vhost_user::VhostUser>::new(),
];

/// A port type.
pub trait Kind: Sync {
    /// Returns the port type's `type` in configurations.
    fn name(&self) -> &'static str;

    /// Returns a one-line summary.
    fn summary(&self) -> &'static str;

    /// Returns the JSON Schema of the port type's keys, without `type`.
    fn schema(&self) -> Schema;

    /// Checks that the port type can be used on this machine.
    ///
    /// # Errors
    /// The missing requirement, and the command that would meet it.
    fn available(&self) -> Result<(), PortError>;

    /// Reads and checks the keys of a port, without `type`.
    ///
    /// # Errors
    /// The first invalid key.
    fn read(&self, keys: Value) -> Result<Box<dyn Configured>, Invalid>;
}

/// The configuration of a port, read and checked.
pub trait Configured: Send + Sync {
    /// Opens the port.
    ///
    /// # Errors
    /// The cause, with the interface, file or socket, and the remedy.
    fn open(&self, request: &PortRequest) -> Result<Opened, PortError>;

    /// Returns all keys with their defaults, which are recorded, and compared by a reload.
    fn effective(&self) -> Value;
}

/// Finds the port type with this name.
pub fn find(name: &str) -> Option<&'static dyn Kind> {
    PORTS.iter().copied().find(|kind| kind.name() == name)
}

/// A port's crate as an entry of the registry.
pub struct Entry<K>(PhantomData<fn() -> K>);

impl<K> Entry<K> {
    /// Creates the registry entry of a port type.
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
        with_fault::<K::Config>()
    }

    fn available(&self) -> Result<(), PortError> {
        K::available()
    }

    fn read(&self, mut keys: Value) -> Result<Box<dyn Configured>, Invalid> {
        let fault = match keys.as_object_mut().and_then(|keys| keys.remove(FAULT)) {
            Some(keys) => {
                let fault: Result<FaultConfig, Invalid> = keys::read("", keys);
                Some(fault.map_err(|invalid| invalid.under(FAULT))?)
            }
            None => None,
        };
        let config: K::Config = keys::read("", keys)?;
        K::validate(&config)?;
        let mut effective = to_value(&config)?;
        if let (Some(fault), Some(keys)) = (&fault, effective.as_object_mut()) {
            keys.insert(FAULT.to_owned(), to_value(fault)?);
        }
        Ok(Box::new(Read::<K> { config, fault, effective }))
    }
}

fn to_value<T: Serialize>(config: &T) -> Result<Value, Invalid> {
    serde_json::to_value(config).map_err(|error| Invalid::new("", error.to_string(), ""))
}

/// Returns the schema of a port type's keys, extended by `fault`.
fn with_fault<C: JsonSchema>() -> Schema {
    let mut generator = SchemaGenerator::default();
    let fault = generator.subschema_for::<FaultConfig>();
    let mut schema = generator.into_root_schema_for::<C>();
    if let Some(keys) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        keys.insert(FAULT.to_owned(), fault.to_value());
    }
    schema
}

/// A checked configuration together with its port type.
struct Read<K: PortKind> {
    config: K::Config,
    fault: Option<FaultConfig>,
    effective: Value,
}

impl<K: PortKind> Configured for Read<K> {
    fn open(&self, request: &PortRequest) -> Result<Opened, PortError> {
        let opened = K::open(&self.config, request)?;
        match &self.fault {
            Some(fault) => port_fault::wrap(opened, fault, request),
            None => Ok(opened),
        }
    }

    fn effective(&self) -> Value {
        self.effective.clone()
    }
}

/// The section that every port type accepts.
const FAULT: &str = "fault";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_takes_faults_and_says_which_key_is_wrong() {
        let kind = find("af-packet").expect("it is in the list");
        let read = |keys| kind.read(keys).map(|read| read.effective());
        let plain = read(json!({ "interface": "eth7" })).expect("right");
        assert_eq!(plain.get("fault"), None, "nothing is wrapped unasked");
        let keys = json!({ "interface": "eth7", "fault": { "receive": { "loss": 0.5 } } });
        let effective = read(keys).expect("right");
        assert_eq!(effective["fault"]["receive"]["loss"], 0.5);
        assert_eq!(effective["fault"]["seed"], 1, "defaults are filled in");

        let keys = json!({ "interface": "eth7", "fault": { "receive": { "loss": 2 } } });
        assert_eq!(read(keys).expect_err("above 1").key, "fault.receive.loss");
        let keys = json!({ "interface": "eth7", "fault": { "receive": { "lost": 1 } } });
        assert_eq!(read(keys).expect_err("no such key").key, "fault.receive.lost");
        for kind in PORTS {
            let schema = kind.schema();
            assert!(schema.get("properties").is_some_and(|keys| keys.get(FAULT).is_some()));
            assert!(schema.get("$defs").is_some_and(|types| types.get("FaultConfig").is_some()));
        }
    }
}
