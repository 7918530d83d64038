//! Messages of DHCPv6 as they are written.

use std::net::{IpAddr, Ipv6Addr};

use crate::prefix::{Kind, Prefix};
use crate::v6::message::{Hop, LEN_MAX, Relayed, code, kind};

/// Options that are being written, behind what comes before them.
#[derive(Debug)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Begins a message of a client or server.
    pub fn message(kind: u8, xid: [u8; 3]) -> Writer {
        Writer([&[kind][..], &xid].concat())
    }

    /// Begins a message of a relay agent.
    pub fn relay(kind: u8, hops: u8, link: Ipv6Addr, peer: Ipv6Addr) -> Writer {
        Writer([&[kind, hops][..], &link.octets(), &peer.octets()].concat())
    }

    /// Appends an option; false where it would make the message longer than one may be.
    pub fn put(&mut self, code: u16, value: &[u8]) -> bool {
        let fits = self.0.len() + 4 + value.len() <= LEN_MAX;
        if fits {
            // What fits is shorter than a length can tell.
            let head = [code.to_be_bytes(), (value.len() as u16).to_be_bytes()];
            self.0.extend(head.as_flattened());
            self.0.extend(value);
        }
        fits
    }

    /// Appends an identity association that has something, or says why not.
    pub fn ia(&mut self, kind: Kind, iaid: u32, [t1, t2]: [u32; 2], inner: Writer) {
        let times = [iaid, t1, t2].map(u32::to_be_bytes).concat();
        let code = if kind == Kind::Delegated { code::IA_PD } else { code::IA_NA };
        self.put(code, &[times, inner.0].concat());
    }

    /// Begins what stands in an identity association.
    pub fn inner() -> Writer {
        Writer(Vec::new())
    }

    /// Appends an address or prefix with the seconds that it is preferred and valid.
    pub fn leaf(&mut self, kind: Kind, prefix: Prefix, [preferred, valid]: [u32; 2]) {
        let IpAddr::V6(address) = prefix.address() else { return };
        let times = [preferred, valid].map(u32::to_be_bytes).concat();
        match kind {
            Kind::Delegated => {
                let value = [&times[..], &[prefix.bits()], &address.octets()].concat();
                self.put(code::IA_PREFIX, &value)
            }
            _ => self.put(code::IA_ADDRESS, &[&address.octets()[..], &times].concat()),
        };
    }

    /// Appends a status, with its words.
    pub fn status(&mut self, status: u16, words: &str) {
        self.put(code::STATUS, &[&status.to_be_bytes()[..], words.as_bytes()].concat());
    }

    /// The bytes.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Puts an answer into what the relay agents of the request have to be sent (RFC 8415 section
/// 19.3): of each its Interface-Id comes back.
pub fn wrapped(request: &Relayed<'_>, answer: Vec<u8>) -> Vec<u8> {
    request.hops.iter().rev().fold(answer, |inner, hop| {
        let Hop { hops, link, peer, options, .. } = *hop;
        let mut relay = Writer::relay(kind::RELAY_REPLY, hops, link, peer);
        if let Some(interface) = options.get(code::INTERFACE) {
            relay.put(code::INTERFACE, interface);
        }
        relay.put(code::RELAY_MESSAGE, &inner);
        relay.finish()
    })
}
