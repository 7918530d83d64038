//! What a function's workload offers to the tester.

use std::time::Duration;

use machine::clock::Ticks;
use packet::PortId;

use crate::recording::Lengths;
use crate::sessions::{SessionAction, SessionStep, Sessions};
use crate::timed::Times;
use crate::{Pacing, Stamp};

/// Frames by number, in one or more directions.
///
/// A frame is determined by its direction and its number only (and by the changes confirmed so
/// far): [`Frames::draw`] decides, [`Frames::write`] writes. Numbers of a direction start at 0.
pub trait Frames: Send {
    /// Properties that the number of a frame determines.
    type Draw: Copy;

    /// Returns the directions in which frames are sent.
    fn directions(&self) -> &[Direction];

    /// Determines frame `number` of a direction.
    fn draw(&self, direction: usize, number: u64) -> Self::Draw;

    /// Returns the length of the frame in bytes, without frame check sequence.
    fn frame_len(&self, draw: &Self::Draw) -> usize;

    /// Returns the steering bits of the frame's subscriber, by which frames are distributed over
    /// workers: 32 well-mixed bits, equal for both directions of a subscriber.
    fn steering(&self, draw: &Self::Draw) -> u32;

    /// Prefetches the table entries that [`Self::write`] reads and that are not in the caches near
    /// the core; called some frames ahead.
    #[inline(always)]
    fn prefetch(&self, _draw: &Self::Draw) {}

    /// Writes the frame, including the stamp, into exactly [`Self::frame_len`] bytes, all of them.
    fn write(&self, draw: &Self::Draw, stamp: Stamp, frame: &mut [u8]);

    /// Classifies a frame that was received from `port`; its stamp is already read. `draw` is the
    /// draw of the stamp's stream and number.
    fn delivery(
        &mut self,
        direction: usize,
        draw: &Self::Draw,
        stamp: &Stamp,
        port: PortId,
        frame: &[u8],
    ) -> Delivery;

    /// Returns true if a frame without a stamp is a report of the device, which the tester ignores.
    fn is_report(&self, _port: PortId, _frame: &[u8]) -> bool {
        false
    }

    /// Returns the clients whose actions in real time the frames represent; `None` for other
    /// traffic.
    fn population(&self) -> Option<Population> {
        None
    }

    /// Returns the delay of a direction's frames after those of the others, so that answers are not
    /// sent before requests.
    fn delay(&self, _direction: usize) -> Duration {
        Duration::ZERO
    }

    /// Returns the times at which the frames of a direction were captured, by which a load is sent;
    /// `None` for even intervals.
    fn times(&self, _direction: usize) -> Option<Times> {
        None
    }

    /// Returns the lengths of a direction's frames, if they are known without drawing them.
    fn lengths(&self, _direction: usize) -> Option<Lengths> {
        None
    }

    /// Returns the direction of a frame without a stamp that was received from `port`, where
    /// frames may have none: they are counted, and no more is known of them.
    fn unstamped(&self, _port: PortId) -> Option<usize> {
        None
    }

