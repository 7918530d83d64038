//! One virtual router: the states of RFC 9568 section 6.4, and what it wants to send and to say.

use std::net::IpAddr;
use std::time::Duration;

use protocol_kit::Time;

use crate::announcements::Announcements;
use crate::config::{Config, Effect, OWNER, RESIGNS, Tracked, interval_cs};
use crate::packet::{self, Addresses, Ends, INTERVAL_CS_MAX, Packet};
use crate::rivals::{Rivals, Told};

/// State of a virtual router on this node (RFC 9568 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum State {
    /// It takes no part.
    #[default]
    Initialize,
    /// It watches the active router.
    Backup,
    /// It forwards what is sent to the virtual MAC address, and has the virtual addresses.
    Active,
}

/// Why a virtual router has changed its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has begun, or begun again: nothing stands in its way any more.
    Started,
    /// Nobody was heard for the `Active_Down_Interval`.
    Silence,
    /// The active router has resigned.
    Resigned,
    /// The active router's priority is lower.
    Preemption,
    /// Another router's priority is higher, or is equal and its address greater.
    Outranked,
    /// The interface has no link.
    LinkDown,
    /// A socket could not be opened; that is tried again every second.
    NoSocket,
    /// A tracked object is down without which the router cannot do its work.
    Fault,
    /// The controller has asked for it.
    Shutdown,
    /// Another virtual router of its group cannot take part, or has become backup.
    Group,
}

/// What became of an advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It was taken into account.
    Accepted,
    /// So it was, though it lists other virtual addresses.
    Differing,
    /// The virtual router takes no part.
    Idle,
}

/// A virtual router.
#[derive(Debug)]
pub(crate) struct Router {
    pub config: Config,
    /// The configured addresses in order, to compare with what others advertise.
    sorted: Vec<IpAddr>,
    pub state: State,
    /// Why it has no state to be in, if it has none: the first reason of several.
    barred: Option<Reason>,
    /// The priority with what tracked objects take away.
    pub priority: u8,
    /// `Active_Adver_Interval`: that of the active router.
    pub active_interval: Duration,
    /// The router that was heard last.
    pub heard: Option<IpAddr>,
    /// `Active_Down_Timer` in the state Backup, `Adver_Timer` in the state Active.
    timer: Option<Time>,
    /// What it will mean when nobody is heard until then.
    expiry: Reason,
    /// Whether the timer has run out while the machine itself was held up, and was given more time.
    was_put_off: bool,
    /// When it resigns, unless it hears another active router before.
    leaves: Option<Time>,
    /// Whether it waits longer for others until it is active again, so that of two that have both
    /// stepped back the other one comes first.
    lingers: bool,
    /// Why it would be active if all of its group could be.
    waits: Option<Reason>,
    /// Since when it could take over from a router of lower priority.
    preempts_since: Option<Time>,
    /// An advertisement that is to be sent: whether it resigns, and the next of its destinations.
    outgoing: Option<(bool, usize)>,
    /// Whether it has answered another router since the timer ran out.
    has_answered: bool,
    pub announcements: Announcements,
    pub rivals: Rivals,
    changed: Option<Reason>,
    /// The state that was told last, and why it was entered.
    told: (State, Reason),
}

impl Router {
    /// A virtual router that takes no part yet: [`Router::bar`] says whether it may.
    pub fn new(config: Config) -> Router {
        let mut router = Router {
            sorted: Vec::new(),
            state: State::Initialize,
            barred: Some(Reason::Shutdown),
            priority: config.priority,
            active_interval: config.interval,
            heard: None,
            timer: None,
            expiry: Reason::Silence,
            was_put_off: false,
            leaves: None,
            lingers: false,
            waits: None,
            preempts_since: None,
            outgoing: None,
            has_answered: false,
            announcements: Announcements::default(),
            rivals: Rivals::default(),
            changed: None,
            told: (State::Initialize, Reason::Shutdown),
            config,
        };
        router.sort();
        router
    }

