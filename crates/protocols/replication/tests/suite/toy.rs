//! A function whose state is a map of numbers to values, with both of its workers.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use protocol_kit::Secret;
use protocol_replication::{
    Active, Change, Credentials, Hearing, Identity, Link, Malformed, Pair, Part, RING, Received,
    Roles, Standby, Standing, number,
};
use rtrb::{Producer, RingBuffer};

/// A number and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub number: u32,
    pub value: u32,
}

impl Value {
    /// All that there is was told on a connection.
    fn whole(connection: u64) -> Value {
        Value { number: WHOLE, value: connection as u32 }
    }
}

impl Change for Value {
    const MAGIC: [u8; 8] = *b"toyworld";
    const VERSION: u16 = 3;
    const LEN_MAX: usize = 8;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.number.to_be_bytes());
        out.extend(self.value.to_be_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Result<Value, Malformed> {
        Ok(Value { number: number(bytes)?, value: number(bytes)? })
    }
}

/// What both sides are configured with, and the random bytes of this one.
#[derive(Clone)]
pub struct Settings {
    pub at: SocketAddr,
    pub digest: [u8; 32],
    pub shard: (u32, u32),
    pub key: Option<&'static str>,
    pub changes_per_s: u32,
    pub seed: u64,
}

pub const PLAIN: Settings =
    Settings { at: AT, digest: [9; 32], shard: (0, 1), key: None, changes_per_s: 0, seed: 1 };

pub const KEYED: Settings = Settings { key: Some("a key that both have"), ..PLAIN };

const AT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7400);

impl Settings {
    fn credentials(&self, side: u8) -> Credentials {
        let mut seed = [side; 32];
        seed[..8].copy_from_slice(&self.seed.to_be_bytes());
        Credentials::new(self.key.map(|key| Secret(key.as_bytes().to_vec())), seed)
    }

    pub fn active(&self) -> (Active<Value>, Teller) {
        let (ring, consumer) = RingBuffer::new(RING);
        let link = Arc::new(Link::default());
        let credentials = self.credentials(1);
        let identity =
            Identity { digest: self.digest, shard: self.shard, instance: credentials.instance() };
        let ends = (consumer, link.clone());
        let machine = Active::new((self.at, identity), credentials, ends, self.changes_per_s);
        (machine, Teller { ring, link, ..Teller::empty() })
    }

    /// One of two, which listens elsewhere; each has a side, 0 or 1.
    pub fn pair(&self, own: SocketAddr, side: u32) -> (Pair<Value>, Member) {
        let (tells, teller) = self.active();
        let (hears, applier) = Settings { at: own, ..self.clone() }.standby();
        let links = [teller.link.clone(), applier.hearing.link().clone()];
        let teller = Teller { step: 2, next: side, ..teller };
        let applier = Applier { told: Some(BTreeSet::new()), ..applier };
        let roles = Roles::new(links, PATIENCE_NS);
        (Pair::new(tells, hears), Member { roles, teller, applier, side, left: None })
    }

    pub fn standby(&self) -> (Standby<Value>, Applier) {
        let (producer, ring) = RingBuffer::new(RING);
        let link = Arc::new(Link::default());
        let own = (self.digest, self.shard);
        let machine = Standby::new(self.at, own, self.credentials(2), (producer, link.clone()));
        let hearing = Hearing::new(ring, link.clone());
        let values = BTreeMap::new();
        (machine, Applier { hearing, link, values, afresh: 0, told: None, whole: None })
    }
}

/// The worker of the active function.
pub struct Teller {
    pub ring: Producer<Value>,
    pub link: Arc<Link>,
    pub values: BTreeMap<u32, u32>,
    dirty: BTreeSet<u32>,
    resynchronisations: u64,
    handed_over: u64,
    next: u32,
    /// 1 for one alone; 2 for one of a pair, so that values of both sides differ.
    step: u32,
    /// Whether it has to tell yet that all was told.
    owes_whole: bool,
    /// The connection that it saw last, and what it had then.
    pub connected: (u64, BTreeMap<u32, u32>),
    /// Whether it waits for somebody to tell everything to.
    is_new: bool,
}

impl Teller {
    fn empty() -> Teller {
        Teller {
            ring: RingBuffer::new(1).0,
            link: Arc::default(),
            values: BTreeMap::new(),
            dirty: BTreeSet::new(),
            resynchronisations: 0,
            handed_over: 0,
            next: 1,
            step: 1,
            owes_whole: false,
            connected: (0, BTreeMap::new()),
            is_new: false,
        }
    }

    /// Gives a number a value that is larger than any before.
    pub fn set(&mut self, number: u32) {
        self.values.insert(number, self.next);
        self.next += self.step;
        self.dirty.insert(number);
    }

