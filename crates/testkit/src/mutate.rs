//! Frames spoiled a little: what lies between valid and noise, where parsers go wrong.

pub use model_kit::build::repair;
use wire::bytes::{put_u16, u16_at};
use wire::ethernet;

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

/// Where most changes go: more than the headers of a tunnelled packet.
const HEADERS_LEN: usize = 120;
