//! The devices there are, in the order of the help text.

use crate::driver::Driver;
use crate::external::External;
use crate::linux::Linux;
use crate::ovs::Ovs;
use crate::process::Process;
use crate::testpmd::Testpmd;

/// All but the embedded one, which needs no driver.
pub const DRIVERS: &[&dyn Driver] = &[&Process, &Linux, &Ovs, &Testpmd, &External];

/// A device as a scenario names it.
#[derive(Clone, Copy)]
pub struct Device {
    /// The name in `device.name`.
    pub name: &'static str,
    /// One line for `plumbline list`.
    pub summary: &'static str,
    /// Its driver; none for the functions built into this program.
    pub driver: Option<&'static dyn Driver>,
}

/// The device that a scenario means where it names none.
pub const EMBEDDED: Device = Device {
    name: "embedded",
    summary: "the function built into this program, on threads of this machine",
    driver: None,
};

/// All devices.
pub fn devices() -> impl Iterator<Item = Device> {
    let of = |driver: &&'static dyn Driver| Device {
        name: driver.name(),
        summary: driver.summary(),
        driver: Some(*driver),
    };
    std::iter::once(EMBEDDED).chain(DRIVERS.iter().map(of))
}

/// The device of that name.
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
