//! What is measured, a folder each: functions of this program embedded in it, and devices of other
//! making that a tester reaches by real ports.

mod comparison;
pub mod driver;
pub mod embedded;
pub mod external;
pub mod linux;
pub mod ovs;
pub mod process;
pub mod registry;
pub mod remote;
mod room;
mod sessions;
mod tester;
pub mod testpmd;
pub mod wires;
