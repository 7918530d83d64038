//! Errors of the NAT's own: by whom and how they leave, and what is counted.

use std::net::IpAddr;

use machine::clock::{Clock, Ticks};
use packet::{Batch, Reason, Slot, Verdict};
use stages::icmp_host::{IcmpErrors, Told};
use wire::icmp;

use crate::config::Config;
use crate::interfaces::Interfaces;
use crate::reasons::{self, Tallies, Tally};

/// The errors that may leave.
pub(crate) struct IcmpHost {
    errors: IcmpErrors,
}

impl IcmpHost {
    /// As configured.
    pub fn new(config: &Config, clock: &Clock) -> IcmpHost {
        let Config { icmp_errors_per_s, icmp_error_burst, .. } = *config;
        IcmpHost { errors: IcmpErrors::new(icmp_errors_per_s, icmp_error_burst, clock) }
    }

    /// Has the limit of the first of some workers for its own.
    pub fn join(&mut self, first: &mut IcmpHost) {
        self.errors.join(&mut first.errors);
    }

    /// Makes a dropped packet an error about it, if its sender may be told.
    pub(crate) fn tell(
        &mut self,
        (batch, slot, own): (&mut Batch, Slot, IpAddr),
        message: icmp::Fields,
        (interfaces, tallies): (&Interfaces, &mut Tallies),
        now: Ticks,
    ) {
        let station = (interfaces.mac(batch.port(slot)), own);
        let told = self.errors.tell((batch, slot), station, message, now);
        go_back((batch, slot), told, (Tally::IcmpErrorsSent, tallies));
    }

    /// Makes a dropped segment the reset of its connection, if its sender may be told.
    pub(crate) fn reset(
        &mut self,
        (batch, slot): (&mut Batch, Slot),
        tallies: &mut Tallies,
        now: Ticks,
    ) {
        let told = self.errors.reset((batch, slot), now);
        go_back((batch, slot), told, (Tally::TcpResetsSent, tallies));
    }
}

/// Lets the answer to a packet go back by its port, and counts it.
fn go_back((batch, slot): (&mut Batch, Slot), told: Told, (sent, tallies): (Tally, &mut Tallies)) {
    match told {
        Told::Nobody => {}
        Told::Limited => tallies[Tally::IcmpErrorsLimited as usize] += 1,
        Told::Sender => {
            tallies[sent as usize] += 1;
            let port = batch.port(slot);
            batch.set_verdict(slot, Verdict::Forward(port));
        }
    }
}

/// Whether a packet is dropped because something is used up.
pub(crate) fn is_want(reason: Reason) -> bool {
    (reasons::SESSION_LIMIT.0..=reasons::SUBSCRIBERS_FULL.0).contains(&reason.0)
}
