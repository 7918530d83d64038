//! A controller that raises an alarm while the function has less links than it should.
//!
//! [`config`] has the keys, [`machine`] the controller.

pub mod config;

pub mod machine;

pub use config::Config;
pub use machine::Template;
