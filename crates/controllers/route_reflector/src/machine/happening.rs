//! What happens with a peer, and what that does to the reflector.

use std::time::Duration;

use protocol_bgp::families::FamilySet;
use protocol_bgp::notification::Notification;
use protocol_bgp::peer;
use protocol_bgp::refresh::Refresh;
use protocol_kit::Time;

use super::RouteReflector;
use crate::agreed::{identities, source, terms};
use crate::dumps;
use crate::leaks::Relation;
use crate::lines::Before;
use crate::monitors::Ends;
use crate::peers::{Entry, Wishes};
use crate::reflector::Ending;

impl RouteReflector {
    /// Lets something happen with a peer, and takes what it says.
    pub(super) fn with_peer(
        &mut self,
        number: u16,
        now: Time,
        happen: impl FnOnce(&mut peer::Peer, &mut peer::Sink<'_>),
    ) {
        let RouteReflector { config, peers, reflector, reading, has_more, .. } = self;
        let RouteReflector { lines, dumps, monitors, policies, .. } = self;
        let mut monitors = monitors.as_mut().filter(|all| all.hears());
        let peers_drain = peers.are_drained;
        let Some(entry) = peers.get_mut(number) else { return };
        let terms = terms(config, policies, entry, peers_drain);
        let Entry { peer, kind, kept, restart, local, ports, .. } = entry;
        let Entry { constrained_at, bounds, away, ended, malformed, told, wishes, .. } = entry;
        let Entry { is_to_tell_again, .. } = entry;
        let has_happened = &mut self.restarting.has_happened;
        let (before, established) = (Before::of(peer), peer.counters().established);
        let address = peer.config().peer;
        let (role, asn) = (peer.config().role, peer.config().peer_as);
        let (own_as, own_address) = (config.asn, *local);
        let ends = || dumps::ends(asn, own_as, address, own_address);
        let of_session = Ends { peer: address, asn, local: *local, ports: *ports };
        if reading.len() <= usize::from(number) {
            reading.resize(usize::from(number) + 1, None);
        }
        let reading = &mut reading[usize::from(number)];
        let had_room = peer.room() > 0;
        let mut sink = |event: peer::Event<'_>| {
            *has_more = true;
            match event {
                peer::Event::Established(negotiated) => {
                    (*ended, *has_happened) = (FamilySet::NONE, true);
                    *is_to_tell_again = false;
                    *reading = Some(negotiated.reading);
                    *restart = negotiated.restart;
                    let preserved = negotiated.restart.map_or(FamilySet::NONE, |it| it.preserved);
                    if let Some((until, families)) = kept {
                        let lost = families.iter().filter(|family| !preserved.contains(*family));
                        lost.for_each(|family| reflector.sweep(number, family, true));
                        *until = now.after(STALE);
                    }
                    let group = policies.group(wishes.group.as_ref());
                    let source = source(&terms, negotiated.identifier, address, group);
                    reflector.open(number, source, identities(terms.clone(), negotiated));
                    reflector.import_by(number, policies.of(wishes.import.as_ref(), *kind));
                    reflector.bound(number, *bounds);
                    reflector.relate(number, role.map(|own| Relation { own, asn }));
                    if let Some(dumps) = dumps {
                        dumps.session(number, &ends(), true, now);
                    }
                    if let Some(monitors) = &mut monitors {
                        monitors.peer_up(number, of_session, negotiated, now);
                    }
                    *constrained_at = Some(now.after(MEMBERSHIP));
                }
                peer::Event::Down { is_graceful, why } => {
                    *has_happened = true;
                    *reading = None;
                    *constrained_at = None;
                    if let Some(dumps) = dumps {
                        dumps.session(number, &ends(), false, now);
                    }
                    if let Some(monitors) = &mut monitors {
                        monitors.peer_down(number, why, now);
                    }
                    let restart = restart.take().filter(|_| is_graceful);
                    reflector.close(number, restart.map_or(FamilySet::NONE, |it| it.families));
                    *kept = restart.map(|it| (now.after(it.time), it.families));
                }
                peer::Event::Refresh(family, Refresh::Wanted) => reflector.refresh(number, family),
                peer::Event::Refresh(family, Refresh::Begins) => reflector.mark(number, family),
                peer::Event::Refresh(family, Refresh::Ends) => {
                    reflector.sweep(number, family, true);
                }
                peer::Event::Update(body) => {
                    let Some(reading) = reading else { return Ok(()) };
                    if let Some(dumps) = dumps {
                        dumps.update(ends, reading, body, now);
                    }
                    let was = *reading;
                    let before = reflector.take_gone();
                    let read = reflector.update(number, body, reading);
                    let wrong = reflector.wrong(read.as_ref().err().and_then(Ending::fault));
                    if !wrong.is_empty() {
                        *malformed += 1;
                        lines.malformed(now, address, (body, &was), &wrong);
                    }
                    if let Some(monitors) = monitors.as_mut().filter(|_| read.is_ok()) {
                        monitors.gone(&before, now);
                        monitors.update(number, (body, &was), !wrong.is_empty(), now);
                    }
                    match read {
                        Ok(None) => {}
                        Ok(Some(family)) => {
                            ended.insert(family);
                            *has_happened = true;
                            if let Some((_, families)) = kept.as_mut() {
                                families.remove(family);
                                reflector.sweep(number, family, true);
                            }
                        }
                        Err(ending) => {
                            let what = ending.into_notification();
                            let pause = reflector.pause(number, &what);
                            *away = pause.map(|pause| now.after(pause)).or(*away);
                            // It is to keep nothing of one that comes back with the same.
                            let is_hard = restart.is_some_and(|it| it.has_notification);
                            return Err(match pause {
                                Some(_) if is_hard => what.hard(),
                                _ => what,
                            });
                        }
                    }
                }
            }
            Ok::<(), Notification>(())
        };
        happen(peer, &mut sink);
        lines.note(now, (peer, *kind), before, told);
        if peer.counters().established > established {
            let Wishes { import, export, .. } = wishes;
            let is_none = |name: &Option<String>| {
                policies.of(name.as_ref(), *kind).is_some_and(|policy| policy.is_of_nobody())
            };
            lines.unpoliced(now, address, (is_none(import), is_none(export)));
        }
        if let Some(until) = *away {
            peer.wait(until);
        }
        if *is_to_tell_again {
            *is_to_tell_again = !ask_again(peer, now);
        }
        // One that could take nothing may have waited for its turn.
        self.has_more |= !had_room && peer.room() > 0;
        self.peers.look_at(number);
        self.departing.push_back(number);
        self.note();
    }
}

/// Asks a peer for all its routes again (RFC 2918). False where it takes no bytes now.
fn ask_again(peer: &mut peer::Peer, now: Time) -> bool {
    let mut messages = Vec::new();
    let families = peer.negotiated().map_or(FamilySet::NONE, |agreed| agreed.reading.families);
    families.iter().for_each(|family| Refresh::Wanted.write(family, &mut messages));
    let has_room = messages.len() <= peer.room();
    if has_room {
        peer.send(messages, now);
    }
    has_room || families.is_empty()
}

/// For how long it is awaited that a peer has told which route targets it asks for (RFC 4684
/// section 6).
const MEMBERSHIP: Duration = Duration::from_secs(60);

/// For how long stale routes stay when the peer is back and does not say that it has told all.
const STALE: Duration = Duration::from_secs(360);
