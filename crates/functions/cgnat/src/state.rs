//! The state of one worker: subscribers, mappings, sessions, outside ports; how they come and go.
//!
//! | part | bytes a session | cache lines a packet |
//! |---|---|---|
//! | record | 64 | 1 |
//! | indexes by inside and by outside | 9.6 each | 1 |
//! | index by mapping, as many as there can be | 9.6 | 0; 1 to open |
//! | when to look at it | 2 | 0 |
//!
//! Nothing that lives is ever given up for something new: where there is no room, the new one is
//! refused (RFC 6888 REQ-4).
use std::net::Ipv4Addr;

use function_kit::{SetupError, Shard};
use machine::clock::Clock;
use packet::Reason;
use wire::embedded::Prefix;

use crate::alg::algs::Algs;
use crate::config::{Config, Filtering};
use crate::ds_lite::Softwires;
use crate::log::Journal as Log;
use crate::nat64::Nat64;
use crate::pcp::granted::GrantedTable;
use crate::reasons::{self, TALLIES, Tallies, Tally};
use crate::sessions::allocation::{Allocation, BlockChange, Refused, Wanted};
use crate::sessions::fields::Marks;
use crate::sessions::journal::Journal;
use crate::sessions::ports::Class;
use crate::sessions::refusals::Refusals;
use crate::sessions::session::{Session, TcpState};
use crate::sessions::subscribers::Subscribers;
use crate::sessions::table::{Full, Number, Sessions};
use crate::sessions::times::{Moment, Times};
use crate::types::ending::Ending;
use crate::types::flow::{Inside, Outside};

mod close;
pub mod ending;
mod ruled;
pub mod sweep;
pub mod tables;

/// Everything a worker knows.
pub struct State {
    /// Sessions, and the ways to them.
    pub sessions: Sessions,
    /// Who has sessions.
    pub subscribers: Subscribers,
    /// Outside addresses and ports.
    pub allocation: Allocation,
    /// Timeouts, and the units of time.
    pub times: Times,
    /// What was counted.
    pub tallies: Tallies,
    /// Who was refused most.
    pub refusals: Refusals,
    /// Most sessions of a subscriber; 0 for no limit.
    pub session_limit: u32,
    /// Whether packets go through it, of two with the same outside addresses, as control has said.
    pub is_active: bool,
    /// Whether packets open sessions.
    pub opens: bool,
    /// Algs of applications, and sequence numbers behind them.
    pub algs: Algs,
    /// Mappings that subscribers asked for; none where they cannot.
    pub granted: Option<Box<GrantedTable>>,
    /// What exports to a collector all that comes and goes; none where logs are off.
    pub log: Option<Box<Log>>,
    pub(crate) filtering: Filtering,
    /// What is known of softwires; none where there are none.
    pub softwires: Option<Softwires>,
    /// By what IPv6 subscribers know IPv4 hosts.
    pub(crate) prefix: Option<Prefix>,
    /// Sessions of mappings that packets from outside may still make us look at.
    pub(crate) walk_left: u32,
    /// What is to be told to a standby; none where there is none.
    pub journal: Option<Box<Journal>>,
    /// The next session for which the sweep is to look by shorter timeouts.
    pub(crate) hastened: Option<Number>,
    /// The next session whose other end may have become an outside address, or is none any more.
    pub(crate) turning: Option<Number>,
    /// How far its end in good order has come; none while it goes on.
    pub(crate) ending: Option<Ending>,
}

/// What comes of opening a session.
pub type Opened = Result<Number, Reason>;

/// An outside address and port, and the block that was given with it, if any.
type Taken = Result<((u32, u16), Option<BlockChange>), Reason>;

