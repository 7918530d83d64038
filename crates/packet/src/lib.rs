//! Packet memory: batches of frames with headroom and a verdict each.
