//! Which long segments somebody takes as they are.

use crate::header::Gso;
use crate::layout::Layout;

/// Kinds of long segments: those that somebody cuts, or has cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// [`Gso::TcpIpv4`].
    pub tcp_ipv4: bool,
    /// [`Gso::TcpIpv6`].
    pub tcp_ipv6: bool,
    /// [`Gso::Udp`].
    pub udp: bool,
}

impl Kinds {
    /// Not any.
    pub const NONE: Kinds = Kinds { tcp_ipv4: false, tcp_ipv6: false, udp: false };
    /// All that there are here.
    pub const ALL: Kinds = Kinds { tcp_ipv4: true, tcp_ipv6: true, udp: true };

    /// Whether segments of TCP are among them, over IPv4 and IPv6.
    pub fn have_tcp(self) -> bool {
        self.tcp_ipv4 && self.tcp_ipv6
    }

    /// Whether this is one of them.
    pub fn have(self, gso: Gso) -> bool {
        match gso {
            Gso::TcpIpv4 => self.tcp_ipv4,
            Gso::TcpIpv6 => self.tcp_ipv6,
            Gso::Udp => self.udp,
            Gso::None | Gso::Other(_) => false,
        }
    }

    /// Whether this long segment is of one of them.
    pub fn have_frame(self, frame: &[u8]) -> bool {
        self == Kinds::ALL || Layout::of(frame).is_some_and(|layout| self.have(layout.gso()))
    }
}