    /// Takes over a configuration of the same key and addresses of its own.
    pub fn configure(&mut self, config: Config, now: Time) {
        let has_other_addresses = self.config.addresses != config.addresses;
        self.config = config;
        self.sort();
        self.preempts_since.take_if(|_| !self.config.has_preemption);
        if self.state == State::Active {
            self.timer = Some(now.after(self.config.interval));
            self.outgoing = Some((false, 0));
            if has_other_addresses {
                self.announcements.begin(self.config.announcements, now);
            }
        }
    }

    /// Lets it take part, or not for a reason. Unless there is no link any more, an active one
    /// resigns (section 6.4.3).
    pub fn bar(&mut self, barred: Option<Reason>, now: Time) {
        let was_barred = self.barred.is_some();
        self.barred = barred;
        match barred {
            None if was_barred => self.start(now),
            None => {}
            Some(reason) => {
                if self.state == State::Active {
                    self.outgoing = Some((true, 0));
                }
                if matches!(reason, Reason::LinkDown | Reason::NoSocket) {
                    self.outgoing = None;
                }
                if self.state != State::Initialize {
                    self.become_idle(reason);
                }
            }
        }
    }

    /// Section 6.4.1.
    fn start(&mut self, now: Time) {
        self.active_interval = self.config.interval;
        self.heard = None;
        if self.priority == OWNER {
            self.become_active(Reason::Started, now);
        } else {
            self.become_backup(Reason::Started, now);
        }
    }

    /// Takes in an advertisement of another router (sections 6.4.2 and 6.4.3).
    pub fn receive(&mut self, packet: &Packet<'_>, from: IpAddr, now: Time) -> Heard {
        if self.state == State::Initialize {
            return Heard::Idle;
        }
        let interval = Duration::from_millis(10) * u32::from(packet.interval_cs);
        let has_same = self.has_addresses(packet);
        if packet.priority != RESIGNS {
            self.note_differences(packet, has_same, from, now);
        }
        self.heard = Some(from);
        if self.state == State::Backup {
            self.receive_as_backup(packet.priority, interval, now);
        } else {
            self.receive_as_active(packet.priority, from, interval, now);
        }
        if has_same { Heard::Accepted } else { Heard::Differing }
    }

    fn receive_as_backup(&mut self, priority: u8, interval: Duration, now: Time) {
        if priority == RESIGNS {
            // Never later than it was, whoever repeats it.
            let soon = now.after(self.skew_time());
            self.timer = self.timer.map(|timer| timer.min(soon));
            self.expiry = Reason::Resigned;
            return;
        }
        if priority < self.priority {
            if self.preempts(now) {
                self.expiry = Reason::Preemption;
                return;
            }
        } else {
            self.preempts_since = None;
        }
        self.follow(interval, now);
    }

    fn receive_as_active(&mut self, priority: u8, from: IpAddr, interval: Duration, now: Time) {
        if priority == RESIGNS {
            self.rivals.leave(from);
            self.answer();
            return;
        }
        let is_outranked =
            priority > self.priority || priority == self.priority && from > self.config.primary;
        // An owner gives way to nobody (section 7.1).
        if is_outranked && self.priority != OWNER {
            self.rivals.clear();
            self.become_backup(Reason::Outranked, now);
            self.follow(interval, now);
            return;
        }
        self.rivals.hear(from, interval, now);
        // The sender is to hear of it at once, and so are switches between both; but for another
        // owner, which would say the same again.
        if priority != OWNER {
            self.answer();
        }
    }

    /// Advertises at once, but no more than once between two advertisements of the timer: two
    /// routers that both know better must not answer each other for ever.
    fn answer(&mut self) {
        if !std::mem::replace(&mut self.has_answered, true) {
            self.outgoing = Some((false, 0));
        }
    }

