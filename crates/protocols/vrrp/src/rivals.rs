//! What a virtual router finds wrong with others: that they are configured otherwise, or that they
//! are active at the same time.

use std::net::IpAddr;
use std::time::Duration;

use protocol_kit::Time;

/// What another router does otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It advertises other virtual addresses.
    Addresses,
    /// It advertises at another interval, which a backup router follows.
    Interval,
    /// It owns the addresses, too: neither gives way.
    Owner,
}

/// Other routers' mistakes.
#[derive(Debug, Default)]
pub(crate) struct Rivals {
    /// When each of [`Told`] was told last.
    told: [Option<Time>; 3],
    /// What is to be told, and of whom.
    telling: [Option<IpAddr>; 3],
    /// A router of no higher priority that advertises while this one is active, how often it was
    /// heard, and when it counts as gone.
    rival: Option<(IpAddr, u32, Time)>,
    /// Whether two were told to be active.
    is_split: bool,
    /// Whether the beginning or the end of that is to be told: by whom, or that it is over.
    splitting: Option<Option<IpAddr>>,
}

impl Rivals {
    /// Notes a difference. It is told once a minute at the most.
    pub fn tell(&mut self, what: Told, from: IpAddr, now: Time) {
        let told = &mut self.told[what as usize];
        if told.is_none_or(|told| now.since(told) >= SILENCE) {
            *told = Some(now);
            self.telling[what as usize] = Some(from);
        }
    }

    /// An active router hears one that is no higher. The first advertisement may have crossed its
    /// own; with the next one two are active.
    pub fn hear(&mut self, from: IpAddr, interval: Duration, now: Time) {
        let count = self.rival.map_or(0, |(_, count, _)| count).saturating_add(1);
        self.rival = Some((from, count, now.after(GONE * interval)));
        if count > 1 && !self.is_split {
            (self.is_split, self.splitting) = (true, Some(Some(from)));
        }
    }

    /// A router resigns.
    pub fn leave(&mut self, from: IpAddr) {
        if let Some((rival, _, gone)) = &mut self.rival
            && *rival == from
        {
            *gone = Time::ZERO;
        }
    }

    /// This router is not active any more, and so at most one is.
    pub fn clear(&mut self) {
        self.rival = None;
        self.heal();
    }

    /// Returns true when two were active and the other one has not been heard any more.
    pub fn expire(&mut self, now: Time) -> bool {
        if self.rival.is_none_or(|(_, _, gone)| gone > now) {
            return false;
        }
        self.rival = None;
        self.heal()
    }

    pub fn deadline(&self) -> Option<Time> {
        self.rival.map(|(_, _, gone)| gone)
    }

    pub fn is_due(&self) -> bool {
        self.splitting.is_some() || self.telling.iter().any(Option::is_some)
    }

    pub fn is_split(&self) -> bool {
        self.is_split
    }

    /// Returns what is to be told next of a difference.
    pub fn take_told(&mut self) -> Option<(Told, IpAddr)> {
        let all = [Told::Addresses, Told::Interval, Told::Owner];
        all.into_iter().find_map(|what| Some((what, self.telling[what as usize].take()?)))
    }

    /// Returns whether two have become active, with the other one's address, or one again.
    pub fn take_split(&mut self) -> Option<Option<IpAddr>> {
        self.splitting.take()
    }

    fn heal(&mut self) -> bool {
        let was_split = std::mem::take(&mut self.is_split);
        if was_split {
            // What began and ended between two polls is not worth a word.
            self.splitting = match self.splitting {
                Some(Some(_)) => None,
                _ => Some(None),
            };
        }
        was_split
    }
}

/// Time between two reports of the same mistake.
const SILENCE: Duration = Duration::from_secs(60);

/// Intervals after which a router that is not heard counts as gone: more than the
/// `Active_Down_Interval` of any.
const GONE: u32 = 4;
