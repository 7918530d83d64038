//! What is kept of a session beside its record: told to a standby, and taken over there.

use super::super::alg::{List, Protocol, Side};
use super::super::replication::{KEPT_MAX, Kept};
use super::super::session::{self, Session};
use super::super::sessions::Number;
use super::State;

impl State {
    /// What is kept of a session.
    pub fn kept(&self, number: Number) -> List<Kept, KEPT_MAX> {
        let session = &self.sessions.records[number as usize];
        let mut kept = List::new();
        let b4 = self.softwires.as_ref().and_then(|it| it.latest(session.subscriber));
        let b4 = b4.filter(|_| session.flags & session::SOFTWIRE != 0);
        let nonce = self.granted.as_ref().and_then(|it| it.nonce(session));
        let nonce = nonce.filter(|_| session.far.is_granted()).map(Kept::Nonce);
        let identifier = session.shifts.checked_sub(1).map(|identifier| identifier as u16);
        let identifier = identifier.filter(|_| session.flags & session::CALL != 0).map(Kept::Call);
        let shifts = self.gateways.known(session.shifts).filter(|_| self.has_numbers(session));
        let numbers = [Side::Inside, Side::Outside]
            .map(|from| shifts.map(|shifts| Kept::Numbers(from, shifts.numbers(from))));
        let all = [b4.map(Kept::B4), nonce, identifier].into_iter().chain(numbers);
        for one in all.flatten() {
            let has_room = kept.push(one);
            debug_assert!(has_room.is_some(), "nothing else is kept of a call or a mapping");
        }
        kept
    }

    /// Takes over what another NAT keeps of a session; whether that is for such a session, and there was room.
    pub fn keep(&mut self, number: Number, kept: &Kept) -> bool {
        let session = self.sessions.records[number as usize];
        match *kept {
            Kept::B4(b4) => match &mut self.softwires {
                Some(softwires) if session.flags & session::SOFTWIRE != 0 => {
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
                session.flags & session::CALL != 0 && self.name_call(number, identifier)
            }
            Kept::Numbers(from, ref numbers) => {
                let is_right = self.has_numbers(&session);
                let place = &mut self.sessions.records[number as usize].shifts;
                let shifts = if is_right { self.gateways.shifts(place) } else { None };
                shifts.map(|shifts| shifts.go_on(from, numbers.as_ref())).is_some()
            }
        }
    }

    /// Forgets what is kept of a session alone.
    pub(super) fn forget_kept(&mut self, number: Number, session: &mut Session) {
        if session.flags & session::CALL != 0 {
            self.gateways.calls.forget(session, number, self.sessions.keyed());
        } else if session.shifts != 0 {
            match &mut self.granted {
                Some(granted) if session.far.is_granted() => granted.forget(session),
                _ => self.gateways.forget(&mut session.shifts),
            }
        }
        session.shifts = 0;
    }

    /// Whether sequence numbers are what is kept of a session.
    fn has_numbers(&self, session: &Session) -> bool {
        let is_tcp =
            self.gateways.of(session).is_some_and(|(_, protocol)| protocol == Protocol::Tcp);
        is_tcp && session.flags & session::GATEWAY != 0 && !session.far.is_expected()
    }
}
