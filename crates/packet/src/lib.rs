//! Packet memory: frames in batches, with headroom and one verdict each.
//!
//! Guarantees: no allocation after a batch was made, no frame is ever out of its own buffer, and
//! nothing outlives the batch it came in: what a function must keep, it copies aside.
//! Deliberately absent: reference counts, chained segments, a shared pool. Frames run to completion
//! on one worker, so a batch can own its buffers, and there is nothing to leak or to give back.

mod batch;
mod long;
mod made;
mod slots;
mod verdict;

pub use batch::{BATCH_MAX, Batch, Joins, LONG_BYTES_MAX, Room};
pub use long::Long;
pub use made::{MADE_FULL, Made};
pub use slots::{Slot, Slots};
pub use verdict::{PortId, Reason, Verdict};
