//! The devices there are, in the order of the help text.

use schemars::Schema;
use serde_json::{Map, Value};

use crate::driver::Driver;
use crate::routing::driver::RoutingDriver;
use crate::routing::{bird, embedded, frr, gobgp, openbgpd, process};

/// All that forward frames but the embedded one, which needs no driver.
pub const DRIVERS: &[&dyn Driver] = &[
    &crate::process::Process,
    &crate::linux::Linux,
    &crate::ovs::Ovs,
    &crate::testpmd::Testpmd,
    &crate::vpp::Vpp,
    &crate::external::External,
];

/// All that reflect routes.
pub const ROUTING: &[&dyn RoutingDriver] = &[
    &embedded::Embedded,
    &process::Process,
    &frr::Frr,
    &bird::Bird,
    &gobgp::Gobgp,
    &openbgpd::Openbgpd,
];

/// A device under test as it is named in scenarios.
#[derive(Clone, Copy)]
pub struct Device {
    /// Name in `device.name`.
    pub name: &'static str,
    /// One-line summary for `plumbline list`.
    pub summary: &'static str,
    /// Driver of the device that forwards frames; `None` for the functions built into this
    /// program, and for a device that forwards none.
    pub driver: Option<&'static dyn Driver>,
    /// Driver of the device that reflects routes; `None` for a device that has none.
    pub routing: Option<&'static dyn RoutingDriver>,
}

impl Device {
    /// Returns true if the device forwards frames.
    pub fn forwards(&self) -> bool {
        self.driver.is_some() || self.name == EMBEDDED.name
    }

    /// Returns the JSON Schema of the device's own keys; `None` if it has none. The driver that
    /// reflects routes takes no key that the other one of the same device does not.
    pub fn schema(&self) -> Option<Schema> {
        let routing = self.routing.filter(|_| !self.forwards());
        self.driver.map(Driver::schema).or_else(|| routing.map(RoutingDriver::schema))
    }

    /// Returns the version of the device that would run with these keys, as far as it is known
    /// without starting it; nothing for what is built into this program.
    pub fn version(&self, options: &Map<String, Value>) -> String {
        let routing = self.routing.filter(|_| !self.forwards());
        let version = self.driver.map(|driver| driver.version(options));
        version.or(routing.map(|driver| driver.version(options))).unwrap_or_default()
    }

    /// Returns the folder of its README below `crates/devices/src`.
    pub fn folder(&self) -> String {
        let parent = if self.forwards() { "" } else { "routing/" };
        format!("{parent}{}", self.name.replace('-', "_"))
    }
}

/// Default device of a scenario.
pub const EMBEDDED: Device = Device {
    name: embedded::NAME,
    summary: embedded::SUMMARY,
    driver: None,
    routing: Some(&embedded::Embedded),
};

/// Returns all devices.
pub fn devices() -> impl Iterator<Item = Device> {
    let routing = |name: &str| ROUTING.iter().find(|driver| driver.name() == name).copied();
    let of = move |driver: &&'static dyn Driver| Device {
        name: driver.name(),
        summary: driver.summary(),
        driver: Some(*driver),
        routing: routing(driver.name()),
    };
    let forwards =
        |name: &str| name == EMBEDDED.name || DRIVERS.iter().any(|driver| driver.name() == name);
    let others = ROUTING.iter().filter(move |driver| !forwards(driver.name()));
    let of_other = |driver: &&'static dyn RoutingDriver| Device {
        name: driver.name(),
        summary: driver.summary(),
        driver: None,
        routing: Some(*driver),
    };
    std::iter::once(EMBEDDED).chain(DRIVERS.iter().map(of)).chain(others.map(of_other))
}

/// Returns the devices that have keys of their own, with their schemas.
pub fn schemas() -> impl Iterator<Item = (Device, Schema)> {
    devices().filter_map(|device| Some((device, device.schema()?)))
}

/// Finds the device of a name.
pub fn find(name: &str) -> Option<Device> {
    devices().find(|device| device.name == name)
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Device").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_has_a_name_and_an_object_for_keys() {
        for device in devices() {
            assert_eq!(find(device.name).map(|found| found.name), Some(device.name));
            assert!(!device.summary.is_empty() && !device.summary.ends_with('.'));
            assert!(device.forwards() || device.routing.is_some(), "{}", device.name);
            if let Some(schema) = device.schema() {
                assert_eq!(schema.get("type"), Some(&"object".into()), "{}", device.name);
            }
        }
    }
    #[test]
    fn a_driver_of_each_kind_has_one_device_and_what_routes_takes_no_other_keys() {
        let names: Vec<&str> = devices().map(|device| device.name).collect();
        let unique: std::collections::BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(unique.len(), names.len(), "{names:?}");
        for driver in ROUTING {
            let device = find(driver.name()).expect("it is a device");
            assert_eq!(device.routing.map(RoutingDriver::name), Some(driver.name()));
            let keys = |schema: Schema| -> Vec<String> {
                let keys = schema.get("properties").and_then(|keys| keys.as_object()).cloned();
                keys.unwrap_or_default().keys().cloned().collect()
            };
            let all = device.schema().map(keys).unwrap_or_default();
            let own = keys(driver.schema());
            assert!(own.iter().all(|key| all.contains(key)), "{}: {own:?}", driver.name());
        }
        assert!(!find("frr").expect("a device").forwards());
        assert!(find("process").is_some_and(|one| one.forwards() && one.routing.is_some()));
    }
}
