//! The slow twin of `log`.

mod facts;
pub mod oracle;

pub use self::facts::facts;
