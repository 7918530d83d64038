//! The log of a worker, between what happens there and the frames that tell it.
//!
//! The state of a NAT holds one where logs are on, and nothing where they are off.
use std::net::{IpAddr, Ipv4Addr};

use export::{COUNTS, Collector, Logger, Logging, Side};
use function_kit::Shard;
use machine::clock::{Clock, Ticks};
use packet::{Made, PortId};
use wire::MacAddr;

use crate::config::{Config, Mac};
use crate::ds_lite::Names;
use crate::log::event::{Event, Kind};
use crate::sessions::allocation::BlockChange;
use crate::sessions::session::Session;
use crate::sessions::subscribers::Subscriber;
use crate::types::flow::SOFTWIRES;
use crate::types::sides::{INSIDE, OUTSIDE};

/// The log of a worker, and the time of the batch in hand.
pub struct Journal {
    logger: Logger<Event>,
    /// What holds of the log now, and by which address and port of the NAT it leaves.
    logging: Logging,
    leaves: (MacAddr, PortId),
    softwires: Names,
    now: Ticks,
    /// The observation domain of the worker.
    domain: u32,
    /// Whether the end of the log was noted, behind which nothing is.
    is_over: bool,
}

impl Journal {
    /// The log of a worker as it begins at `now`; none where logs are off. The time of day is read
    /// here and never again, unless the configuration says what it is.
    pub fn new(config: &Config, shard: Shard, clock: Clock, now: Ticks) -> Option<Box<Journal>> {
        let logging = config.logging.as_ref()?;
        let epoch = logging.epoch(now, clock);
        let mut logger = Logger::new(logging, collector(config, logging), shard.index, epoch);
        let domain = logging.domain.wrapping_add(shard.index);
        logger.note(&Event::log_begin(domain, now));
        let softwires = Names::new(config);
        let Collector { source_mac, leaves_by, .. } = collector(config, logging);
        let (logging, leaves) = (logging.clone(), (source_mac, leaves_by));
        let is_over = false;
        Some(Box::new(Journal { logger, logging, leaves, softwires, now, domain, is_over }))
    }

    /// Lets the log go somewhere else from now on; tells whether it can.
    pub fn redirect(&mut self, collector: IpAddr, port: u16, next_hop_mac: Mac) -> bool {
        let logging = Logging { collector, port, next_hop_mac, ..self.logging.clone() };
        let (mac, leaves_by) = self.leaves;
        let can =
            logging.validate().is_ok() && self.logger.redirect(logging.collector(mac, leaves_by));
        if can {
            self.logging = logging;
        }
        can
    }

    /// What holds of the log now.
    pub fn logging(&self) -> &Logging {
        &self.logging
    }

    /// Notes the end of the log, behind which nothing is told.
    pub fn end(&mut self) {
        if !self.is_over {
            let end = Event::log_end(self.domain, self.logger.told_and_lost(), self.now);
            self.logger.note(&end);
            self.is_over = true;
        }
    }

    /// Whether there is a place for what the end of a session is told by, or there will be no more.
    pub fn takes_an_end(&self) -> bool {
        self.logger.room() >= ENDS || self.logger.is_idle()
    }

    /// How many events have not left; 0 behind the end of the log.
    pub fn left(&self) -> u64 {
        let open = u64::from(!self.logger.is_idle() || !self.is_over);
        open.max(self.logger.waiting() as u64)
    }

    /// Says when happens what is told from now on.
    #[inline]
    pub fn set_time(&mut self, now: Ticks) {
        self.now = now;
    }

    /// A session began or ended, or with it its mapping.
    pub fn session(&mut self, kind: Kind, session: &Session) {
        if !self.is_over && self.logger.tells(kind) {
            let far = session.far;
            let (inside, inside_ipv4, realm) = self.inside(session.realm(), session.inside);
            self.note(&Event {
                inside,
                inside_ipv4,
                outside: Ipv4Addr::from_bits(session.outside),
                remote: Ipv4Addr::from_bits(far.address()),
                realm,
                inside_port: session.inside_port(),
                first_port: session.outside_port,
                remote_port: far.port(),
                protocol: far.protocol(),
                ..Event::of(kind, self.now)
            });
        }
    }

