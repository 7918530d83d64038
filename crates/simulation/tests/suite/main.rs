//! The simulated network itself: what it carries, and what becomes of streams when links and nodes
//! fail.

mod probes;

mod copies;
