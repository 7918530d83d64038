//! The functional truth of the mobile gateway: pipeline and oracle, frame by frame.

mod check;