    /// Returns a copy that shares what this workload has learned and will learn; `None` if it
    /// learns nothing.
    fn twin(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// Changes of the function's state that accompany frames. A workload without changes writes only
/// their type.
pub trait Changes: Frames {
    /// A change.
    type Update: Clone + Send;

    /// Returns the kinds of changes, with their rates.
    fn events(&self) -> &[EventKind] {
        &[]
    }

    /// Returns the next change of a kind; `number` counts the changes of the kind from 0. `None` if
    /// there is nothing to change.
    fn next_update(&mut self, _kind: usize, _number: u64) -> Option<Change<Self::Update>> {
        None
    }

    /// Returns the kind of change of a subject, as an index into [`Self::events`].
    fn kind_of(&self, _subject: u64) -> Option<usize> {
        None
    }

    /// Records that the change took effect at a time, or was refused: frames sent later must show
    /// it.
    fn settled(&mut self, _subject: u64, _applied_at: Option<Ticks>) {}

    /// Returns the draw of a frame that would show the change of `subject`, if a frame can show it.
    fn probe(&self, _subject: u64) -> Option<(usize, Self::Draw)> {
        None
    }
}

/// Floods, which can be sent in addition to directions: to the device itself, including pings. A
/// function without an address of its own writes none of this.
pub trait Floods {
    /// Returns the floods that can be sent in addition to directions: to the device itself,
    /// including pings. Empty if the function has no address of its own.
    fn floods(&self) -> &[FloodKind] {
        &[]
    }

    /// Returns the length of the frames of a flood in bytes, without frame check sequence.
    fn flood_len(&self, _kind: usize) -> usize {
        0
    }

    /// Writes frame `number` of a flood into exactly [`Self::flood_len`] bytes. It has no stamp.
    fn write_flood(&self, _kind: usize, _number: u64, _frame: &mut [u8]) {}

    /// Returns true if a frame without a stamp is the device's own answer to a flood.
    fn answers_flood(&self, _kind: usize, _frame: &[u8]) -> bool {
        false
    }
}

/// Policers of subscribers. A function without such writes none of this.
pub trait Policers: Frames {
    /// Returns what the policer of a draw's subscriber counts of the frame; `None` if no policer
    /// applies.
    fn policed(&self, _draw: &Self::Draw) -> Option<PolicedFrame> {
        None
    }

    /// Returns the policer, which is the same for all subscribers, and the number of subscribers;
    /// `None` without policers.
    fn policer(&self) -> Option<Policer> {
        None
    }
}

/// Sessions that the workload can open in a device, and their frames. A function without sessions
/// writes none of this.
pub trait SessionFrames: Frames {
    /// Returns the sessions that the workload can open in a device; `None` if there are no
    /// sessions.
    fn sessions(&self) -> Option<Sessions> {
        None
    }

    /// Determines a session by its number below [`Sessions::most`]; its frames are distributed over
    /// workers by [`Frames::steering`].
    fn session(&self, _number: u64) -> Option<Self::Draw> {
        None
    }

    /// Returns the number of frames of an action on a session; 0 if there is nothing to send.
    fn session_steps(&self, _session: &Self::Draw, _action: SessionAction) -> u8 {
        0
    }

    /// Returns the ports at which steps of a session enter.
    fn session_ports(&self) -> [PortId; 2] {
        [PortId(0), PortId(1)]
    }

    /// Returns at which of [`Self::session_ports`] a step enters, 0 or 1: even steps at the first
    /// one, unless several in a row are the client's because the device itself answers it.
    fn session_side(&self, _session: &Self::Draw, _action: SessionAction, step: u8) -> usize {
        usize::from(step % 2)
    }

    /// Returns the length of a step's frame in bytes, without frame check sequence.
    fn session_frame_len(&self, _session: &Self::Draw, _action: SessionAction, _step: u8) -> usize {
        0
    }

    /// Writes the frame of an action's step into exactly [`Self::session_frame_len`] bytes.
    fn write_session(
        &self,
        _session: &Self::Draw,
        _what: (SessionAction, u8),
        _time: Ticks,
        _frame: &mut [u8],
    ) {
    }

    /// Returns the session and the step of a frame received from `port`, if it belongs to a
    /// session; learns from it the addresses of later frames to the session's client.
    fn session_seen(&mut self, _port: PortId, _frame: &[u8]) -> Option<(SessionStep, Self::Draw)> {
        None
    }

    /// Returns the next frame that a client has to send beside the steps of its session because of
    /// a frame that [`Self::session_seen`] was shown; it enters at the first of
    /// [`Self::session_ports`].
    fn session_says(&mut self) -> Option<&[u8]> {
        None
    }
}

/// A neighbour whose liveness the function watches by a protocol, played by the tester. A function
/// that watches none writes none of this.
pub trait FarEnds {
    /// Returns the port behind which the neighbour is; `None` if no neighbour is watched.
    fn far_end(&self) -> Option<PortId> {
        None
    }

    /// Takes in a frame without a stamp; returns true if it is for the neighbour.
    fn hear(&mut self, _port: PortId, _frame: &[u8], _now: Ticks) -> bool {
        false
    }

    /// Returns the next frame that the neighbour has to send by now.
    fn say(&mut self, _now: Ticks) -> Option<&[u8]> {
        None
    }

    /// Makes the path to the neighbour fail in both directions, or mends it.
    fn set_path(&mut self, _is_up: bool, _now: Ticks) {}

    /// Returns what the path has carried so far.
    fn path_use(&self) -> PathUse {
        PathUse::default()
    }
}

/// Frames on the path to a neighbour, by their stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathUse {
    /// Number of frames that arrived before the path failed.
    pub carried: u64,
    /// Stamp of the first of them.
    pub first: Option<Ticks>,
    /// Number of frames that the device sent into the failed path.
    pub lost: u64,
    /// Stamp of the last of them.
    pub last_lost: Option<Ticks>,
    /// Number of frames that arrived after the path was mended.
    pub returned: u64,
    /// Stamp of the first of them.
    pub first_returned: Option<Ticks>,
}

/// Everything that a function's workload offers.
pub trait Workload: Changes + Floods + Policers + SessionFrames + FarEnds {}

impl<W: Changes + Floods + Policers + SessionFrames + FarEnds> Workload for W {}

/// Clients that act in real time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    /// Number of clients.
    pub clients: u64,
    /// Frames per second that the clients send and receive.
    pub frames_per_s: f64,
}

/// Frames that are sent in addition to directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloodKind {
    /// Name: `icmp-echo`, `arp` …; `ping` is for probing, not a flood.
    pub name: &'static str,
    /// Port at which the frames enter.
    pub from: PortId,
}

/// A direction of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// Name: `uplink`, `downlink` …
    pub name: &'static str,
    /// Port at which the frames enter.
    pub from: PortId,
    /// Port at which the frames leave.
    pub to: PortId,
}

/// Count of a frame by a policer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicedFrame {
    /// Subscriber of the policer, from 0.
    pub subscriber: u32,
    /// Number of bytes that the policer counts.
    pub bytes: u32,
}

/// Policer of a subscriber in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// Rate in bytes per second.
    pub bytes_per_s: f64,
    /// Burst size in bytes.
    pub burst_bytes: f64,
    /// Number of subscribers with a policer.
    pub subscribers: u32,
}

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventKind {
    /// Name: `handover`, `user-update` …
    pub name: &'static str,
    /// Changes per second.
    pub rate_per_s: f64,
    /// Distribution of the intervals.
    pub pacing: Pacing,
}

/// A change to be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<U> {
    /// Identifier of the changed object.
    pub subject: u64,
    /// Steering bits of the worker that holds the changed object, as of [`Frames::steering`];
    /// `None` for all workers.
    pub steering: Option<u32>,
    /// The change.
    pub update: U,
}

/// Classification of a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Received at the right port in the right form.
    AsExpected,
    /// Received at the right port in the right form, and the first frame to show the change of this
    /// subject.
    Shows(u64),
    /// In the form before the change of this subject, although the change had taken effect when the
    /// frame was sent.
    Late(u64),
    /// A copy that the function must create (for a mirror, to further ports), not the frame itself;
    /// it is not counted.
    Beside,
    /// Sent by the device into a path that has failed: it is lost.
    Lost,
    /// Received at another port, or in another form.
    Misdelivered,
}
