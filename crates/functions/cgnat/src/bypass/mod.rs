//! Packets that are forwarded as they are: those of subscribers to certain destinations, and those
//! from there (RFC 6888 REQ-6).
//!
//! Each is judged by its addresses alone, whatever its protocol, fragments, too; there is no
//! session. Of ICMP errors from outside that come from elsewhere the quoted packet decides: routers
//! on the way tell of it.

mod stage;
pub(crate) mod validate;

use std::net::Ipv4Addr;

use packet::{PortId, Reason};
use wire::bytes::u32_at;
use wire::{icmp, ipv4, protocol};

use crate::config::{Config, Prefixed};
use crate::reasons;
use crate::types::networks::holds;
use crate::types::sides::is_inside;

/// Whose packets are forwarded as they are.
#[derive(Debug)]
pub struct Bypass {
    inside: Vec<Prefixed<Ipv4Addr>>,
    outside: Vec<Prefixed<Ipv4Addr>>,
}

impl Bypass {
    /// Those of a configuration; none where there are none.
    pub fn new(config: &Config) -> Option<Bypass> {
        let outside = config.bypass.clone();
        (!outside.is_empty()).then(|| Bypass { inside: config.inside.clone(), outside })
    }

    /// Whether a packet, the first one of `view`, is one of them.
    ///
    /// # Errors
    /// When it is and may not go on.
    pub fn takes(&self, view: &ipv4::View<'_>, port: PortId) -> Result<bool, Reason> {
        let (source, destination) = (view.source().to_bits(), view.destination().to_bits());
        let is_one = match is_inside(port) {
            true => is_of(&self.outside, destination),
            false => {
                is_of(&self.inside, destination)
                    && (is_of(&self.outside, source) || self.is_about(view, destination))
            }
        };
        if !is_one {
            return Ok(false);
        }
        if is_inside(port) && !is_of(&self.inside, source) {
            return Err(reasons::NOT_INSIDE);
        }
        if view.ttl() <= 1 { Err(reasons::TTL_EXPIRED) } else { Ok(true) }
    }

    /// Whether it is an ICMP error about a packet of its receiver that was forwarded so.
    fn is_about(&self, view: &ipv4::View<'_>, receiver: u32) -> bool {
        let message = view.payload();
        let kind = message.first().copied();
        let is_error = view.protocol() == protocol::ICMP
            && view.fragment_offset() == 0
            && matches!(
                kind,
                Some(icmp::v4::UNREACHABLE | icmp::v4::TIME_EXCEEDED | PARAMETER_PROBLEM)
            );
        let quoted = message.get(icmp::HEADER_LEN..icmp::HEADER_LEN + ipv4::HEADER_LEN);
        is_error
            && quoted.is_some_and(|quoted| {
                let [source, destination] =
                    [ipv4::offset::SOURCE, ipv4::offset::DESTINATION].map(|at| u32_at(quoted, at));
                source == receiver && is_of(&self.outside, destination)
            })
    }
}

fn is_of(networks: &[Prefixed<Ipv4Addr>], address: u32) -> bool {
    networks.iter().any(|network| holds(*network, address))
}

/// ICMP: parameter problem (RFC 792).
const PARAMETER_PROBLEM: u8 = 12;
