//! The life of a session: asked for, let in, with addresses, up; the same for all protocols.
//!
//! A client hears that it is up when the gateway has applied the change by which its packets pass.
//! What a session has had is given back when the gateway has applied its end: no address is ever
//! two sessions'.

use std::time::Duration;

use function_bng::Update;
use protocol_dhcp::{Prefix, Return};
use protocol_kit::{Secret, Time};
use protocol_radius::record::Status;
use protocol_radius::{Answer, Credentials};

use crate::account::Change;
use crate::config::{Authentication, PoolKind, UserName};
use crate::core::Core;
use crate::granted::Granted;
use crate::session::{Session, State, VOLUMES, Version, Waiter, Why};

/// What became of an address or a prefix that a session is to have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Got {
    /// It has it.
    It,
    /// There is none of this kind for it.
    Nothing,
    /// Another session has it, which ends.
    Blocked(u32),
    /// All are in use, or it is another's.
    Exhausted,
}

impl Core {
    /// A session begins; none if there is no room.
    pub fn begin(&mut self, session: Session) -> Option<u32> {
        let number = self.sessions.add(session);
        self.counters.full += u64::from(number.is_none());
        number
    }

    /// Somebody wants something of a session, which has to be let in for it.
    pub fn seek(&mut self, number: u32, waiter: Waiter, credentials: Credentials, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        let is_first = session.asking.is_empty();
        session.asking.push(waiter);
        match session.state {
            State::Asked if is_first => self.authenticate(number, credentials, now),
            State::Asked => {}
            State::Granted | State::Up => self.admit_all(number, now),
            State::Ending => {
                session.asking.clear();
                self.turn_away(number, waiter, now);
            }
        }
    }

    fn authenticate(&mut self, number: u32, credentials: Credentials, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        let (authentication, is_ipoe) = match session.pppoe {
            None => (self.config.ipoe.authentication, true),
            Some(_) => (self.config.pppoe.authentication, false),
        };
        let mut credentials = credentials;
        if is_ipoe {
            session.user = match self.config.ipoe.user_name {
                UserName::Mac => session.mac.to_string(),
                UserName::Circuit => String::from_utf8_lossy(&session.circuit).into_owned(),
                UserName::Line => format!("{}.{}", session.line.outer, session.line.inner),
            };
            let password = match self.config.ipoe.password.as_str() {
                "" => session.user.clone(),
                password => password.to_owned(),
            };
            credentials = Credentials::Password(Secret(password.into_bytes()));
        }
        let has_name = !session.user.is_empty();
        let key = self.sessions.key(number).unwrap_or(0);
        match (authentication, &mut self.aaa, self.sessions.get(number)) {
            (Authentication::None, ..) => self.grant(number, Granted::usual(&self.config), now),
            (_, Some(aaa), Some(session)) if has_name => {
                if !aaa.ask(key, (number, session), credentials, now) {
                    self.end(number, Why::Unanswered, now);
                }
            }
            _ => self.end(number, Why::Rejected, now),
        }
    }

    /// A server has answered, or none has.
    pub fn answered(&mut self, key: u64, answer: &Answer, now: Time) {
        let Some(number) = self.sessions.of_key(key) else { return };
        if self.sessions.get(number).is_none_or(|session| session.state != State::Asked) {
            return;
        }
        match answer {
            Answer::Accept(list) => {
                let mapped = self.aaa.as_ref().map(|aaa| aaa.map(list)).unwrap_or_default();
                match Granted::usual(&self.config).with(&mapped, list.attributes()) {
                    Some(granted) => self.grant(number, granted, now),
                    None => self.end(number, Why::Refused, now),
                }
            }
            Answer::Reject(_) | Answer::Challenge(_) => self.end(number, Why::Rejected, now),
            Answer::Recorded | Answer::TimedOut | Answer::Refused(_) => {
                self.end(number, Why::Unanswered, now);
            }
        }
    }

