//! Sessions of BFD that belong to no next hop: a controller sets them at run time, and is told of
//! them by their discriminators. The next hops at the neighbour follow one, unless they have their
//! own.
use std::net::IpAddr;
use std::time::Duration;

use engine::{EventKind, Refusal};
use machine::clock::Ticks;
use protocol_bfd::{Command, Config, Diagnostic, Path, Reach};
use protocol_kit::Interface;

use super::config::BfdSession;
use super::control::Update;
use super::happened::Whose;
use super::liveness::{Liveness, Place};
use super::pipeline::Pipeline;

impl Pipeline {
    /// Applies a change, if it is one of these.
    pub(super) fn apply_bfd(&mut self, update: &Update, now: Ticks) -> Option<Result<(), Refusal>> {
        Some(match *update {
            Update::SetBfd { discriminator, session } => self.set_bfd(discriminator, &session, now),
            Update::RemoveBfd { discriminator: Some(one) } => match self.remove_bfd(one, now) {
                true => Ok(()),
                false => Err(Refusal::NotFound),
            },
            Update::RemoveBfd { discriminator: None } => {
                let all = self.liveness.iter().flat_map(|all| all.asked.keys().copied());
                for one in all.collect::<Vec<_>>() {
                    self.remove_bfd(one, now);
                }
                Ok(())
            }
            _ => return None,
        })
    }

    fn set_bfd(
        &mut self,
        discriminator: u32,
        session: &BfdSession,
        now: Ticks,
    ) -> Result<(), Refusal> {
        let BfdSession { port, vlan, peer, .. } = *session;
        let interfaces = &self.state.interfaces;
        let at = interfaces.named(port, vlan).ok_or(Refusal::NotFound)?;
        let local = session.local.or_else(|| interfaces.addresses.towards(at, peer));
        let local = local.ok_or(Refusal::Invalid)?;
        let path = Path { reach: Reach::SingleHop(Interface(at.into())), local, peer };
        let config = config_of(discriminator, session, path).ok_or(Refusal::Invalid)?;
        let hops = self.state.hops_at(at, peer);
        let liveness = self.liveness.as_mut().ok_or(Refusal::Full)?;
        let has_own = |hop| self.state.neighbours.get(hop).is_some_and(|hop| hop.bfd.is_some());
        let known = liveness.asked.get(&discriminator).copied();
        let at_peer = liveness.peers.get(&(at, peer)).copied();
        if hops.iter().any(has_own) || at_peer.is_some() && at_peer != known {
            return Err(Refusal::Exists);
        }
        if known.is_none() && liveness.places.iter().all(Option::is_some) {
            return Err(Refusal::Full);
        }
        let before = known.and_then(|known| liveness.place_mut(known)).map(|place| place.path);
        let hold = session.shut_down.then_some(Diagnostic::ADMIN_DOWN);
        if let Some(number) = known.filter(|_| before == Some(path)) {
            liveness.command(Command::Change(number, config), now);
            liveness.command(Command::Hold(number, hold), now);
            liveness.retell(number, now);
            return Ok(());
        }
        self.remove_bfd(discriminator, now);
        let Some(liveness) = &mut self.liveness else { return Ok(()) };
        let whose = Whose::Discriminator(discriminator);
        let place = Place { whose, hops: Vec::new(), path, is_failed: false };
        // There is room.
        let Some(number) = liveness.enter(place) else { return Ok(()) };
        liveness.asked.insert(discriminator, number);
        liveness.peers.insert((at, peer), number);
        liveness.command(Command::Add(number, config), now);
        liveness.command(Command::Hold(number, hold), now);
        self.follow_anew(at, hops);
        Ok(())
    }

    /// Ends a session that was set; false if there is none. Its next hops are there from now on,
    /// but where they follow another one.
    pub(super) fn remove_bfd(&mut self, discriminator: u32, now: Ticks) -> bool {
        let dismissed = self.liveness.as_mut().and_then(|all| all.dismiss(discriminator, now));
        let Some((at, hops)) = dismissed else { return false };
        self.follow_anew(at, hops);
        true
    }

    /// Sessions at an interface have come or gone with which these next hops there have to do.
    fn follow_anew(&mut self, at: u16, hops: Vec<u32>) {
        let Pipeline { state, liveness: Some(liveness), .. } = self else { return };
        for hop in hops {
            let Some(next) = state.neighbours.get(&hop) else { continue };
            let is_failed = liveness.follow(hop, next, at);
            state.set_path(hop, !is_failed);
        }
        state.reach_tunnels();
    }
}

impl Liveness {
    /// Forgets a session that was set; returns its interface and the next hops that have followed
    /// it.
    fn dismiss(&mut self, discriminator: u32, now: Ticks) -> Option<(u16, Vec<u32>)> {
        let number = self.asked.remove(&discriminator)?;
        self.tell(EventKind::Expired, number, now);
        let Place { hops, path: Path { reach, peer, .. }, .. } =
            self.places.get_mut(number as usize)?.take()?;
        self.command(Command::Remove(number), now);
        // Those that are set have a neighbour on a link.
        let Reach::SingleHop(Interface(at)) = reach else { return None };
        self.peers.remove(&(at as u16, peer));
        Some((at as u16, hops))
    }

    /// Tells once more what is known of a session, for who has missed it.
    fn retell(&mut self, number: u32, now: Ticks) {
        let is_failed = self.place_mut(number).is_some_and(|place| place.is_failed);
        self.tell(if is_failed { EventKind::Down } else { EventKind::Up }, number, now);
    }
}

/// The session as the machine takes it; `None` if it cannot be.
fn config_of(discriminator: u32, session: &BfdSession, path: Path) -> Option<Config> {
    let us = |us: u32| Duration::from_micros(us.into());
    let all = [session.min_tx_us, session.min_rx_us, session.echo_us, session.min_echo_rx_us];
    let is_too_fast = |us: &u32| (1..INTERVAL_LEAST_US).contains(us);
    let is_unusable = |address: IpAddr| address.is_multicast() || address.is_loopback();
    if all.iter().any(is_too_fast) || is_unusable(path.local) || is_unusable(path.peer) {
        return None;
    }
    let config = Config {
        path,
        discriminator: Some(discriminator),
        desired_min_tx: us(session.min_tx_us),
        required_min_rx: us(session.min_rx_us),
        detect_multiplier: session.multiplier,
        required_min_echo_rx: us(session.min_echo_rx_us),
        echo: (session.echo_us > 0).then_some(us(session.echo_us)),
        is_passive: session.passive,
        authentication: None,
    };
    (discriminator != 0 && config.check().is_ok()).then_some(config)
}

/// The shortest interval that a worker keeps, in microseconds.
const INTERVAL_LEAST_US: u32 = 1_000;
