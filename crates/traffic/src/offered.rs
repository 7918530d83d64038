//! What a tester offers: the frames that a function's workload makes, or captured ones.
//!
//! With captured frames, what the workload has beside its frames stays: floods, changes of the
//! function's state and a neighbour that is played. Sessions, clients and policers are known of
//! made frames only, so there are none.

use std::sync::Arc;
use std::time::Duration;

use machine::clock::Ticks;
use packet::PortId;

use crate::recording::{Lengths, Recording, Recordings};
use crate::timed::Times;
use crate::workload::{
    Change, Changes, Delivery, Direction, EventKind, FarEnds, FloodKind, Floods, Frames, PathUse,
    PolicedFrame, Policer, Policers, Population, SessionFrames,
};
use crate::{SessionAction, SessionStep, Sessions, Stamp};

/// A workload whose frames may be captured ones.
#[derive(Debug)]
pub struct Offered<W> {
    made: W,
    replay: Option<Replay>,
}

/// Captured frames that are sent in place of made ones, over and over.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Directions of the frames.
    pub directions: Arc<[Direction]>,
    /// Frames by direction; none is empty.
    pub recordings: Recordings,
    /// When the frames of each direction were captured; `None` for even intervals.
    pub times: Option<Arc<[Times]>>,
}

/// Properties of a frame that is made, or the place of a captured one.
#[derive(Clone, Copy, Debug)]
pub enum Drawn<D> {
    /// A frame that the workload makes.
    Made(D),
    /// A captured frame.
    Captured {
        /// Index of its direction.
        direction: u8,
        /// Its place in the recording.
        index: u32,
    },
}

impl<W> Offered<W> {
    /// Offers what a workload makes, or in place of its frames those of a replay.
    pub fn new(made: W, replay: Option<Replay>) -> Offered<W> {
        Offered { made, replay }
    }
}

impl Replay {
    #[inline(always)]
    fn recording(&self, direction: u8) -> &Recording {
        &self.recordings[usize::from(direction)]
    }

    /// Returns the direction of a frame without a stamp that left by a port: the one that leads
    /// there, or else any that did not come from there.
    fn direction_to(&self, port: PortId) -> Option<usize> {
        let leads = |direction: &Direction| direction.to == port;
        let comes = |direction: &Direction| direction.from != port;
        let all = &self.directions;
        all.iter().position(leads).or_else(|| all.iter().position(comes))
    }
}

impl<W: Frames> Frames for Offered<W> {
    type Draw = Drawn<W::Draw>;

    fn directions(&self) -> &[Direction] {
        match &self.replay {
            None => self.made.directions(),
            Some(replay) => &replay.directions,
        }
    }

    #[inline(always)]
    fn draw(&self, direction: usize, number: u64) -> Self::Draw {
        match &self.replay {
            None => Drawn::Made(self.made.draw(direction, number)),
            Some(replay) => {
                let count = replay.recordings[direction].len() as u64;
                let index = (number % count) as u32;
                Drawn::Captured { direction: direction as u8, index }
            }
        }
    }

    #[inline(always)]
    fn frame_len(&self, draw: &Self::Draw) -> usize {
        match (draw, &self.replay) {
            (Drawn::Made(draw), _) => self.made.frame_len(draw),
            (&Drawn::Captured { direction, index }, Some(replay)) => {
                replay.recording(direction).frame_len(index)
            }
            (Drawn::Captured { .. }, None) => 0,
        }
    }

    #[inline(always)]
    fn steering(&self, draw: &Self::Draw) -> u32 {
        match (draw, &self.replay) {
            (Drawn::Made(draw), _) => self.made.steering(draw),
            (&Drawn::Captured { direction, index }, Some(replay)) => {
                replay.recording(direction).steering(index)
            }
            (Drawn::Captured { .. }, None) => 0,
        }
    }

    #[inline(always)]
    fn prefetch(&self, draw: &Self::Draw) {
        match (draw, &self.replay) {
            (Drawn::Made(draw), _) => self.made.prefetch(draw),
            (&Drawn::Captured { direction, index }, Some(replay)) => {
                replay.recording(direction).prefetch(index);
            }
            (Drawn::Captured { .. }, None) => {}
        }
    }

    #[inline(always)]
    fn write(&self, draw: &Self::Draw, stamp: Stamp, frame: &mut [u8]) {
        match (draw, &self.replay) {
            (Drawn::Made(draw), _) => self.made.write(draw, stamp, frame),
            (&Drawn::Captured { direction, index }, Some(replay)) => {
                replay.recording(direction).write(index, stamp, frame);
            }
            (Drawn::Captured { .. }, None) => {}
        }
    }

    #[inline(always)]
    fn delivery(
        &mut self,
        direction: usize,
        draw: &Self::Draw,
        stamp: &Stamp,
        port: PortId,
        frame: &[u8],
    ) -> Delivery {
        match draw {
            Drawn::Made(draw) => self.made.delivery(direction, draw, stamp, port, frame),
            // Nobody but the oracle knows what becomes of a captured frame; an error quotes it.
            Drawn::Captured { .. } if is_icmp(frame) => Delivery::Beside,
            Drawn::Captured { .. } => Delivery::AsExpected,
        }
    }

    fn is_report(&self, port: PortId, frame: &[u8]) -> bool {
        self.made.is_report(port, frame)
    }

    fn population(&self) -> Option<Population> {
        self.made.population().filter(|_| self.replay.is_none())
    }

