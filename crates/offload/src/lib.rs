//! What a network card does for a kernel, in software: long segments of TCP and UDP are cut into
//! frames, frames that follow each other are joined into long segments, and checksums are
//! completed.
//!
//! ```text
//! kernel --frame of up to 64 KiB, Header--> segments() --frames--> a wire
//! kernel <--frame of up to 64 KiB, Header-- Coalescer <---frames-- a wire
//! a frame <--------- bytes of the next one -- Join <------ frames
//! ```
//! Both speak the header of virtio-net, which tap interfaces, packet sockets and virtual machines
//! have. Guarantees: whatever the bytes are, nothing panics, memory and the number of frames that
//! come of one are bounded, and frames that were joined and are cut again are those that they were.
//! No I/O and no allocation after creation.
//!
//! **Not supported:** joining datagrams of UDP for a kernel ([`Coalescer`]), tunnels, frames of
//! more than 64 KiB.

mod header;
mod layout;

mod kinds;

mod coalesce;
mod join;
mod segment;

mod law;

pub use coalesce::Coalescer;
pub use header::{Gso, HEADER_LEN, Header};
pub use join::{JOINED_BYTES_MAX, Join};
pub use kinds::Kinds;
pub use law::LAW;
pub use segment::{SEGMENTS_MAX, Segments, Unfit, begun, complete_begun, segments, whole};
