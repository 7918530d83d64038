//! Scenarios as they come with the source, and mistakes at every key of one.

mod scenarios;
mod wrong_types;
