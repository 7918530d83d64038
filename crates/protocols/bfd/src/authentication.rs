//! Authentication of control packets (RFC 5880 section 6.7).
//!
//! ```text
//!  simple password   | type 1 | len  | key id | password, 1 to 16 bytes       |
//!  keyed MD5         | type 2 | 24   | key id | 0 | sequence number | digest |  meticulous: type 3
//!  keyed SHA1        | type 4 | 28   | key id | 0 | sequence number | hash   |  meticulous: type 5
//! ```
//! The digest is that of the whole packet with the key, padded by zeroes, in its place. A sequence
//! number is taken over only from a packet whose digest is right; the RFC would take the first one
//! over from any packet.

use std::ops::RangeInclusive;

use md5::{Digest, Md5};
use protocol_kit::is_equal;
use sha1::Sha1;

/// How packets are authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Simple Password, which everybody on the way can read.
    SimplePassword,
    /// Keyed MD5: a captured packet can be repeated until the next change.
    KeyedMd5,
    /// Meticulous Keyed MD5: each packet has a number of its own.
    MeticulousKeyedMd5,
    /// Keyed SHA1: a captured packet can be repeated until the next change.
    KeyedSha1,
    /// Meticulous Keyed SHA1: each packet has a number of its own.
    MeticulousKeyedSha1,
}

/// Keys of a session.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// The algorithm, the same in both directions.
    pub algorithm: Algorithm,
    /// Keys that are accepted, by their identifiers. The first one is that of sent packets.
    pub keys: Vec<(u8, Vec<u8>)>,
}

/// What one end of a session knows of sequence numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequence {
    /// Number of the packet that was sent last (bfd.XmitAuthSeq).
    pub sent: u32,
    /// Number of the packet that was accepted last (bfd.RcvAuthSeq), if it is known.
    pub received: Option<u32>,
}

impl Keys {
    /// Returns true if keys of these lengths can be used; there must be one.
    pub fn are_valid(&self) -> bool {
        let most = if self.algorithm.is_sha1() { SHA1_LEN } else { MD5_LEN };
        let is_valid = |(_, key): &(u8, Vec<u8>)| (1..=most).contains(&key.len());
        !self.keys.is_empty() && self.keys.iter().all(is_valid)
    }

    /// Writes the section of a packet into its end, where [`Keys::section`] has made room.
    pub fn sign(&self, packet: &mut [u8]) {
        let Some(digest) = self.algorithm.digest_len() else { return };
        if let Some((_, key)) = self.keys.first()
            && let Some(start) = packet.len().checked_sub(digest)
        {
            let value = self.algorithm.digest(&packet[..start], key);
            packet[start..].copy_from_slice(&value);
        }
    }

    /// Returns the section of a packet with a sequence number, its digest still zero.
    pub fn section(&self, sequence: u32) -> Vec<u8> {
        let none = (0, Vec::new());
        let (id, key) = self.keys.first().unwrap_or(&none);
        let Some(digest) = self.algorithm.digest_len() else {
            let len = (SIMPLE_LEN + key.len()) as u8;
            return [&[self.algorithm.number(), len, *id], key.as_slice()].concat();
        };
        let mut section = vec![0; SEQUENCED_LEN + digest];
        let len = section.len() as u8;
        section[..3].copy_from_slice(&[self.algorithm.number(), len, *id]);
        section[4..8].copy_from_slice(&sequence.to_be_bytes());
        section
    }

    /// Returns true if a packet is authentic, and remembers its sequence number. `section` is the
    /// end of `packet`, `multiplier` its Detect Mult field.
    pub fn accept(
        &self,
        packet: &[u8],
        section: &[u8],
        multiplier: u8,
        sequence: &mut Sequence,
    ) -> bool {
        let [kind, _, id, rest @ ..] = section else { return false };
        let key = self.keys.iter().find(|(own, _)| own == id);
        let Some((_, key)) = key.filter(|_| *kind == self.algorithm.number()) else { return false };
        let Some(digest_len) = self.algorithm.digest_len() else {
            return is_equal(rest, key);
        };
        let Some(([_, number @ ..], digest)) = rest.split_first_chunk::<5>() else { return false };
        let number = u32::from_be_bytes(*number);
        let is_known = sequence.received.is_none_or(|received| {
            self.algorithm.ahead(multiplier).contains(&number.wrapping_sub(received))
        });
        let Some(start) = packet.len().checked_sub(digest_len) else { return false };
        let is_authentic = is_known
            && digest.len() == digest_len
            && is_equal(digest, &self.algorithm.digest(&packet[..start], key));
        if is_authentic {
            sequence.received = Some(number);
        }
        is_authentic
    }
}

impl std::fmt::Debug for Keys {
    /// Secrets are not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ids: Vec<u8> = self.keys.iter().map(|(id, _)| *id).collect();
        f.debug_struct("Keys").field("algorithm", &self.algorithm).field("ids", &ids).finish()
    }
}