    /// Whether a router of lower priority is to be taken over from by now.
    fn preempts(&mut self, now: Time) -> bool {
        if !self.config.has_preemption {
            return false;
        }
        let since = *self.preempts_since.get_or_insert(now);
        now.since(since) >= self.config.preempt_delay
    }

    /// Takes another router for the active one.
    fn follow(&mut self, interval: Duration, now: Time) {
        self.active_interval = interval;
        self.timer = Some(now.after(self.down_interval()));
        (self.expiry, self.was_put_off) = (Reason::Silence, false);
        (self.leaves, self.waits) = (None, None);
    }

    /// Whether it only waits for the others of its group.
    pub fn waits(&self) -> bool {
        self.waits.is_some()
    }

    /// Becomes active with its group.
    pub fn join(&mut self, now: Time) {
        if let Some(reason) = self.waits {
            self.become_active(reason, now);
        }
    }

    /// Leaves its part to another router, because its group does. That one need not wait, but it
    /// mostly is active already: what resigns comes from the virtual MAC address, too, and would
    /// lead switches back here. It may linger, that is, wait longer for that one to be active.
    pub fn step_back(&mut self, lingers: bool, now: Time) {
        if self.state == State::Active {
            self.rivals.clear();
            self.become_backup(Reason::Group, now);
            self.lingers = lingers;
            self.follow(self.active_interval, now);
            self.leaves = Some(now.after(GRACE));
        }
    }

    /// Does what is due by now.
    pub fn expire(&mut self, now: Time) {
        self.announcements.expire(now);
        if self.rivals.expire(now) {
            // Switches may have taken the other one's way for that of the virtual MAC address.
            self.announcements.begin(self.config.announcements, now);
        }
        if self.leaves.take_if(|time| *time <= now).is_some() {
            self.outgoing = Some((true, 0));
        }
        let Some(timer) = self.timer.filter(|timer| *timer <= now) else { return };
        match self.state {
            State::Initialize => {}
            State::Active => {
                (self.outgoing, self.has_answered) = (Some((false, 0)), false);
                // In step, but none is made up for.
                let next = timer.after(self.config.interval);
                self.timer = Some(if next > now { next } else { now.after(self.config.interval) });
            }
            State::Backup if now.since(timer) > self.active_interval && !self.was_put_off => {
                // The machine itself was held up: it cannot know what it would have heard.
                self.was_put_off = true;
                self.timer = Some(now.after(self.down_interval()));
            }
            State::Backup if self.config.group.is_some() => {
                (self.timer, self.waits) = (None, Some(self.expiry));
            }
            State::Backup => self.become_active(self.expiry, now),
        }
    }

    /// Sets what tracked objects take away from the configured priority, by whether each is up;
    /// returns whether one is down without which the router cannot do its work.
    pub fn weigh(&mut self, objects: &[bool]) -> bool {
        let (mut decrement, mut has_fault) = (0, false);
        let is_down = |tracked: &&Tracked| !objects[tracked.object as usize];
        for tracked in self.config.tracked.iter().filter(is_down) {
            match tracked.effect {
                Effect::Decrement(by) => decrement += u32::from(by),
                Effect::Fault => has_fault = true,
            }
        }
        self.priority = match self.config.priority {
            OWNER => OWNER,
            other => u32::from(other).saturating_sub(decrement).max(1) as u8,
        };
        has_fault
    }

    /// `Active_Down_Interval` (section 6.1), and a part of an interval if it lingers.
    pub fn down_interval(&self) -> Duration {
        let longer = self.active_interval / LINGERS * u32::from(self.lingers);
        3 * self.active_interval + self.skew_time() + longer
    }

    /// `Skew_Time` (section 6.1).
    fn skew_time(&self) -> Duration {
        self.active_interval * (256 - u32::from(self.priority)) / 256
    }

