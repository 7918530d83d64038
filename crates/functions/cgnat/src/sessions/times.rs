//! Time as sessions count it: in units of about a tenth of a second.
//!
//! A unit is a power of two of ticks, so that the present is one shift away. It is between 1/16 and
//! 1/8 of a second; timeouts are rounded up, because the RFCs state the least.

use machine::clock::{Clock, Ticks};
use wire::protocol;

use crate::config::{Config, Timeouts};
use crate::sessions::session::{Life, Session, TcpState};

/// A time in units; it wraps around after years.
pub type Moment = u32;

/// The units, and the timeouts in them.
#[derive(Clone, Debug)]
pub struct Times {
    shift: u32,
    units_per_s: f64,
    /// By TCP state.
    tcp: [u32; TcpState::COUNT],
    /// Of those states that close.
    tcp_transitory: u32,
    udp: u32,
    icmp: u32,
    /// How long a port rests.
    pub quarantine: u32,
    /// The timeouts as an operator writes them.
    timeouts: Timeouts,
}

impl Times {
    /// What a configuration asks for, by a clock.
    pub fn new(config: &Config, clock: &Clock) -> Times {
        let shift = (clock.ticks_per_second() / 8.0).log2().floor().max(0.0) as u32;
        let units_per_s = clock.ticks_per_second() / (1u64 << shift) as f64;
        let units = |seconds: f64| (seconds * units_per_s).ceil() as u32;
        let mut times = Times {
            shift,
            units_per_s,
            tcp: [0; TcpState::COUNT],
            tcp_transitory: 0,
            udp: 0,
            icmp: 0,
            // One more, because the unit in which it begins has begun before, and its last one is
            // free.
            quarantine: if config.quarantine_s > 0.0 { units(config.quarantine_s) + 1 } else { 0 },
            timeouts: config.timeouts,
        };
        times.set_timeouts(config.timeouts);
        times
    }

    /// Other timeouts hold from now on.
    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        let units = |seconds: f64| (seconds * self.units_per_s).ceil() as u32;
        let of_state = |state: usize| match TcpState(state as u8) {
            state if state.is_established() => units(timeouts.tcp_established_s),
            state if state.is_closing() => units(timeouts.tcp_transitory_s),
            _ => units(timeouts.tcp_syn_s),
        };
        let tcp = std::array::from_fn(of_state);
        let others = [timeouts.tcp_transitory_s, timeouts.udp_s, timeouts.icmp_s].map(units);
        (self.tcp, self.timeouts) = (tcp, timeouts);
        [self.tcp_transitory, self.udp, self.icmp] = others;
    }

    /// The timeouts as an operator writes them.
    pub fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// The unit of a time.
    #[inline(always)]
    pub fn moment(&self, now: Ticks) -> Moment {
        (now >> self.shift) as Moment
    }

    /// How long a session lives without a packet from inside.
    #[inline(always)]
    pub fn timeout(&self, session: &Session) -> u32 {
        match session.far.protocol() {
            protocol::TCP => self.tcp[session.tcp.index()],
            protocol::ICMP => self.icmp,
            _ => self.udp,
        }
    }

    /// How long a session would live on without another packet from inside; none where it is over.
    /// That of a mapping that its subscriber asked for ends when its `used` says, whatever packets
    /// come.
    pub fn left(&self, session: &Session, now: Moment) -> Option<u32> {
        match session.life() {
            Life::Until(end) => u32::try_from(end.wrapping_sub(now) as i32).ok(),
            Life::Since(used) => self.timeout(session).checked_sub(now.wrapping_sub(used)),
        }
    }

    /// When the sweep is to look at a session: at its end, and before where that is too far away.
    pub fn look_at(&self, session: &Session, now: Moment) -> Moment {
        match session.life() {
            Life::Until(_) => now.wrapping_add(self.left(session, now).unwrap_or(0).min(AHEAD_MAX)),
            Life::Since(used) => used.wrapping_add(self.timeout(session)),
        }
    }

    /// Seconds in units, rounded up.
    pub fn units_of_s(&self, seconds: u32) -> u32 {
        (f64::from(seconds) * self.units_per_s).ceil() as u32
    }

    /// Units in whole seconds, rounded down.
    pub fn s_of_units(&self, units: u32) -> u32 {
        (f64::from(units) / self.units_per_s) as u32
    }

    /// The same in seconds, 0 where it is over.
    pub fn left_s(&self, session: &Session, now: Moment) -> f64 {
        let left = self.left(session, now).unwrap_or(0);
        (f64::from(left) / self.units_per_s * 10.0).round() / 10.0
    }

    /// Milliseconds in units, none of them longer than any timeout needs.
    pub fn units_of_ms(&self, milliseconds: u32) -> u32 {
        (f64::from(milliseconds.min(MS_MAX)) * self.units_per_s / 1000.0).floor() as u32
    }

    /// The same of the time that a mapping has left for which its subscriber asked.
    pub fn units_of_left_ms(&self, milliseconds: u32) -> u32 {
        (f64::from(milliseconds) * self.units_per_s / 1000.0).floor() as u32
    }

    /// Units in milliseconds.
    pub fn ms_of_units(&self, units: u32) -> u32 {
        (f64::from(units) * 1000.0 / self.units_per_s).ceil() as u32
    }

    /// A span of any length in milliseconds, rounded up.
    pub fn long_ms_of_units(&self, units: u32) -> u64 {
        (f64::from(units) * 1000.0 / self.units_per_s).ceil() as u64
    }

    /// Milliseconds of a span of any length in units, rounded down: one that was told comes back as
    /// it was.
    pub fn units_of_long_ms(&self, ms: u64) -> u32 {
        (ms as f64 * self.units_per_s / 1000.0).floor() as u32
    }

    /// The shortest timeout of any session, in units.
    pub fn shortest(&self) -> u32 {
        let tcp = self.tcp.iter().copied();
        tcp.chain([self.udp, self.icmp]).min().unwrap_or(1)
    }

    /// When a connection of the state `before` counts as used that a segment from outside begins to
    /// end, so that it has the last time of [`crate::config::Timeouts::tcp_transitory_s`] from now
    /// on (RFC 7857 section 2.2), but no longer than it had.
    pub fn closing(&self, (used, before): (Moment, TcpState), now: Moment) -> Moment {
        let kept = used.wrapping_add(self.tcp[before.index()]).wrapping_sub(self.tcp_transitory);
        if (now.wrapping_sub(kept) as i32) < 0 { now } else { kept }
    }

    /// Whether a connection of one state has less time than one of another.
    pub fn is_shorter(&self, state: TcpState, other: TcpState) -> bool {
        self.tcp[state.index()] < self.tcp[other.index()]
    }

    /// Whether a session has not had a packet from inside for too long: for more units than its
    /// time has, because the unit in which that packet came had begun before.
    #[inline(always)]
    pub fn is_over(&self, session: &Session, now: Moment) -> bool {
        now.wrapping_sub(session.used) > self.timeout(session)
    }
}

