//! Calls of PPTP (RFC 2637): the sessions of enhanced GRE by what packets from inside bear.
//!
//! A packet bears the identifier that its receiver has for the call. So one from outside names its
//! mapping, as that of UDP does by its port, and finds its session as others do; the other end's
//! identifier is in none of those, and no part of a session's name. One from inside bears that one
//! alone, and finds its session here. The record of the session has it, and the index goes as the
//! session does: nothing else is kept of a call.

use std::io;

use tables::hash::Keyed;
use tables::tagged::Tagged;
use wire::protocol;

use crate::sessions::fields::Place;
use crate::sessions::session::Session;
use crate::sessions::table::{Number, Sessions};
use crate::types::flow::{Far, Inside};

/// The calls of a worker; none where there is no room for one.
pub struct Calls {
    index: Option<Tagged>,
}

impl Calls {
    /// Room for so many; for none it takes no memory.
    ///
    /// # Errors
    /// When the kernel has no such memory.
    pub fn new(room: usize) -> io::Result<Calls> {
        let index = (room > 0).then(|| Tagged::with_capacity(room)).transpose()?;
        Ok(Calls { index })
    }

    /// The session of a packet from inside, which has the other end's identifier in the place of
    /// its port; also one whose time is up.
    pub fn find(&self, call: &Inside, sessions: &Sessions) -> Option<Number> {
        let is = |number: Number| name(&sessions.records[number as usize]) == Some(*call);
        self.index.as_ref()?.find(call.hash(sessions.keyed()), is)
    }

    /// Takes note of a session with the other end's identifier; whether there was room.
    pub fn note(
        &mut self,
        (number, session): (Number, &mut Session),
        identifier: u16,
        keyed: &Keyed,
    ) -> bool {
        self.forget(session, number, keyed);
        session.beside = Place::at(identifier.into());
        let noted = match (&mut self.index, name(session)) {
            (Some(index), Some(call)) => index.insert(call.hash(keyed), number).is_ok(),
            _ => false,
        };
        if !noted {
            session.beside = Place::default();
        }
        noted
    }

    /// Forgets what was noted of a session.
    pub fn forget(&mut self, session: &mut Session, number: Number, keyed: &Keyed) {
        if let (Some(call), Some(index)) = (name(session), &mut self.index) {
            index.remove(call.hash(keyed), number);
        }
        session.beside = Place::default();
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.index.as_ref().map_or(0, Tagged::len)
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.index.as_ref().map_or(0, Tagged::bytes)
    }
}

/// By what packets from inside name a call; none of what is none.
fn name(session: &Session) -> Option<Inside> {
    let identifier = session.as_call()?;
    let far = Far::new(protocol::GRE, session.far.address(), identifier);
    Some(Inside { address: session.inside, far, near: session.realm().into() })
}
