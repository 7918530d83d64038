//! What a session is configured with.

use std::net::IpAddr;
use std::time::Duration;

use protocol_kit::Interface;

use crate::authentication::Keys;

/// A session as a controller asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Between which addresses, and how far apart they are.
    pub path: Path,
    /// Its own discriminator, which nobody else of the node has and is not zero; `None` for one
    /// that is drawn.
    pub discriminator: Option<u32>,
    /// Interval at which the session would like to send while it is up.
    pub desired_min_tx: Duration,
    /// Interval at which it can receive.
    pub required_min_rx: Duration,
    /// Number of missing packets after which the peer declares the session down.
    pub detect_multiplier: u8,
    /// Interval at which it can return the peer's Echo packets; zero if it returns none.
    pub required_min_echo_rx: Duration,
    /// Interval of its own Echo packets; `None` if it sends none.
    pub echo: Option<Duration>,
    /// Whether it waits for the peer's first packet before it sends one (section 6.1).
    pub is_passive: bool,
    /// How packets are authenticated, in both directions.
    pub authentication: Option<Keys>,
}

/// The path that a session watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// Whether the peer is a neighbour.
    pub reach: Reach,
    /// The session's own address.
    pub local: IpAddr,
    /// The peer's address.
    pub peer: IpAddr,
}

/// How far apart the ends of a path are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Neighbours at this interface (RFC 5881): every packet has to come with the highest Time To
    /// Live.
    SingleHop(Interface),
    /// Routers may lie between (RFC 5883): a packet has to come with at least this Time To Live.
    MultiHop(u8),
}

/// Why a configuration cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The number of the session is above the limit, or the number, the path or the discriminator
    /// are in use.
    #[error("the session exists already, or there are as many as there may be")]
    Session,
    /// Addresses of two families, or unspecified ones.
    #[error("both addresses have to be given and of one family")]
    Addresses,
    /// An interval is below a microsecond or above 4,294 seconds.
    #[error("intervals are from 1 us to 4294 s")]
    Interval,
    /// The multiplier is zero.
    #[error("the detection multiplier is at least 1")]
    Multiplier,
    /// Echo packets over a path of several hops, which RFC 5883 section 3 forbids.
    #[error("Echo packets need a path of a single hop")]
    Echo,
    /// No key, or one of an impossible length.
    #[error("a key has 1 to 16 bytes, or up to 20 for SHA1")]
    Keys,
}

impl Config {
    /// Checks what the types cannot tell.
    ///
    /// # Errors
    /// The first thing that cannot be used.
    pub fn check(&self) -> Result<(), Unusable> {
        let Path { reach, local, peer } = self.path;
        let has_addresses = !local.is_unspecified() && !peer.is_unspecified();
        if local.is_ipv4() != peer.is_ipv4() || !has_addresses || local == peer {
            return Err(Unusable::Addresses);
        }
        let intervals = [Some(self.desired_min_tx), Some(self.required_min_rx), self.echo];
        let may_be_zero = [self.required_min_echo_rx];
        let is_too_long = |interval: &Duration| u32::try_from(interval.as_micros()).is_err();
        let is_unusable = |interval: &Duration| interval.as_micros() == 0 || is_too_long(interval);
        if intervals.iter().flatten().any(is_unusable) || may_be_zero.iter().any(is_too_long) {
            return Err(Unusable::Interval);
        }
        if self.detect_multiplier == 0 {
            return Err(Unusable::Multiplier);
        }
        if self.echo.is_some() && matches!(reach, Reach::MultiHop(_)) {
            return Err(Unusable::Echo);
        }
        if self.authentication.as_ref().is_some_and(|keys| !keys.are_valid()) {
            return Err(Unusable::Keys);
        }
        Ok(())
    }
}

/// An interval as packets have it. It was checked to fit.
pub(crate) fn micros(interval: Duration) -> u32 {
    u32::try_from(interval.as_micros()).unwrap_or(u32::MAX)
}
