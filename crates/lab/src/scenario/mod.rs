//! Scenarios: which function, device, traffic and methods, and over which values.
//!
//! Reading a file goes in steps, a file each: `load` (text to values with lines), `keys` (which keys
//! there are), `sweep` (lists to cells).

mod error;
pub mod keys;
mod load;
pub mod sweep;

pub use error::ScenarioError;
pub use load::Document;
