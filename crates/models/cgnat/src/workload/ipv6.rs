//! Frames of IPv6 clients: what is inside the NAT becomes IPv6 from the IPv4 form in which
//! everything else here is written and read.
//!
//! ```text
//!  20 bytes free │ Ethernet │ IPv4 │ transport …      as written
//!  Ethernet │ IPv6                 │ transport …      as sent
//! ```
//! A client's IPv6 address ends with its IPv4 one, a server's is the one under the NAT's prefix.
//! Checksums are changed by the difference of the headers, so that one which is wrong stays so.
use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::config::Config;
use wire::bytes::{array_at, put_array, put_u16, put_u32, u16_at, u32_at};
use wire::checksum::{Sum, header_checksum};
use wire::embedded::Prefix;
use wire::ethernet::{TYPE_IPV4, TYPE_IPV6};
use wire::icmp::{v4, v6};
use wire::protocol;

/// How much longer frames are inside than outside, in bytes.
pub const GROWTH: usize = 20;

/// The addresses of IPv6 clients, and those that they know servers by.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6 {
    prefix: Prefix,
    /// The first network of clients, whose last 32 bits are a client's.
    clients: u128,
}

/// A frame in its IPv4 form.
pub type Form = [u8; FORM_LEN];

/// Room for the longest.
pub const FORM_LEN: usize = 2048;

impl Ipv6 {
    /// Those of a validated configuration.
    pub fn new(config: &Config) -> Option<Ipv6> {
        let nat64 = config.nat64.as_ref()?;
        let network = nat64.inside.first()?;
        let mask = u128::MAX.checked_shl(128 - u32::from(network.len)).unwrap_or(0);
        Some(Ipv6 {
            prefix: Prefix::new(nat64.prefix.address, nat64.prefix.len).ok()?,
            clients: (network.address.to_bits() & mask) >> 32 << 32,
        })
    }

    /// The address of a client.
    pub fn address(&self, client: u32) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.clients | u128::from(client))
    }

    /// Makes a frame, behind whose first [`GROWTH`] bytes one of a client stands in IPv4 form,
    /// IPv6.
    pub fn widen(&self, frame: &mut [u8]) {
        let Some(old) = frame.get(GROWTH..).and_then(|old| old.first_chunk::<TRANSPORT>()) else {
            return;
        };
        let (macs, total_len) = (array_at::<12>(old, 0), u16_at(old, 16));
        let (ttl, next) = (old[22], old[23]);
        let [client, server] = [26, 30].map(|at| u32_at(old, at));
        let source = self.address(client);
        let destination = self.prefix.embed(Ipv4Addr::from_bits(server));
        let len = total_len - (TRANSPORT - ETHERNET) as u16;
        let change = Change { ipv4: [client, server], ipv6: [source, destination], len };
        change.apply(&mut frame[TRANSPORT + GROWTH..], next, true);
        put_array(frame, 0, macs);
        put_u16(frame, 12, TYPE_IPV6);
        put_u32(frame, 14, 6 << 28);
        put_u16(frame, 18, len);
        frame[20] = if next == protocol::ICMP { protocol::ICMPV6 } else { next };
        frame[21] = ttl;
        put_array(frame, 22, source.octets());
        put_array(frame, 38, destination.octets());
    }

    /// The IPv4 form of a frame from a server to a client; none of any other.
    pub fn narrow<'a>(&self, frame: &[u8], form: &'a mut Form) -> Option<&'a [u8]> {
        let head = frame.first_chunk::<{ TRANSPORT + GROWTH }>()?;
        let transport = &frame[TRANSPORT + GROWTH..];
        let (len, next) = (u16_at(head, 18), head[20]);
        if u16_at(head, 12) != TYPE_IPV6 || head[14] >> 4 != 6 || usize::from(len) > transport.len()
        {
            return None;
        }
        let source = Ipv6Addr::from(array_at::<16>(head, 22));
        let destination = Ipv6Addr::from(array_at::<16>(head, 38));
        let client = destination.to_bits() ^ self.clients;
        if client >> 32 != 0 {
            return None;
        }
        let ends = [self.prefix.extract(source)?.to_bits(), client as u32];
        let next = match next {
            protocol::ICMPV6 => protocol::ICMP,
            protocol::UDP | protocol::TCP => next,
            _ => return None,
        };
        let form = form.get_mut(..TRANSPORT + transport.len())?;
        form[TRANSPORT..].copy_from_slice(transport);
        let change = Change { ipv4: ends, ipv6: [source, destination], len };
        change.apply(&mut form[TRANSPORT..], next, false);
        put_array(form, 0, array_at::<12>(head, 0));
        put_u16(form, 12, TYPE_IPV4);
        let mut ip = [0; TRANSPORT - ETHERNET];
        (ip[0], ip[8], ip[9]) = (0x45, head[21], next);
        put_u16(&mut ip, 2, len.checked_add((TRANSPORT - ETHERNET) as u16)?);
        put_u32(&mut ip, 12, ends[0]);
        put_u32(&mut ip, 16, ends[1]);
        let sum = header_checksum(&ip);
        put_u16(&mut ip, 10, sum);
        form[ETHERNET..TRANSPORT].copy_from_slice(&ip);
        Some(form)
    }
}

/// What is different for a checksum.
struct Change {
    ipv4: [u32; 2],
    ipv6: [Ipv6Addr; 2],
    len: u16,
}

impl Change {
    /// Changes a transport header, of which `next` is the protocol in IPv4 form.
    fn apply(&self, transport: &mut [u8], next: u8, to_ipv6: bool) {
        let at = match next {
            protocol::UDP => 6,
            protocol::TCP => 16,
            _ => 2,
        };
        if transport.len() < at + 2 {
            return;
        }
        let [short, long] = [
            self.ipv4.iter().fold(Sum::ZERO, |sum, &word| sum.add_u32(word)),
            self.ipv6.iter().fold(Sum::ZERO, |sum, word| sum.add_u128(word.to_bits())),
        ];
        let [mut short, mut long] = [short.fold(), long.fold()];
        if next == protocol::ICMP {
            // ICMP has no pseudo-header, and other types.
            let kinds = [(v4::ECHO_REQUEST, v6::ECHO_REQUEST), (v4::ECHO_REPLY, v6::ECHO_REPLY)];
            let kind = transport[0];
            let found = kinds.into_iter().find(|(a, b)| kind == if to_ipv6 { *a } else { *b });
            let Some((old, new)) = found else { return };
            transport[0] = if to_ipv6 { new } else { old };
            let pseudo = Sum::ZERO.add_u16(long).add_u16(self.len).add_u16(protocol::ICMPV6.into());
            long = pseudo.add_u16(u16::from(new) << 8).fold();
            short = u16::from(old) << 8;
        }
        let [from, to] = if to_ipv6 { [short, long] } else { [long, short] };
        let old = u16_at(transport, at);
        let sum = Sum::ZERO.add_u16(!old).add_u16(!from).add_u16(to).checksum();
        let is_none = next == protocol::UDP && old == 0;
        let sum = if next == protocol::UDP && sum == 0 { 0xffff } else { sum };
        put_u16(transport, at, if is_none { 0 } else { sum });
    }
}

const ETHERNET: usize = 14;
/// Where a transport header stands in IPv4 form.
const TRANSPORT: usize = ETHERNET + 20;
