//! What logs have to tell, and whether they do.
//!
//! What comes and goes in the model are lives: of sessions, mappings, blocks of ports and pairings
//! of a subscriber with an address. Each has to be told once when it begins and once when it ends,
//! and nothing else may be told. A device notices late that something is over: where the same thing
//! begins anew meanwhile, the two may be told as one, but for sessions.
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use function_cgnat::config::{Config, Format, Logging, Mac, Prefixed};
use function_kit::Shard;
use packet::PortId;

use super::networks::{holds, share};
use super::tables::{End, Happened, Own, Who};
use crate::log::oracle::{Collected, Facts, Way};

mod alarms;
mod facts;
mod lives;
mod way;

use alarms::Alarms;
use facts::{of_block, of_mapping, of_pairing};
use lives::{Lives, Thing};

/// What was told, and is to be.
#[derive(Clone)]
pub(super) struct Reports {
    logging: Logging,
    collector: Way,
    collected: Collected,
    lives: Lives,
    alarms: Alarms,
    /// How many mappings a subscriber has: on an address, and in a block there that begins at a
    /// port.
    pairings: BTreeMap<(Who, Ipv4Addr), usize>,
    blocks: BTreeMap<(Who, End), usize>,
    block_size: u16,
    pools: Vec<Prefixed<Ipv4Addr>>,
    /// The observation domain, and whether its log was told to begin and to end.
    domain: u32,
    has_begun: bool,
    has_ended: bool,
    /// Records so far.
    records: u64,
    /// By how much the time told differs from the model's, in milliseconds: the least and the most.
    offset_ms: Option<(i128, i128)>,
}

impl Reports {
    /// What has to be told under a configuration; none where logs are off.
    pub fn new(config: &Config, shard: Shard) -> Option<Reports> {
        let logging = config.logging.clone()?;
        let collector = Way::new(config, &logging);
        // As long as a sweep over all sessions may take.
        let rounds = u64::from(share(config.sessions, shard.count)) / LOOKED_AT_LEAST;
        // Behind a limit of messages there is no telling when one comes.
        let delay = match logging.rate {
            0 => Some(Duration::from_millis(logging.delay_ms.into())),
            _ => None,
        };
        Some(Reports {
            collector,
            collected: Collected::new(collector),
            lives: Lives::new(delay, rounds, logging.destinations),
            alarms: Alarms::new(delay),
            pairings: BTreeMap::new(),
            blocks: BTreeMap::new(),
            block_size: config.port_block.size,
            pools: config.pools.clone(),
            domain: logging.domain.wrapping_add(shard.index),
            has_begun: false,
            has_ended: false,
            records: 0,
            offset_ms: None,
            logging,
        })
    }

    /// Messages go to another collector from now on; whether they can.
    pub fn redirect(&mut self, collector: IpAddr, port: u16, next_hop_mac: Mac) -> bool {
        let logging = Logging { collector, port, next_hop_mac, ..self.logging.clone() };
        if logging.validate().is_err() {
            return false;
        }
        let Way { macs: [_, source_mac], leaves_by, .. } = self.collector;
        self.collector = Way::out_of(&logging, source_mac, leaves_by);
        self.collected.redirect(self.collector);
        self.logging = logging;
        true
    }

    /// Whether a frame that left is a message of the log.
    pub fn is_one(&self, port: PortId, frame: &[u8]) -> bool {
        self.collector.is_message(port, frame)
    }

    /// Takes what the model knows to have come or gone.
    fn follow(&mut self, happened: &Happened, now: Duration) {
        match *happened {
            Happened::SessionBegan(own, outside, far) => {
                self.begin(Thing::Session, self.session(own, outside, far), now);
            }
            Happened::SessionEnded(own, outside, far) => {
                self.end(Thing::Session, &self.session(own, outside, far), now);
            }
            Happened::MappingBegan(own, outside) => {
                self.begin(Thing::Mapping, of_mapping(own, outside), now);
                self.hold(own, outside, now);
            }
            Happened::MappingEnded(own, outside) => {
                self.end(Thing::Mapping, &of_mapping(own, outside), now);
                self.let_go(own, outside, now);
            }
            Happened::Undone(own, _) => self.lives.undone(own.1.0, now),
        }
    }

    /// A mapping needs its subscriber paired, and a block.
    fn hold(&mut self, own: Own, outside: End, now: Duration) {
        let (subscriber, block) = (own.1.0.subscriber(), self.block_of(outside));
        let pairing = self.pairings.entry((subscriber, outside.0)).or_default();
        *pairing += 1;
        if *pairing == 1 {
            self.begin(Thing::Pairing, of_pairing(subscriber, outside.0), now);
        }
        let Some(block) = block else { return };
        let mappings = self.blocks.entry((subscriber, block)).or_default();
        *mappings += 1;
        if *mappings == 1 {
            self.begin(Thing::Block, of_block(subscriber, block, self.block_size), now);
        }
    }

    fn let_go(&mut self, own: Own, outside: End, now: Duration) {
        let (subscriber, block) = (own.1.0.subscriber(), self.block_of(outside));
        if is_last(&mut self.pairings, (subscriber, outside.0)) {
            self.end(Thing::Pairing, &of_pairing(subscriber, outside.0), now);
        }
        if let Some(block) = block
            && is_last(&mut self.blocks, (subscriber, block))
        {
            self.end(Thing::Block, &of_block(subscriber, block, self.block_size), now);
        }
    }

