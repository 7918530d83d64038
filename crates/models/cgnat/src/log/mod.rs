//! The slow twin of `log`, and a logger beside it.

mod facts;
pub mod oracle;
pub mod trial;

pub use self::facts::facts;
