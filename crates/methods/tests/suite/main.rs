//! Searches and all methods on simulated devices: laws, known answers, records.

mod laws;
mod records;
mod searches;
mod trials;
