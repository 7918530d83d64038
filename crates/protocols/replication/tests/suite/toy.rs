//! A function whose state is a map of numbers to values, with both of its workers.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use protocol_kit::Secret;
use protocol_replication::{
    Active, Change, Credentials, Identity, Link, Malformed, RING, Received, Standby, number,
};
use rtrb::{Consumer, Producer, RingBuffer};

/// A number and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub number: u32,
    pub value: u32,
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

    pub fn standby(&self) -> (Standby<Value>, Applier) {
        let (producer, ring) = RingBuffer::new(RING);
        let link = Arc::new(Link::default());
        let own = (self.digest, self.shard);
        let machine = Standby::new(self.at, own, self.credentials(2), (producer, link.clone()));
        (machine, Applier { ring, link, values: BTreeMap::new(), taken: 0, afresh: 0 })
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
        }
    }

    /// Gives a number a value that is larger than any before.
    pub fn set(&mut self, number: u32) {
        self.values.insert(number, self.next);
        self.next += 1;
        self.dirty.insert(number);
    }

    /// Hands over what there is room for.
    pub fn round(&mut self) {
        let wanted = self.link.resynchronisations();
        if wanted != self.resynchronisations {
            self.resynchronisations = wanted;
            self.dirty.extend(self.values.keys());
        }
        while wanted > 0 && self.ring.slots() > 0 {
            let Some(number) = self.dirty.pop_first() else { return };
            let value = self.values[&number];
            assert!(self.ring.push(Value { number, value }).is_ok(), "there is room");
            self.handed_over += 1;
        }
    }

    pub fn is_synchronised(&self) -> bool {
        self.link.is_connected()
            && self.resynchronisations == self.link.resynchronisations()
            && self.dirty.is_empty()
            && self.handed_over == self.link.last_done()
    }
}

/// The worker of the standby.
pub struct Applier {
    pub ring: Consumer<Received<Value>>,
    pub link: Arc<Link>,
    pub values: BTreeMap<u32, u32>,
    taken: u64,
    pub afresh: u64,
}

impl Applier {
    /// Applies at most so many changes. A value that is older than the one it has came out of
    /// order.
    pub fn round(&mut self, most: usize) -> Result<(), String> {
        for _ in 0..most {
            let Ok(received) = self.ring.pop() else { break };
            self.taken += 1;
            match received {
                Received::Afresh => {
                    self.values.clear();
                    self.afresh += 1;
                }
                Received::Change(Value { number, value }) => {
                    let before = self.values.insert(number, value);
                    if before.is_some_and(|before| before > value) {
                        return Err(format!("{number} was {before:?} and is {value}"));
                    }
                }
            }
        }
        self.link.done(self.taken);
        Ok(())
    }
}
