//! Cookies: what a host has to bring back proves that it hears at its address, and costs no memory.
//!
//! ```text
//!  | second, 4 bytes | keyed hash of second, line and host, 16 bytes |
//! ```

use std::time::Duration;

use protocol_kit::Time;
use wire::ethernet::MacAddr;

use crate::control::Line;

/// Makes cookies and tells its own.
#[derive(Clone)]
pub(crate) struct Cookies {
    key: [u8; 32],
}

/// What a cookie is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    Good,
    /// It was good once.
    Old,
    /// It was made by somebody else, or for somebody else.
    False,
}

impl Cookies {
    pub fn new(key: [u8; 32]) -> Cookies {
        Cookies { key }
    }

    /// Makes the cookie of a host.
    pub fn bake(&self, line: Line, host: MacAddr, now: Time) -> [u8; COOKIE_LEN] {
        self.of(second(now), line, host)
    }

    /// Judges what a host has brought back. Whether it is good the time it takes does not tell.
    pub fn judge(
        &self,
        cookie: &[u8],
        (line, host): (Line, MacAddr),
        age_max: Duration,
        now: Time,
    ) -> Worth {
        let Ok(cookie) = <&[u8; COOKIE_LEN]>::try_from(cookie) else { return Worth::False };
        let made = cookie.first_chunk::<4>().map_or(0, |second| u32::from_be_bytes(*second));
        let right = self.of(made, line, host);
        let differing = cookie.iter().zip(right).fold(0, |all, (one, other)| all | (one ^ other));
        let age = second(now).wrapping_sub(made);
        match std::hint::black_box(differing) {
            0 if u64::from(age) <= age_max.as_secs() => Worth::Good,
            0 => Worth::Old,
            _ => Worth::False,
        }
    }

    /// A number of 64 bits that nobody can guess, of any bytes.
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

    fn of(&self, second: u32, line: Line, host: MacAddr) -> [u8; COOKIE_LEN] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&[COOKIE]);
        hasher.update(&second.to_be_bytes());
        hasher.update(&octets(line));
        hasher.update(&host.0);
        let hash = hasher.finalize();
        let mut cookie = [0; COOKIE_LEN];
        cookie[..4].copy_from_slice(&second.to_be_bytes());
        cookie[4..].copy_from_slice(&hash.as_bytes()[..COOKIE_LEN - 4]);
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

/// Seconds wrap in 136 years.
fn second(now: Time) -> u32 {
    (now.0 / 1_000_000_000) as u32
}

/// Length of a cookie in bytes.
pub(crate) const COOKIE_LEN: usize = 20;

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
        assert_eq!(judge(&cookie, (line, host), 130), Worth::Good);
        assert_eq!(judge(&cookie, (line, host), 131), Worth::Old);
        assert_eq!(judge(&cookie, (line, host), 99), Worth::Old, "of a time to come");
        let others = [
            (Line { port: 2, ..line }, host),
            (Line { outer: 8, ..line }, host),
            (Line { inner: 8, ..line }, host),
            (line, MacAddr([2, 0, 0, 0, 0, 2])),
        ];
        for whose in others {
            assert_eq!(judge(&cookie, whose, 100), Worth::False);
        }
        assert_eq!(judge(&cookie[..19], (line, host), 100), Worth::False);
        for byte in 0..COOKIE_LEN {
            let mut other = cookie;
            other[byte] ^= 1;
            assert_eq!(judge(&other, (line, host), 100), Worth::False, "byte {byte}");
        }
        let other = Cookies::new([2; 32]).bake(line, host, at(100));
        assert_eq!(judge(&other, (line, host), 100), Worth::False);
    }
}
