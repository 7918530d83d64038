//! The functional truth of the mobile gateway: pipeline and oracle, frame by frame.

mod frames;
mod updates;

mod captures;
mod check;
mod differential;
mod dissection;
mod golden;
mod laws;
mod limits;
mod neighbours;
mod policer;
mod readme;
mod workers;
mod workload;
