//! What every port must do: one suite of cases that the tests of each port's crate run.
//!
//! A port's test implements [`Bench`]: how to open the port, and a peer at its far end that sends
//! and receives raw frames, dies and comes back. Then [`run`] runs every [`Case`] whose needs the
//! bench can meet, each on a new bench, and says which it leaves out and why:
//!
//! ```text
//! struct Rings { … }                        // tests/conformance.rs of the port's crate
//! impl Bench for Rings {
//!     fn promises(&self) -> Promises {      // what this bench can do
//!         Promises { queues_max: 4, peer_dies: true, ..Promises::default() }
//!     }
//!     fn open(&mut self, request) …         // the port under test, as its PortKind opens it
//!     fn peer_send(&mut self, frames) …     // the far end; PortPeer where it is a port, too
//!     fn peer_receive(&mut self, sink) …
//!     fn kill_peer(&mut self) …             // and what else it promised
//! }
//! #[test]
//! fn the_port_conforms() {
//!     run("memory", || Some(Rings::default()));   // None: skipped, and the closure said why
//! }
//! ```
//! The smallest whole one is `crates/ports/memory/tests/conformance.rs`. Interfaces of the kernel
//! must carry nothing of its own: switch IPv6 off (`net/ipv6/conf/all/disable_ipv6`) and give no
//! address, as every frame that the suite did not send is a fault.
//!
//! One case alone, with a seed that was printed: `PORT_CASE=bursts PORT_SEED=7 cargo test -p
//! port-memory`.
//!
//! The accounting that all cases hold, in frames, once nothing is under way:
//!
//! ```text
//! offered to transmit            = counts.sent + counts.lost(Transmit), but those lost after sending
//! counts.sent                    = arrived at the peer + lost after sending + lost between
//! accepted from the peer         = counts.received + counts.lost(Receive) + lost between
//! counts.received                = appended to batches
//! ```
//! It deliberately measures no speed and knows no kind of port.

mod bench;
mod cases;
mod frames;
mod random;
mod session;

pub use bench::{Bench, LostBetween, Order, PortPeer, Promises, request};
pub use cases::{CASES, Case, Need, run};
pub use frames::{FRAME_BYTES_MIN, Found, build, recognise};
pub use random::Random;
