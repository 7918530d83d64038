//! Frames spoiled a little: what lies between valid and noise, where parsers go wrong.

use wire::bytes::{put_u16, u16_at};
use wire::gtpu::{self, GTPU_PORT};
use wire::vxlan::VXLAN_PORT;
use wire::{checksum, ethernet, ipv4, udp, vxlan};

use crate::random::Random;

/// Changes a frame in up to three places, and then most often makes the checksums right again, so
/// that the change is seen behind them. The frame stays within `longest` bytes.
pub fn mutate(frame: &mut Vec<u8>, donors: &[Vec<u8>], longest: usize, random: &mut Random) {
    for _ in 0..1 + random.below(3) {
        change(frame, donors, random);
    }
    frame.truncate(longest);
    if random.below(4) > 0 {
        repair(frame);
    }
}

fn change(frame: &mut Vec<u8>, donors: &[Vec<u8>], random: &mut Random) {
    let at = random.below(frame.len().clamp(1, HEADERS_LEN));
    match random.below(10) {
        0 => frame.truncate(random.below(frame.len() + 1)),
        1 => frame.extend((0..random.below(40)).map(|_| random.byte())),
        2 => frame.insert(at.min(frame.len()), random.byte()),
        3 if at < frame.len() => drop(frame.remove(at)),
        4 if at < frame.len() => frame[at] ^= 1 << random.below(8),
        5 if at < frame.len() => frame[at] = random.byte(),
        // The rest of another frame behind the front of this one.
        6 if !donors.is_empty() => {
            let donor = random.one_of(donors);
            frame.truncate(at);
            frame.extend(donor.iter().skip(at));
        }
        // A field becomes what it should not be, or nearly what it was.
        _ if frame.len() >= 2 => {
            let at = at.min(frame.len() - 2);
            let old = u16_at(frame, at);
            let nearly = [old.wrapping_add(1), old.wrapping_sub(1), !old, old.swap_bytes()];
            let special = [0, 1, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, ethernet::TYPE_IPV6];
            let new = *random.one_of(&[&nearly[..], &special[..]].concat());
            put_u16(frame, at, new);
        }
        _ => {}
    }
}

/// Makes the IPv4 header checksums of a frame right, the one inside a tunnel too; the tunnel's own
/// datagram then has none.
pub fn repair(frame: &mut [u8]) {
    let Some((_, packet)) = frame.split_first_chunk_mut::<{ ethernet::HEADER_LEN }>() else {
        return;
    };
    repair_ipv4(packet);
    const TUNNEL: usize = ipv4::HEADER_LEN + udp::HEADER_LEN;
    if packet.len() < TUNNEL || packet[0] != ipv4::VERSION_IHL {
        return;
    }
    let port = u16_at(packet, ipv4::HEADER_LEN + udp::offset::DESTINATION_PORT);
    let (outer, message) = packet.split_at_mut(TUNNEL);
    let inner_at = match port {
        GTPU_PORT => gtpu::View::parse(message).map(|view| view.header_len()).ok(),
        VXLAN_PORT => Some(vxlan::HEADER_LEN + ethernet::HEADER_LEN),
        _ => return,
    };
    put_u16(outer, ipv4::HEADER_LEN + udp::offset::CHECKSUM, udp::CHECKSUM_NONE);
    if let Some(inner) = inner_at.and_then(|at| message.get_mut(at..)) {
        repair_ipv4(inner);
    }
}

fn repair_ipv4(packet: &mut [u8]) {
    if packet.len() < ipv4::HEADER_LEN || packet[0] >> 4 != ipv4::VERSION {
        return;
    }
    let header_len = usize::from(packet[0] & 0x0f) * 4;
    let header_len = header_len.clamp(ipv4::HEADER_LEN, packet.len().max(ipv4::HEADER_LEN));
    put_u16(packet, ipv4::offset::CHECKSUM, 0);
    let sum = checksum::checksum(&packet[..header_len]);
    put_u16(packet, ipv4::offset::CHECKSUM, sum);
}

/// Where most changes go: more than the headers of a tunnelled packet.
const HEADERS_LEN: usize = 120;
