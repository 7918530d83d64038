//! The functional truth of chains: pipeline and oracle, frame by frame, both ways.

mod check;
mod frames;
mod laws;
