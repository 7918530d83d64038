//! The functional truth of the bridge: pipeline and oracle, frame by frame.

mod frames;

mod check;
mod differential;
mod dissection;
mod golden;
mod laws;
mod readme;
mod workload;
