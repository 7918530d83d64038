//! Mappings and sessions in the standard library's maps, times in full.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_cgnat::config::Config;

use super::gateway::sequences::Sequences;

mod ending;

/// An address and a port.
pub type End = (Ipv4Addr, u16);
/// A subscriber: its address, and the realm in which it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// The VLAN of its VRF, or a number of its softwire; 0 for none.
    pub realm: u16,
    /// The address by which it is known, where it is behind a softwire.
    pub b4: Option<Ipv6Addr>,
    pub address: IpAddr,
}

impl Who {
    /// The same as a subscriber: behind a softwire whatever its IPv4 address.
    pub fn subscriber(self) -> Who {
        let address = match self.b4 {
            Some(_) => Ipv4Addr::UNSPECIFIED.into(),
            None => self.address,
        };
        Who { address, ..self }
    }

    /// The last one that is the same subscriber.
    fn last(self) -> Who {
        let address = match self.b4 {
            Some(_) => Ipv4Addr::BROADCAST.into(),
            None => self.address,
        };
        Who { address, ..self }
    }
}
/// What a mapping belongs to: protocol and the subscriber's end.
pub type Own = (u8, (Who, u16));

/// What is known of one mapping.
#[derive(Clone, Debug)]
pub struct Mapping {
    pub outside: End,
    /// By the other end.
    pub sessions: BTreeMap<End, Session>,
    /// For packets that a gateway expects: by whose; none for anybody's.
    pub expected: BTreeMap<Option<Ipv4Addr>, Session>,
    /// That its subscriber asked for it.
    pub granted: Option<Granted>,
}

/// A mapping was asked for: by whom, and until when it lives whatever packets come.
#[derive(Clone, Copy, Debug)]
pub struct Granted {
    pub nonce: [u8; 12],
    pub ends: Duration,
}

impl Mapping {
    /// All that keep it.
    fn all(&self) -> impl Iterator<Item = &Session> {
        self.sessions.values().chain(self.expected.values())
    }

    /// How many those are.
    pub fn count(&self) -> usize {
        self.sessions.len() + self.expected.len() + usize::from(self.granted.is_some())
    }

    /// When the last of them is over.
    fn ends(&self, protocol: u8, config: &Config) -> Option<Duration> {
        let ends = self.all().map(|session| session.end(protocol, config));
        ends.chain(self.granted.map(|granted| granted.ends)).max()
    }
}

/// One session.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// When the last packet from inside came.
    used: Duration,
    pub syn: [bool; 2],
    pub fin: [bool; 2],
    pub reset: bool,
    /// Until when it lives after a segment from outside began to end it.
    ends: Option<Duration>,
    /// Sequence numbers, where a gateway reads what it says.
    pub shifts: Option<Sequences>,
    /// Of a call: the other end's identifier, if it is known.
    pub call: Option<u16>,
}

/// A subscriber's packet has a session.
pub struct Begun {
    pub own: Own,
    pub outside: End,
    pub is_new: bool,
}

/// All mappings, and ports that rest.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    pub mappings: BTreeMap<Own, Mapping>,
    /// Mappings by their outside ends.
    owners: BTreeMap<(u8, End), Own>,
    /// Until when a port rests, and whose it was.
    resting: BTreeMap<(u8, End), (Duration, Own)>,
    /// Sessions that are over and may still take room.
    pub lingering: Vec<Lingering>,
    /// What came and went since this was last looked at.
    pub happened: Vec<Happened>,
    passed: Duration,
}

/// Something that came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A mapping, and its outside end.
    MappingBegan(Own, End),
    MappingEnded(Own, End),
    /// A session of a mapping, by its other end.
    SessionBegan(Own, End, End),
    SessionEnded(Own, End, End),
    /// A mapping and its session were made and taken back at once: nobody has seen the outside end.
    Undone(Own, End),
}

/// Sessions of a mapping that are over: until when a device may count them.
#[derive(Clone, Copy, Debug)]
pub struct Lingering {
    until: Duration,
    pub own: Own,
    pub outside: End,
    pub sessions: usize,
    /// How many of them were asked for.
    pub granted: usize,
}