/// How far ahead the sweep notes when to look at a session, in units: its notes wrap around after
/// twice as long.
const AHEAD_MAX: u32 = 1 << 18;

/// More milliseconds than any timeout has, and fewer than make the clock's past its future.
const MS_MAX: u32 = 100_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Timeouts;
    use crate::types::flow::{Far, Inside};

    /// The times of a clock of so many ticks a second.
    fn times(ticks_per_second: f64) -> (Times, impl Fn(f64) -> Moment) {
        let timeouts = Timeouts {
            udp_s: 10.0,
            tcp_established_s: 100.0,
            tcp_syn_s: 6.0,
            tcp_transitory_s: 4.0,
            icmp_s: 2.0,
        };
        let config = Config { timeouts, quarantine_s: 20.0, ..Config::default() };
        let times = Times::new(&config, &Clock::with_rate(ticks_per_second));
        let own = times.clone();
        (times, move |seconds| own.moment((seconds * ticks_per_second) as Ticks))
    }

    fn session(protocol: u8, tcp: TcpState, used: Moment) -> Session {
        let inside = Inside::ipv4(0x0a00_0001, 4000, 0, Far::new(protocol, 0x0b00_0001, 80));
        let mut session = Session::new(&inside, (0xc612_0001, 1024), 0, used);
        session.tcp = tcp;
        session
    }

    #[test]
    fn a_session_lives_as_long_as_its_protocol_and_state_say_and_a_quarter_second_more_at_most() {
        for ticks_per_second in [1e9, 2_449_998_123.0, 19_200_000.0] {
            let (times, at) = times(ticks_per_second);
            let picked_up = TcpState::picked_up();
            for (protocol, tcp, lives_s) in [
                (protocol::UDP, TcpState::default(), 10.0),
                (protocol::ICMP, TcpState::default(), 2.0),
                (protocol::TCP, TcpState::default(), 6.0),
                (protocol::TCP, picked_up, 100.0),
                (protocol::TCP, picked_up.after(wire::tcp::FLAG_RST, false), 4.0),
            ] {
                for begun_s in [1.0, 1.03, 77.77] {
                    let session = session(protocol, tcp, at(begun_s));
                    assert!(!times.is_over(&session, at(begun_s + lives_s)), "{protocol}");
                    assert!(times.is_over(&session, at(begun_s + lives_s + 0.26)), "{protocol}");
                }
            }
        }
    }

    #[test]
    fn a_connection_that_closes_lives_no_longer_than_it_had() {
        let (times, at) = times(1e9);
        let closing = |before: TcpState, used_s: f64, now_s: f64| {
            let state = before.after(wire::tcp::FLAG_RST, false);
            let used = times.closing((at(used_s), before), at(now_s));
            session(protocol::TCP, state, used)
        };
        for (before, lives_s) in [(TcpState::picked_up(), 100.0), (TcpState::default(), 6.0)] {
            let fresh = closing(before, 10.0, 11.0);
            assert!(!times.is_over(&fresh, at(15.0)) && times.is_over(&fresh, at(15.3)));
            let old = closing(before, 10.0, 10.0 + lives_s - 1.0);
            let end = 10.0 + lives_s;
            assert!(!times.is_over(&old, at(end)) && times.is_over(&old, at(end + 0.5)));
        }
    }
}
