//! What holds for all formats: any bytes are survived, what is emitted is read back, another
//! crate reads the same, and so do captures of real networks.
//!
//! One binary, so that it links once.

mod captures;
mod comparison;
mod properties;
mod random;