impl Happened {
    fn is_of(&self, mapping: Own) -> bool {
        let (Happened::MappingBegan(own, _)
        | Happened::MappingEnded(own, _)
        | Happened::SessionBegan(own, ..)
        | Happened::SessionEnded(own, ..)
        | Happened::Undone(own, _)) = self;
        *own == mapping
    }
}

impl Session {
    /// One that begins now.
    pub fn new(now: Duration) -> Session {
        Session { used: now, ..Session::default() }
    }

    /// How long it lives without a packet from inside.
    fn timeout(&self, protocol: u8, config: &Config) -> Duration {
        let times = &config.timeouts;
        Duration::from_secs_f64(match protocol {
            6 if self.is_established() => times.tcp_established_s,
            6 if self.is_closing() => times.tcp_transitory_s,
            6 => times.tcp_syn_s,
            1 => times.icmp_s,
            _ => times.udp_s,
        })
    }

    fn is_closing(&self) -> bool {
        self.reset || self.fin == [true; 2]
    }

    pub fn is_established(&self) -> bool {
        self.syn == [true; 2] && !self.is_closing()
    }

    fn end(&self, protocol: u8, config: &Config) -> Duration {
        self.ends.unwrap_or(self.used + self.timeout(protocol, config))
    }

    /// A session that a packet from outside opens: it proves nothing, so that the mapping lives no
    /// longer.
    pub fn of_mapping(
        mapping: &Mapping,
        (protocol, now): (u8, Duration),
        config: &Config,
    ) -> Session {
        let session = Session { used: now, ..Session::default() };
        let ends = mapping.ends(protocol, config);
        let own = session.end(protocol, config);
        Session { ends: Some(ends.map_or(own, |end| end.min(own))), ..session }
    }

    /// A packet from inside.
    pub fn leaves(&mut self, flags: u8, now: Duration) {
        (self.used, self.ends) = (now, None);
        let [syn, reset] = [flags & 2 != 0, flags & 4 != 0];
        if syn && self.is_closing() {
            *self = Session { used: now, ..Session::default() };
        } else if !reset {
            // RFC 6146 section 3.5.2.2, TRANS: who goes on has not been reset.
            self.reset = false;
        }
        self.say(flags, 0);
    }

    /// A packet from outside, which refreshes nothing; where it ends a connection, the last time of
    /// that begins (RFC 7857 section 2.2).
    pub fn comes(&mut self, flags: u8, now: Duration, config: &Config) {
        let (was_closing, end) = (self.is_closing(), self.end(6, config));
        self.say(flags, 1);
        if self.is_closing() && !was_closing {
            let last = Duration::from_secs_f64(config.timeouts.tcp_transitory_s);
            self.ends = Some(end.min(now + last));
        }
    }

    fn say(&mut self, flags: u8, side: usize) {
        self.fin[side] |= flags & 1 != 0;
        self.syn[side] |= flags & 2 != 0;
        self.reset |= flags & 4 != 0;
    }
}

impl Tables {
    /// Forgets what is over.
    pub fn pass(&mut self, config: &Config, now: Duration) {
        if now == self.passed {
            return;
        }
        self.passed = now;
        self.lingering.retain(|one| now <= one.until);
        let quarantine = Duration::from_secs_f64(config.quarantine_s);
        let mut gone = Vec::new();
        for (own, mapping) in &mut self.mappings {
            let (mut last_end, mut over_end) = (Duration::ZERO, Duration::ZERO);
            let before = mapping.count();
            let mut lives = |session: &Session| {
                let end = session.end(own.0, config);
                last_end = last_end.max(end);
                over_end = if now <= end { over_end } else { over_end.max(end) };
                now <= end
            };
            mapping.sessions.retain(|far, session| {
                let lives = lives(session);
                if !lives {
                    self.happened.push(Happened::SessionEnded(*own, mapping.outside, *far));
                }
                lives
            });
            mapping.expected.retain(|_, session| lives(session));
            let over = mapping.granted.filter(|granted| now > granted.ends);
            if let Some(granted) = over {
                mapping.granted = None;
                last_end = last_end.max(granted.ends);
                over_end = over_end.max(granted.ends);
            }
            let granted = usize::from(over.is_some());
            let sessions = before - mapping.count();
            if sessions > 0 {
                let (until, own, outside) = (over_end + LINGERS, *own, mapping.outside);
                if now <= until {
                    self.lingering.push(Lingering { until, own, outside, sessions, granted });
                }
            }
            if mapping.count() == 0 {
                gone.push((*own, last_end));
            }
        }
        for (own, end) in gone {
            self.end(own, end + quarantine);
        }
    }

