//! Echo packets (RFC 5880 section 6.4): what a session sends to itself by way of its peer.
//!
//! ```text
//!  | discriminator, 4 bytes | secret, 8 bytes | number of the packet, 4 bytes |
//! ```
//! Their contents are a local matter. Nobody else can make one, because nobody knows the secret of
//! a session, and none counts twice.

/// The Echo packets of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Echo {
    secret: u64,
    /// How many were sent.
    sent: u32,
    /// Number of the last one that came back.
    returned: u32,
}

/// An Echo packet that has come back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Returned {
    /// Of which session it says to be.
    pub discriminator: u32,
    secret: u64,
    number: u32,
}

impl Echo {
    /// The packets of a session with this secret.
    pub fn new(secret: u64) -> Echo {
        Echo { secret, sent: 0, returned: 0 }
    }

    /// Returns the bytes of the next packet.
    pub fn send(&mut self, discriminator: u32) -> Vec<u8> {
        self.sent = self.sent.wrapping_add(1);
        let mut bytes = discriminator.to_be_bytes().to_vec();
        bytes.extend(self.secret.to_be_bytes());
        bytes.extend(self.sent.to_be_bytes());
        bytes
    }

    /// Takes in a packet; false if it was not sent, or one that was sent later has come back.
    pub fn take(&mut self, packet: Returned) -> bool {
        let ahead = packet.number.wrapping_sub(self.returned).wrapping_sub(1);
        let is_new = ahead < self.sent.wrapping_sub(self.returned);
        let is_own = packet.secret == self.secret && is_new;
        if is_own {
            self.returned = packet.number;
        }
        is_own
    }
}

impl Returned {
    /// Reads a packet; `None` of bytes that are none.
    pub fn parse(bytes: &[u8]) -> Option<Returned> {
        let (discriminator, rest) = bytes.split_first_chunk()?;
        let (secret, rest) = rest.split_first_chunk()?;
        Some(Returned {
            discriminator: u32::from_be_bytes(*discriminator),
            secret: u64::from_be_bytes(*secret),
            number: u32::from_be_bytes(rest.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sent_comes_back_and_once() {
        let mut echo = Echo::new(7);
        let [first, second] = [0, 1].map(|_| echo.send(5));
        let mut take = |bytes: &[u8]| Returned::parse(bytes).is_some_and(|one| echo.take(one));
        assert!(take(&second) && !take(&second), "once");
        assert!(!take(&first), "behind a later one");
        assert!(!take(&Echo::new(8).send(5)), "of another secret");
        assert!(!take(&second[..15]));
    }
}
