//! A simulated network: nodes that run machines, links between them, and everything that can go
//! wrong, in virtual time and from one seed.
//!
//! ```text
//!  Simulation: nodes, links --> World: happenings in their order --> Report --> Simulation: judge
//!                                 ^
//!                     Plan: cuts, hangs, deaths, bad links, drawn from the seed
//! ```
//! The machines are those of the product, driven as a host of real sockets drives them: what has
//! arrived goes in first, then time is judged. A node may hang, die, come back, and its clock may
//! drift. A run that fails is told by its seed, and by the shortest part of its plan that still
//! fails.
//!
//! The files in reading order: [`link`] carries datagrams, `node` runs a machine, `stream` is one
//! between two, [`world`] lets time pass, `transport` has its streams, [`plan`] is what goes wrong,
//! [`runs`] runs seeds and shortens what fails, [`probe`] is a machine for tests of drivers.

pub mod link;

mod node;

mod stream;

pub mod world;

mod transport;

pub mod plan;

pub mod runs;

pub mod probe;

pub use link::Quality;
pub use plan::{Fault, Plan};
pub use probe::{Probe, Seen};
pub use runs::{Simulation, simulate};
pub use world::{Said, World};
