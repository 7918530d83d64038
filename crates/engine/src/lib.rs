//! The engine: ports, a function, the worker that joins them, and control while it runs.
//!
//! Modules stand in the packet's order. The engine knows no protocol and names no function; nothing
//! in it is shared between workers but counters that are read, and bounded queues of control.

pub mod control;
pub mod counters;
pub mod function;
pub mod gaps;
pub mod idle;
pub mod long;
pub mod plane;
pub mod port;
pub mod stages;
pub mod steering;
pub mod supervision;
pub mod tap;
pub mod worker;

pub use control::{Acknowledgement, Controller, Refusal};
pub use counters::{CounterReader, Counts};
pub use function::{Drops, Function, Names};
pub use gaps::Gaps;
pub use idle::Idle;
pub use long::{Intake, LONG_FRAME_BYTES_MAX, Losses, Taken, Unsent, announced};
pub use offload::Kinds;
pub use plane::{
    Context, Detail, Event, EventKind, Plane, PlaneReader, PlaneSetup, PuntCounts, PuntLimit,
    Punted, Wake,
};
pub use port::{
    Link, Monitor, Opened, Port, PortCounts, PortDrop, PortError, PortKind, PortRequest,
    QueueCounters, Way,
};
pub use stages::{StageClock, StageTotals};
pub use supervision::{Done, Order, Supervisor, TotalsReader};
pub use tap::Tap;
pub use worker::{Worker, WorkerHandle};
