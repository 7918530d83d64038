//! What operators tell the reflector to do with peers: each command is done as a whole, or refused
//! and nothing of it is done.

use controller_kit::{NoKeys, Unanswered, keys_of};
use protocol_bgp::families::FamilySet;
use protocol_kit::Time;
use serde_json::{Map, Value, json};

use super::RouteReflector;
use crate::agreed::{identities, terms};
use crate::asked::peer;
use crate::commands::{Direction, Drained, Ended, Named, Refreshed};
use crate::peers::Entry;

/// What a person is told, or why nothing was done.
pub(super) type Done = Result<Map<String, Value>, Unanswered>;

impl RouteReflector {
    /// Does what a command says.
    pub(super) fn obey(&mut self, name: &str, keys: &Map<String, Value>, now: Time) -> Done {
        match name {
            "dump-tables" => {
                let NoKeys {} = keys_of(keys)?;
                Ok(Map::from_iter([("file".to_owned(), self.dump_tables(now)?.into())]))
            }
            "reset-peer" => self.reset(&keys_of(keys)?, now),
            "refresh-peer" => self.refresh(&keys_of(keys)?, now),
            "shut-peer" => self.shut(&keys_of(keys)?, now),
            "enable-peer" => self.enable(&keys_of(keys)?, now),
            "add-peer" => self.add_peer(keys_of(keys)?, now),
            "remove-peer" => self.remove_peer(&keys_of(keys)?, now),
            "drain" => self.drain(&keys_of(keys)?, true, now),
            "undrain" => self.drain(&keys_of(keys)?, false, now),
            _ => Err(Unanswered::unknown("command", name, &[])),
        }
    }

    /// A peer that an operator names, which was not shut.
    fn named(&mut self, text: &str, now: Time) -> Result<(u16, &mut Entry), Unanswered> {
        let number = peer(self.seen(now), text)?;
        let Some(entry) = self.peers.get_mut(number) else {
            return Err(Unanswered::unknown("peer", text, &[]));
        };
        match entry.is_shut {
            true => Err(Unanswered::new(
                format!("{text} is shut"),
                format!("let it up first: `plumbline set enable-peer peer={text}`"),
            )),
            false => Ok((number, entry)),
        }
    }

    /// The session with a peer ends, and nothing of it is kept. One that stays away may come back.
    fn reset(&mut self, Ended { peer, text }: &Ended, now: Time) -> Done {
        let (number, entry) = self.named(peer, now)?;
        entry.away = None;
        self.with_peer(number, now, |peer, sink| peer.renew(text, now, sink));
        self.forget_kept(number);
        Ok(Map::new())
    }

    /// The same, and the peer stays away.
    fn shut(&mut self, Ended { peer, text }: &Ended, now: Time) -> Done {
        let (number, entry) = self.named(peer, now)?;
        (entry.is_shut, entry.away) = (true, None);
        self.with_peer(number, now, |peer, sink| peer.stop(text, now, sink));
        self.forget_kept(number);
        Ok(Map::new())
    }

    fn enable(&mut self, Named { peer: text }: &Named, now: Time) -> Done {
        let number = peer(self.seen(now), text)?;
        let is_shut = |entry: &mut Entry| std::mem::take(&mut entry.is_shut);
        if !self.peers.get_mut(number).is_some_and(is_shut) {
            let what = format!("{text} was not shut");
            return Err(Unanswered::new(what, "`plumbline show table peers` says why it is down"));
        }
        self.with_peer(number, now, |peer, _| peer.start(now));
        Ok(Map::new())
    }

    /// A peer is told that all routes are about to go, and its own ones are preferred least; of all
    /// of them the former alone, for there is none to be preferred (RFC 8326 section 4).
    fn drain(&mut self, Drained { peer: text }: &Drained, is_drained: bool, now: Time) -> Done {
        let numbers: Vec<u16> = match text {
            Some(text) => {
                let number = peer(self.seen(now), text)?;
                let entry = self.peers.get_mut(number).filter(|one| one.is_drained != is_drained);
                let Some(entry) = entry else { return Err(as_before(text, is_drained)) };
                entry.is_drained = is_drained;
                vec![number]
            }
            None if self.peers.are_drained == is_drained => {
                return Err(as_before("what all are told", is_drained));
            }
            None => {
                self.peers.are_drained = is_drained;
                self.peers.iter().map(|(number, _)| number).collect()
            }
        };
        for number in numbers {
            let Some(entry) = self.peers.get(number) else { continue };
            let terms = terms(&self.config, entry, self.peers.are_drained);
            self.reflector.lower(number, terms.lowers);
            if let Some(agreed) = entry.peer.negotiated() {
                self.reflector.regroup(number, identities(terms, agreed));
            }
            // One that is kept for this alone may go.
            self.departing.push_back(number);
        }
        self.has_more = true;
        let what = if is_drained { "drained" } else { "drained no more" };
        self.lines.order(
            now,
            match text {
                Some(text) => format!("{text} is {what}"),
                None => format!("all peers are {what}"),
            },
        );
        Ok(Map::new())
    }

    /// Of a peer without a session nothing is kept any more.
    pub(super) fn forget_kept(&mut self, number: u16) {
        self.clear(number);
        if let Some(entry) = self.peers.get_mut(number)
            && entry.kept.take().is_some()
        {
            self.reflector.close(number, FamilySet::NONE);
        }
        self.peers.look_at(number);
        (self.has_more, self.restarting.has_happened) = (true, true);
    }

    /// A peer is asked for its routes, and told those of others.
    fn refresh(&mut self, refreshed: &Refreshed, now: Time) -> Done {
        let Refreshed { peer: text, direction, family } = refreshed;
        let (number, entry) = self.named(text, now)?;
        let Some(agreed) = entry.peer.negotiated() else {
            let what = format!("there is no session with {text}");
            return Err(Unanswered::new(
                what,
                "see `show table peers`: all is told when it stands",
            ));
        };
        let has_refresh = agreed.has_refresh;
        let mut families = agreed.writing.families;
        if let Some(family) = family {
            if !families.contains(family.0) {
                let what = format!("{} was not agreed on with {text}", family.0);
                let names: Vec<String> = families.iter().map(|one| one.to_string()).collect();
                return Err(Unanswered::new(what, format!("choose one of {}", names.join(", "))));
            }
            families = [family.0].into_iter().collect();
        }
        if *direction != Direction::Out {
            if !has_refresh {
                let remedy = "leave it to `reset-peer`, or give `direction=out`";
                let what = format!("{text} cannot be asked for its routes again (RFC 2918)");
                return Err(Unanswered::new(what, remedy));
            }
            if !entry.peer.ask(families, now) {
                let what = format!("{text} takes nothing at present");
                return Err(Unanswered::new(what, "try it again when `lag-bytes` is less"));
            }
            self.departing.push_back(number);
            self.peers.look_at(number);
        }
        if *direction != Direction::In {
            families.iter().for_each(|family| self.reflector.refresh(number, family));
            self.has_more = true;
        }
        let names: Vec<String> = families.iter().map(|family| family.to_string()).collect();
        Ok(Map::from_iter([("families".to_owned(), json!(names.join(", ")))]))
    }
}

/// That a command changes nothing.
fn as_before(text: &str, is_drained: bool) -> Unanswered {
    let (state, remedy) = match is_drained {
        true => ("is drained", "`undrain` ends that"),
        false => ("is not drained", "`drain` without `peer` is ended by `undrain` without it"),
    };
    Unanswered::new(format!("{text} {state}"), remedy)
}
