//! What operators have changed of the peers of the file.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::config::{Config, PeerKeys};

/// What operators have changed of the peers of the file.
#[derive(Debug)]
pub(super) struct Changes {
    /// Those of the file.
    file: Vec<PeerKeys>,
    added: BTreeMap<IpAddr, PeerKeys>,
    removed: BTreeSet<IpAddr>,
    /// The keys of MD5 and the least Time To Live that listeners have.
    of_listeners: (Option<u8>, BTreeMap<IpAddr, String>),
}

impl Changes {
    /// Nothing.
    pub fn new(config: &Config) -> Changes {
        let (ttl_min, signed) = of_listeners(config);
        let signed = signed.into_iter().map(|(address, key)| (address, key.clone())).collect();
        let (file, of_listeners) = (config.peers.clone(), (ttl_min, signed));
        Changes { file, added: BTreeMap::new(), removed: BTreeSet::new(), of_listeners }
    }

    /// Adds what was changed to another file: peers that were added stay unless the file has their
    /// address, and those that were removed stay away while the file says the same of them.
    pub fn apply(&mut self, file: &Config) -> Config {
        let Changes { file: before, added, removed, .. } = self;
        let before = std::mem::replace(before, file.peers.clone());
        let is_same = |address: &IpAddr| {
            let find = |all: &[PeerKeys]| all.iter().find(|one| one.address == *address).cloned();
            find(&before) == find(&file.peers)
        };
        removed.retain(is_same);
        added.retain(|address, _| file.peers.iter().all(|one| one.address != *address));
        let of_file = file.peers.iter().filter(|one| !removed.contains(&one.address));
        let peers = of_file.chain(added.values()).cloned().collect();
        Config { peers, ..file.clone() }
    }

    /// Notes a peer that was added.
    pub fn add(&mut self, keys: PeerKeys) {
        self.removed.remove(&keys.address);
        self.added.insert(keys.address, keys);
    }

    /// Notes a peer that was removed.
    pub fn remove(&mut self, address: IpAddr) {
        if self.added.remove(&address).is_none() {
            self.removed.insert(address);
        }
    }

    /// Whether listeners do what is said of a peer: they are not opened anew for one.
    pub fn fits(&self, keys: &PeerKeys) -> bool {
        let (ttl_min, signed) = &self.of_listeners;
        let own = Some(keys.ttl_min).filter(|least| *least > 0);
        own == *ttl_min && signed.get(&keys.address) == keys.md5.as_ref()
    }
}

/// What listeners have of peers.
pub(super) fn of_listeners(config: &Config) -> (Option<u8>, Vec<(IpAddr, &String)>) {
    if config.listen.is_empty() {
        return (None, Vec::new());
    }
    let signed = config.peers.iter().filter_map(|keys| Some((keys.address, keys.md5.as_ref()?)));
    let mut signed: Vec<_> = signed.collect();
    signed.sort_unstable();
    (config.peers.first().map(|keys| keys.ttl_min).filter(|least| *least > 0), signed)
}
