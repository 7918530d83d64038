//! Sessions of a workload: what is sent to set one up, to use it and to end it, a step at a time.
//!
//! A session is a number, and so is a step of an action on it. Steps take turns: even ones go from the
//! client to the server, odd ones back. A step is sent when the one before has come out, as hosts do, so
//! that a step back can be addressed to what the device made of the client's address
//! ([RFC 9693](https://www.rfc-editor.org/rfc/rfc9693) section 4.2.4 learns it the same way).
//!
//! UDP and ICMP frames bear a [`Stamp`]; [`SessionStep::stream`] tells the action and the step in it, and
//! the session is its sequence number. TCP segments of a handshake carry no data: there the session's
//! number is the initial sequence number, which a translator leaves as it is.

use machine::clock::Ticks;

use crate::Stamp;

/// What is done with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionAction {
    /// Set up: UDP and ICMP there and back, TCP by its three-way handshake.
    Open,
    /// Ended: TCP by FIN from both sides. There is nothing to send for UDP and ICMP.
    Close,
    /// Used once each way, to prove that it is there.
    Use,
    /// The same, and only right with the translation that is known of it: to prove that it is the same one still.
    Keep,
}

/// The sessions that a workload can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sessions {
    /// Those with numbers below this are to be open before ordinary traffic is sent.
    pub open: u64,
    /// How many different ones there can be; their numbers are below this.
    pub most: u64,
    /// Whether some of them can be ended by what is sent.
    pub closes: bool,
    /// Whether ordinary traffic opens sessions beyond those, so that a device has others behind a trial
    /// than before it.
    pub opens_more: bool,
}

/// A frame of a session that came out of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStep {
    /// Whose.
    pub session: u64,
    /// What for.
    pub action: SessionAction,
    /// Which step of it, from 0.
    pub step: u8,
    /// When it was sent, where the frame tells.
    pub time: Option<Ticks>,
    /// Whether it came out where and as it may: to the right host by the right port, translated to
    /// what a translation of this session can be, and sound.
    pub is_right: bool,
}

impl SessionAction {
    /// All of them.
    pub const ALL: [SessionAction; 4] =
        [SessionAction::Open, SessionAction::Close, SessionAction::Use, SessionAction::Keep];
}

impl SessionStep {
    /// The stream that the stamp of such a frame names; those of directions and probes are others.
    #[inline(always)]
    pub fn stream(action: SessionAction, step: u8) -> u16 {
        SESSIONS | (action as u16) << 8 | u16::from(step)
    }

    /// The session, the action and the step that a stamp names; none if it is of other traffic.
    #[inline(always)]
    pub fn of(stamp: &Stamp) -> Option<(u64, SessionAction, u8)> {
        let action = SessionAction::ALL.get(usize::from((stamp.stream ^ SESSIONS) >> 8))?;
        Some((stamp.sequence, *action, stamp.stream as u8))
    }
}

/// Marks the streams of sessions.
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
