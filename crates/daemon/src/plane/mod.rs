//! The way between the workers and the kernel: interfaces of the host that carry what a function
//! punts and what the host's own programs send.
//!
//! ```text
//!  workers --punted, a ring for each reason--> thread `host` --write--> tap --> kernel, programs
//!  worker 0 <--injected----------------------- thread `host` <--read--- tap <-- kernel, programs
//! ```
//! No worker waits for the thread: what it does not take in time is counted and gone. It takes a
//! bounded number of frames from each reason of each worker, then from each interface, and sleeps
//! when there is nothing. A panic in it is logged, and it begins again with the same interfaces;
//! workers forward meanwhile. The files in reading order: `counts` what is counted, `vrf` devices
//! of VRFs, `interface` one interface of the kernel, `opened` with what workers join, `carrier`
//! what is done in a turn, `thread` when.
//!
//! What is changed at the kernel's interface is a controller's affair, not this thread's.

mod counts;
mod vrf;

mod interface;

mod opened;

mod carrier;
mod thread;

pub(crate) use self::counts::Watch;
pub(crate) use self::interface::enter;
pub use self::opened::Joining;
pub(crate) use self::opened::Opened;
pub(crate) use self::thread::HostThread;

#[cfg(test)]
mod tests;
