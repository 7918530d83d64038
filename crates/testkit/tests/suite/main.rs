//! The kit itself: the fuzz bodies on seeded inputs, and the device under test.

mod fuzz_smoke;
mod made;
