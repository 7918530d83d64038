//! Router advertisements: when they leave, and that a host that asks gets one soon (RFC 4861
//! section 6.2).
//!
//! ```text
//!  begin, link up --> three, each within 16 s of the one before --> one in every interval
//!  solicitation   --> the next one comes within half a second
//!  orderly end    --> a last one, by which hosts turn to other routers
//! ```
//! All go to all nodes of a link, and two of them are three seconds apart at least, however many
//! hosts ask: a flood of questions costs its sender more than the link. The first worker alone
//! sends them; the others hand questions over to it. The moments are random as the standard asks
//! for, from the Ethernet address of the interface: routers of a link do not fall into step, and
//! the same run has the same moments.
use std::time::Duration;

use machine::clock::{Clock, Ticks};
use packet::{Made, PortId, Verdict};
use protocol_kit::Random;

use super::config::{Advertise, Config, Resolved, number_of};
use super::interfaces::Interfaces;
use super::reasons::{Tallies, Tally};

/// The links on which a worker advertises.
pub(super) struct Advertiser {
    links: Vec<Link>,
    times: Times,
    /// Nothing is to be sent before.
    due: Ticks,
    /// Whether the router is to be none from now on.
    ends: bool,
}

struct Link {
    interface: u16,
    port: PortId,
    /// What is said, and what at the end.
    frames: [Vec<u8>; 2],
    /// Least and most time between two that nobody asked for.
    interval: [Ticks; 2],
    random: Random,
    next: Ticks,
    sent: Option<Ticks>,
    /// How many were sent since the link came up.
    since_up: u32,
    is_up: bool,
    /// Whether the last one has left.
    is_over: bool,
}

/// Constants of section 10 in ticks.
struct Times {
    apart: Ticks,
    answer: Ticks,
    initial: Ticks,
}

impl Advertiser {
    /// Those of a configuration; none where nothing is advertised.
    pub fn new(config: &Config, clock: Clock, now: Ticks) -> Option<Advertiser> {
        let (all, names) = (config.all_interfaces(), config.port_names());
        let links = config.advertise.iter().filter_map(|one| {
            let number = place_of(&all, number_of(&names, one.port)?, one.vlan)?;
            Some(Link::new(one, (number, &all[usize::from(number)]), clock, now))
        });
        let links: Vec<Link> = links.collect();
        let ms = |ms| clock.ticks(Duration::from_millis(ms));
        let times = Times { apart: ms(3000), answer: ms(500), initial: ms(16_000) };
        (!links.is_empty()).then_some(Advertiser { links, times, due: now, ends: false })
    }

    /// Whether the router advertises itself at an interface.
    pub fn speaks_at(&self, interface: u16) -> bool {
        self.links.iter().any(|one| one.interface == interface)
    }

    /// A host at an interface has asked: the next one leaves soon, for all that ask meanwhile.
    pub fn solicit(&mut self, interface: u16, now: Ticks) {
        let Some(one) = self.links.iter_mut().find(|one| one.interface == interface) else {
            return;
        };
        let at = now.saturating_add(one.random.below(self.times.answer + 1));
        one.next = one.next.min(at);
        self.due = self.due.min(one.next);
    }

    /// Sends what is due.
    pub fn tick(
        &mut self,
        (of, made): (&Interfaces, &mut Made),
        tallies: &mut Tallies,
        now: Ticks,
    ) {
        if now < self.due {
            return;
        }
        if self.ends {
            for one in self.links.iter_mut().filter(|one| one.is_up && !one.is_over) {
                one.is_over = true;
                one.send((of, made), tallies, 1);
            }
            return;
        }
        let times = &self.times;
        for one in self.links.iter_mut().filter(|one| one.is_up && one.next <= now) {
            let earliest = one.sent.map_or(now, |sent| sent.saturating_add(times.apart));
            if now < earliest {
                one.next = earliest;
                continue;
            }
            let [least, most] = match one.since_up + 1 < INITIAL {
                true => one.interval.map(|time| time.min(times.initial)),
                false => one.interval,
            };
            one.next = now.saturating_add(least + one.random.below(most - least + 1));
            one.since_up = one.since_up.saturating_add(1);
            one.sent = Some(now);
            one.send((of, made), tallies, 0);
        }
        let times = self.links.iter().filter(|one| one.is_up).map(|one| one.next);
        self.due = times.min().unwrap_or(Ticks::MAX);
    }

    /// The link of a port has come up, where hosts know nothing yet, or gone down.
    pub fn set_link(&mut self, port: PortId, is_up: bool) {
        for one in self.links.iter_mut().filter(|one| one.port == port && one.is_up != is_up) {
            (one.is_up, one.since_up, one.next) = (is_up, 0, 0);
            self.due = 0;
        }
    }

    /// All links are told that the router is none from now on (section 6.2.5); returns how many are
    /// still to be told.
    pub fn end(&mut self) -> u64 {
        (self.ends, self.due) = (true, 0);
        self.links.iter().filter(|one| one.is_up && !one.is_over).count() as u64
    }
}

impl Link {
    fn new(
        config: &Advertise,
        (interface, own): (u16, &Resolved),
        clock: Clock,
        now: Ticks,
    ) -> Link {
        let mut says = config.advertisement(own);
        let first = says.frame(own.mac.0);
        says.lifetime_s = 0;
        let frames = [first, says.frame(own.mac.0)];
        let most = clock.ticks(Duration::from_secs(config.interval_s.into()));
        let least = (most / 3).max(clock.ticks(LEAST));
        let [a, b, c, d, e, f] = own.mac.0.0;
        let seed = u64::from_be_bytes([0, 0, a, b, c, d, e, f]) << 16 | u64::from(interface);
        Link {
            interface,
            port: own.port,
            frames,
            interval: [least, most],
            random: Random::new(seed),
            next: now,
            sent: None,
            since_up: 0,
            is_up: true,
            is_over: false,
        }
    }

    fn send(&self, (of, made): (&Interfaces, &mut Made), tallies: &mut Tallies, which: usize) {
        let forward = Verdict::Forward(self.port);
        let Some(slot) = made.push(self.port, &self.frames[which], forward) else { return };
        let verdict = of.send(made.batch_mut(), slot, self.interface, forward);
        made.batch_mut().set_verdict(slot, verdict);
        tallies[Tally::RouterAdvertisements as usize] += 1;
    }
}

/// The number of the interface of a port's VLAN.
fn place_of(all: &[Resolved], port: PortId, vlan: Option<u16>) -> Option<u16> {
    let is_it = |one: &Resolved| one.port == port && one.vlan == vlan.unwrap_or(0);
    all.iter().position(is_it).map(|number| number as u16)
}

/// Advertisements after a link has come up that come sooner than others.
const INITIAL: u32 = 3;

/// Least time between two that nobody asked for (section 6.2.1).
const LEAST: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests;
