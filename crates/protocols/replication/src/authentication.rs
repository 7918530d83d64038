//! Authentication of messages by HMAC-SHA-256 (RFC 2104, FIPS 180-4).
//!
//! ```text
//!  connection = HMAC(key, "plumbline replication" | hello | the standby's nonce)
//!  direction  = HMAC(connection, "active" or "standby")
//!  tag        = HMAC(direction, number of the message in it (8) | message), the first 16 bytes
//! ```
//! Both nonces stand in the key of a connection, so a message of another connection has no right
//! tag in it; each direction has a key, so neither has one that is sent back; and the number is
//! counted, so that one that is left out, repeated or moved ends the connection. The standby proves
//! that it has the key by its welcome, the active function by its identity: whoever knows no key
//! gets no tag from a standby to guess keys by.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use protocol_kit::{Secret, StreamOptions, Tls};
use sha2::{Digest, Sha256};

use crate::message::{NONCE_LEN, set_len};
use crate::trouble::Trouble;

/// What a machine authenticates by.
pub struct Credentials {
    key: Option<Secret>,
    tls: Option<Arc<Tls>>,
    /// Random bytes of the operating system.
    seed: [u8; 32],
    connections: u64,
}

impl Credentials {
    /// Credentials of a key that both sides have, or of none, with random bytes that nobody can
    /// foresee and no other machine has.
    pub fn new(key: Option<Secret>, seed: [u8; 32]) -> Credentials {
        Credentials { key, tls: None, seed, connections: 0 }
    }

    /// The same, over streams that are encrypted where there is something to do it by.
    #[must_use]
    pub fn encrypted(self, tls: Option<Tls>) -> Credentials {
        Credentials { tls: tls.map(Arc::new), ..self }
    }

    /// Returns by what streams are encrypted.
    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.tls.as_deref()
    }

    /// Returns what holds for streams.
    pub(crate) fn options(&self) -> StreamOptions {
        StreamOptions { tls: self.tls.clone(), ..StreamOptions::default() }
    }

    /// Returns which start of a function this is: a number that another one has hardly.
    pub fn instance(&self) -> u64 {
        self.instance_after(0)
    }

    /// Returns the number of another beginning of the same start.
    pub(crate) fn instance_after(&self, beginnings: u64) -> u64 {
        let digest: [u8; 32] = self.hash("instance", beginnings).into();
        digest.first_chunk().copied().map_or(0, u64::from_be_bytes)
    }

    /// Returns true if there is a key.
    pub(crate) fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// Draws the nonce of a connection.
    pub(crate) fn nonce(&mut self) -> [u8; NONCE_LEN] {
        self.connections += 1;
        self.hash("nonce", self.connections).into()
    }

    /// Returns the tags of a connection, from its hello and the standby's nonce; `None` without
    /// key.
    pub(crate) fn tags(&self, own: Side, hello: &[u8], nonce: &[u8; NONCE_LEN]) -> Option<Tags> {
        let Secret(key) = self.key.as_ref()?;
        let connection = code(key, &[b"plumbline replication", hello, nonce]);
        let direction =
            |name: &[u8]| Direction { code: keyed(&code(&connection, &[name])), count: 0 };
        let (active, standby) = (direction(b"active"), direction(b"standby"));
        Some(match own {
            Side::Active => Tags { own: active, peer: standby },
            Side::Standby => Tags { own: standby, peer: active },
        })
    }

    fn hash(&self, what: &str, number: u64) -> sha2::digest::Output<Sha256> {
        let all = Sha256::new_with_prefix(what).chain_update(self.seed);
        all.chain_update(number.to_be_bytes()).finalize()
    }
}

/// Returns what both sides call a connection: a number that another one has hardly, and that names
/// nothing which is not said on it in the clear.
pub(crate) fn connection(nonce: &[u8; NONCE_LEN]) -> u64 {
    nonce.first_chunk().copied().map_or(0, u64::from_be_bytes)
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Active,
    Standby,
}

/// Signs and checks the messages of a connection.
pub(crate) struct Tags {
    own: Direction,
    peer: Direction,
}

struct Direction {
    code: Hmac<Sha256>,
    /// Messages so far.
    count: u64,
}

