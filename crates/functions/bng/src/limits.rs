//! How much the gateway may say itself: ICMP errors, answers to pings.

use machine::clock::Clock;
use stages::icmp_host::IcmpErrors;
use tables::meter::Meter;

use super::config::Config;

/// What the gateway may say itself.
pub(super) struct Host {
    /// ICMP errors.
    pub errors: IcmpErrors,
    /// Answers to pings; none where none are answered.
    pub pings: Option<Meter>,
}

impl Host {
    /// As configured.
    pub fn new(config: &Config, clock: &Clock) -> Host {
        let Config { icmp_errors_per_s, icmp_error_burst, pings_per_s, .. } = *config;
        let meter = || Meter::of_packets(pings_per_s, pings_per_s, clock.ticks_per_second());
        Host {
            errors: IcmpErrors::new(icmp_errors_per_s, icmp_error_burst, clock),
            pings: (pings_per_s > 0).then(meter),
        }
    }
}
