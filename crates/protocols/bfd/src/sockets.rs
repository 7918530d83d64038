//! The sockets that sessions share, and which of them a session needs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use protocol_kit::Socket;

use crate::config::{Config, Reach};

/// A socket that sessions share.
#[derive(Clone, Copy)]
pub(crate) struct Shared {
    pub kind: Kind,
    any: IpAddr,
}

/// What a socket is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Control packets of neighbours.
    SingleHop,
    /// Control packets over several hops.
    MultiHop,
    /// Echo packets that come back.
    Echo,
}

/// The sockets that sessions share, by their numbers; those of sessions follow.
pub(crate) const SHARED: [Shared; 6] = [
    Shared { kind: Kind::SingleHop, any: ANY_V4 },
    Shared { kind: Kind::SingleHop, any: ANY_V6 },
    Shared { kind: Kind::MultiHop, any: ANY_V4 },
    Shared { kind: Kind::MultiHop, any: ANY_V6 },
    Shared { kind: Kind::Echo, any: ANY_V4 },
    Shared { kind: Kind::Echo, any: ANY_V6 },
];

impl Shared {
    /// Its local address and port.
    pub fn local(self) -> SocketAddr {
        let port = match self.kind {
            Kind::SingleHop => CONTROL,
            Kind::MultiHop => MULTIHOP,
            Kind::Echo => ECHO,
        };
        SocketAddr::new(self.any, port)
    }
}

/// The numbers of the shared sockets that a session needs.
pub(crate) fn shared_by(config: &Config) -> impl Iterator<Item = usize> + use<> {
    let is_v6 = config.path.local.is_ipv6();
    let is_neighbour = matches!(config.path.reach, Reach::SingleHop(_));
    let has_echo = config.echo.is_some();
    SHARED.into_iter().enumerate().filter_map(move |(number, of)| {
        let is_needed = match of.kind {
            Kind::SingleHop => is_neighbour,
            Kind::MultiHop => !is_neighbour,
            Kind::Echo => has_echo,
        };
        (is_needed && of.any.is_ipv6() == is_v6).then_some(number)
    })
}

/// The number of sockets that sessions share; behind them each session has its own, by its number.
pub const SHARED_COUNT: u32 = SHARED.len() as u32;

/// Returns whether a shared socket is for IPv6; `None` for one of a session.
pub fn is_ipv6(socket: Socket) -> Option<bool> {
    SHARED.get(socket.0 as usize).map(|shared| shared.any.is_ipv6())
}

/// UDP port of control packets to neighbours (RFC 5881 section 4).
pub const CONTROL: u16 = 3784;

/// UDP port of Echo packets (RFC 5881 section 4).
pub const ECHO: u16 = 3785;

/// UDP port of control packets over several hops (RFC 5883 section 5).
pub const MULTIHOP: u16 = 4784;

/// The first source port of control packets (RFC 5881 section 4).
pub(crate) const PORTS_FROM: u16 = 49_152;

const ANY_V4: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const ANY_V6: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
