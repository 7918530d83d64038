//! What the models of several functions have in common: token buckets as they are drawn, and the
//! bytes of a datagram that comes in fragments. Written from the texts, slow, and used by no
//! pipeline.

use std::collections::BTreeSet;
use std::time::Duration;

/// A token bucket: tokens that come with time and are never more than the burst.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate_per_s: f64,
    burst: f64,
    tokens: f64,
    then: Duration,
}

impl Bucket {
    /// A full one, which holds one token at least; a rate of 0 is no limit.
    pub fn new(rate_per_s: u32, burst: u32) -> Bucket {
        let burst = f64::from(burst.max(1));
        Bucket { rate_per_s: rate_per_s.into(), burst, tokens: burst, then: Duration::ZERO }
    }

    /// Takes a token, if there is one. Half a token is as good as a whole one, for a device counts
    /// in time and rounds.
    pub fn takes(&mut self, now: Duration) -> bool {
        if self.rate_per_s == 0.0 {
            return true;
        }
        let come = (now - self.then).as_secs_f64() * self.rate_per_s;
        self.tokens = (self.tokens + come).min(self.burst);
        self.then = now;
        let has = self.tokens >= 0.5;
        self.tokens -= if has { 1.0 } else { 0.0 };
        has
    }
}

/// Every byte of a datagram, seen or not (RFC 791 section 3.2, RFC 5722).
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    seen: BTreeSet<usize>,
    end: Option<usize>,
    /// Whether two of its fragments lay over one another: nothing of it is taken any more.
    pub is_broken: bool,
}

impl Pieces {
    /// Takes a fragment that begins at a byte; `more` come behind it, or it is the last one.
    ///
    /// # Errors
    /// The reason for which it is dropped.
    pub fn take(&mut self, start: usize, len: usize, more: bool) -> Result<(), &'static str> {
        let end = start + len;
        let bytes: BTreeSet<usize> = (start..end).collect();
        let again = bytes.intersection(&self.seen).count();
        if self.is_broken || again == bytes.len() {
            return Err("fragment-overlap");
        }
        let ends_elsewhere = match self.end {
            Some(last) => !more || end > last,
            None => !more && self.seen.last().is_some_and(|&last| last >= end),
        };
        if again > 0 || ends_elsewhere {
            self.is_broken = true;
            return Err("fragment-overlap");
        }
        let all: BTreeSet<usize> = self.seen.union(&bytes).copied().collect();
        let begins = all.iter().filter(|&&byte| byte == 0 || !all.contains(&(byte - 1)));
        if begins.count() > GAPS_MAX + 1 {
            return Err("fragment-scattered");
        }
        self.seen = all;
        if !more {
            self.end = Some(end);
        }
        Ok(())
    }

    /// Whether all bytes were seen.
    pub fn is_whole(&self) -> bool {
        self.end == Some(self.seen.len())
    }
}

/// Most gaps of a datagram that account is kept of.
const GAPS_MAX: usize = 7;
