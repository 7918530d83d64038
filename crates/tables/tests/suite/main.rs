//! Every table against its slow twin, and against what its documents promise.

mod classifier;
mod groups;
mod index;
mod internet;
mod lpm;
mod mac;
mod meter;
mod policer;
mod scheduler;
mod tagged;
mod wheel;

#[path = "../../benches/suite/random.rs"]
mod random;
