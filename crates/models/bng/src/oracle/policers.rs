//! Policers in exact arithmetic: of a class, of a session, of an access node.
//!
//! One that nobody has asked since it was set is full, and made when it is asked.

use std::collections::BTreeMap;
use std::time::Duration;

use function_bng::config::{Name, Node, Policer, Profile};
use tables::oracle::ExactPolicer;
use tables::policer::Colour;
use units::BytesPerSec;

/// Whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    /// A session's, by number, and the place of the class in its profile.
    Class(u32, usize),
    Session(u32),
    Node(Name),
}

/// Those that were asked.
#[derive(Default)]
pub(super) struct Policers {
    all: BTreeMap<Of, ExactPolicer>,
}

impl Policers {
    /// What the policers of a session say of a packet of a class: the code point that it gets, if
    /// any. RFC 2698; red of any of them is the end, and costs nobody anything.
    pub fn admit(
        &mut self,
        (session, class): (u32, Name),
        (profile, node): (&Profile, Option<&Node>),
        bytes: usize,
        now: Duration,
    ) -> Result<Option<u8>, &'static str> {
        let own = profile.policers.iter().position(|one| one.class == class);
        let place = own.or(profile.policers.len().checked_sub(1));
        let of_class = place.and_then(|place| Some((place, profile.policers.get(place)?)));
        let mut chain: Vec<(Of, [BytesPerSec; 2], [u32; 2])> = Vec::new();
        if let Some((place, one)) = of_class {
            let (peak, burst) = match one.peak_rate {
                Some(peak) => (peak, one.peak_burst),
                None => (one.rate, one.burst),
            };
            chain.push((Of::Class(session, place), [one.rate, peak], [one.burst, burst]));
        }
        if let Some(rate) = profile.up_rate {
            chain.push((Of::Session(session), [rate; 2], [profile.up_burst; 2]));
        }
        if let Some((name, rate, burst)) =
            node.and_then(|node| Some((node.name, node.up_rate?, node.burst)))
        {
            chain.push((Of::Node(name), [rate; 2], [burst; 2]));
        }
        let mut asked: Vec<(Of, ExactPolicer)> = Vec::new();
        for (of, rates, bursts) in chain {
            let full = || {
                let (rates, bursts) = (rates.map(|rate| rate.0 as u64), bursts.map(u64::from));
                ExactPolicer::new(2698, false, rates, bursts, NANOSECONDS, 0)
            };
            asked.push((of, self.all.get(&of).copied().unwrap_or_else(full)));
        }
        let mut row: Vec<&mut ExactPolicer> = asked.iter_mut().map(|(_, one)| one).collect();
        let now = now.as_nanos() as u64;
        let colour = match row.is_empty() {
            true => Colour::Green,
            false => ExactPolicer::mark_all(&mut row, now, bytes as u32, Colour::Green),
        };
        self.all.extend(asked);
        let mark = |of: fn(&Policer) -> Option<u8>| of_class.and_then(|(_, one)| of(one));
        match colour {
            Colour::Green => Ok(mark(|one| one.mark)),
            Colour::Yellow => Ok(mark(|one| one.mark_excess)),
            Colour::Red => Err("rate-exceeded"),
        }
    }

    /// Takes over what is in the buckets; each goes on by its own clock.
    pub fn charge_as(&mut self, other: &Policers) {
        for (of, exact) in &mut self.all {
            other.all.get(of).into_iter().for_each(|other| exact.charge_as(other));
        }
    }

    /// The policers of a session are set anew.
    pub fn renew(&mut self, session: u32) {
        self.all.retain(|of, _| match *of {
            Of::Class(number, _) | Of::Session(number) => number != session,
            Of::Node(_) => true,
        });
    }

    /// The policer of a node is gone.
    pub fn forget_node(&mut self, name: Name) {
        self.all.remove(&Of::Node(name));
    }
}

/// A tick is a nanosecond.
const NANOSECONDS: u64 = 1_000_000_000;
