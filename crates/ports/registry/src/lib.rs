//! The kinds of ports there are, by the `type` that a configuration names.
//!
//! A port's crate knows its own keys and how to open itself; this list is all that others know of it.
//! Every kind may have a section `fault`, which is put in front of it here.
//! A new kind is a crate beside this one and a line in [`PORTS`].

use std::marker::PhantomData;

use engine::{KeyError, Opened, PortError, PortKind, PortRequest};
use port_fault::FaultConfig;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// All kinds, in the order of the help text.
pub const PORTS: &[&dyn Kind] = &[
    &Entry::<port_af_packet::AfPacket>::new(),
    &Entry::<port_af_xdp::AfXdp>::new(),
    &Entry::<port_memif::Memif>::new(),
    &Entry::<port_pcap::Pcap>::new(),
    &Entry::<port_tap::Tap>::new(),
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
        with_fault::<K::Config>()
    }

    fn available(&self) -> Result<(), PortError> {
        K::available()
    }

    fn read(&self, mut keys: Value) -> Result<Box<dyn Configured>, KeyError> {
        let fault = match keys.as_object_mut().and_then(|keys| keys.remove(FAULT)) {
            Some(keys) => Some(read_fault(keys)?),
            None => None,
        };
        let config: K::Config = from_keys(keys)?;
        K::validate(&config)?;
        let mut effective = to_value(&config)?;
        if let (Some(fault), Some(keys)) = (&fault, effective.as_object_mut()) {
            keys.insert(FAULT.to_owned(), to_value(fault)?);
        }
        Ok(Box::new(Read::<K> { config, fault, effective }))
    }
}

/// Reads a type from its keys.
fn from_keys<T: DeserializeOwned>(keys: Value) -> Result<T, KeyError> {
    serde_path_to_error::deserialize(keys).map_err(|error| {
        let path = error.path().to_string();
        let key = if path == "." { String::new() } else { path };
        KeyError { key, what: error.inner().to_string() }
    })
}

/// Reads and checks the section `fault`, which every kind may have.
fn read_fault(keys: Value) -> Result<FaultConfig, KeyError> {
    let fault: Result<FaultConfig, KeyError> = from_keys(keys);
    fault.and_then(|fault| fault.validate().map(|()| fault)).map_err(|error| {
        let key =
            if error.key.is_empty() { FAULT.to_owned() } else { format!("{FAULT}.{}", error.key) };
        KeyError { key, ..error }
    })
}

fn to_value<T: Serialize>(config: &T) -> Result<Value, KeyError> {
    serde_json::to_value(config)
        .map_err(|error| KeyError { key: String::new(), what: error.to_string() })
}

/// The schema of a kind's keys and of `fault`.
fn with_fault<C: JsonSchema>() -> Schema {
    let mut generator = SchemaGenerator::default();
    let fault = generator.subschema_for::<FaultConfig>();
    let mut schema = generator.into_root_schema_for::<C>();
    if let Some(keys) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        keys.insert(FAULT.to_owned(), fault.to_value());
    }
    schema
}

/// A configuration with its kind.
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

/// The section that every kind may have.
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