    /// Adds a mapping.
    pub fn begin(&mut self, own: Own, outside: End) {
        let (sessions, expected) = (BTreeMap::new(), BTreeMap::new());
        self.mappings.insert(own, Mapping { outside, sessions, expected, granted: None });
        self.happened.push(Happened::MappingBegan(own, outside));
        self.owners.insert((own.0, outside), own);
        self.resting.remove(&(own.0, outside));
    }

    /// Ends a mapping; its port rests.
    fn end(&mut self, own: Own, until: Duration) {
        if let Some(mapping) = self.mappings.remove(&own) {
            self.owners.remove(&(own.0, mapping.outside));
            let ended = |far: &End| Happened::SessionEnded(own, mapping.outside, *far);
            self.happened.extend(mapping.sessions.keys().map(ended));
            self.happened.push(Happened::MappingEnded(own, mapping.outside));
            self.resting.insert((own.0, mapping.outside), (until, own));
        }
    }

    /// Takes back a session, and a mapping that has no other.
    pub fn undo(&mut self, own: Own, far: End, now: Duration) {
        let Some(mapping) = self.mappings.get_mut(&own) else { return };
        let outside = mapping.outside;
        mapping.sessions.remove(&far);
        let is_last = mapping.count() == 0;
        self.happened.push(Happened::SessionEnded(own, outside, far));
        if is_last {
            self.end(own, now);
            // It was made for this session.
            let is_other = |one: &Happened| !one.is_of(own);
            self.happened.retain(is_other);
            self.happened.push(Happened::Undone(own, far));
        }
    }

    /// Adds a session to a mapping.
    pub fn join(&mut self, own: Own, far: End, session: Session) {
        if let Some(mapping) = self.mappings.get_mut(&own) {
            mapping.sessions.insert(far, session);
            self.happened.push(Happened::SessionBegan(own, mapping.outside, far));
        }
    }

    /// Lets a mapping take packets of somebody, or of anybody.
    pub fn expect(&mut self, own: Own, remote: Option<Ipv4Addr>, session: Session) {
        if let Some(mapping) = self.mappings.get_mut(&own) {
            mapping.expected.insert(remote, session);
        }
    }

    /// Takes that back, and a mapping that has nothing else.
    pub fn undo_expected(&mut self, own: Own, remote: Option<Ipv4Addr>, now: Duration) {
        let Some(mapping) = self.mappings.get_mut(&own) else { return };
        mapping.expected.remove(&remote);
        if mapping.count() == 0 {
            self.end(own, now);
        }
    }

    /// Says that a mapping was asked for.
    pub fn grant(&mut self, own: Own, granted: Granted) {
        if let Some(mapping) = self.mappings.get_mut(&own) {
            mapping.granted = Some(granted);
        }
    }

    /// Takes that back, and a mapping that has nothing else, whose port then rests.
    pub fn revoke(&mut self, own: Own, until: Duration) {
        let Some(mapping) = self.mappings.get_mut(&own) else { return };
        mapping.granted = None;
        if mapping.count() == 0 {
            self.end(own, until);
        }
    }

    /// How many mappings were asked for, by all and by a subscriber; `lingers` counts those that
    /// are over, too.
    pub fn granted(&self, subscriber: Who, lingers: bool) -> (usize, usize) {
        let live = self.mappings.iter().filter(|(_, mapping)| mapping.granted.is_some());
        let over = self.lingering.iter().filter(|_| lingers).map(|one| (&one.own, one.granted));
        let all: Vec<_> = live.map(|(own, _)| (own, 1)).chain(over).collect();
        let own = all.iter().filter(|(own, _)| is_of(own, subscriber));
        (all.iter().map(|(_, count)| count).sum(), own.map(|(_, count)| count).sum())
    }

    /// The sequence numbers of a session, if they are kept.
    pub fn shifts_of(&self, own: Own, far: End) -> Option<Sequences> {
        self.mappings.get(&own)?.sessions.get(&far)?.shifts.clone()
    }

