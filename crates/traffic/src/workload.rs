//! What a function's workload offers to the tester.

use std::time::Duration;

use machine::clock::Ticks;
use packet::PortId;

use crate::sessions::{SessionAction, SessionStep, Sessions};
use crate::{Pacing, Stamp};

/// Frames by number, in one or more directions, and the changes that go with them.
///
/// A frame is decided by its direction and its number alone (and by the changes confirmed so far):
/// [`Workload::draw`] decides, [`Workload::write`] writes. Numbers of a direction start at 0.
pub trait Workload: Send {
    /// What the number of a frame decides.
    type Draw: Copy;
    /// A change of the function's state.
    type Update: Clone + Send;

    /// The directions in which frames are sent.
    fn directions(&self) -> &[Direction];

    /// Decides frame `number` of a direction.
    fn draw(&self, direction: usize, number: u64) -> Self::Draw;

    /// Length of the frame in bytes, without its check sequence.
    fn frame_len(&self, draw: &Self::Draw) -> usize;

    /// The subscriber by which frames are spread over workers, as 32 well-mixed bits; both
    /// directions of one subscriber have the same.
    fn steering(&self, draw: &Self::Draw) -> u32;

    /// Asks the processor for what [`Self::write`] reads of a table that the caches near the core do
    /// not hold; to be called some frames ahead.
    #[inline(always)]
    fn prefetch(&self, _draw: &Self::Draw) {}

    /// Writes the frame, stamp included, into exactly [`Self::frame_len`] bytes, all of them.
    fn write(&self, draw: &Self::Draw, stamp: Stamp, frame: &mut [u8]);

    /// What a frame that came back from `port` is: the stamp is already read. `draw` is the one of
    /// the stamp's stream and number.
    fn delivery(
        &mut self,
        direction: usize,
        draw: &Self::Draw,
        stamp: &Stamp,
        port: PortId,
        frame: &[u8],
    ) -> Delivery;

    /// The kinds of changes that happen, with their rates.
    fn events(&self) -> &[EventKind];

    /// The next change of a kind; `number` counts the changes of the kind from 0. None where there
    /// is nothing to change.
    fn next_update(&mut self, kind: usize, number: u64) -> Option<Change<Self::Update>>;

    /// The kind of change that a subject belongs to, as an index into [`Self::events`].
    fn kind_of(&self, subject: u64) -> Option<usize>;

    /// The change took effect at a time, or was refused: frames sent later must show it.
    fn settled(&mut self, subject: u64, applied_at: Option<Ticks>);

    /// What the policer of a draw's subscriber counts of the frame; none where no policer looks at
    /// it.
    fn policed(&self, _draw: &Self::Draw) -> Option<PolicedFrame> {
        None
    }

    /// What the policers of subscribers let through, which is the same for all of them, and how many
    /// subscribers there are; none where there are no policers.
    fn policer(&self) -> Option<Policer> {
        None
    }

    /// The draw of a frame by which the change of `subject` would show, if a frame can show it.
    fn probe(&self, subject: u64) -> Option<(usize, Self::Draw)>;

    /// What may be sent beside the frames of directions: floods against the device itself, and
    /// pings. None where the function has no address of its own.
    fn floods(&self) -> &[FloodKind] {
        &[]
    }

    /// The length of the frames of a flood in bytes, without check sequence.
    fn flood_len(&self, _kind: usize) -> usize {
        0
    }

    /// Writes frame `number` of a flood into exactly [`Self::flood_len`] bytes. It bears no stamp.
    fn write_flood(&self, _kind: usize, _number: u64, _frame: &mut [u8]) {}

    /// Whether a frame without a stamp is the device's own answer to a flood.
    fn answers_flood(&self, _kind: usize, _frame: &[u8]) -> bool {
        false
    }

    /// Whether a frame without a stamp is one by which the device reports what happened in it: the
    /// tester passes it over.
    fn is_report(&self, _port: PortId, _frame: &[u8]) -> bool {
        false
    }

    /// The clients whose doings by the clock the frames are, where they are that.
    fn population(&self) -> Option<Population> {
        None
    }

    /// By how much the frames of a direction follow those of the others: answers do not come before what
    /// they answer.
    fn delay(&self, _direction: usize) -> Duration {
        Duration::ZERO
    }

    /// The sessions that it can open in a device that keeps them; none where there is no such thing.
    fn sessions(&self) -> Option<Sessions> {
        None
    }

    /// What the number of a session decides, for a number below [`Sessions::most`]; its frames are
    /// spread over workers by [`Self::steering`].
    fn session(&self, _number: u64) -> Option<Self::Draw> {
        None
    }

    /// How many frames an action on a session takes; 0 where there is nothing to send.
    fn session_steps(&self, _session: &Self::Draw, _action: SessionAction) -> u8 {
        0
    }

    /// Where the even steps of a session enter, and where the odd ones do.
    fn session_ports(&self) -> [PortId; 2] {
        [PortId(0), PortId(1)]
    }

    /// Length of a step's frame in bytes, without its check sequence.
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

    /// What step of which session a frame is that came out at `port`, if it is one; learns from it how
    /// later frames to the session's client are addressed.
    fn session_seen(&mut self, _port: PortId, _frame: &[u8]) -> Option<(SessionStep, Self::Draw)> {
        None
    }

    /// Another one that shares what this one has learned and will learn; none where nothing is.
    fn twin(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// Clients that do what they do by the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Population {
    /// How many.
    pub clients: u64,
    /// Frames a second that they send, and that are sent to them.
    pub frames_per_s: f64,
}

/// Frames that are sent beside those of directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloodKind {
    /// `icmp-echo`, `arp` …; `ping` is for probing, not for flooding.
    pub name: &'static str,
    /// Where its frames enter.
    pub from: PortId,
}

/// One direction of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// `uplink`, `downlink` …
    pub name: &'static str,
    /// Where its frames enter.
    pub from: PortId,
    /// Where they leave.
    pub to: PortId,
}

/// What a policer counts of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicedFrame {
    /// Whose policer, from 0.
    pub subscriber: u32,
    /// How many bytes it counts.
    pub bytes: u32,
}

/// What the policer of a subscriber lets through in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// How much more at once.
    pub burst_bytes: f64,
    /// How many subscribers have one.
    pub subscribers: u32,
}

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventKind {
    /// `handover`, `user-update` …
    pub name: &'static str,
    /// Changes a second.
    pub rate_per_s: f64,
    /// How they are spaced.
    pub pacing: Pacing,
}

/// A change to be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<U> {
    /// What is changed, to speak of it later.
    pub subject: u64,
    /// As [`Workload::steering`]: the worker that holds what is changed; None for all workers.
    pub steering: Option<u32>,
    /// The change.
    pub update: U,
}

/// What a frame that came back is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Where and how it belongs.
    AsExpected,
    /// The same, and the first to show the change of this subject.
    Shows(u64),
    /// As it would have been right before the change of this subject, which had taken effect when
    /// it was sent.
    Late(u64),
    /// A copy that the function is to make of it (for a mirror, to further ports), and not the frame
    /// that is waited for; it is not counted.
    Beside,
    /// Somewhere else, or in another form.
    Misdelivered,
}

/// The worker among `count` on which a subscriber is.
#[inline(always)]
pub fn worker_of(steering: u32, count: u32) -> u32 {
    crate::random::below(steering, count)
}
