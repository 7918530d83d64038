//! The functional truth of the mobile gateway: pipeline and oracle, frame by frame.

mod frames;

mod captures;
mod check;
mod differential;
mod dissection;
mod laws;
mod policer;
mod workload;
