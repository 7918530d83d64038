//! Time as sessions count it: in units of about a tenth of a second.
//!
//! A unit is a power of two of ticks, so that the present is one shift away. It is between 1/16 and 1/8 of
//! a second; timeouts are rounded up, because the RFCs state the least.

use machine::clock::{Clock, Ticks};
use wire::protocol;

use super::config::Config;
use super::session::{Session, TcpState};

/// A time in units; it wraps around after years.
pub type Moment = u32;

/// The units, and the timeouts in them.
#[derive(Clone, Debug)]
pub struct Times {
    shift: u32,
    units_per_s: f64,
    /// By TCP state.
    tcp: [u32; TcpState::COUNT],
    udp: u32,
    icmp: u32,
    /// How long a port rests.
    pub quarantine: u32,
}

impl Times {
    /// What a configuration asks for, by a clock.
    pub fn new(config: &Config, clock: &Clock) -> Times {
        let shift = (clock.ticks_per_second() / 8.0).log2().floor().max(0.0) as u32;
        let units_per_s = clock.ticks_per_second() / (1u64 << shift) as f64;
        // One more, because the unit in which a packet was seen had begun before.
        let units = |seconds: f64| (seconds * units_per_s).ceil() as u32 + 1;
        let timeouts = &config.timeouts;
        let of_state = |state: usize| match TcpState(state as u8).is_established() {
            true => units(timeouts.tcp_established_s),
            false => units(timeouts.tcp_transitory_s),
        };
        Times {
            shift,
            units_per_s,
            tcp: std::array::from_fn(of_state),
            udp: units(timeouts.udp_s),
            icmp: units(timeouts.icmp_s),
            quarantine: if config.quarantine_s > 0.0 { units(config.quarantine_s) } else { 0 },
        }
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

    /// How long a session would live on without another packet from inside, in seconds.
    pub fn left_s(&self, session: &Session, now: Moment) -> f64 {
        let left = self.timeout(session).saturating_sub(now.wrapping_sub(session.used));
        (f64::from(left) / self.units_per_s * 10.0).round() / 10.0
    }

    /// When an established connection counts as used that a segment from outside begins to end, so that it
    /// has the last time of [`super::config::Timeouts::tcp_transitory_s`] from now on (RFC 7857
    /// section 2.2), but no longer than it had.
    pub fn closing(&self, used: Moment, now: Moment) -> Moment {
        let established = self.tcp[TcpState::picked_up().index()];
        let transitory = self.tcp[TcpState::default().index()];
        let kept = used.wrapping_add(established).wrapping_sub(transitory);
        if (now.wrapping_sub(kept) as i32) < 0 { now } else { kept }
    }

    /// Whether a session has not had a packet from inside for too long.
    #[inline(always)]
    pub fn is_over(&self, session: &Session, now: Moment) -> bool {
        now.wrapping_sub(session.used) > self.timeout(session)
    }
}
