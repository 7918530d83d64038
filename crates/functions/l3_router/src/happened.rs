//! What a worker tells of a session of BFD when it changes: whose it is, and what its peer said
//! last.
use engine::Detail;
use protocol_bfd::View;

/// Whose a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    /// A next hop's, by its number.
    NextHop(u32),
    /// Its own: it was set at run time with this discriminator.
    Discriminator(u32),
}

/// What is known of a session at the time of an event, as the event's detail has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// Its state, by the number of RFC 5880 section 4.1.
    pub state: u8,
    /// The peer's discriminator; zero if unknown, with all that follows.
    pub peer_discriminator: u32,
    /// Interval at which the peer would like to send, in microseconds.
    pub peer_min_tx_us: u32,
    /// Interval at which the peer can receive, in microseconds.
    pub peer_min_rx_us: u32,
    /// Interval at which the peer can return Echo packets, in microseconds.
    pub peer_min_echo_rx_us: u32,
    /// The peer's multiplier.
    pub peer_multiplier: u8,
    /// The peer's diagnostic code.
    pub peer_diagnostic: u8,
    /// Whether the peer's session outlives its control plane (the C bit).
    pub is_peer_independent: bool,
    /// Whether the peer is in demand mode (the D bit).
    pub is_peer_demand: bool,
}

impl Whose {
    /// The number of the session as the subject of an event: that of a next hop, or the
    /// discriminator behind all of these.
    pub fn subject(self) -> u64 {
        match self {
            Whose::NextHop(number) => number.into(),
            Whose::Discriminator(number) => ASKED | u64::from(number),
        }
    }

    /// Whose session the subject of an event is; `None` for what is no session.
    pub fn of(subject: u64) -> Option<Whose> {
        let number = subject as u32;
        let all = [Whose::NextHop(number), Whose::Discriminator(number)];
        all.into_iter().find(|whose| whose.subject() == subject)
    }
}

impl Happened {
    pub(super) fn of(view: &View) -> Happened {
        let heard = view.heard;
        Happened {
            state: view.state as u8,
            peer_discriminator: view.discriminators[1],
            peer_min_tx_us: heard.desired_min_tx_us,
            peer_min_rx_us: heard.required_min_rx_us,
            peer_min_echo_rx_us: heard.required_min_echo_rx_us,
            peer_multiplier: heard.detect_multiplier,
            peer_diagnostic: heard.diagnostic.0,
            is_peer_independent: heard.is_independent,
            is_peer_demand: heard.is_demand,
        }
    }

    /// As an event has it.
    pub fn detail(&self) -> Detail {
        let flags = u8::from(self.is_peer_independent) | u8::from(self.is_peer_demand) << 1;
        [
            self.peer_discriminator,
            self.peer_min_tx_us,
            self.peer_min_rx_us,
            self.peer_min_echo_rx_us,
            u32::from_be_bytes([self.state, self.peer_multiplier, self.peer_diagnostic, flags]),
        ]
    }

    /// What an event has.
    pub fn from_detail(detail: Detail) -> Happened {
        let [peer_discriminator, peer_min_tx_us, peer_min_rx_us, peer_min_echo_rx_us, rest] =
            detail;
        let [state, peer_multiplier, peer_diagnostic, flags] = rest.to_be_bytes();
        Happened {
            state,
            peer_discriminator,
            peer_min_tx_us,
            peer_min_rx_us,
            peer_min_echo_rx_us,
            peer_multiplier,
            peer_diagnostic,
            is_peer_independent: flags & 1 != 0,
            is_peer_demand: flags & 2 != 0,
        }
    }
}

/// What subjects have beside a discriminator.
const ASKED: u64 = 1 << 32;