    /// A session is let in. Who has come back ends where it was.
    fn grant(&mut self, number: u32, granted: Granted, now: Time) {
        self.counters.ignored += u64::from(granted.ignored);
        let Some(session) = self.sessions.get_mut(number) else { return };
        session.granted = Some(granted);
        let line = session.line;
        self.sessions.enter(number, State::Granted, now);
        if self.config.moves {
            for other in self.sessions.of_same_station(number) {
                if self.sessions.get(other).is_some_and(|it| it.line != line) {
                    self.end(other, Why::Moved, now);
                }
            }
        }
        self.admit_all(number, now);
    }

    /// Gives all who wait for it what the session is granted. It ends if that is nothing at all.
    pub fn admit_all(&mut self, number: u32, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        for waiter in std::mem::take(&mut session.asking) {
            self.admit(number, waiter, now);
        }
        // What external servers are asked for is not given yet.
        let asks = |it: &Session, version| {
            self.is_relayed(version) && it.leases[version as usize].is_some()
        };
        let has_nothing = |it: &Session| {
            let asks_others = asks(it, Version::V4) || asks(it, Version::V6);
            it.given == [None; 4] && it.asking.is_empty() && !asks_others
        };
        if self.sessions.get(number).is_some_and(has_nothing) {
            self.end(number, Why::Exhausted, now);
        }
    }

    fn admit(&mut self, number: u32, waiter: Waiter, now: Time) {
        if let Waiter::Lease(version, lease) = waiter
            && self.is_relayed(version)
        {
            return self.admit_relayed(number, version, lease, now);
        }
        let kinds: &[PoolKind] = match waiter {
            Waiter::Lease(Version::V4, _) => &[PoolKind::Ipv4],
            Waiter::Lease(Version::V6, _) => &[PoolKind::Na, PoolKind::Delegated],
            Waiter::Solicitation => &[PoolKind::Slaac],
            Waiter::Question(_) => &[PoolKind::Ipv4, PoolKind::Slaac],
            Waiter::Confirmation | Waiter::Request(_) => &[],
        };
        let got: Vec<Got> = kinds.iter().map(|kind| self.take(number, *kind, now)).collect();
        let blocked = got.iter().find_map(|got| match got {
            Got::Blocked(by) => Some(*by),
            _ => None,
        });
        if let (Some(by), Some(key)) = (blocked, self.sessions.key(number)) {
            if let Some(session) = self.sessions.get_mut(number) {
                session.asking.push(waiter);
                self.blocked.insert((by, key));
            }
            return;
        }
        let Some(session) = self.sessions.get_mut(number) else { return };
        if !got.contains(&Got::It) {
            return self.turn_away(number, waiter, now);
        }
        match waiter {
            Waiter::Lease(version, lease) => self.accept(number, version, lease, now),
            Waiter::Solicitation | Waiter::Question(_) => {
                for (kind, got) in kinds.iter().zip(&got) {
                    session.active[*kind as usize] |= *got == Got::It;
                }
                self.settle(number, Some(waiter), now);
            }
            Waiter::Confirmation | Waiter::Request(_) => {}
        }
    }

    /// Takes what a session is to have of a kind.
    fn take(&mut self, number: u32, kind: PoolKind, now: Time) -> Got {
        let Some(session) = self.sessions.get(number) else { return Got::Nothing };
        if session.given[kind as usize].is_some() {
            return Got::It;
        }
        let Some(granted) = &session.granted else { return Got::Nothing };
        let wish = session.wish.filter(|_| kind == PoolKind::Ipv4);
        let taken = match (granted.fixed[kind as usize], &granted.pools[kind as usize]) {
            (Some(fixed), _) => return self.claim(number, kind, fixed, now),
            (None, Some(name)) => {
                let is_it =
                    |pool: &crate::config::Pool| pool.name.as_str() == name && pool.kind == kind;
                self.config.pools.iter().position(is_it)
            }
            (None, None) => match self.config.pools.iter().position(|pool| pool.kind == kind) {
                None => return Got::Nothing,
                some => some,
            },
        };
        let taken = taken.and_then(|pool| self.pools.take(pool as u16, None, wish, number));
        self.has(number, kind, taken)
    }

