//! Fields of records that messages of BGP do not have.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use protocol_bgp::bytes::Reader;

/// Takes a number of two bytes, or of four.
pub(crate) fn number(from: &mut Reader<'_>, is_wide: bool) -> Option<u32> {
    if is_wide { from.u32() } else { from.u16().map(u32::from) }
}

/// Takes an address.
pub(crate) fn address(from: &mut Reader<'_>, is_ipv6: bool) -> Option<IpAddr> {
    Some(match is_ipv6 {
        true => IpAddr::V6(Ipv6Addr::from(from.array::<16>()?)),
        false => IpAddr::V4(Ipv4Addr::from(from.array::<4>()?)),
    })
}

/// Appends an address.
pub(crate) fn put_address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(address) => out.extend(address.octets()),
        IpAddr::V6(address) => out.extend(address.octets()),
    }
}
