//! Workloads: numbered frames that a seed decides, and what is learnt from those that come back.
//!
//! A function describes its traffic as a [`Workload`]: the frame of a number is the same whenever
//! and wherever it is made, so a trace of 100 million flows needs no storage, and any number of
//! threads makes the same bytes. Each frame carries a [`Stamp`] at its end, behind all headers,
//! where no tunnel that is added or removed on the way moves it. [`Account`] tells loss, order and
//! repetition. This crate sends nothing and reads no clock.

pub mod account;
pub mod distribution;
pub mod offered;
pub mod pacing;
pub mod passing;
pub mod random;
pub mod recording;
pub mod sessions;
pub mod sizes;
pub mod stamp;
pub mod stamping;
pub mod timed;
pub mod workload;

pub use account::{Account, Arrival};
pub use distribution::{Distribution, Draw};
pub use offered::{Drawn, Offered, Replay};
pub use pacing::{Pacer, Pacing};
pub use passing::Passing;
pub use random::Random;
pub use recording::{Lengths, Recording};
pub use sessions::{SessionAction, SessionStep, Sessions};
pub use sizes::Sizes;
pub use stamp::Stamp;
pub use timed::{Timed, Times};
pub use workload::{
    Changes, Delivery, Direction, FarEnds, Floods, Frames, Policers, Population, SessionFrames,
    Workload,
};
