//! What is measured, a folder each: functions of this program embedded in it, and devices of other
//! making that a tester reaches by real ports.

mod comparison;
pub mod driver;
pub mod embedded;
pub mod linux;
pub mod remote;
mod tester;
pub mod wires;

use driver::Driver;

/// The drivers of devices of other making, in the order of the help text.
pub const DRIVERS: &[&dyn Driver] = &[&linux::Linux];

/// The driver of this name.
pub fn find(name: &str) -> Option<&'static dyn Driver> {
    DRIVERS.iter().copied().find(|driver| driver.name() == name)
}
