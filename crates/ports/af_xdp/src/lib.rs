//! The AF_XDP port: frames from and to a network interface, past the kernel's stack.
//!
//! ```text
//!              XDP program: the queue's socket, else on to the kernel
//! interface ==> queue n ==> receive ring ==> batch      fill ring ==> free chunks for frames
//!           <==         <== transmit ring <== batch     completion ring <== sent chunks
//! ```
//! No C library takes part: the rings are `ring.rs`, the program is written as instructions in
//! `program.rs` and loaded by the bpf system call. A queue has a socket and memory of its own, so
//! that a worker shares nothing with another. `keeper.rs` watches the interface: a link that goes
//! down and comes back, and an interface that is deleted and made again, need no restart.
//!
//! Guarantees: memory is fixed at the start; a frame is delivered whole and once; each that is not
//! delivered is counted with its reason. A frame is copied between batch and chunk; zero copy is
//! what the driver does below that, and [`engine::Monitor::facts`] tells whether it does.

mod attachment;
mod bpf;
mod config;
mod counts;
mod ethtool;
mod explain;
mod keeper;
mod kind;
mod mailbox;
mod memory;
mod netlink;
mod port;
mod program;
mod ring;
mod socket;
mod transmitter;

pub use config::{Config, Mode, ZeroCopy};
pub use kind::AfXdp;