    /// Returns the time at which it is to be looked at.
    pub fn deadline(&self) -> Option<Time> {
        [self.timer, self.leaves, self.announcements.deadline(), self.rivals.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether it wants something now.
    pub fn is_due(&self) -> bool {
        self.outgoing.is_some() || self.announcements.is_due() || self.rivals.is_due()
    }

    /// Returns the priority of an advertisement and its next destination: the group, or a peer.
    pub fn next_outgoing(&mut self) -> Option<(u8, Option<IpAddr>)> {
        let (resigns, number) = self.outgoing?;
        let to = self.config.peers.get(number).copied();
        self.outgoing = (number + 1 < self.config.peers.len()).then_some((resigns, number + 1));
        let priority = if resigns { RESIGNS } else { self.priority };
        Some((priority, to))
    }

    /// Writes an advertisement between these addresses.
    pub fn advertisement(&self, priority: u8, ends: Ends) -> Vec<u8> {
        let Config { key, ref addresses, interval, coverage, .. } = self.config;
        let octets = packet::octets(addresses);
        let addresses = Addresses::new(key.is_v6, &octets);
        let interval_cs = interval_cs(interval).unwrap_or(INTERVAL_CS_MAX);
        Packet { vrid: key.vrid, priority, interval_cs, addresses }.emit(ends, coverage)
    }

    /// Returns the address that is to be announced next.
    pub fn next_announcement(&mut self) -> Option<IpAddr> {
        self.announcements.next(&self.config.addresses)
    }

    /// The virtual addresses in order.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.sorted
    }

    /// Whether its state may have changed since that was taken last.
    pub fn has_changed(&self) -> bool {
        self.changed.is_some()
    }

    /// Returns why its state has changed since the last call, if that is news.
    pub fn take_change(&mut self) -> Option<Reason> {
        let reason = self.changed.take()?;
        let told = std::mem::replace(&mut self.told, (self.state, reason));
        (told != self.told).then_some(reason)
    }

    fn has_addresses(&self, packet: &Packet<'_>) -> bool {
        let is_listed = |address: IpAddr| self.sorted.binary_search(&address).is_ok();
        packet.addresses.count() == self.sorted.len() && packet.addresses.iter().all(is_listed)
    }

    fn note_differences(&mut self, packet: &Packet<'_>, has_same: bool, from: IpAddr, now: Time) {
        let differences = [
            (Told::Addresses, !has_same),
            (Told::Interval, Some(packet.interval_cs) != interval_cs(self.config.interval)),
            (Told::Owner, packet.priority == OWNER && self.priority == OWNER),
        ];
        for (what, _) in differences.into_iter().filter(|(_, differs)| *differs) {
            self.rivals.tell(what, from, now);
        }
    }

    fn become_active(&mut self, reason: Reason, now: Time) {
        self.enter(State::Active, reason);
        self.advertise(now);
        self.announcements.begin(self.config.announcements, now);
    }

    fn become_backup(&mut self, reason: Reason, now: Time) {
        self.enter(State::Backup, reason);
        self.outgoing = None;
        self.follow(self.active_interval, now);
    }

    fn become_idle(&mut self, reason: Reason) {
        self.enter(State::Initialize, reason);
        self.timer = None;
        self.rivals.clear();
    }

    fn enter(&mut self, state: State, reason: Reason) {
        self.state = state;
        self.changed = Some(reason);
        (self.was_put_off, self.has_answered, self.lingers) = (false, false, false);
        (self.preempts_since, self.leaves, self.waits) = (None, None, None);
        self.announcements = Announcements::default();
    }

    fn advertise(&mut self, now: Time) {
        self.outgoing = Some((false, 0));
        self.timer = Some(now.after(self.config.interval));
    }

    fn sort(&mut self) {
        self.sorted.clone_from(&self.config.addresses);
        self.sorted.sort_unstable();
    }
}

/// How long a router that steps back with its group waits for another active one before it resigns.
const GRACE: Duration = Duration::from_millis(5);

/// The part of an interval that one lingers for: longer than an advertisement is on its way.
const LINGERS: u32 = 8;
