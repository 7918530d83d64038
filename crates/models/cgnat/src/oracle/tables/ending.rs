//! Sessions that end because control has changed something.

use std::net::Ipv4Addr;
use std::time::Duration;

use function_cgnat::config::Config;

use super::{Happened, Own, Tables, Who, is_of};

impl Tables {
    /// Lets sessions live by other timeouts. One whose end was said is counted from when it would
    /// have been used for that.
    pub fn change_timeouts(&mut self, before: &Config, after: &Config, now: Duration) {
        for ((protocol, _), mapping) in &mut self.mappings {
            for session in mapping.sessions.values_mut().chain(mapping.expected.values_mut()) {
                let [old, new] = [before, after].map(|it| session.timeout(*protocol, it));
                session.ends = session.ends.map(|ends| (ends + new).saturating_sub(old));
            }
        }
        // Time has not passed, but the end of some has come.
        self.passed = Duration::MAX;
        self.pass(after, now);
    }

    /// Ends sessions with other ends of which this holds, and mappings that have no others.
    pub fn end_towards(
        &mut self,
        is_one: &dyn Fn(Ipv4Addr) -> bool,
        config: &Config,
        now: Duration,
    ) {
        let until = now + Duration::from_secs_f64(config.quarantine_s);
        let mut gone = Vec::new();
        for (own, mapping) in &mut self.mappings {
            let before = mapping.sessions.len();
            mapping.sessions.retain(|far, _| {
                let stays = !is_one(far.0);
                if !stays {
                    self.happened.push(Happened::SessionEnded(*own, mapping.outside, *far));
                }
                stays
            });
            if mapping.sessions.len() < before && mapping.count() == 0 {
                gone.push(*own);
            }
        }
        gone.into_iter().for_each(|own| self.end(own, until));
    }

    /// Ends all sessions of a subscriber; whether there were any.
    pub fn clear(&mut self, subscriber: Who, config: &Config, now: Duration) -> bool {
        let until = now + Duration::from_secs_f64(config.quarantine_s);
        let own: Vec<Own> =
            self.mappings.keys().copied().filter(|own| is_of(own, subscriber)).collect();
        own.iter().for_each(|own| self.end(*own, until));
        self.lingering.retain(|one| !is_of(&one.own, subscriber));
        !own.is_empty()
    }
}
