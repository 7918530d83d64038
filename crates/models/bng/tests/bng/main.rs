//! The functional truth of the broadband network gateway: function and oracle, frame by frame.

mod frames;

mod check;
mod differential;
mod golden;
mod laws;
mod limits;
mod readme;
mod workload;
