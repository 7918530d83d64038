//! What bfdd wants of a session, and what the data plane tells of it.

use std::net::IpAddr;

use protocol_kit::Interface;

/// A session as bfdd wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its local discriminator, which names it to bfdd.
    pub discriminator: u32,
    /// Its own address; `None` if any will do.
    pub local: Option<IpAddr>,
    /// The peer's address.
    pub peer: IpAddr,
    /// Whether routers may lie between (RFC 5883).
    pub is_multihop: bool,
    /// Whether it wants demand mode. FRR 8.4 never does.
    pub is_demand: bool,
    /// Whether it outlives the control plane (the C bit).
    pub is_independent: bool,
    /// Whether it sends Echo packets.
    pub has_echo: bool,
    /// Whether it waits for the peer's first packet.
    pub is_passive: bool,
    /// Whether it is held down administratively.
    pub is_shut_down: bool,
    /// Interval at which it would like to send, in microseconds.
    pub desired_min_tx_us: u32,
    /// Interval at which it can receive, in microseconds.
    pub required_min_rx_us: u32,
    /// Interval of its own Echo packets, in microseconds.
    pub echo_tx_us: u32,
    /// Interval at which it can return the peer's Echo packets, in microseconds.
    pub required_echo_rx_us: u32,
    /// Time before it begins, in milliseconds. FRR 8.4 always says 0.
    pub hold_time_ms: u32,
    /// The least Time To Live of packets that it accepts.
    pub ttl_min: u8,
    /// Number of missing packets after which the peer declares it down.
    pub detect_multiplier: u8,
    /// The interface, by the kernel's number; `None` if it follows from the addresses, or if bfdd
    /// does not know it yet.
    pub interface: Option<Interface>,
    /// The name of the interface; empty if it is not known.
    pub interface_name: String,
}

/// What the data plane tells of a session when its state changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its state. FRR's header says "remote state", and bfdd takes it as that of the session.
    pub state: State,
    /// The diagnostic code of the peer's last packet.
    pub peer_diagnostic: u8,
    /// The peer's discriminator.
    pub peer_discriminator: u32,
    /// Whether the peer outlives its control plane (the C bit).
    pub is_peer_independent: bool,
    /// Whether the peer is in demand mode.
    pub is_peer_demand: bool,
    /// Whether the peer sets the multipoint bit.
    pub is_peer_multipoint: bool,
    /// Interval at which the peer would like to send, in microseconds.
    pub peer_desired_min_tx_us: u32,
    /// Interval at which the peer can receive, in microseconds.
    pub peer_required_min_rx_us: u32,
    /// Interval at which the peer can return Echo packets, in microseconds.
    pub peer_required_echo_rx_us: u32,
    /// The peer's multiplier.
    pub peer_detect_multiplier: u8,
}

/// State of a session (RFC 5880 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Held down administratively.
    AdminDown,
    /// Down.
    Down,
    /// The peer is heard and does not say that it hears this end.
    Init,
    /// Up.
    Up,
}

/// Packets and bytes of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounters {
    /// Control packets received.
    pub received: Traffic,
    /// Control packets sent.
    pub sent: Traffic,
    /// Echo packets received.
    pub echo_received: Traffic,
    /// Echo packets sent.
    pub echo_sent: Traffic,
}

/// Packets with their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Their bytes.
    pub bytes: u64,
    /// Their number.
    pub packets: u64,
}

impl State {
    /// Returns whether the session is down in either way.
    pub fn is_down(self) -> bool {
        self <= State::Down
    }
}