    /// Keeps them.
    pub fn set_shifts(&mut self, own: Own, far: End, shifts: Sequences) {
        let mapping = self.mappings.get_mut(&own);
        if let Some(session) = mapping.and_then(|mapping| mapping.sessions.get_mut(&far)) {
            session.shifts = Some(shifts);
        }
    }

    /// Sessions whose sequence numbers are kept.
    pub fn connections(&self) -> usize {
        let all = self.mappings.values().flat_map(|mapping| mapping.sessions.values());
        all.filter(|session| session.shifts.is_some()).count()
    }

    /// The sessions of calls with the identifier of their other end.
    pub fn calls(&mut self) -> impl Iterator<Item = (Own, End, &mut Session)> {
        let all = self.mappings.iter_mut().filter(|(own, _)| own.0 == 47);
        let all = all.flat_map(|(own, mapping)| {
            mapping.sessions.iter_mut().map(|(far, session)| (*own, *far, session))
        });
        all.filter(|(.., session)| session.call.is_some())
    }

    /// Who has an outside port.
    pub fn owner(&self, protocol: u8, outside: End) -> Option<Own> {
        self.owners.get(&(protocol, outside)).copied()
    }

    /// Whether a mapping may get an outside port: nobody has it, and it does not rest, but for the
    /// one that it had itself.
    pub fn may_have(&self, own: Own, outside: End, now: Duration) -> bool {
        let rests = self.resting.get(&(own.0, outside));
        let rests = rests.is_some_and(|(until, was)| now < *until && *was != own);
        !rests && self.owner(own.0, outside).is_none()
    }

    /// The same if the port has rested for a while longer, as it does where the end of a session is
    /// noticed late.
    pub fn may_surely_have(&self, own: Own, outside: End, now: Duration) -> bool {
        let rests = self.resting.get(&(own.0, outside));
        let rests = rests.is_some_and(|(until, _)| now < *until + LINGERS);
        !rests && self.owner(own.0, outside).is_none()
    }

    /// The mappings of a subscriber.
    fn of(&self, subscriber: Who) -> impl Iterator<Item = &Mapping> {
        let all = [1, 6, 17, 47].into_iter().flat_map(move |protocol| {
            let (first, last) = (subscriber.subscriber(), subscriber.last());
            self.mappings.range((protocol, (first, 0))..=(protocol, (last, u16::MAX)))
        });
        all.map(|(_, mapping)| mapping)
    }

    /// The outside ends that a subscriber has.
    pub fn ends_of(&self, subscriber: Who) -> BTreeSet<End> {
        self.of(subscriber).map(|mapping| mapping.outside).collect()
    }

    /// Those that it had a little before.
    pub fn lingering_ends_of(&self, subscriber: Who) -> BTreeSet<End> {
        let own = self.lingering.iter().filter(|one| is_of(&one.own, subscriber));
        own.map(|one| one.outside).collect()
    }

    /// Who else than a subscriber has ports from one to another on an address.
    pub fn is_taken(&self, subscriber: Who, address: Ipv4Addr, ports: (u16, u16)) -> bool {
        [1, 6, 17, 47].into_iter().any(|protocol| {
            let range = (protocol, (address, ports.0))..=(protocol, (address, ports.1));
            self.owners.range(range).any(|(_, own)| !is_of(own, subscriber))
        })
    }

    /// How many sessions a subscriber has.
    pub fn sessions_of(&self, subscriber: Who) -> usize {
        self.of(subscriber).map(Mapping::count).sum()
    }

    /// All sessions.
    pub fn sessions(&self) -> usize {
        self.mappings.values().map(Mapping::count).sum()
    }

    /// All subscribers.
    pub fn subscribers(&self) -> BTreeSet<Who> {
        self.mappings.keys().map(|own| own.1.0.subscriber()).collect()
    }
}

/// Whether a mapping is a subscriber's.
fn is_of(own: &Own, subscriber: Who) -> bool {
    own.1.0.subscriber() == subscriber.subscriber()
}

/// For how long a session that is over may still be counted by a device that looks for such
/// sessions now and then.
const LINGERS: Duration = Duration::from_secs(5);