    /// Takes exactly this. Who has it by the same grant is the same subscriber, and ends.
    fn claim(&mut self, number: u32, kind: PoolKind, fixed: Prefix, now: Time) -> Got {
        let Err(taken) = self.pools.claim(fixed, number) else {
            return self.has(number, kind, Some(fixed));
        };
        let Some(other) = taken.by else { return Got::Exhausted };
        let Some(session) = self.sessions.get(other) else { return Got::Exhausted };
        let fixed_too = session.granted.as_ref().and_then(|it| it.fixed[kind as usize]);
        if session.ending.is_none() && !(self.config.moves && fixed_too == Some(fixed)) {
            return Got::Exhausted;
        }
        self.end(other, Why::Moved, now);
        match self.pools.claim(fixed, number) {
            Ok(()) => self.has(number, kind, Some(fixed)),
            Err(_) => Got::Blocked(other),
        }
    }

    fn has(&mut self, number: u32, kind: PoolKind, taken: Option<Prefix>) -> Got {
        match (taken, self.sessions.get_mut(number)) {
            (Some(prefix), Some(session)) => {
                session.given[kind as usize] = Some(prefix);
                Got::It
            }
            _ => Got::Exhausted,
        }
    }

    /// Tells the gateway what it is to have of a session, if that differs from what it has;
    /// `waiter` waits until it has it.
    pub fn settle(&mut self, number: u32, waiter: Option<Waiter>, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        let wanted = session.wanted(number, self.config.profile);
        let before = std::mem::replace(&mut session.set, wanted);
        let update = match (before, wanted) {
            (None, None) => None,
            (None, Some(wanted)) => Some(Update::AddSession(wanted)),
            (Some(_), None) => {
                session.due = session.due.saturating_add(VOLUMES);
                Some(Update::RemoveSession { number })
            }
            (Some(before), Some(wanted)) if before == wanted => None,
            (Some(_), Some(wanted)) => Some(Update::ChangeSession(wanted)),
        };
        if let Some(update) = update {
            session.open += 1;
            let generation = session.generation;
            let change = Change { session: number, generation, before, update };
            session.changed = self.account.add(change);
            session.last = session.changed;
        }
        match waiter {
            Some(waiter) if session.open > 0 => session.waiting.push((session.last, waiter)),
            Some(waiter) => self.release(number, waiter, now),
            None if session.ending.is_some() && session.open == 0 => self.removed(number, now),
            None => {}
        }
    }

    /// The gateway has applied a change.
    pub fn applied(&mut self, at: u64, change: &Change, now: Time) {
        let number = change.session;
        let Some(session) = self.sessions.get_mut(number) else { return };
        if session.generation != change.generation {
            return;
        }
        session.open -= 1;
        if let Update::RemoveSession { .. } = change.update {
            return self.removed(number, now);
        }
        session.undo = session.undo.take().filter(|(due, _)| *due > at);
        let is_due = |(due, _): &(u64, Waiter)| *due <= at;
        let (due, rest): (Vec<_>, Vec<_>) = session.waiting.drain(..).partition(is_due);
        session.waiting = rest;
        if session.open == 0 {
            for prefix in std::mem::take(&mut session.former) {
                self.pools.give_back(prefix, number, Return::Released, now);
            }
        }
        if session.ending.is_none() && session.active.contains(&true) {
            self.up(number, now);
        }
        for (_, waiter) in due {
            self.release(number, waiter, now);
        }
    }

    /// The gateway has refused a change.
    pub fn refused(&mut self, at: u64, change: &Change, now: Time) {
        let number = change.session;
        let Some(session) = self.sessions.get_mut(number) else { return };
        if session.generation != change.generation {
            return;
        }
        session.open -= 1;
        match change.update {
            // What is not there need not go, and has no volumes.
            Update::RemoveSession { .. } => {
                session.due = session.due.saturating_sub(VOLUMES);
                return self.removed(number, now);
            }
            Update::AddSession(_) | Update::ChangeSession(_) => {}
            _ => {
                session.due = session.due.saturating_sub(VOLUMES);
                return;
            }
        }
        // A later change is on its way otherwise, by which the gateway has all of it, or nothing.
        let is_latest = at == session.changed;
        if is_latest {
            session.set = change.before;
        }
        match session.undo.take_if(|(due, _)| *due == at) {
            Some((_, before)) => self.undo(number, at, *before, now),
            None if is_latest => self.end(number, Why::Refused, now),
            None => {}
        }
    }

