//! The memory port: a bounded byte ring between two threads.
