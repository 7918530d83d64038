//! How mappings that subscribers ask for begin and end.

use packet::Reason;

use crate::pcp::granted::{Ask, Denied};
use crate::reasons::{self, Tally};
use crate::sessions::allocation::Wanted;
use crate::sessions::table::Number;
use crate::sessions::times::Moment;
use crate::state::State;
use crate::types::flow::Inside;

impl State {
    /// Maps an inside end for a time, whatever packets come, or goes on to; tells the session of
    /// that. The key is one of [`crate::types::flow::Far::granted`].
    ///
    /// # Errors
    /// Why there is no mapping; nothing has changed then.
    pub fn grant(&mut self, key: &Inside, ask: &Ask, now: Moment) -> Result<Number, Denied> {
        let number = match self.known_grant(key, ask.nonce, now)? {
            Some(number) => {
                let session = &self.sessions.records[number as usize];
                let is_it = ask.fits((session.outside, session.outside_port));
                (is_it || !ask.or_nothing).then_some(number).ok_or(Denied::Other)?
            }
            None => self.open_grant(key, ask, now)?,
        };
        let session = &mut self.sessions.records[number as usize];
        session.used = now.wrapping_add(ask.lifetime);
        self.sessions.hasten(number, (now, &self.times));
        self.note(number);
        Ok(number)
    }

    /// Ends such a mapping, if it is there; sessions of it stay, and with them its outside end.
    ///
    /// # Errors
    /// When it is somebody's with another nonce.
    pub fn revoke(&mut self, key: &Inside, nonce: [u8; 12], now: Moment) -> Result<(), Denied> {
        if let Some(number) = self.known_grant(key, nonce, now)? {
            self.tallies[Tally::PcpDeleted as usize] += 1;
            self.close(number, now);
        }
        Ok(())
    }

    /// The mapping of an inside end that was asked for, if it lives.
    fn known_grant(
        &mut self,
        key: &Inside,
        nonce: [u8; 12],
        now: Moment,
    ) -> Result<Option<Number>, Denied> {
        let Some(number) = self.sessions.find_inside(key.hash(self.sessions.keyed()), key) else {
            return Ok(None);
        };
        let session = &self.sessions.records[number as usize];
        let Some(left) = self.times.left(session, now) else {
            self.expire(number, now);
            return Ok(None);
        };
        let known = self.granted.as_ref().and_then(|granted| granted.nonce(session));
        if known == Some(nonce) { Ok(Some(number)) } else { Err(Denied::Foreign(left)) }
    }

    fn open_grant(&mut self, key: &Inside, ask: &Ask, now: Moment) -> Result<Number, Denied> {
        let mapping = self.live_mapping(key, now);
        if ask.or_nothing {
            let address = match mapping {
                Some(number) => {
                    let known = &self.sessions.records[number as usize];
                    let is_it = ask.fits((known.outside, known.outside_port));
                    is_it.then_some(known.outside).ok_or(Denied::Other)?
                }
                None => self.address_of(key).unwrap_or(0),
            };
            (ask.address == 0 || ask.address == address).then_some(()).ok_or(Denied::Other)?;
        }
        let subscriber = self.subscribers.find(key, self.sessions.keyed());
        self.granted.as_ref().map_or(Err(Denied::Full), |granted| granted.check(subscriber))?;
        let wanted = match (ask.port, ask.or_nothing) {
            (0, _) => Wanted::Any,
            (port, true) => Wanted::Only(port),
            (port, false) => Wanted::Rather(port),
        };
        let opened = self.open(key, wanted, now, Tally::PcpGranted);
        let number = opened.map_err(|reason| denied(reason, wanted))?;
        if let Some(granted) = &mut self.granted {
            // There was room before.
            granted.enter(&mut self.sessions.records[number as usize], ask.nonce);
        }
        Ok(number)
    }

    /// The outside address that a subscriber has or is to have; none where it is drawn when it is
    /// needed.
    fn address_of(&self, key: &Inside) -> Option<u32> {
        if let Some(rule) = self.allocation.ruled(key) {
            return Some(rule.outside);
        }
        let number = self.subscribers.find(key, self.sessions.keyed())?;
        let subscriber = &self.subscribers.records[number as usize];
        subscriber.is_paired.then(|| self.allocation.addresses.address(subscriber.outside))
    }
}

/// Why a mapping was not made.
fn denied(reason: Reason, wanted: Wanted) -> Denied {
    match reason {
        reasons::BLOCK_LIMIT | reasons::PORTS_EXHAUSTED | reasons::POOL_EXHAUSTED
            if matches!(wanted, Wanted::Only(_)) =>
        {
            Denied::Other
        }
        reasons::SESSION_LIMIT | reasons::BLOCK_LIMIT => Denied::Quota,
        _ => Denied::Full,
    }
}
