//! Carrier network functions in software, and the bench that proves them.
fn main() {}
