//! Storm control: how much of what is sent to many may come in at a port, and be flooded in a
//! domain.
//!
//! Each limit is a token bucket ([`tables::meter`]) that holds what comes in [`BURST_S`] seconds,
//! and at least [`BURST_MIN`] frames; a frame costs 1, or its bytes on the wire where the limit is
//! a share of the link. A frame that a port's limit drops costs its domain nothing. Several workers
//! have their buckets in common.

use std::sync::Arc;

use machine::clock::{Clock, Ticks};
use tables::meter::{CommonMeter, Meter};

use super::config::features::{Class, Storm};
use super::config::{Config, Port};

/// The limits of all ports and domains.
pub struct Storms {
    ports: Vec<Limits>,
    domains: Vec<Meter>,
    clock: Clock,
    /// The buckets of several workers: those of all ports, then those of the domains.
    common: Option<Arc<[CommonMeter]>>,
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
        let mut storms = Storms { ports, domains, clock, common: None };
        config.storm_control.iter().for_each(|storm| storms.set(*storm));
        storms
    }

    /// Has the buckets of the first of some workers, of the same configuration, for its own.
    pub fn join(&mut self, first: &mut Storms) {
        let count = self.ports.len() * CLASSES.len() + self.domains.len();
        let made = || (0..count).map(|_| CommonMeter::default()).collect();
        self.common = Some(Arc::clone(first.common.get_or_insert_with(made)));
    }

    /// Sets the limits of a port anew.
    pub fn set(&mut self, storm: Storm) {
        let port = usize::from(storm.port.id().0);
        let common = self.common.iter().flat_map(|all| all.iter());
        common.skip(port * CLASSES.len()).take(CLASSES.len()).for_each(CommonMeter::fill);
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
        let place = usize::from(port.id().0) * CLASSES.len() + class as usize;
        conforms(&mut limits.meters[class as usize], &self.common, place, (now, cost))
    }

    /// Whether a domain may flood so many frames.
    #[inline]
    pub fn floods(&mut self, domain: u16, count: u32, now: Ticks) -> bool {
        let place = self.ports.len() * CLASSES.len() + usize::from(domain);
        conforms(&mut self.domains[usize::from(domain)], &self.common, place, (now, count))
    }
}

/// Whether a frame of a cost conforms: to its worker's own bucket, or to the common one.
#[inline]
fn conforms(
    own: &mut Meter,
    common: &Option<Arc<[CommonMeter]>>,
    place: usize,
    (now, cost): (Ticks, u32),
) -> bool {
    match common {
        None => own.conforms(now, cost),
        Some(common) => own.conforms_of(&common[place], now, cost),
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

#[cfg(test)]
mod tests {
    use super::super::L2Switch;
    use super::*;
    use function_kit::NetworkFunction;

    #[test]
    fn several_workers_have_one_limit_whichever_of_them_gets_the_frames() {
        let keys = serde_json::json!({
            "storm-control": [{"port": "uplink", "broadcast": 1000}],
            "domains": [{"id": 1, "flood-pps": 500}],
        });
        let mut config: Config = serde_json::from_value(keys).expect("a section");
        L2Switch::validate(&mut config).expect("a configuration");
        let clock = Clock::with_rate(1e9);
        let storms = || Storms::new(&config, [1].into_iter(), clock);
        let mut workers = [storms(), storms(), storms()];
        let [first, others @ ..] = &mut workers;
        others.iter_mut().for_each(|one| one.join(first));
        let port = config.storm_control[0].port;
        let (mut admitted, mut flooded) = (0, 0);
        for frame in 0..30_000_u64 {
            let now = (1 << 30) + frame * 100_000;
            let worker = &mut workers[frame as usize % 3];
            admitted += u32::from(worker.admits(port, Class::Broadcast, (1, 60), now));
            flooded += u32::from(worker.floods(0, 1, now));
        }
        // Three seconds, and what a bucket holds.
        assert_eq!((admitted, flooded), (3 * 1000 + 10, 3 * 500 + 5));
    }
}
