//! Softwires: who is behind them, and what of their packets is kept.
use std::net::Ipv6Addr;
use std::time::Duration;

use model_kit::slow::Pieces;

mod way;

pub(super) use self::way::Opened;

/// Subscribers behind softwires.
#[derive(Clone, Debug)]
pub(super) struct Softwires {
    /// By number: the address that names one, and where its last packet came from.
    all: Vec<(Ipv6Addr, Ipv6Addr)>,
    /// From where the frame in hand came.
    from: Ipv6Addr,
    /// Frames that left because of it.
    left: Vec<Vec<u8>>,
    /// Identifications of packets that were cut, the latest last.
    numbers: Vec<u32>,
    /// Outer packets that are not whole yet.
    gathered: Vec<Gathered>,
}

/// Fragments of an outer packet.
#[derive(Clone, Debug)]
struct Gathered {
    /// From whom, and the identification.
    key: (Ipv6Addr, u32),
    /// Whose it is.
    name: Ipv6Addr,
    pieces: Pieces,
    /// Where each begins, and its bytes.
    bodies: Vec<(usize, Vec<u8>)>,
    until: Duration,
}

impl Default for Softwires {
    fn default() -> Softwires {
        let from = Ipv6Addr::UNSPECIFIED;
        let (left, numbers, gathered) = (Vec::new(), Vec::new(), Vec::new());
        Softwires { all: Vec::new(), from, left, numbers, gathered }
    }
}

/// The realm of the first softwire; behind it are no others.
pub(super) const FIRST: u16 = 4096;
