//! What is measured, a folder each: functions of this program embedded in it, and devices of other
//! making that a tester reaches by real ports. Devices that reflect routes are in [`routing`].

pub mod closed_loop;
mod comparison;
pub mod driver;
pub mod embedded;
pub mod external;
mod folder;
pub mod linux;
mod neighbours;
mod output;
pub mod ovs;
pub mod process;
pub mod registry;
pub mod remote;
mod room;
pub mod routing;
mod sessions;
mod tester;
pub mod testpmd;
pub mod vpp;
pub mod wires;
