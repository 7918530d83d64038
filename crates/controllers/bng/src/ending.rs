//! The end of a session, its volumes, and what it gives back.

use std::time::Duration;

use function_bng::Update;
use protocol_dhcp::{Command as Dhcp, Return};
use protocol_kit::{Input, Machine, Time};
use protocol_ppp as ppp;
use protocol_pppoe as pppoe;
use protocol_radius::record::Status;

use crate::account::Change;
use crate::config::PoolKind;
use crate::core::Core;
use crate::session::{State, VOLUMES, Why};

impl Core {
    /// A session ends: nothing of it comes up any more, and the gateway is to have it no longer.
    pub fn end(&mut self, number: u32, why: Why, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        if session.ending.is_some() {
            return;
        }
        session.ending = Some(why);
        let asking = std::mem::take(&mut session.asking);
        let waiting = std::mem::take(&mut session.waiting).into_iter().map(|(_, waiter)| waiter);
        let (leases, pppoe) = (session.leases, session.pppoe);
        self.counters.ended[why as usize] += 1;
        self.sessions.enter(number, State::Ending, now);
        self.sessions.detach(number);
        for waiter in asking.into_iter().chain(waiting) {
            self.turn_away(number, waiter, now);
        }
        let [v4, v6] = leases;
        if let Some(lease) = v4 {
            self.v4.input(now, Input::Command(Dhcp::End(lease)));
        }
        if let Some(lease) = v6 {
            self.v6.input(now, Input::Command(Dhcp::End(lease)));
        }
        if let Some(link) = pppoe {
            let session = link.number;
            self.ppp.input(now, Input::Command(ppp::Command::Close { session }));
            self.ppp.input(now, Input::Command(ppp::Command::Down { session }));
            if !link.is_closed {
                let close = pppoe::Command::Close { session, why: why.name().into() };
                self.pppoe.input(now, Input::Command(close));
            }
        }
        self.counting.end(number);
        self.advertising.end(number);
        self.timers.cancel(number);
        self.settle(number, None, now);
    }

    /// The gateway has nothing of a session any more. It is gone when its volumes were told.
    pub fn removed(&mut self, number: u32, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        session.is_removed = true;
        match session.due {
            0 => self.finish(number, now),
            _ => self.timers.set(number, now.after(COUNTED).0),
        }
    }

    /// The time of a session is over.
    pub fn expire(&mut self, number: u32, now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        if session.is_removed {
            self.counters.uncounted += 1;
            return self.finish(number, now);
        }
        let is_heard = session.leases != [None; 2] || session.used(PoolKind::Slaac).is_some();
        if !std::mem::take(&mut session.is_adopted) {
            return self.end(number, Why::SessionTimeout, now);
        }
        let timeout = session.granted.as_ref().map_or(Duration::ZERO, |it| it.session_timeout);
        let since = session.up_since.unwrap_or(now);
        match (is_heard, timeout.is_zero()) {
            (false, _) => self.end(number, Why::Lost, now),
            (true, false) => self.timers.set(number, since.after(timeout).max(now).0),
            (true, true) => {}
        }
    }

    /// A session is gone, and what it has had is free.
    fn finish(&mut self, number: u32, now: Time) {
        self.timers.cancel(number);
        let Some(mut session) = self.sessions.remove(number) else { return };
        if let Some(aaa) = self.aaa.as_mut().filter(|_| session.is_accounted) {
            aaa.record(number, &session, Status::Stop, now);
        }
        let given = session.given.into_iter().zip(session.is_declined);
        let given = given.filter_map(|(given, is_declined)| Some((given?, is_declined)));
        let former = std::mem::take(&mut session.former);
        let former = former.into_iter().map(|prefix| (prefix, false));
        for (prefix, is_declined) in given.chain(former) {
            let how = match (session.up_since, is_declined) {
                (_, true) => Return::Declined,
                (Some(_), false) => Return::Released,
                (None, false) => Return::Unused,
            };
            self.pools.give_back(prefix, number, how, now);
        }
        if let (Some(since), Some(why)) = (session.up_since, session.ending) {
            let lasted = now.since(since).as_secs();
            let user = session.user.escape_debug().to_string();
            self.notes.log(now, || {
                format!(
                    "session {number} of {}, `{user}`, has ended after {lasted} s: {}",
                    session.mac,
                    why.name()
                )
            });
        }
        while let Some(due) = self.blocked.range((number, 0)..=(number, u64::MAX)).next().copied() {
            self.blocked.remove(&due);
            let (_, key) = due;
            if let Some(waits) = self.sessions.of_key(key) {
                self.admit_all(waits, now);
            }
        }
    }

    /// Volumes of a session are to be told.
    pub fn count(&mut self, number: u32) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        if session.set.is_none() || session.ending.is_some() {
            return;
        }
        // What was not told since they were asked for last is lost.
        session.due = VOLUMES;
        session.open += 1;
        let (generation, before) = (session.generation, session.set);
        let update = Update::TellUsage { number };
        session.last = self.account.add(Change { session: number, generation, before, update });
    }

    /// A worker tells a volume: which one, and its packets and bytes.
    pub fn counted(&mut self, number: u32, detail: [u32; 5], now: Time) {
        let Some(session) = self.sessions.get_mut(number) else { return };
        let [which, rest @ ..] = detail;
        let wide = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let (packets, octets) = (wide(rest[0], rest[1]), wide(rest[2], rest[3]));
        let (family, is_down) = ((which >> 1 & 1) as usize, which & 1 == 1);
        let volumes = &mut session.volumes;
        let volume = if is_down { &mut volumes.down } else { &mut volumes.up };
        if !is_down && volume[family].packets != packets {
            session.busy_at = now;
        }
        (volume[family].packets, volume[family].octets) = (packets, octets);
        session.due = session.due.saturating_sub(1);
        if session.due > 0 {
            return;
        }
        if session.is_removed {
            return self.finish(number, now);
        }
        let idle = session.granted.as_ref().map_or(Duration::ZERO, |it| it.idle_timeout);
        if session.ending.is_none() && !idle.is_zero() && now.since(session.busy_at) >= idle {
            return self.end(number, Why::IdleTimeout, now);
        }
        let is_due = session.is_accounted && session.interim_at.is_some_and(|at| at <= now);
        if is_due && session.ending.is_none() {
            let interim = session.granted.as_ref().map_or(Duration::ZERO, |it| it.interim);
            // The next one is counted a little before or after a whole interval.
            session.interim_at = Some(now.after(interim / 10 * 9));
            if let (Some(aaa), Some(session)) = (&mut self.aaa, self.sessions.get(number)) {
                aaa.record(number, session, Status::Interim, now);
            }
        }
    }
}

/// How long the last volumes of a session are waited for.
const COUNTED: Duration = Duration::from_secs(2);