impl State {
    /// The state that a configuration describes, without a session; nothing is told of it yet.
    ///
    /// # Errors
    /// When it does not fit into memory.
    pub fn new(config: &Config, shard: Shard, clock: Clock) -> Result<State, SetupError> {
        let memory = |what| move |source| SetupError::Memory { what, source };
        let mut allocation = Allocation::new(config, shard).map_err(memory("outside ports"))?;
        let secret = allocation.secret();
        let share = |count: u32| crate::config::share_of(count, shard.count);
        let sessions =
            Sessions::new(share(config.sessions), share(config.mapping_capacity()), secret);
        let subscribers = Subscribers::new(share(config.subscribers));
        let softwires = Softwires::new(config, share(config.subscribers));
        let granted = GrantedTable::new(config, share);
        Ok(State {
            sessions: sessions.map_err(memory("sessions"))?,
            subscribers: subscribers.map_err(memory("subscribers"))?,
            allocation,
            times: Times::new(config, &clock),
            tallies: [0; TALLIES.len()],
            refusals: Refusals::default(),
            session_limit: config.session_limit(),
            is_active: true,
            opens: true,
            algs: Algs::new(config, shard.count).map_err(memory("calls"))?,
            granted: granted.map_err(memory("mappings asked for"))?.map(Box::new),
            log: None,
            filtering: config.filtering,
            softwires: softwires.map_err(memory("softwires"))?,
            prefix: Nat64::new(config).map(|nat64| nat64.prefix),
            walk_left: WALK_MAX,
            journal: None,
            hastened: None,
            turning: None,
            ending: None,
        })
    }

    /// The session of a packet from inside, opened where there is none.
    ///
    /// # Errors
    /// Why it cannot be opened; nothing has changed then.
    pub fn open_from_inside(&mut self, key: &Inside, hash: u64, now: Moment) -> Opened {
        if let Some(number) = self.sessions.find_inside(hash, key) {
            if !self.times.is_over(&self.sessions.records[number as usize], now) {
                return Ok(number);
            }
            self.expire(number, now);
        }
        self.open(key, Wanted::Any, now, Tally::SessionsOpened)
    }

    /// Opens a session that there is not: of its mapping, or with one made for it.
    ///
    /// # Errors
    /// Why it cannot be opened; nothing has changed then.
    #[inline]
    pub(crate) fn open(
        &mut self,
        key: &Inside,
        wanted: Wanted,
        now: Moment,
        tally: Tally,
    ) -> Opened {
        if !self.may_open() {
            return Err(reasons::NOT_ACTIVE);
        }
        let mapping = self.live_mapping(key, now);
        let (outside, subscriber) = match mapping {
            Some(number) => {
                let known = &self.sessions.records[number as usize];
                let found = ((known.outside, known.outside_port), known.subscriber);
                let fits = wanted.fits(key.port(), known.outside_port);
                fits.then_some(()).ok_or(reasons::PORTS_EXHAUSTED)?;
                self.check_limit(found.1)?;
                self.check_room(false)?;
                found
            }
            None => self.map(key, wanted, now)?,
        };
        let session = Session::new(key, outside, subscriber, now);
        self.enter(session, mapping, now, tally)
    }

    /// The session of a packet from inside, if its time is not up.
    pub fn live_inside(&self, key: &Inside, hash: u64, now: Moment) -> Option<Number> {
        let number = self.sessions.find_inside(hash, key)?;
        let is_over = self.times.is_over(&self.sessions.records[number as usize], now);
        (!is_over).then_some(number)
    }

    /// The first session of the mapping of a packet from inside. Where neither it lives nor the
    /// last one, those that are over are ended until one is met that lives, so that a mapping does
    /// not outlive its sessions; after many, the packet waits no longer.
    pub(crate) fn live_mapping(&mut self, key: &Inside, now: Moment) -> Option<Number> {
        let hash = key.mapping_hash(self.sessions.keyed());
        let mut first = self.sessions.find_mapping(hash, key)?;
        for _ in 0..OVER_MAX {
            let session = &self.sessions.records[first as usize];
            let last = &self.sessions.records[session.previous as usize];
            if [session, last].iter().any(|one| self.times.left(one, now).is_some()) {
                break;
            }
            first = self.expire(first, now)?;
        }
        Some(first)
    }

