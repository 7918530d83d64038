//! What the machines are configured with.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use protocol_kit::{Secret, Time};

/// Servers of authentication or of accounting, and how they are asked.
#[derive(Clone)]
pub struct Config {
    /// The servers, 1 to 32, the preferred one first.
    pub servers: Vec<Server>,
    /// Which of those that are up is asked.
    pub order: Order,
    /// Most sockets to each server, 1 to 256: each has 256 requests on their way.
    pub sockets_max: u16,
    /// Most requests that wait or are on their way; further ones are refused.
    pub requests_max: u32,
    /// How long a request is tried before it ends without answer.
    pub patience: Duration,
    /// Random bytes of the operating system, by which nobody foresees authenticators.
    pub key: [u8; 32],
    /// The time of day at the machine's time 0.
    pub wall: Wall,
}

/// A server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its address and port.
    pub address: SocketAddr,
    /// The own address, from which it is asked.
    pub local: IpAddr,
    /// The first of the own ports; 0 for any that the system chooses.
    pub port_first: u16,
    /// The secret that it shares with this node.
    pub secret: Secret,
    /// Time until a request is repeated (IRT of RFC 5080 section 2.2.1); it doubles each time.
    pub timeout: Duration,
    /// The longest such time (MRT).
    pub timeout_max: Duration,
    /// How often a request is sent to it (MRC).
    pub tries: u8,
    /// Requests in a row without answer after which it counts as dead.
    pub dead_after: u16,
    /// How long nothing is sent to it then.
    pub dead_time: Duration,
    /// Whether it is asked by Status-Server (RFC 5997) if it is there again; else by one request.
    pub has_status: bool,
}

/// Which of the servers that are up is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// The first one in the list.
    #[default]
    Preferred,
    /// Each in its turn.
    InTurn,
}

/// The time of day: nanoseconds since 1970 at the machine's time 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wall(pub u64);

/// Why a configuration cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// No servers, or more than a request can be tried at.
    #[error("1 to 32 servers")]
    Servers,
    /// An empty secret, by which anybody could answer.
    #[error("a secret has at least one byte")]
    Secret,
    /// The own address is of another family than the server's.
    #[error("the own address has to be of the server's family")]
    Local,
    /// A time, or the number of tries, is zero.
    #[error("timeout, timeout-max, tries, dead-after and patience are at least 1")]
    Times,
    /// A limit is zero or too large.
    #[error("1 to 256 sockets to a server, and at least one request")]
    Limits,
    /// The ports do not suffice for the sockets.
    #[error("the ports from the first one on have to suffice for all sockets")]
    Ports,
}

impl Config {
    /// Servers with room for 4,096 requests on their way to each and 65,536 in all.
    pub fn new(servers: Vec<Server>, key: [u8; 32]) -> Config {
        Config {
            servers,
            order: Order::Preferred,
            sockets_max: 16,
            requests_max: 65_536,
            patience: Duration::from_secs(30),
            key,
            wall: Wall(0),
        }
    }

    /// Checks what the types cannot tell.
    ///
    /// # Errors
    /// The first thing that cannot be used.
    pub fn check(&self) -> Result<(), Unusable> {
        if !(1..=SERVERS_MAX).contains(&self.servers.len()) {
            return Err(Unusable::Servers);
        }
        if !(1..=256).contains(&self.sockets_max) || self.requests_max == 0 {
            return Err(Unusable::Limits);
        }
        if self.requests_max > u32::MAX - 1_000 {
            return Err(Unusable::Limits);
        }
        if self.patience.is_zero() {
            return Err(Unusable::Times);
        }
        self.servers.iter().try_for_each(|server| server.check(self.sockets_max))
    }
}

impl std::fmt::Debug for Config {
    /// By its key the authenticators could be told beforehand.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Config { servers, order, sockets_max, requests_max, patience, wall, key: _ } = self;
        let mut shown = f.debug_struct("Config");
        shown.field("servers", servers).field("order", order).field("sockets_max", sockets_max);
        shown.field("requests_max", requests_max).field("patience", patience);
        shown.field("wall", wall).finish_non_exhaustive()
    }
}

impl Server {
    /// A server that is asked three times, after 1, 2 and 4 s, and left alone for half a minute
    /// after three requests without answer.
    pub fn new(address: SocketAddr, local: IpAddr, secret: Secret) -> Server {
        Server {
            address,
            local,
            port_first: 0,
            secret,
            timeout: Duration::from_secs(1),
            timeout_max: Duration::from_secs(16),
            tries: 3,
            dead_after: 3,
            dead_time: Duration::from_secs(30),
            has_status: false,
        }
    }

    fn check(&self, sockets_max: u16) -> Result<(), Unusable> {
        if self.secret.0.is_empty() {
            return Err(Unusable::Secret);
        }
        if self.address.is_ipv4() != self.local.is_ipv4() {
            return Err(Unusable::Local);
        }
        let has_times = !self.timeout.is_zero() && !self.timeout_max.is_zero();
        if !has_times || self.tries == 0 || self.dead_after == 0 {
            return Err(Unusable::Times);
        }
        let last = u32::from(self.port_first) + u32::from(sockets_max) - 1;
        if self.port_first != 0 && last > u32::from(u16::MAX) {
            return Err(Unusable::Ports);
        }
        Ok(())
    }
}

impl Wall {
    /// Returns the time of day in seconds since 1970.
    pub fn seconds(self, now: Time) -> u64 {
        self.0.saturating_add(now.0) / 1_000_000_000
    }
}

/// Most servers of a machine.
pub const SERVERS_MAX: usize = 32;