    /// A session is granted something else, of what is not an address; if the gateway refuses it,
    /// it is as it was.
    pub fn regrant(&mut self, number: u32, granted: Granted, waiter: Option<Waiter>, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        let (before, open) = (session.granted.replace(granted), session.open);
        self.settle_times(number, before.as_ref(), now);
        self.settle(number, waiter, now);
        let Some(session) = self.sessions.get_mut(number) else { return };
        if session.open > open {
            session.undo = before.map(|before| (session.changed, Box::new(before)));
        }
    }

    /// The gateway has refused what a session was to have: it goes on as it was, and whoever has
    /// asked for the change hears of it.
    fn undo(&mut self, number: u32, at: u64, before: Granted, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        let refused = session.granted.replace(before);
        let is_its =
            |(due, waiter): &mut (u64, Waiter)| *due == at && matches!(waiter, Waiter::Request(_));
        let asked: Vec<_> = session.waiting.extract_if(.., is_its).collect();
        if asked.is_empty() {
            let profile = refused.as_ref().map(|refused| refused.profile);
            self.notes.warn(now, || {
                let profile = profile.map(|profile| profile.to_string()).unwrap_or_default();
                format!("the gateway has refused profile `{profile}` of session {number}")
            });
        }
        for (_, waiter) in asked {
            self.turn_away(number, waiter, now);
        }
        self.settle_times(number, refused.as_ref(), now);
        self.settle(number, None, now);
    }

    /// What a session is granted of times holds from now on, if it was something else `before`.
    fn settle_times(&mut self, number: u32, before: Option<&Granted>, now: Time) {
        let Some(session) = self.sessions.get(number) else { return };
        let (Some(since), Some(granted)) = (session.up_since, &session.granted) else { return };
        let timeout = granted.session_timeout;
        let is_other = |of: fn(&Granted) -> [Duration; 2]| before.map(of) != Some(of(granted));
        let is_counted_otherwise = is_other(|it| [it.interim, it.idle_timeout]);
        // One of an earlier life is looked at first when its client had time to be heard.
        if is_other(|it| [it.session_timeout; 2]) && !session.is_adopted {
            match timeout.is_zero() {
                true => _ = self.timers.cancel(number),
                false => self.timers.set(number, since.after(timeout).max(now).0),
            }
        }
        if is_counted_otherwise {
            self.count_again(number, now);
        }
    }

    /// Volumes of a session are asked for as often as its times want it, from now on.
    fn count_again(&mut self, number: u32, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        let Some(granted) = &session.granted else { return };
        let [interim, idle] = [granted.interim, granted.idle_timeout];
        session.interim_at = (!interim.is_zero()).then(|| now.after(interim / 2));
        let interim = if session.is_accounted { interim } else { Duration::ZERO };
        match (interim.is_zero(), idle.is_zero()) {
            (true, true) => self.counting.end(number),
            (false, true) => self.counting.begin(number, interim, now),
            (_, false) => self.counting.begin(number, MINUTE, now),
        }
    }

    /// The packets of a session pass.
    pub fn up(&mut self, number: u32, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        if session.up_since.is_some() {
            return;
        }
        (session.up_since, session.busy_at) = (Some(now), now);
        let Some(granted) = &session.granted else { return };
        if !granted.session_timeout.is_zero() {
            self.timers.set(number, now.after(granted.session_timeout).0);
        }
        let is_accounted = self.aaa.as_ref().is_some_and(|aaa| aaa.accounts());
        session.is_accounted = is_accounted;
        self.count_again(number, now);
        self.counters.up += 1;
        self.sessions.enter(number, State::Up, now);
        let Some(session) = self.sessions.get(number) else { return };
        if let Some(aaa) = self.aaa.as_mut().filter(|_| is_accounted) {
            aaa.record(number, session, Status::Start, now);
        }
        self.notes.log(now, || {
            let line = (session.line.outer, session.line.inner);
            format!(
                "session {number} of {} on {}.{}, `{}`, is up",
                session.mac,
                line.0,
                line.1,
                session.user.escape_debug()
            )
        });
    }
}

/// How often sessions that end when they are idle are looked at.
const MINUTE: Duration = Duration::from_secs(60);
