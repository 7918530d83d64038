//! What is kept of a session beside its record: told to a standby, and taken over there.

use crate::alg::{List, Protocol, Side};
use crate::sessions::fields::{Marks, Place};
use crate::sessions::session::Session;
use crate::sessions::table::Number;
use crate::standby::{KEPT_MAX, Kept};
use crate::state::State;

impl State {
    /// What is kept of a session.
    pub fn kept(&self, number: Number) -> List<Kept, KEPT_MAX> {
        let session = &self.sessions.records[number as usize];
        let mut kept = List::new();
        let b4 = self.softwires.as_ref().and_then(|it| it.latest(session.subscriber));
        let b4 = b4.filter(|_| session.marks.has(Marks::SOFTWIRE));
        let nonce = self.granted.as_ref().and_then(|it| it.nonce(session));
        let nonce = nonce.map(Kept::Nonce);
        let identifier = session.as_call().map(Kept::Call);
        let shifts = self.algs.known(session.beside).filter(|_| self.has_numbers(session));
        let numbers = [Side::Inside, Side::Outside]
            .map(|from| shifts.map(|shifts| Kept::Numbers(from, shifts.numbers(from))));
        let all = [b4.map(Kept::B4), nonce, identifier].into_iter().chain(numbers);
        for one in all.flatten() {
            let has_room = kept.push(one);
            debug_assert!(has_room.is_some(), "nothing else is kept of a call or a mapping");
        }
        kept
    }

    /// Takes over what another NAT keeps of a session; whether that is for such a session, and
    /// there was room.
    pub fn keep(&mut self, number: Number, kept: &Kept) -> bool {
        let session = self.sessions.records[number as usize];
        match *kept {
            Kept::B4(b4) => match &mut self.softwires {
                Some(softwires) if session.marks.has(Marks::SOFTWIRE) => {
                    softwires.note(session.subscriber, b4);
                    true
                }
                _ => false,
            },
            Kept::Nonce(nonce) => match &mut self.granted {
                Some(granted) if session.far.is_granted() => {
                    granted.enter(&mut self.sessions.records[number as usize], nonce)
                }
                _ => false,
            },
            Kept::Call(identifier) => {
                session.marks.has(Marks::CALL) && self.name_call(number, identifier)
            }
            Kept::Numbers(from, ref numbers) => {
                let is_right = self.has_numbers(&session);
                let place = &mut self.sessions.records[number as usize].beside;
                let shifts = if is_right { self.algs.shifts(place) } else { None };
                shifts.map(|shifts| shifts.go_on(from, numbers.as_ref())).is_some()
            }
        }
    }

    /// Forgets what is kept of a session alone.
    pub(crate) fn forget_kept(&mut self, number: Number, session: &mut Session) {
        if session.marks.has(Marks::CALL) {
            self.algs.calls.forget(session, number, self.sessions.keyed());
        } else if session.beside.is_some() {
            match &mut self.granted {
                Some(granted) if session.far.is_granted() => granted.forget(session),
                _ => self.algs.forget(&mut session.beside),
            }
        }
        session.beside = Place::default();
    }

    /// Whether sequence numbers are what is kept of a session.
    fn has_numbers(&self, session: &Session) -> bool {
        let is_tcp = self.algs.of(session).is_some_and(|(_, protocol)| protocol == Protocol::Tcp);
        is_tcp && session.marks.has(Marks::ALG) && !session.far.is_expected()
    }
}
