//! The functional truth of the router: pipeline and oracle, frame by frame.

mod frames;

mod check;
mod differential;
mod far_end;
mod floods;
mod golden;
mod groups;
mod laws;
mod parse;
mod readme;
mod reassembly;
mod virtuals;
mod workload;