impl Algorithm {
    /// Returns true if every packet has a number of its own.
    pub fn is_meticulous(self) -> bool {
        matches!(self, Algorithm::MeticulousKeyedMd5 | Algorithm::MeticulousKeyedSha1)
    }

    fn is_sha1(self) -> bool {
        matches!(self, Algorithm::KeyedSha1 | Algorithm::MeticulousKeyedSha1)
    }

    /// The Auth Type field.
    fn number(self) -> u8 {
        self as u8 + 1
    }

    /// Length of the digest in bytes; none of a simple password.
    fn digest_len(self) -> Option<usize> {
        match self {
            Algorithm::SimplePassword => None,
            Algorithm::KeyedMd5 | Algorithm::MeticulousKeyedMd5 => Some(MD5_LEN),
            Algorithm::KeyedSha1 | Algorithm::MeticulousKeyedSha1 => Some(SHA1_LEN),
        }
    }

    /// How far a sequence number may lie ahead of the last one (section 6.7.3).
    fn ahead(self, multiplier: u8) -> RangeInclusive<u32> {
        u32::from(self.is_meticulous())..=3 * u32::from(multiplier)
    }

    /// The digest of a packet whose bytes before the digest these are.
    fn digest(self, packet: &[u8], key: &[u8]) -> Vec<u8> {
        let mut padded = [0; SHA1_LEN];
        padded[..key.len()].copy_from_slice(key);
        if self.is_sha1() {
            Sha1::new().chain_update(packet).chain_update(padded).finalize().to_vec()
        } else {
            Md5::new().chain_update(packet).chain_update(&padded[..MD5_LEN]).finalize().to_vec()
        }
    }
}

const MD5_LEN: usize = 16;
const SHA1_LEN: usize = 20;

/// Bytes before a simple password.
const SIMPLE_LEN: usize = 3;

/// Bytes before a digest.
const SEQUENCED_LEN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Algorithm; 5] = [
        Algorithm::SimplePassword,
        Algorithm::KeyedMd5,
        Algorithm::MeticulousKeyedMd5,
        Algorithm::KeyedSha1,
        Algorithm::MeticulousKeyedSha1,
    ];

    fn keys(algorithm: Algorithm) -> Keys {
        Keys { algorithm, keys: vec![(7, b"secret".to_vec()), (9, b"old".to_vec())] }
    }

    /// A packet of 24 bytes with a section.
    fn packet(keys: &Keys, sequence: u32) -> Vec<u8> {
        let mut packet = [&[0x20; 24][..], &keys.section(sequence)].concat();
        keys.sign(&mut packet);
        packet
    }

    #[test]
    fn what_was_changed_or_repeated_is_refused() {
        for algorithm in ALL {
            let keys = keys(algorithm);
            assert!(keys.are_valid());
            let mut sequence = Sequence::default();
            let mut accept = |packet: &[u8]| keys.accept(packet, &packet[24..], 3, &mut sequence);
            let first = packet(&keys, 100);
            assert_eq!(usize::from(first[25]), first.len() - 24);
            assert!(accept(&first), "{algorithm:?}");
            assert_eq!(accept(&first), !algorithm.is_meticulous(), "{algorithm:?}");
            let is_plain = algorithm == Algorithm::SimplePassword;
            assert!(accept(&packet(&keys, 109)));
            assert_eq!(accept(&packet(&keys, 119)), is_plain, "ten ahead");
            assert_eq!(accept(&packet(&keys, 108)), is_plain, "one behind");
            for at in 24..first.len() {
                let mut changed = packet(&keys, 110);
                changed[at] ^= 1;
                // The length was checked with the packet, and a password does not cover it.
                let is_ignored = is_plain && at == 25;
                assert_eq!(accept(&changed), is_ignored, "{algorithm:?}: byte {at}");
            }
            assert!(!accept(&first[..first.len() - 1]));
        }
    }

    #[test]
    fn an_older_key_is_accepted_while_it_is_configured() {
        for algorithm in ALL {
            let both = keys(algorithm);
            let old = Keys { algorithm, keys: vec![both.keys[1].clone()] };
            let packet = packet(&old, 1);
            assert!(both.accept(&packet, &packet[24..], 3, &mut Sequence::default()));
            let new = Keys { algorithm, keys: vec![both.keys[0].clone()] };
            assert!(!new.accept(&packet, &packet[24..], 3, &mut Sequence::default()));
            assert!(!format!("{both:?}").contains("secret"), "secrets stay hidden");
        }
    }

    #[test]
    fn keys_of_impossible_lengths_are_no_keys() {
        let of = |algorithm, len: usize| Keys { algorithm, keys: vec![(1, vec![1; len])] };
        assert!(
            !of(Algorithm::KeyedMd5, 0).are_valid() && !of(Algorithm::KeyedMd5, 17).are_valid()
        );
        assert!(of(Algorithm::KeyedSha1, 20).are_valid());
        assert!(!Keys { algorithm: Algorithm::KeyedSha1, keys: Vec::new() }.are_valid());
    }
}