    /// Hands over what there is room for.
    pub fn round(&mut self) {
        let connection = self.link.connection();
        let wanted = self.link.resynchronisations();
        if wanted != self.resynchronisations {
            self.resynchronisations = wanted;
            self.dirty.extend(self.values.keys());
            self.is_new = false;
        }
        if self.connected.0 != connection {
            self.connected = (connection, self.values.clone());
            self.owes_whole = self.step == 2;
        }
        while wanted > 0 && !self.is_new && self.ring.slots() > 0 {
            let change = match self.dirty.pop_first() {
                Some(number) => Value { number, value: self.values[&number] },
                None if std::mem::take(&mut self.owes_whole) => Value::whole(connection),
                None => return,
            };
            assert!(self.ring.push(change).is_ok(), "there is room");
            self.handed_over += 1;
        }
    }

    /// Whether its machine has all that it has to tell.
    fn has_told(&self) -> bool {
        self.resynchronisations == self.link.resynchronisations()
            && self.connected.0 == self.link.connection()
            && self.dirty.is_empty()
            && !self.is_new
            && !self.owes_whole
    }

    pub fn is_synchronised(&self) -> bool {
        self.link.is_connected() && self.has_told() && self.handed_over == self.link.last_done()
    }
}

/// The worker of the standby.
pub struct Applier {
    pub hearing: Hearing<Value>,
    pub link: Arc<Link>,
    pub values: BTreeMap<u32, u32>,
    pub afresh: u64,
    /// Of one of a pair, numbers that were told by the one that tells now.
    told: Option<BTreeSet<u32>>,
    /// The connection on which all was told.
    whole: Option<u32>,
}

impl Applier {
    /// Applies at most so many changes. A value that is older than the one it has came out of
    /// order.
    pub fn round(&mut self, most: usize) -> Result<(), String> {
        for _ in 0..most {
            let Some(received) = self.hearing.take() else { break };
            match (received, &mut self.told) {
                (Received::Afresh, told) => {
                    match told {
                        None => self.values.clear(),
                        Some(told) => told.clear(),
                    }
                    (self.afresh, self.whole) = (self.afresh + 1, None);
                }
                (Received::Change(Value { number: WHOLE, value }), told) => {
                    // What the one that tells has not got is not true.
                    let told = told.as_ref().ok_or("nobody of a pair")?;
                    self.values.retain(|number, _| told.contains(number));
                    self.whole = Some(value);
                }
                (Received::Change(Value { number, value }), told) => {
                    let before = self.values.insert(number, value);
                    let is_known = told.as_mut().is_none_or(|told| !told.insert(number));
                    if is_known && before.is_some_and(|before| before > value) {
                        return Err(format!("{number} was {before:?} and is {value}"));
                    }
                }
            }
        }
        self.hearing.done();
        Ok(())
    }

    /// Whether it has all that the one that tells has told.
    pub fn is_synchronised(&self) -> bool {
        let connection = self.link.connection() as u32;
        self.hearing.is_current() && self.whole == Some(connection)
    }
}

/// The worker of one of two.
pub struct Member {
    pub roles: Roles,
    pub teller: Teller,
    pub applier: Applier,
    side: u32,
    /// What it had when it last stopped telling, if somebody heard it.
    pub left: Option<BTreeMap<u32, u32>>,
}

impl Member {
    /// What it knows.
    pub fn values(&self) -> &BTreeMap<u32, u32> {
        match self.roles.part() {
            Part::Told | Part::Waiting => &self.applier.values,
            Part::Telling | Part::Leaving => &self.teller.values,
        }
    }

    /// Goes round, and applies at most so many changes; true if its part is another one then.
    pub fn round(&mut self, wants: bool, now_ns: u64, most: usize) -> Result<bool, String> {
        let before = self.roles.part();
        let is_told = self.applier.link.is_connected();
        let is_heard = self.teller.link.is_connected() && !self.teller.is_new;
        match before {
            Part::Told | Part::Waiting => self.applier.round(most)?,
            Part::Telling | Part::Leaving => self.teller.round(),
        }
        let (has_applied, has_told) = (self.applier.hearing.is_empty(), self.teller.has_told());
        let standing = Standing { is_told, has_applied, has_told };
        let is_other = self.roles.turn(wants, now_ns, standing);
        match (before, self.roles.part()) {
            (Part::Waiting, Part::Telling) => {
                self.teller.values = std::mem::take(&mut self.applier.values);
                // Later than whatever it knows of, and not what the other one would say.
                let last = self.teller.values.values().max().map_or(1, |last| last / 2 + 1);
                self.teller.next = last * 2 + self.side;
                self.teller.is_new = true;
            }
            (Part::Leaving, Part::Told) => {
                self.applier.values = std::mem::take(&mut self.teller.values);
                self.left = is_heard.then(|| self.applier.values.clone());
                self.teller.dirty.clear();
                self.applier.whole = None;
            }
            _ => {}
        }
        Ok(is_other)
    }
}

/// The number of what is no value: all that there is was told.
const WHOLE: u32 = u32::MAX;

/// For how long one of a pair waits for the other one.
const PATIENCE_NS: u64 = 50_000_000;
