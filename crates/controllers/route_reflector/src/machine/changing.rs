//! Peers that operators add and take away while the reflector runs, beside those of the file.

use controller_kit::Unanswered;
use protocol_kit::Time;
use serde_json::Map;

use super::RouteReflector;
use super::obeying::Done;
use crate::asked::peer;
use crate::commands::Named;
use crate::config::PeerKeys;

impl RouteReflector {
    /// Adds a peer, which is looked for at once.
    pub(super) fn add_peer(&mut self, keys: PeerKeys, now: Time) -> Done {
        let address = keys.address;
        if self.config.peers.iter().any(|one| one.address == address) {
            let remedy = format!("take it away first: `plumbline set remove-peer peer={address}`");
            return Err(Unanswered::new(format!("there is a peer {address}"), remedy));
        }
        let mut config = self.config.clone();
        config.peers.push(keys.clone());
        config.check().map_err(|bad| Unanswered::new(bad.to_string(), bad.remedy))?;
        if !config.listen.is_empty() && !self.changes.fits(&keys) {
            let what = "where connections are accepted, `md5` and `ttl-min` stay as they are";
            let remedy = "write the peer into the file and reload it: all sessions begin anew";
            return Err(Unanswered::new(what, remedy));
        }
        // One that a network has let in gives way to the one that is named.
        if let Some(number) = self.peers.of_address(address) {
            self.remove(number, now);
        }
        if self.peers.add(&config, &keys, None, &mut self.random).is_none() {
            let remedy = "take away one that is not needed: `plumbline set remove-peer`";
            return Err(Unanswered::new("there is no room for another peer", remedy));
        }
        self.config = config;
        self.changes.add(keys);
        self.changed(format!("peer {address} is added"), now)
    }

    /// Takes a peer away for good.
    pub(super) fn remove_peer(&mut self, Named { peer: text }: &Named, now: Time) -> Done {
        let number = peer(self.seen(now), text)?;
        let found = self.peers.get(number).filter(|entry| entry.network.is_none());
        let Some(address) = found.map(|entry| entry.peer.config().peer) else {
            let what = format!("{text} is not named, but of a network of `dynamic`");
            let remedy = format!("keep it away by `plumbline set shut-peer peer={text}`");
            return Err(Unanswered::new(what, remedy));
        };
        self.remove(number, now);
        self.config.peers.retain(|one| one.address != address);
        self.changes.remove(address);
        self.changed(format!("peer {address} is removed"), now)
    }

    fn changed(&mut self, text: String, now: Time) -> Done {
        self.restarting.has_happened = true;
        self.change_collectors(now);
        self.lines.order(now, text);
        Ok(Map::new())
    }
}