    /// The beginning of the block in which an outside end lies; none on an address without blocks.
    fn block_of(&self, outside: End) -> Option<End> {
        let number = outside.1.checked_div(self.block_size)?;
        let is_pool = self.pools.iter().any(|pool| holds(*pool, outside.0));
        is_pool.then_some((outside.0, number * self.block_size))
    }

    fn is_told(&self, thing: Thing) -> bool {
        match thing {
            Thing::Session => self.logging.sessions,
            Thing::Mapping => self.logging.mappings,
            Thing::Block | Thing::Pairing => true,
        }
    }

    fn begin(&mut self, thing: Thing, facts: Facts, now: Duration) {
        if self.is_told(thing) {
            self.lives.begin((thing, facts), now);
        }
    }

    fn end(&mut self, thing: Thing, facts: &Facts, now: Duration) {
        if self.is_told(thing) {
            self.lives.end(&(thing, facts.clone()), now);
        }
    }

    /// What was refused last may be told for the reason that another model has, as well.
    pub fn or_as_in(&mut self, other: Option<&Reports>) {
        if let Some(other) = other {
            self.alarms.or_as_in(&other.alarms);
        }
    }

    /// A pool came at run time: it has blocks as all have.
    fn note_pools(&mut self, pools: impl Iterator<Item = Prefixed<Ipv4Addr>>) {
        self.pools = pools.collect();
    }

    /// Takes a message.
    pub fn read(&mut self, frame: &[u8], now: Duration) -> Result<(), String> {
        let told = match self.logging.format {
            Format::Ipfix => self.collected.read_ipfix(frame)?,
            Format::Syslog => vec![self.collected.read_syslog(frame)?.0],
        };
        told.into_iter().try_for_each(|facts| self.told(facts, now))
    }

    fn told(&mut self, mut facts: Facts, now: Duration) -> Result<(), String> {
        let event = facts.remove("event").ok_or("no event")?;
        let at = facts.remove("at").ok_or("no time")?;
        if event.starts_with("log-") {
            return self.told_of_log(&event, &facts);
        }
        if !self.has_begun || self.has_ended {
            return Err(format!("{event} is told outside of the log"));
        }
        self.records += 1;
        let (thing, begins) = match event.as_str() {
            "session-create" => (Thing::Session, true),
            "session-delete" => (Thing::Session, false),
            "mapping-create" => (Thing::Mapping, true),
            "mapping-delete" => (Thing::Mapping, false),
            "block-allocate" => (Thing::Block, true),
            "block-release" => (Thing::Block, false),
            "address-bind" => (Thing::Pairing, true),
            "address-unbind" => (Thing::Pairing, false),
            _ => return self.alarms.told(&event, &facts),
        };
        if !self.is_told(thing) {
            return Err(format!("{event} is not to be told"));
        }
        match begins {
            true => {
                if let Some(begun) = self.lives.told_to_begin((thing, facts), now)? {
                    self.compare_times(&at, begun)?;
                }
                Ok(())
            }
            false => self.lives.told_to_end(&(thing, facts)),
        }
    }

    /// The log begins before everything else. At its end all that began is over, and it says how
    /// many records it has.
    fn told_of_log(&mut self, event: &str, facts: &Facts) -> Result<(), String> {
        let mut right = Facts::from([("domain".to_owned(), self.domain.to_string())]);
        if event == "log-end" {
            right.insert("told".to_owned(), self.records.to_string());
            right.insert("lost".to_owned(), 0.to_string());
        }
        self.records += 1;
        if *facts != right {
            return Err(format!("{event} with {facts:?}, not {right:?}"));
        }
        let is_right = match event {
            "log-begin" => !std::mem::replace(&mut self.has_begun, true),
            "log-end" if self.lives.told_live() > 0 => {
                return Err(format!("an end, with {} that live", self.lives.told_live()));
            }
            _ => self.has_begun && !std::mem::replace(&mut self.has_ended, true),
        };
        is_right.then_some(()).ok_or_else(|| format!("{event} out of order"))
    }

    fn compare_times(&mut self, at: &str, begun: Duration) -> Result<(), String> {
        let at: i128 = at.parse().map_err(|_| format!("{at} is no time"))?;
        let offset = at - begun.as_millis() as i128;
        let (least, most) = self.offset_ms.unwrap_or((offset, offset));
        self.offset_ms = Some((least.min(offset), most.max(offset)));
        Ok(())
    }

    /// Whether the log was told to end.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// What should have been told by now and was not.
    pub fn overdue(&mut self, now: Duration) -> Vec<String> {
        let mut missing = self.lives.overdue(now);
        missing.append(&mut self.alarms.overdue(now));
        missing
    }

    /// The facts of a session.
    fn session(&self, own: Own, outside: End, far: End) -> Facts {
        let mut facts = of_mapping(own, outside);
        if self.logging.destinations {
            facts.insert("to".to_owned(), far.0.to_string());
            facts.insert("toport".to_owned(), far.1.to_string());
        }
        facts
    }
}

/// Takes one of a count away; whether it was the last.
fn is_last<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) -> bool {
    match counts.get_mut(&key) {
        Some(count) if *count > 1 => {
            *count -= 1;
            false
        }
        Some(_) => counts.remove(&key).is_some(),
        None => false,
    }
}

/// Sessions that a device looks at in each round, at least.
const LOOKED_AT_LEAST: u64 = 16_384;
