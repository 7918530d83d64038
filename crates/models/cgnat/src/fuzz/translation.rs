//! Translation between IPv4 and IPv6 against its slow twin.

use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::translation::{self, Ends, Port, Rules};
use model_kit::fuzz::Body;
use packet::{Batch, PortId, Room};
use wire::{ethernet, ipv4};

use crate::translation::{oracle, said};

/// A packet of either family, as its version says, becomes exactly what the oracle says; one that
/// is refused is as before.
#[inline]
pub(super) fn body() -> Body {
    let mut batch = Batch::new(1, Room::default()).expect("memory for a batch");
    Box::new(move |data| {
        let data = &data[..data.len().min(PACKET_LEN_MAX)];
        let Some(&first) = data.first() else { return };
        let port = match data.len() % 3 {
            0 => Port::Kept,
            1 => Port::Source(0x1234),
            _ => Port::Destination(0x4321),
        };
        match first >> 4 {
            ipv4::VERSION => to_ipv6(&mut batch, data, port),
            _ => to_ipv4(&mut batch, data, port),
        }
    })
}

#[inline]
fn to_ipv6(batch: &mut Batch, data: &[u8], port: Port) {
    let ends = Ends { source: OUTER, destination: INNER, port };
    let rules = Rules::default();
    put(batch, data);
    let done = translation::to_ipv6(batch, 0, &ends, &rules, |_| Some(ends));
    let expected =
        oracle::to_ipv6(data, &(&ends).into(), &(&rules).into(), &mut |_| Some((&ends).into()));
    let left = &batch.frame(0)[ethernet::HEADER_LEN..];
    let found = done.as_ref().map(|()| left).map_err(|it| it as _);
    assert_eq!(said(found), said(expected.as_deref().map_err(|it| it as _)));
    assert!(done.is_ok() || left == data);
}

#[inline]
fn to_ipv4(batch: &mut Batch, data: &[u8], port: Port) {
    let [source, destination] = [1, 2].map(|last| Ipv4Addr::new(192, 0, 2, last));
    let ends = Ends { source, destination, port };
    let rules = Rules::default();
    put(batch, data);
    let done = translation::to_ipv4(batch, 0, &ends, 1, &rules, |_| Some(ends));
    let expected =
        oracle::to_ipv4(data, &(&ends).into(), 1, &(&rules).into(), &mut |_| Some((&ends).into()));
    let left = &batch.frame(0)[ethernet::HEADER_LEN..];
    let found = done.as_ref().map(|()| left).map_err(|it| it as _);
    assert_eq!(said(found), said(expected.as_deref().map_err(|it| it as _)));
    assert!(done.is_ok() || left == data);
}

fn put(batch: &mut Batch, data: &[u8]) {
    batch.clear();
    let frame = batch.append(PortId(0), ethernet::HEADER_LEN + data.len());
    frame.expect("it has room")[ethernet::HEADER_LEN..].copy_from_slice(data);
}

/// Packets with extension headers and an error with its quote.
pub(super) fn examples() -> Vec<Vec<u8>> {
    let datagram = [0x9c, 0x40, 0, 53, 0, 8, 0x12, 0x34];
    let mut quoted = vec![0x45, 0, 0, 28, 0, 1, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    quoted.extend(datagram);
    let mut error = [&[3, 4, 0, 0, 0, 0, 0x05, 0x78][..], &quoted].concat();
    let sum = wire::checksum::checksum(&error);
    error[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut outer = vec![0x45, 0, 0, 56, 0, 1, 0, 0, 64, 1, 0, 0, 192, 0, 2, 2, 192, 0, 2, 1];
    outer.extend(error);

    let mut chained = vec![0x60, 0, 0, 0, 0, 24, 0, 64];
    chained.extend([INNER.octets(), OUTER.octets()].concat());
    chained.extend([44, 0, 1, 4, 0, 0, 0, 0, 17, 0, 0, 1, 0, 0, 0, 9]);
    chained.extend(datagram);
    let mut message = [&[1, 4, 0, 0, 0, 0, 0, 0][..], &chained].concat();
    let sum = wire::icmp::checksum_ipv6(OUTER, INNER, &message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut refused = vec![0x60, 0, 0, 0, 0, message.len() as u8, 58, 64];
    refused.extend([OUTER.octets(), INNER.octets()].concat());
    refused.extend(message);
    vec![outer, chained, refused]
}

const OUTER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0xc000, 0x0202);
const INNER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x17);
/// The longest packet that is put into a batch, in bytes.
const PACKET_LEN_MAX: usize = 1500;
