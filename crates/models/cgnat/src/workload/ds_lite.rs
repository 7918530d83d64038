//! Frames of clients behind softwires: what is inside the NAT gets an outer header.
//!
//! ```text
//!  40 bytes free   │ Ethernet │ IPv4 │ transport …      as written
//!  Ethernet │ IPv6 │            IPv4 │ transport …      as sent
//! ```
//! Each client is behind a B4 element of its own, whose address ends with the client's.
use std::net::Ipv6Addr;

use function_cgnat::config::Config;
use wire::bytes::{array_at, put_array, put_u16, put_u32, u16_at, u32_at};
use wire::ethernet::{TYPE_IPV4, TYPE_IPV6};
use wire::protocol;

use super::ipv6::Form;

/// How much longer frames are inside than outside, in bytes.
pub const GROWTH: usize = 40;

/// The ends of softwires.
#[derive(Clone, Copy, Debug)]
pub struct Softwires {
    aftr: u128,
    /// The first network of B4 elements, whose last 32 bits are a client's.
    b4s: u128,
}

impl Softwires {
    /// Those of a validated configuration.
    pub fn new(config: &Config) -> Option<Softwires> {
        let ds_lite = config.ds_lite.as_ref()?;
        let network = ds_lite.inside.first()?;
        let mask = u128::MAX.checked_shl(128 - u32::from(network.len)).unwrap_or(0);
        let b4s = (network.address.to_bits() & mask) >> 32 << 32;
        Some(Softwires { aftr: ds_lite.aftr.to_bits(), b4s })
    }

    /// The B4 element of a client.
    pub fn b4(&self, client: u32) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.b4s | u128::from(client))
    }

    /// Puts a frame of a client, which stands behind the first [`GROWTH`] bytes, into its softwire.
    pub fn widen(&self, frame: &mut [u8]) {
        let Some(old) = frame.get(GROWTH..).and_then(|old| old.first_chunk::<TRANSPORT>()) else {
            return;
        };
        let (macs, total_len) = (array_at::<12>(old, 0), u16_at(old, ETHERNET + 2));
        let b4 = self.b4(u32_at(old, ETHERNET + 12));
        put_array(frame, 0, macs);
        put_u16(frame, 12, TYPE_IPV6);
        put_u32(frame, 14, 6 << 28);
        put_u16(frame, 18, total_len);
        (frame[20], frame[21]) = (protocol::IPV4, HOP_LIMIT);
        put_array(frame, 22, b4.octets());
        put_array(frame, 38, self.aftr.to_be_bytes());
    }

    /// The inner form of a frame to a client; none of any other.
    pub fn narrow<'a>(&self, frame: &[u8], form: &'a mut Form) -> Option<&'a [u8]> {
        let head = frame.first_chunk::<{ TRANSPORT + GROWTH }>()?;
        let inner = &frame[ETHERNET + GROWTH..];
        let b4 = self.b4(u32_at(inner, 16));
        let is_it = u16_at(head, 12) == TYPE_IPV6
            && head[14] >> 4 == 6
            && usize::from(u16_at(head, 18)) == inner.len()
            && head[20] == protocol::IPV4
            && u128::from_be_bytes(array_at(head, 22)) == self.aftr
            && array_at::<16>(head, 38) == b4.octets();
        let form = form.get_mut(..ETHERNET + inner.len()).filter(|_| is_it)?;
        put_array(form, 0, array_at::<12>(head, 0));
        put_u16(form, 12, TYPE_IPV4);
        form[ETHERNET..].copy_from_slice(inner);
        Some(form)
    }
}

const HOP_LIMIT: u8 = 64;

const ETHERNET: usize = 14;
/// Where a transport header stands outside.
const TRANSPORT: usize = ETHERNET + 20;
