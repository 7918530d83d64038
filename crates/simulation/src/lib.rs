//! A simulated network: nodes that run machines, links between them, and everything that can go
//! wrong, in virtual time and from one seed.
//!
//! ```text
//!  Simulation: nodes, links --> World: happenings in their order --> Report --> Simulation: judge
//!                                 ^
//!                     Plan: cuts, hangs, deaths, bad links, drawn from the seed
//! ```
//! The machines are those of the product, driven as a host of real sockets drives them: what has
//! arrived goes in first, then time is judged. A node may hang, die, lose its power, come back, and
//! its clock may drift and leap. A run that fails is told by its seed, and by the shortest part of
//! its plan that still fails.
//!
//! What links carry is what a host of real sockets has: datagrams, packets of IP protocols, frames,
//! and streams. A stream loses nothing: what is lost is late, and what waits for a minute fails.
//! Each node has a disk for files, which may be full.
//!
//! The files in reading order: [`link`] carries datagrams, `disk` has files, `node` runs a machine,
//! `stream` is one between two, [`world`] lets time pass, `transport` has its streams and `files`
//! its disks, [`plan`] is what goes wrong, [`runs`] runs seeds and shortens what fails, [`either`]
//! makes one kind of machines of two, [`probe`] is a machine for tests of drivers.
//!
//! **Not supported:** segments of more than two nodes, multicast of IP.

pub mod link;

mod disk;

mod node;

mod stream;

pub mod world;

mod transport;

mod files;

pub mod plan;

pub mod runs;

pub mod either;

pub mod probe;

pub use either::Either;
pub use link::Quality;
pub use plan::{Fault, Plan};
pub use probe::{Probe, Seen};
pub use runs::{Simulation, hours, simulate, simulate_once};
pub use world::{Said, World};
