//! Why a packet cannot go on, and what its sender is told.

use wire::icmp;

/// Why a packet cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Its time to live ends here.
    TimeExceeded,
    /// There is no route.
    NoRoute,
    /// Nobody has the address.
    NoHost,
    /// It is longer than this MTU in bytes and must not be cut.
    TooBig(u16),
}

impl Trouble {
    /// What an error says of it.
    pub fn message(self, is_ipv6: bool) -> icmp::Fields {
        use icmp::{v4, v6};
        let (kind, code, rest) = match (self, is_ipv6) {
            (Trouble::TimeExceeded, false) => (v4::TIME_EXCEEDED, 0, 0),
            (Trouble::NoRoute, false) => (v4::UNREACHABLE, v4::NO_ROUTE, 0),
            (Trouble::NoHost, false) => (v4::UNREACHABLE, v4::HOST, 0),
            (Trouble::TooBig(mtu), false) => (v4::UNREACHABLE, v4::TOO_BIG, mtu.into()),
            (Trouble::TimeExceeded, true) => (v6::TIME_EXCEEDED, 0, 0),
            (Trouble::NoRoute, true) => (v6::UNREACHABLE, v6::NO_ROUTE, 0),
            (Trouble::NoHost, true) => (v6::UNREACHABLE, v6::ADDRESS, 0),
            (Trouble::TooBig(mtu), true) => (v6::TOO_BIG, 0, mtu.into()),
        };
        icmp::Fields { kind, code, rest }
    }
}
