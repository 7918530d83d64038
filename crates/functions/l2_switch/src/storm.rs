//! Storm control: how much of what is sent to many may come in at a port, and be flooded in a
//! domain.
//!
//! Each limit is a token bucket ([`tables::meter`]) that holds what comes in [`BURST_S`] seconds,
//! and at least [`BURST_MIN`] frames; a frame costs 1, or its bytes on the wire where the limit is
//! a share of the link. A frame that a port's limit drops costs its domain nothing.

use machine::clock::{Clock, Ticks};
use tables::meter::Meter;

use super::config::features::{Class, Storm};
use super::config::{Config, Port};

/// The limits of all ports and domains.
pub struct Storms {
    ports: Vec<Limits>,
    domains: Vec<Meter>,
    clock: Clock,
}

/// The limits of a port, and what was asked for.
#[derive(Clone, Copy, Default)]
struct Limits {
    meters: [Meter; CLASSES.len()],
    counts_bytes: bool,
    said: Option<Storm>,
}

impl Storms {
    /// Those of a validated configuration; `domains` are the numbers of all domains in their order.
    pub fn new(config: &Config, domains: impl Iterator<Item = u16>, clock: Clock) -> Storms {
        let flooding = |id| match config.domain(id).flood_pps {
            Some(pps) => meter(pps, 1.0, clock),
            None => Meter::default(),
        };
        let domains = domains.map(flooding).collect();
        let ports = vec![Limits::default(); config.ports.into()];
        let mut storms = Storms { ports, domains, clock };
        config.storm_control.iter().for_each(|storm| storms.set(*storm));
        storms
    }

    /// Sets the limits of a port anew.
    pub fn set(&mut self, storm: Storm) {
        let limits = &mut self.ports[usize::from(storm.port.id().0)];
        *limits = Limits::default();
        for class in CLASSES {
            if let Some((rate, counts_bytes)) = storm.limit(class) {
                let frame = if counts_bytes { FRAME_WIRE_BYTES } else { 1.0 };
                limits.meters[class as usize] = meter(rate, frame, self.clock);
                limits.counts_bytes = counts_bytes;
            }
        }
        let has_some = CLASSES.iter().any(|class| storm.limit(*class).is_some());
        limits.said = has_some.then_some(storm);
    }

    /// The limits of all ports that have some.
    pub fn said(&self) -> impl Iterator<Item = Storm> + '_ {
        self.ports.iter().filter_map(|limits| limits.said)
    }

    /// Whether a port lets frames of a class in, so many that have so many bytes together.
    #[inline]
    pub fn admits(
        &mut self,
        port: Port,
        class: Class,
        (count, bytes): (u32, usize),
        now: Ticks,
    ) -> bool {
        let limits = &mut self.ports[usize::from(port.id().0)];
        let of_bytes = bytes as u32 + count * WIRE_OVERHEAD;
        let cost = if limits.counts_bytes { of_bytes } else { count };
        limits.meters[class as usize].conforms(now, cost)
    }

    /// Whether a domain may flood so many frames.
    #[inline]
    pub fn floods(&mut self, domain: u16, count: u32, now: Ticks) -> bool {
        self.domains[usize::from(domain)].conforms(now, count)
    }
}

/// A meter of a rate in cost units a second, where the shortest frame costs `frame`.
///
/// The bucket is short of what is said by [`BURST_SHORT`], so that a burst ends at a whole frame
/// whatever is rounded.
fn meter(rate: f64, frame: f64, clock: Clock) -> Meter {
    let burst = (rate * BURST_S / frame).floor().max(BURST_MIN) - BURST_SHORT;
    Meter::new(rate, burst * frame, clock.ticks_per_second())
}

const CLASSES: [Class; 3] = [Class::Broadcast, Class::Multicast, Class::Unknown];

/// What a bucket holds, in seconds of its rate.
pub const BURST_S: f64 = 0.01;
/// Part of a frame that a bucket holds less: no half, which a rate may well give back exactly.
pub const BURST_SHORT: f64 = 0.7;
/// The fewest frames that a bucket holds.
pub const BURST_MIN: f64 = 2.0;
/// What a frame takes on a link beyond its bytes without check sequence: that, preamble and gap
/// (IEEE 802.3 clause 4.4.2).
pub const WIRE_OVERHEAD: u32 = 24;
/// The shortest frame with that.
pub const FRAME_WIRE_BYTES: f64 = 84.0;
