//! What a person, or a controller, sees of a session.

use std::time::Duration;

use crate::config::Path;
use crate::packet::{Diagnostic, State};
use crate::session::Session;

/// What is seen of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Its path.
    pub path: Path,
    /// Its own state.
    pub state: State,
    /// The peer's state.
    pub peer_state: State,
    /// Its discriminator and the peer's.
    pub discriminators: [u32; 2],
    /// Interval of its packets before jitter.
    pub transmit_interval: Duration,
    /// Time without a packet after which it goes down; `None` before the first packet.
    pub detection_time: Option<Duration>,
    /// Whether Echo packets are sent.
    pub has_echo: bool,
    /// What the peer's last packet said beside that.
    pub heard: Heard,
}

/// What the last packet of a peer said, which does not hold any more when nothing was heard for the
/// Detection Time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Why its session last left a state.
    pub diagnostic: Diagnostic,
    /// Whether its session outlives its control plane (the C bit).
    pub is_independent: bool,
    /// Whether it wants no periodic packets (the D bit).
    pub is_demand: bool,
    /// Number of missing packets after which this end declares the session down.
    pub detect_multiplier: u8,
    /// Interval at which it would like to send, in microseconds.
    pub desired_min_tx_us: u32,
    /// Interval at which it can receive, in microseconds.
    pub required_min_rx_us: u32,
    /// Interval at which it can return Echo packets, in microseconds.
    pub required_min_echo_rx_us: u32,
}

impl View {
    /// What is seen of a session now.
    pub(crate) fn of(session: &Session) -> View {
        let peer = &session.peer;
        View {
            path: session.config.path,
            state: session.state,
            peer_state: peer.state,
            discriminators: [session.discriminator, peer.discriminator],
            transmit_interval: session.transmit_interval(),
            detection_time: session.detection_time(),
            has_echo: session.times.echo.is_some(),
            heard: Heard {
                diagnostic: peer.diagnostic,
                is_independent: peer.is_independent,
                is_demand: peer.is_demand,
                detect_multiplier: peer.detect_multiplier,
                desired_min_tx_us: peer.desired_min_tx_us,
                required_min_rx_us: peer.required_min_rx_us,
                required_min_echo_rx_us: peer.required_min_echo_rx_us,
            },
        }
    }
}
