//! How much the gateway may say itself: ICMP errors, answers to pings, reports by GTP-U.

use machine::clock::{Clock, Ticks};
use stages::icmp_host::IcmpErrors;
use tables::meter::Meter;

use super::config::Config;

/// What the gateway may say itself.
pub(super) struct Host {
    /// ICMP errors.
    pub errors: IcmpErrors,
    /// Answers to pings.
    pub pings: Limit,
    /// Of reports by GTP-U.
    pub gtp_errors: Limit,
}

/// At most so many of something a second; none at all at a rate of 0.
pub(super) struct Limit(Option<Meter>);

impl Limit {
    /// At most `rate_per_s` a second, and `burst` at once.
    pub fn new(rate_per_s: u32, burst: u32, clock: &Clock) -> Limit {
        let meter = || Meter::of_packets(rate_per_s, burst.max(1), clock.ticks_per_second());
        Limit((rate_per_s > 0).then(meter))
    }

    /// Whether any are.
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// Whether one more is within it.
    pub fn admits(&mut self, now: Ticks) -> bool {
        self.0.as_mut().is_some_and(|meter| meter.conforms(now, 1))
    }
}

impl Host {
    /// As configured.
    pub fn new(config: &Config, clock: &Clock) -> Host {
        let Config { icmp_errors_per_s, icmp_error_burst, .. } = *config;
        let Config { pings_per_s, gtp_errors_per_s, .. } = *config;
        Host {
            errors: IcmpErrors::new(icmp_errors_per_s, icmp_error_burst, clock),
            pings: Limit::new(pings_per_s, pings_per_s, clock),
            gtp_errors: Limit::new(gtp_errors_per_s, gtp_errors_per_s, clock),
        }
    }
}
