//! Calls of PPTP begin with what their gateway reads, and end as sessions do.

use crate::alg::{Expectation, Rewritten};
use crate::reasons::Tally;
use crate::sessions::table::Number;
use crate::sessions::times::Moment;
use crate::state::{Opened, State};
use crate::types::flow::{Far, Inside};

impl State {
    /// The session of a packet from inside, which has the other end's identifier in the place of
    /// its port; none where there is no such call, or its time is up.
    pub fn call(&self, call: &Inside, now: Moment) -> Option<Number> {
        let number = self.algs.calls.find(call, &self.sessions)?;
        let is_over = self.times.is_over(&self.sessions.records[number as usize], now);
        (!is_over).then_some(number)
    }

    /// Begins the calls that a payload says are connected, of a session. What there is no room for
    /// is counted: packets of it from inside belong to no call then.
    pub fn begin_calls(&mut self, done: &Rewritten, of: &Inside, now: Moment) {
        for expected in done.expectations.iter() {
            if self.begin_call(&expected, of, now) != Some(true) {
                self.tallies[Tally::AlgCallsFull as usize] += 1;
            }
        }
    }

    /// Opens the session of a call, if there is none, and notes the other end's identifier; whether
    /// there was room. An end that gives one anew has ended the call that had it.
    fn begin_call(&mut self, expected: &Expectation, of: &Inside, now: Moment) -> Option<bool> {
        let (inside, remote) = (expected.inside, expected.remote?.to_bits());
        let identifier = expected.remote_port?;
        let far = |port| Far::new(wire::protocol::GRE, remote, port);
        let key = of.beside(inside.ip().to_bits(), inside.port(), far(0));
        let number = self.open_call(&key, now).ok()?;
        self.note(number);
        Some(self.name_call(number, identifier))
    }

    /// Notes the other end's identifier of a call, which no other call has any more; whether there
    /// was room.
    pub(crate) fn name_call(&mut self, number: Number, identifier: u16) -> bool {
        let key = self.sessions.records[number as usize].inside_key();
        let far = Far::new(wire::protocol::GRE, key.far.address(), identifier);
        let call = key.beside(key.address[1] as u32, 0, far);
        let (calls, sessions) = (&mut self.algs.calls, &mut self.sessions);
        let keyed = sessions.keyed().clone();
        if let Some(other) = calls.find(&call, sessions) {
            calls.forget(&mut sessions.records[other as usize], other, &keyed);
        }
        calls.note((number, &mut sessions.records[number as usize]), identifier, &keyed)
    }

    /// The session of a call, opened where there is none that lives.
    fn open_call(&mut self, key: &Inside, now: Moment) -> Opened {
        let hash = key.hash(self.sessions.keyed());
        if let Some(number) = self.live_inside(key, hash, now) {
            return Ok(number);
        }
        if let Some(number) = self.sessions.find_inside(hash, key) {
            self.expire(number, now);
        }
        self.open(key, crate::sessions::allocation::Wanted::Any, now, Tally::AlgExpected)
    }
}
