//! Sessions of a workload: what is sent to set one up, to use it and to end it, a step at a time.
//!
//! A session is a number, and so is a step of an action on it. Steps take turns: even ones go from
//! the client to the server, odd ones back, unless a workload says otherwise. A step is sent when
//! the one before has come out, as hosts do, so that a step back can be addressed to what the
//! device made of the client's address
//! ([RFC 9693](https://www.rfc-editor.org/rfc/rfc9693) section 4.2.4 learns it the same way).
//! Where the device itself answers a step, what comes out is its answer.
//!
//! UDP and ICMP frames bear a [`Stamp`]; [`SessionStep::stream`] tells the action and the step in
//! it, and the session is its sequence number. TCP segments of a handshake carry no data: there the
//! session's number is the initial sequence number, which a translator leaves as it is.

use machine::clock::Ticks;

use crate::Stamp;

/// Action on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionAction {
    /// Opens it: UDP and ICMP with one frame in each direction, TCP by its three-way handshake.
    Open,
    /// Closes it: TCP by FIN from both sides. UDP and ICMP send nothing.
    Close,
    /// Uses it once in each direction, to verify that it exists.
    Use,
    /// Uses it once in each direction and accepts only the known translation, to verify that it is
    /// still the same session.
    Keep,
}

/// Sessions that a workload can create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sessions {
    /// Number of sessions, numbered from 0, that must be open before ordinary traffic is sent.
    pub open: u64,
    /// Number of different sessions; their numbers are below this.
    pub most: u64,
    /// True if some of them can be closed by frames.
    pub closes: bool,
    /// True if ordinary traffic opens further sessions, so that a device has other sessions after a
    /// trial than before it.
    pub opens_more: bool,
}

/// A frame of a session that the device forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStep {
    /// Number of the session.
    pub session: u64,
    /// Action of the frame.
    pub action: SessionAction,
    /// Step of the action, from 0.
    pub step: u8,
    /// Time at which the frame was sent, if the frame contains it.
    pub time: Option<Ticks>,
    /// True if the frame is correct: it left by the right port to the right host, with a possible
    /// translation of this session, and is intact.
    pub is_right: bool,
}

impl SessionAction {
    /// All actions.
    pub const ALL: [SessionAction; 4] =
        [SessionAction::Open, SessionAction::Close, SessionAction::Use, SessionAction::Keep];
}

impl SessionStep {
    /// Returns the stream in the stamp of such a frame; directions and probes have other streams.
    #[inline(always)]
    pub fn stream(action: SessionAction, step: u8) -> u16 {
        SESSIONS | (action as u16) << 8 | u16::from(step)
    }

    /// Returns the session, the action and the step of a stamp; `None` if it belongs to other
    /// traffic.
    #[inline(always)]
    pub fn of(stamp: &Stamp) -> Option<(u64, SessionAction, u8)> {
        let action = SessionAction::ALL.get(usize::from((stamp.stream ^ SESSIONS) >> 8))?;
        Some((stamp.sequence, *action, stamp.stream as u8))
    }
}

/// Flag of the streams of sessions.
const SESSIONS: u16 = 0x4000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_names_action_and_step_and_no_direction() {
        for action in SessionAction::ALL {
            for step in [0, 1, 7, 255] {
                let stream = SessionStep::stream(action, step);
                let stamp = Stamp { stream, sequence: 99_600_000, time: 5 };
                assert_eq!(SessionStep::of(&stamp), Some((99_600_000, action, step)));
            }
        }
        for stream in [0, 1, 255, 0x0100, 0x4400, 0x7fff, 0x8000, 0xc000] {
            assert_eq!(SessionStep::of(&Stamp { stream, ..Stamp::default() }), None, "{stream:x}");
        }
    }
}