impl Tags {
    /// Appends the tag to a message with its length in front.
    pub fn sign(&mut self, message: &mut Vec<u8>, prefix_len: usize) {
        let tag = self.own.next(&message[prefix_len..]).finalize().into_bytes();
        message.extend(&tag[..TAG_LEN]);
        set_len(message);
    }

    /// Returns a received message without its tag.
    ///
    /// # Errors
    /// When the tag is not right: it is not the other side's next message.
    pub fn check<'a>(&mut self, message: &'a [u8]) -> Result<&'a [u8], Trouble> {
        let split = message.split_last_chunk::<TAG_LEN>();
        let (message, tag) = split.ok_or(Trouble::NotAuthentic)?;
        let code = self.peer.next(message);
        code.verify_truncated_left(tag).map_err(|_| Trouble::NotAuthentic)?;
        Ok(message)
    }
}

impl Direction {
    fn next(&mut self, message: &[u8]) -> Hmac<Sha256> {
        let mut code = self.code.clone();
        code.update(&self.count.to_be_bytes());
        code.update(message);
        self.count += 1;
        code
    }
}

fn code(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut code = keyed(key);
    parts.iter().for_each(|part| code.update(part));
    code.finalize().into_bytes().into()
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC has keys of any length")
}

/// Bytes of a tag.
pub(crate) const TAG_LEN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(own: Side, key: &[u8], nonce: u8) -> Tags {
        let credentials = Credentials::new(Some(Secret(key.to_vec())), [1; 32]);
        credentials.tags(own, b"hello", &[nonce; 32]).expect("there is a key")
    }

    fn signed(tags: &mut Tags, message: &[u8]) -> Vec<u8> {
        let mut bytes = [&[0; 4][..], message].concat();
        tags.sign(&mut bytes, 4);
        assert_eq!(bytes[..4], (message.len() as u32 + 16).to_be_bytes());
        bytes.split_off(4)
    }

    #[test]
    fn codes_are_those_of_rfc_4231() {
        let expected = [
            0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24, 0x26, 0x08, 0x95,
            0x75, 0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27, 0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9,
            0x64, 0xec, 0x38, 0x43,
        ];
        assert_eq!(code(b"Jefe", &[b"what do ya want ", b"for nothing?"]), expected);
    }

    #[test]
    fn only_the_other_sides_next_message_is_taken() {
        let (mut active, mut standby) = (tags(Side::Active, b"k", 1), tags(Side::Standby, b"k", 1));
        let (one, two) = (signed(&mut active, b"one"), signed(&mut active, b"two"));
        let answer = signed(&mut standby, b"answer");
        assert_eq!(standby.check(&one), Ok(&b"one"[..]));
        assert_eq!(active.check(&answer), Ok(&b"answer"[..]));
        let fresh = || tags(Side::Standby, b"k", 1);
        assert_eq!(fresh().check(&two), Err(Trouble::NotAuthentic), "one was left out");
        assert_eq!(standby.check(&one), Err(Trouble::NotAuthentic), "a repeated one");
        assert_eq!(tags(Side::Active, b"k", 1).check(&one), Err(Trouble::NotAuthentic), "its own");
        assert_eq!(tags(Side::Standby, b"other", 1).check(&one), Err(Trouble::NotAuthentic));
        assert_eq!(tags(Side::Standby, b"k", 2).check(&one), Err(Trouble::NotAuthentic));
        assert_eq!(fresh().check(&one[..15]), Err(Trouble::NotAuthentic));
        for at in 0..one.len() {
            let mut altered = one.clone();
            altered[at] ^= 1;
            assert_eq!(fresh().check(&altered), Err(Trouble::NotAuthentic), "byte {at}");
        }
    }

    #[test]
    fn no_two_nonces_are_the_same() {
        let mut one = Credentials::new(None, [1; 32]);
        let mut other = Credentials::new(None, [2; 32]);
        let mut all = vec![one.nonce(), one.nonce(), other.nonce(), other.nonce()];
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4);
        assert_ne!(one.instance(), other.instance());
        assert!(one.tags(Side::Active, b"hello", &[0; 32]).is_none());
    }
}
