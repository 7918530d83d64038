//! What a switch has beside circuits and stations: limits, mirrors and access lists.

use std::io;

use machine::clock::{Clock, Ticks};
use packet::{Made, PortId};

use super::acl::Acl;
use super::circuits::Taken;
use super::config::Config;
use super::mirror::Mirrors;
use super::state::State;
use super::storm::Storms;

/// What a switch has beside circuits and stations.
pub struct Features {
    /// Limits of what is sent to many.
    pub storms: Storms,
    /// Copies of what ports receive or send.
    pub mirrors: Mirrors,
    /// Which frames ports take.
    pub acl: Acl,
    /// Which frames leave by ports.
    pub egress: Acl,
    /// How many ports there are.
    pub ports: u8,
    /// Frames made; none before the worker told its room.
    pub made: Option<Made>,
    is_switch: bool,
    are_needed: bool,
}

impl Features {
    /// Those of a validated configuration.
    ///
    /// # Errors
    /// When there is no memory for an access list.
    pub fn new(config: &Config, state: &State, clock: Clock, now: Ticks) -> io::Result<Features> {
        let domains = state.circuits.domains.iter().map(|domain| domain.id);
        Ok(Features {
            acl: Acl::new(&config.all_acl())?,
            egress: Acl::new(&config.all_egress_acl())?,
            storms: Storms::new(config, domains, clock),
            mirrors: Mirrors::new(config, clock, now),
            ports: config.ports,
            made: None,
            is_switch: config.is_switch(),
            are_needed: config.is_switch(),
        })
    }

    /// Whether frames need the way of this file; else that of a bridge of two ports does.
    #[inline(always)]
    pub fn are_needed(&self) -> bool {
        self.are_needed
    }

    /// Looks again at what is needed, behind a change.
    pub fn settle(&mut self) {
        let has_storms = self.storms.said().next().is_some();
        let has_lists = !self.acl.is_empty() || !self.egress.is_empty();
        self.are_needed = self.is_switch || has_storms || has_lists || !self.mirrors.is_empty();
    }
}

/// The circuit of frames that no circuit was looked for.
pub(super) const NOT_TAKEN: Taken = Taken { circuit: 0, tags: 0 };

/// Whether a port is one of so many.
pub(super) fn is_port(port: PortId, ports: u8) -> bool {
    port.0 < ports
}