    /// A subscriber got a block of an outside address, or it was taken back.
    pub fn block(&mut self, kind: Kind, who: &Subscriber, (outside, block): (u32, BlockChange)) {
        self.note(&Event {
            outside: Ipv4Addr::from_bits(outside),
            first_port: block.first_port,
            last_port: block.first_port + (block.size - 1),
            ..self.of_subscriber(kind, who)
        });
    }

    /// A subscriber was paired with an outside address, or is no longer.
    pub fn pairing(&mut self, kind: Kind, who: &Subscriber, outside: u32) {
        let outside = Ipv4Addr::from_bits(outside);
        self.note(&Event { outside, ..self.of_subscriber(kind, who) });
    }

    /// A subscriber has as much as it may have.
    pub fn limit(&mut self, who: &Subscriber, limit: u32) {
        self.note(&Event { limit, ..self.of_subscriber(Kind::SubscriberLimit, who) });
    }

    /// An outside address has no free port of a protocol.
    pub fn ports_exhausted(&mut self, outside: u32, protocol: u8) {
        let outside = Ipv4Addr::from_bits(outside);
        self.note(&Event { outside, protocol, ..Event::of(Kind::PortsExhausted, self.now) });
    }

    /// No pool has an address with room: the pool of number 0 stands for all of them.
    pub fn addresses_exhausted(&mut self) {
        self.note(&Event::of(Kind::AddressesExhausted, self.now));
    }

    /// A table is full.
    pub fn full(&mut self, kind: Kind, limit: usize) {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        self.note(&Event { limit, ..Event::of(kind, self.now) });
    }

    /// Makes the frames that are due.
    #[inline]
    pub fn flush(&mut self, now: Ticks, made: &mut Made) {
        self.logger.flush(now, made);
    }

    /// What was counted so far, in the order of [`COUNTS`].
    #[inline]
    pub fn counts(&self) -> &[u64; COUNTS.len()] {
        self.logger.counts()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.logger.state_bytes()
    }

    fn note(&mut self, event: &Event) {
        if !self.is_over {
            self.logger.note(event);
        }
    }

    fn of_subscriber(&self, kind: Kind, who: &Subscriber) -> Event {
        let (inside, inside_ipv4, realm) = self.inside(who.realm, who.address);
        Event { inside, inside_ipv4, realm, ..Event::of(kind, self.now) }
    }

    /// An address as sessions and subscribers have it, and its realm, as events have them: of who
    /// is behind a softwire the B4 element's, as far as it names a subscriber, and the inner one
    /// beside it.
    fn inside(&self, realm: u16, [upper, lower]: [u64; 2]) -> (u128, Ipv4Addr, u32) {
        let (ipv4, none) = (Ipv4Addr::from_bits(lower as u32), Ipv4Addr::UNSPECIFIED);
        match (realm, upper, lower >> 32) {
            (SOFTWIRES.., ..) => (self.softwires.b4(realm, [upper, lower]).to_bits(), ipv4, 0),
            (_, 0, 0) => (ipv4.to_ipv6_mapped().to_bits(), none, realm.into()),
            _ => (u128::from(upper) << 64 | u128::from(lower), none, realm.into()),
        }
    }
}

/// Events by which the end of a session is told at most: its own, and those of its mapping, block
/// and pairing.
const ENDS: usize = 4;

/// The way to the collector of a configuration.
pub fn collector(config: &Config, logging: &Logging) -> Collector {
    match logging.leaves_by {
        Side::Inside => logging.collector(config.inside_mac.0, INSIDE),
        Side::Outside => logging.collector(config.outside_mac.0, OUTSIDE),
    }
}