    /// The session of a packet from outside, opened where a mapping takes it.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn open_from_outside(&mut self, key: &Outside, hash: u64, now: Moment) -> Opened {
        if let Some(number) = self.sessions.find_outside(hash, key) {
            if !self.times.is_over(&self.sessions.records[number as usize], now) {
                return Ok(number);
            }
            self.expire(number, now);
        }
        if !self.may_open() {
            return Err(reasons::NOT_ACTIVE);
        }
        let address = self.allocation.addresses.number(key.address()).ok_or(reasons::NO_ADDRESS)?;
        let class = Class::of(key.far.protocol());
        let Some(mapping) = self.allocation.ports.owner(address, class, key.port()) else {
            return self.open_static(key, now);
        };
        let known = self.sessions.records[mapping as usize];
        // A packet from outside proves nothing: the session lives as long as the mapping did
        // without it.
        let Some(end) = self.end_of(mapping, now)? else {
            let mut over = Some(mapping);
            while let Some(number) = over {
                over = self.expire(number, now);
            }
            return self.open_static(key, now);
        };
        self.filter(mapping, key, now)?;
        self.check_far(&known, key)?;
        self.check_limit(known.subscriber)?;
        self.check_room(false)?;
        let inside = Inside { far: key.far, ..known.inside_key() };
        let outside = (known.outside, known.outside_port);
        let mut session = Session::new(&inside, outside, known.subscriber, now);
        let used = end.wrapping_sub(self.times.timeout(&session));
        if (now.wrapping_sub(used) as i32) > 0 {
            session.used = used;
        }
        self.enter(session, Some(mapping), now, Tally::SessionsOpenedInbound)
    }

    /// A packet from outside for an address, or a port of one, that a subscriber has for itself.
    fn open_static(&mut self, key: &Outside, now: Moment) -> Opened {
        let (protocol, outside) = (key.far.protocol(), (key.address(), key.port()));
        let own = self.allocation.addresses.fixed(protocol, outside);
        // An identifier that nobody has is nobody's number: it names no worker.
        let names_worker = own.is_some() || protocol != wire::protocol::ICMP;
        if names_worker && !self.allocation.is_here(protocol, outside) {
            return Err(reasons::OTHER_WORKER);
        }
        let (inside, port) = own.ok_or(reasons::NO_MAPPING)?;
        if self.filtering != Filtering::EndpointIndependent {
            return Err(reasons::FILTERED);
        }
        let inside = Inside::ipv4(inside, port, 0, key.far);
        let (outside, subscriber) = self.map(&inside, Wanted::Any, now)?;
        let session = Session::new(&inside, outside, subscriber, now);
        self.enter(session, None, now, Tally::SessionsOpenedInbound)
    }

    /// When the last of a mapping's sessions is over, as it stands; none where all are.
    ///
    /// # Errors
    /// When that is too much to look through.
    fn end_of(&mut self, mapping: Number, now: Moment) -> Result<Option<Moment>, Reason> {
        let mut left: Option<u32> = None;
        for session in self.sessions.mapping(mapping) {
            self.walk_left = self.walk_left.checked_sub(1).ok_or(reasons::BUSY)?;
            left = left.max(self.times.left(session, now));
        }
        Ok(left.map(|left| now.wrapping_add(left)))
    }

    /// Lets packets of another batch look at sessions of mappings.
    pub fn begin_batch(&mut self) {
        self.walk_left = WALK_MAX;
    }

    /// Whether a mapping takes packets from the other end of `key`.
    fn filter(&self, mapping: Number, key: &Outside, now: Moment) -> Result<(), Reason> {
        let by_address = match self.filtering {
            Filtering::EndpointIndependent => return Ok(()),
            Filtering::AddressAndPortDependent => false,
            Filtering::AddressDependent => true,
        };
        let address = key.far.address();
        let mut sessions = self.sessions.mapping(mapping);
        let is_known = sessions.any(|session| {
            let far = session.far;
            let takes = by_address && !far.is_expected() && far.address() == address;
            (takes || far.expects(address)) && self.times.left(session, now).is_some()
        });
        if is_known { Ok(()) } else { Err(reasons::FILTERED) }
    }

    /// Whether the other end of `key` has an address for an IPv6 subscriber (RFC 6052 section 3.1).
    fn check_far(&self, known: &Session, key: &Outside) -> Result<(), Reason> {
        let far = Ipv4Addr::from_bits(key.far.address());
        let is_ipv6 = known.marks.has(Marks::IPV6);
        match is_ipv6 && self.prefix.is_some_and(|prefix| prefix.forbids(far)) {
            true => Err(reasons::MARTIAN),
            false => Ok(()),
        }
    }

    /// An outside address and port for a new mapping, and the subscriber.
    fn map(
        &mut self,
        key: &Inside,
        wanted: Wanted,
        now: Moment,
    ) -> Result<((u32, u16), u32), Reason> {
        let keyed = self.sessions.keyed();
        let known = self.subscribers.find(key, keyed);
        if let Some(number) = known {
            self.check_limit(number)?;
        }
        // Before a block is given, which would have to be taken back and told about.
        self.check_room(true)?;
        let number = match known {
            Some(number) => number,
            None => {
                let keyed = self.sessions.keyed();
                let added = self.subscribers.add(key, keyed);
                added.ok_or_else(|| self.tell_full(reasons::SUBSCRIBERS_FULL))?
            }
        };
        let was_paired = self.subscribers.records[number as usize].is_paired;
        match self.take_port(number, (key, wanted), now) {
            Ok((outside, block)) => {
                self.tell_given(number, outside.0, (!was_paired, block));
                Ok((outside, number))
            }
            Err(reason) => {
                if !matches!(wanted, Wanted::Only(_)) {
                    self.tell_refused(number, key, reason);
                }
                self.subscribers.records[number as usize].is_paired = was_paired;
                self.forget_idle(number);
                Err(reason)
            }
        }
    }

    /// An outside address and port for a subscriber, and the block that it got for it, if any.
    fn take_port(&mut self, number: u32, (key, wanted): (&Inside, Wanted), now: Moment) -> Taken {
        let subscriber = &mut self.subscribers.records[number as usize];
        let class = Class::of(key.far.protocol());
        let ask = (class, key.port(), wanted);
        if let Some(rule) = self.allocation.ruled(key) {
            subscriber.outside =
                self.allocation.addresses.number(rule.outside).ok_or(reasons::NO_ADDRESS)?;
            subscriber.is_paired = true;
            let port = self.allocation.take_ruled((subscriber.outside, &rule), ask, now);
            return Ok(((rule.outside, port.map_err(reason_of)?), None));
        }
        // All ports of an address that was drawn may rest.
        let mut pairings = if subscriber.is_paired { 0 } else { PAIRINGS_MAX };
        let (port, block) = loop {
            if pairings > 0 {
                subscriber.outside = self.allocation.pair(key.realm()).map_err(reason_of)?;
                subscriber.is_paired = true;
            }
            pairings = pairings.saturating_sub(1);
            match self.allocation.take_wanted((number, subscriber), ask, now) {
                Err(Refused::Ports) if pairings > 0 => {}
                taken => break taken.map_err(reason_of)?,
            }
        };
        if block.is_some() {
            self.tallies[Tally::BlocksAllocated as usize] += 1;
        }
        Ok(((self.allocation.addresses.address(subscriber.outside), port), block))
    }

    /// Whether a subscriber may have one more session.
    fn check_limit(&mut self, subscriber: u32) -> Result<(), Reason> {
        let has = self.subscribers.records[subscriber as usize].sessions;
        match self.session_limit != 0 && has >= self.session_limit {
            true => Err(self.tell_limit(subscriber, self.session_limit, reasons::SESSION_LIMIT)),
            false => Ok(()),
        }
    }

    /// Whether there is room for one more session, and for one more mapping where it makes one.
    pub(crate) fn check_room(&mut self, maps: bool) -> Result<(), Reason> {
        if self.sessions.count() as usize >= self.sessions.capacity() {
            return Err(self.tell_full(reasons::SESSIONS_FULL));
        }
        match maps && self.sessions.mappings() >= self.sessions.mapping_capacity() {
            true => Err(self.tell_full(reasons::MAPPINGS_FULL)),
            false => Ok(()),
        }
    }

    /// Puts a session into all tables.
    pub(crate) fn enter(
        &mut self,
        mut session: Session,
        mapping: Option<Number>,
        now: Moment,
        tally: Tally,
    ) -> Opened {
        let class = Class::of(session.far.protocol());
        if self.allocation.addresses.number(session.far.address()).is_some() {
            session.marks.set(Marks::HAIRPIN);
        } else if !self.algs.is_off() && self.algs.of(&session).is_some() {
            session.marks.set(Marks::ALG);
        }
        match self.sessions.open(session, mapping, (now, &self.times)) {
            Ok(number) => {
                let subscriber = &mut self.subscribers.records[session.subscriber as usize];
                subscriber.sessions += 1;
                if mapping.is_none() {
                    subscriber.mappings += 1;
                    let address = subscriber.outside;
                    self.allocation.give(address, class, session.outside_port, number);
                    self.tallies[Tally::MappingsOpened as usize] += 1;
                }
                self.tallies[tally as usize] += 1;
                self.tell_opened(&session, mapping.is_none());
                self.note(number);
                Ok(number)
            }
            Err(full) => {
                if mapping.is_none() {
                    // The port was never used, so it need not rest.
                    self.put_back(&session, now);
                    self.forget_idle(session.subscriber);
                }
                Err(self.tell_full(match full {
                    Full::Sessions => reasons::SESSIONS_FULL,
                    Full::Mappings => reasons::MAPPINGS_FULL,
                }))
            }
        }
    }

    /// Notes what a segment did to a connection: a standby is to hear of a change, and its time may
    /// have become shorter.
    #[inline]
    pub fn connection_changed(
        &mut self,
        number: Number,
        (before, after): (TcpState, TcpState),
        now: Moment,
    ) {
        if self.times.is_shorter(after, before) {
            self.sessions.hasten(number, (now, &self.times));
        }
        if before != after {
            self.note(number);
        }
    }

    /// Notes that a standby is to hear of a session.
    #[inline]
    pub fn note(&mut self, number: Number) {
        if let Some(journal) = &mut self.journal {
            journal.note(number);
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let journal = self.journal.as_ref().map_or(0, |journal| journal.bytes());
        let log = self.log.as_ref().map_or(0, |log| log.bytes());
        let softwires = self.softwires.as_ref().map_or(0, Softwires::bytes);
        let granted = self.granted.as_ref().map_or(0, |granted| granted.bytes());
        self.sessions.bytes()
            + self.subscribers.bytes()
            + self.allocation.bytes()
            + self.refusals.bytes()
            + self.algs.bytes()
            + journal
            + log
            + softwires
            + granted
    }
}

fn reason_of(refused: Refused) -> Reason {
    match refused {
        Refused::Pool => reasons::POOL_EXHAUSTED,
        Refused::Blocks => reasons::BLOCK_LIMIT,
        Refused::Ports => reasons::PORTS_EXHAUSTED,
    }
}

/// Sessions of a mapping that are over and that one packet may end.
const OVER_MAX: usize = 32;

/// Addresses that are drawn for a new subscriber.
const PAIRINGS_MAX: u32 = 4;

/// Sessions of mappings that the packets from outside of one batch may make us look at.
const WALK_MAX: u32 = 8192;
