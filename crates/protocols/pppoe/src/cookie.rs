//! Cookies: a host that brings one back receives what is sent to its address, and nothing has to be
//! kept of it until then.
//!
//! ```text
//!  | time in ns, 8 bytes | keyed hash of time, line and host, 16 bytes |
//! ```
//! The time says how old a cookie is, and which of two offers to a host was the earlier one.

use std::time::Duration;

use protocol_kit::{Time, is_equal};
use wire::ethernet::MacAddr;

use crate::control::Line;

/// Makes cookies, and recognises them.
#[derive(Clone)]
pub(crate) struct Cookies {
    key: [u8; 32],
}

/// What a cookie is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// It is good, and was made at this time.
    Good(Time),
    /// It has expired.
    Old,
    /// It was not made here, or for another host or line.
    False,
}

impl Cookies {
    pub fn new(key: [u8; 32]) -> Cookies {
        Cookies { key }
    }

    /// Makes the cookie of a host.
    pub fn bake(&self, line: Line, host: MacAddr, now: Time) -> [u8; COOKIE_LEN] {
        self.of(now, line, host)
    }

    /// Judges what a host has brought back. The time that this takes does not depend on how much
    /// of a false cookie is right.
    pub fn judge(
        &self,
        cookie: &[u8],
        (line, host): (Line, MacAddr),
        age_max: Duration,
        now: Time,
    ) -> Worth {
        let Ok(cookie) = <&[u8; COOKIE_LEN]>::try_from(cookie) else { return Worth::False };
        let made = Time(cookie.first_chunk().map_or(0, |time| u64::from_be_bytes(*time)));
        if !is_equal(cookie, &self.of(made, line, host)) {
            return Worth::False;
        }
        let is_good = made <= now && now.since(made) <= age_max;
        if is_good { Worth::Good(made) } else { Worth::Old }
    }

    /// A keyed hash of 64 bits, which cannot be guessed, of any bytes.
    pub fn hash(&self, purpose: u8, parts: &[&[u8]]) -> u64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&[purpose]);
        for part in parts {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        let hash = hasher.finalize();
        hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
    }

    fn of(&self, made: Time, line: Line, host: MacAddr) -> [u8; COOKIE_LEN] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&[COOKIE]);
        hasher.update(&made.0.to_be_bytes());
        hasher.update(&octets(line));
        hasher.update(&host.0);
        let hash = hasher.finalize();
        let mut cookie = [0; COOKIE_LEN];
        cookie[..TIME_LEN].copy_from_slice(&made.0.to_be_bytes());
        cookie[TIME_LEN..].copy_from_slice(&hash.as_bytes()[..COOKIE_LEN - TIME_LEN]);
        cookie
    }
}

impl std::fmt::Debug for Cookies {
    /// Secrets are not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cookies")
    }
}

/// A line as bytes.
pub(crate) fn octets(line: Line) -> [u8; 8] {
    let vlans = u32::from(line.outer) << 16 | u32::from(line.inner);
    (u64::from(line.port) << 32 | u64::from(vlans)).to_be_bytes()
}

/// Length of a cookie in bytes.
pub(crate) const COOKIE_LEN: usize = 24;

/// Length of its time in bytes.
const TIME_LEN: usize = 8;

/// The first byte of what is hashed, so that no hash serves another purpose.
const COOKIE: u8 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_good_for_its_host_its_line_and_its_time() {
        let cookies = Cookies::new([1; 32]);
        let (line, host) = (Line { port: 1, outer: 7, inner: 9 }, MacAddr([2, 0, 0, 0, 0, 1]));
        let at = |seconds: u64| Time(seconds * 1_000_000_000);
        let age = Duration::from_secs(30);
        let cookie = cookies.bake(line, host, at(100));
        let judge = |cookie: &[u8], whose, seconds| cookies.judge(cookie, whose, age, at(seconds));
        assert_eq!(judge(&cookie, (line, host), 130), Worth::Good(at(100)));
        assert_eq!(judge(&cookie, (line, host), 131), Worth::Old);
        assert_eq!(judge(&cookie, (line, host), 99), Worth::Old, "made later than this");
        let others = [
            (Line { port: 2, ..line }, host),
            (Line { outer: 8, ..line }, host),
            (Line { inner: 8, ..line }, host),
            (line, MacAddr([2, 0, 0, 0, 0, 2])),
        ];
        for whose in others {
            assert_eq!(judge(&cookie, whose, 100), Worth::False);
        }
        assert_eq!(judge(&cookie[..COOKIE_LEN - 1], (line, host), 100), Worth::False);
        for byte in 0..COOKIE_LEN {
            let mut other = cookie;
            other[byte] ^= 1;
            assert_eq!(judge(&other, (line, host), 100), Worth::False, "byte {byte}");
        }
        let other = Cookies::new([2; 32]).bake(line, host, at(100));
        assert_eq!(judge(&other, (line, host), 100), Worth::False);
    }
}
