//! Peers come and go while the others stay: what a reload of the file changes without a new
//! beginning.

use std::collections::BTreeMap;
use std::net::IpAddr;

use protocol_kit::Time;

use super::RouteReflector;
use crate::config::{Config, PeerKeys};

impl RouteReflector {
    /// Takes other peers and collectors, where nothing else is another one than before. False if all
    /// is to begin anew: signatures and the least Time To Live of peers are those of listeners, too.
    pub(super) fn change_peers(&mut self, config: &Config, now: Time) -> bool {
        let config = &self.changes.apply(config);
        let (peers, bmp) = (self.config.peers.clone(), self.config.bmp.clone());
        let same = Config { peers, bmp, ..config.clone() };
        let is_same = same == self.config && of_listeners(config) == of_listeners(&self.config);
        if !is_same || config.check().is_err() {
            return false;
        }
        let before = std::mem::replace(&mut self.config, config.clone());
        let (old, wanted) = (by_address(&before), by_address(config));
        let gone = before.peers.iter().filter(|keys| wanted.get(&keys.address) != Some(keys));
        let new = config.peers.iter().filter(|keys| old.get(&keys.address) != Some(keys));
        let new: Vec<&PeerKeys> = new.collect();
        // One that a network has let in goes, too, when it is named.
        for address in gone.chain(new.iter().copied()).map(|keys| keys.address) {
            if let Some(number) = self.peers.of_address(address) {
                self.remove(number, now);
            }
        }
        self.restarting.has_happened = true;
        // Where there are no more numbers, all begins anew.
        let mut add = |keys: &PeerKeys| self.peers.add(config, keys, None, &mut self.random);
        let has_room = new.into_iter().all(|keys| add(keys).is_some());
        self.change_collectors(now);
        has_room
    }

    pub(super) fn remove(&mut self, number: u16, now: Time) {
        self.with_peer(number, now, |peer, sink| peer.remove(now, sink));
        self.peers.unname(number);
        self.forget_kept(number);
    }
}

fn by_address(config: &Config) -> BTreeMap<IpAddr, &PeerKeys> {
    config.peers.iter().map(|keys| (keys.address, keys)).collect()
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
