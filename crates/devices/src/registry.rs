//! The devices there are, in the order of the help text.

use crate::driver::Driver;

/// All but the embedded one, which needs no driver.
pub const DRIVERS: &[&dyn Driver] = &[
    &crate::process::Process,
    &crate::linux::Linux,
    &crate::ovs::Ovs,
    &crate::testpmd::Testpmd,
    &crate::external::External,
];

/// A device under test as it is named in scenarios.
#[derive(Clone, Copy)]
pub struct Device {
    /// Name in `device.name`.
    pub name: &'static str,
    /// One-line summary for `plumbline list`.
    pub summary: &'static str,
    /// Driver of the device; `None` for the functions built into this program.
    pub driver: Option<&'static dyn Driver>,
}

/// Default device of a scenario.
pub const EMBEDDED: Device = Device {
    name: "embedded",
    summary: "the function built into this program, on threads of this machine",
    driver: None,
};

/// Returns all devices.
pub fn devices() -> impl Iterator<Item = Device> {
    let of = |driver: &&'static dyn Driver| Device {
        name: driver.name(),
        summary: driver.summary(),
        driver: Some(*driver),
    };
    std::iter::once(EMBEDDED).chain(DRIVERS.iter().map(of))
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
            if let Some(driver) = device.driver {
                assert_eq!(driver.schema().get("type"), Some(&"object".into()), "{}", device.name);
            }
        }
    }
}
