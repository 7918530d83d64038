//! Route reflectors as devices under test: the controller of this program, embedded and as a
//! process, and daemons of other making.
//!
//! All of them listen at a port above 1024 of 127.0.0.1 in the network namespace of this process,
//! so that none but OpenBGPD needs rights. Each has a private folder, and no routes of the kernel
//! change. The files in reading order: [`driver`] is the seam, `place` finds where to listen,
//! `usage` reads what processes use, `daemon` starts, kills and watches a process, `foreign` makes
//! drivers of daemons of other making, `own` has the keys of this program's controller; then a
//! device each.

pub mod driver;

mod place;

mod usage;

mod daemon;

mod foreign;

mod own;

pub mod embedded;

pub mod process;

pub mod frr;

pub mod bird;

pub mod gobgp;

pub mod openbgpd;

pub use daemon::Options;