    fn delay(&self, direction: usize) -> Duration {
        match &self.replay {
            None => self.made.delay(direction),
            Some(_) => Duration::ZERO,
        }
    }

    fn twin(&self) -> Option<Self> {
        let made = self.made.twin()?;
        Some(Offered { made, replay: self.replay.clone() })
    }

    fn times(&self, direction: usize) -> Option<Times> {
        self.replay.as_ref()?.times.as_ref()?.get(direction).cloned()
    }

    fn lengths(&self, direction: usize) -> Option<Lengths> {
        let recording = self.replay.as_ref()?.recordings.get(direction);
        recording.map(|recording| recording.lengths())
    }

    #[inline]
    fn unstamped(&self, port: PortId) -> Option<usize> {
        self.replay.as_ref()?.direction_to(port)
    }
}

/// Returns true if a frame bears ICMP, of either family.
fn is_icmp(frame: &[u8]) -> bool {
    match crate::stamping::find_ether_type(frame) {
        Some((wire::ethernet::TYPE_IPV4, at)) => frame.get(at + 9) == Some(&wire::protocol::ICMP),
        Some((wire::ethernet::TYPE_IPV6, at)) => frame.get(at + 6) == Some(&wire::protocol::ICMPV6),
        _ => false,
    }
}

impl<W: Changes> Changes for Offered<W> {
    type Update = W::Update;

    fn events(&self) -> &[EventKind] {
        self.made.events()
    }

    fn next_update(&mut self, kind: usize, number: u64) -> Option<Change<Self::Update>> {
        self.made.next_update(kind, number)
    }

    fn kind_of(&self, subject: u64) -> Option<usize> {
        self.made.kind_of(subject)
    }

    fn settled(&mut self, subject: u64, applied_at: Option<Ticks>) {
        self.made.settled(subject, applied_at);
    }

    fn probe(&self, subject: u64) -> Option<(usize, Self::Draw)> {
        // No captured frame is known to show a change.
        if self.replay.is_some() {
            return None;
        }
        self.made.probe(subject).map(|(direction, draw)| (direction, Drawn::Made(draw)))
    }
}

impl<W: Floods> Floods for Offered<W> {
    fn floods(&self) -> &[FloodKind] {
        self.made.floods()
    }

    fn flood_len(&self, kind: usize) -> usize {
        self.made.flood_len(kind)
    }

    fn write_flood(&self, kind: usize, number: u64, frame: &mut [u8]) {
        self.made.write_flood(kind, number, frame);
    }

    fn answers_flood(&self, kind: usize, frame: &[u8]) -> bool {
        self.made.answers_flood(kind, frame)
    }
}

impl<W: Policers> Policers for Offered<W> {
    #[inline(always)]
    fn policed(&self, draw: &Self::Draw) -> Option<PolicedFrame> {
        match draw {
            Drawn::Made(draw) => self.made.policed(draw),
            Drawn::Captured { .. } => None,
        }
    }

    fn policer(&self) -> Option<Policer> {
        self.made.policer().filter(|_| self.replay.is_none())
    }
}

impl<W: SessionFrames> SessionFrames for Offered<W> {
    fn sessions(&self) -> Option<Sessions> {
        self.made.sessions().filter(|_| self.replay.is_none())
    }

    #[inline(always)]
    fn session(&self, number: u64) -> Option<Self::Draw> {
        self.made.session(number).map(Drawn::Made)
    }

    #[inline(always)]
    fn session_steps(&self, session: &Self::Draw, action: SessionAction) -> u8 {
        match session {
            Drawn::Made(session) => self.made.session_steps(session, action),
            Drawn::Captured { .. } => 0,
        }
    }

    fn session_ports(&self) -> [PortId; 2] {
        self.made.session_ports()
    }

    #[inline(always)]
    fn session_side(&self, session: &Self::Draw, action: SessionAction, step: u8) -> usize {
        match session {
            Drawn::Made(session) => self.made.session_side(session, action, step),
            Drawn::Captured { .. } => 0,
        }
    }

    #[inline(always)]
    fn session_frame_len(&self, session: &Self::Draw, action: SessionAction, step: u8) -> usize {
        match session {
            Drawn::Made(session) => self.made.session_frame_len(session, action, step),
            Drawn::Captured { .. } => 0,
        }
    }

    #[inline(always)]
    fn write_session(
        &self,
        session: &Self::Draw,
        what: (SessionAction, u8),
        time: Ticks,
        frame: &mut [u8],
    ) {
        if let Drawn::Made(session) = session {
            self.made.write_session(session, what, time, frame);
        }
    }

    #[inline(always)]
    fn session_seen(&mut self, port: PortId, frame: &[u8]) -> Option<(SessionStep, Self::Draw)> {
        let (step, draw) = self.made.session_seen(port, frame)?;
        Some((step, Drawn::Made(draw)))
    }

    #[inline(always)]
    fn session_says(&mut self) -> Option<&[u8]> {
        self.made.session_says()
    }
}

impl<W: FarEnds> FarEnds for Offered<W> {
    fn far_end(&self) -> Option<PortId> {
        self.made.far_end()
    }

    fn hear(&mut self, port: PortId, frame: &[u8], now: Ticks) -> bool {
        self.made.hear(port, frame, now)
    }

    fn say(&mut self, now: Ticks) -> Option<&[u8]> {
        self.made.say(now)
    }

    fn set_path(&mut self, is_up: bool, now: Ticks) {
        self.made.set_path(is_up, now);
    }

    fn path_use(&self) -> PathUse {
        self.made.path_use()
    }
}
