//! What is measured, a folder each: so far the functions of this program, embedded in it.

pub mod driver;
pub mod embedded;
