//! Peers come and go while the others stay: what a reload of the file changes without a new
//! beginning.

use std::collections::BTreeMap;
use std::net::IpAddr;

use protocol_kit::Time;

use super::RouteReflector;
use super::changes::of_listeners;
use crate::config::{Config, PeerKeys};
use crate::peers::Wishes;
use crate::policy::Policies;

impl RouteReflector {
    /// Takes other peers, collectors and policies, where nothing else is another one than before.
    /// False if all is to begin anew: signatures and the least Time To Live of peers are those of
    /// listeners, too.
    pub(super) fn change_peers(&mut self, config: &Config, now: Time) -> bool {
        let config = &self.changes.apply(config);
        let (peers, bmp) = (self.config.peers.clone(), self.config.bmp.clone());
        let policies = self.config.policies.clone();
        let same = Config { peers, bmp, policies, ..config.clone() };
        let is_same = same == self.config && of_listeners(config) == of_listeners(&self.config);
        if !is_same || config.check().is_err() {
            return false;
        }
        let before = std::mem::replace(&mut self.config, config.clone());
        let (old, wanted) = (by_address(&before), by_address(config));
        let gone = before.peers.iter().filter(|keys| !goes_on(wanted.get(&keys.address), keys));
        let new = config.peers.iter().filter(|keys| !goes_on(old.get(&keys.address), keys));
        let new: Vec<&PeerKeys> = new.collect();
        // One that a network has let in goes, too, when it is named.
        for address in gone.chain(new.iter().copied()).map(|keys| keys.address) {
            if let Some(number) = self.peers.of_address(address) {
                self.remove(number, now);
            }
        }
        self.change_policies(now);
        self.restarting.has_happened = true;
        // Where there are no more numbers, all begins anew.
        let mut add = |keys: &PeerKeys| self.peers.add(config, keys, None, &mut self.random);
        let has_room = new.into_iter().all(|keys| add(keys).is_some());
        self.change_collectors(now);
        has_room
    }

    /// Peers are taken and told by the policies of the present configuration. Where a session
    /// stands whose policies are others, it goes on: the peer is asked for its routes again, and
    /// told others. It begins anew if the peer cannot be asked, and if it is to be told nothing any
    /// more.
    fn change_policies(&mut self, now: Time) {
        let policies = Policies::new(&self.config, self.policies.clone());
        let before = std::mem::replace(&mut self.policies, policies);
        let keys = by_address(&self.config);
        let mut anew = Vec::new();
        for at in 0..self.peers.entries.len() as u16 {
            let Some(entry) = self.peers.get_mut(at) else { continue };
            let address = entry.peer.config().peer;
            let was = entry.wishes.clone();
            if let Some(keys) = keys.get(&address).filter(|_| entry.network.is_none()) {
                entry.wishes = Wishes::of(keys);
            }
            let Some(agreed) = entry.peer.negotiated() else { continue };
            let now = |name: &Option<String>| self.policies.of(name.as_ref(), entry.kind);
            let then = |name: &Option<String>| before.of(name.as_ref(), entry.kind);
            let (import, export) = (now(&entry.wishes.import), now(&entry.wishes.export));
            let has_import = import == then(&was.import);
            let has_export = export == then(&was.export);
            let is_told_nothing = export.as_ref().is_some_and(|it| it.takes_nothing());
            if !has_import && !agreed.has_refresh || !has_export && is_told_nothing {
                anew.push(at);
                continue;
            }
            if !has_import {
                self.reflector.import_by(at, import);
                entry.is_to_tell_again = true;
            }
            if !has_export {
                self.reflector.export_by(at, export.as_ref());
            }
        }
        self.has_more = true;
        for number in 0..self.peers.entries.len() as u16 {
            self.with_peer(number, now, |peer, sink| {
                if anew.contains(&number) {
                    peer.reset("its policies are others", now, sink);
                }
            });
        }
    }

    pub(super) fn remove(&mut self, number: u16, now: Time) {
        self.with_peer(number, now, |peer, sink| peer.remove(now, sink));
        self.peers.unname(number);
        self.forget_kept(number);
    }
}

/// Whether the session with a peer goes on with other keys: all but its policies are the same.
fn goes_on(one: Option<&&PeerKeys>, other: &PeerKeys) -> bool {
    let Some(one) = one else { return false };
    let (import, export) = (other.import.clone(), other.export.clone());
    PeerKeys { import, export, ..(*one).clone() } == *other
}

fn by_address(config: &Config) -> BTreeMap<IpAddr, &PeerKeys> {
    config.peers.iter().map(|keys| (keys.address, keys)).collect()
}
