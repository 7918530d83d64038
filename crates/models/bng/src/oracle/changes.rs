//! Changes at run time: which are possible, and what they leave.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_bng::Update;
use function_bng::config::{Name, Node, Profile, Route, Session};
use function_kit::sections::Prefixed;
use units::BytesPerSec;
use wire::MacAddr;

use super::Model;
use super::packets::stays_here;

impl Model {
    /// Applies a change; whether it is possible.
    pub(super) fn change(&mut self, update: &Update, now: Duration) -> bool {
        match update {
            Update::AddSession(session) => {
                let is_new = self.sessions.get(session.number).is_none();
                let is_possible = is_new && self.may_be(session);
                if is_possible {
                    self.policers.renew(session.number);
                    self.queues.end(session.number);
                    self.sessions.set(session.number, Some(*session));
                }
                is_possible
            }
            Update::ChangeSession(session) => {
                let is_there = self.sessions.get(session.number).is_some();
                let is_possible = is_there && self.may_be(session);
                if is_possible {
                    self.renew(*session, now);
                }
                is_possible
            }
            Update::RemoveSession { number } => {
                let was_there = self.sessions.get(*number).is_some();
                if was_there {
                    self.policers.renew(*number);
                    self.queues.end(*number);
                    self.sessions.set(*number, None);
                }
                was_there
            }
            Update::TellUsage { number } => self.sessions.get(*number).is_some(),
            Update::SetProfile { number, profile } => {
                let found = self.sessions.get(*number);
                let session = found.filter(|_| self.profiles.contains_key(profile));
                if let Some(session) = session {
                    self.renew(Session { profile: *profile, ..session }, now);
                }
                session.is_some()
            }
            Update::AddNextHop(hop) => self.is_vrf(hop.vrf) && self.routes.add_hop(*hop),
            Update::RemoveNextHop { address, vrf } => {
                let was_there = self.routes.remove_hop(*vrf, *address);
                if was_there {
                    self.forget_hop(*vrf, *address);
                }
                was_there
            }
            Update::AddRoute(route) => self.add_route(*route),
            Update::RemoveRoute { prefix, vrf } => self.routes.remove(*vrf, *prefix),
            other => self.change_common(other),
        }
    }

    /// What sessions have in common.
    fn change_common(&mut self, update: &Update) -> bool {
        match update {
            Update::AddProfile(profile) => {
                let is_possible = self.may_be_profile(profile);
                if is_possible {
                    self.profiles.insert(profile.name, profile.clone());
                }
                is_possible
            }
            Update::RemoveProfile { name } => {
                let is_free = !self.sessions.any(|session| session.profile == *name);
                is_free && self.profiles.remove(name).is_some()
            }
            Update::AddList(list) => self.lists.add(list),
            Update::RemoveList { name } => {
                let of_profiles = self.profiles.values().any(|one| one.list == Some(*name));
                let is_free = !of_profiles && !self.sessions.any(|one| one.list == Some(*name));
                is_free && self.lists.remove(*name)
            }
            Update::AddNode(node) => {
                let is_possible = is_node(node)
                    && !self.nodes.contains_key(&node.name)
                    && self.nodes.len() < self.config.node_capacity as usize;
                if is_possible {
                    self.nodes.insert(node.name, *node);
                }
                is_possible
            }
            Update::RemoveNode { name } => {
                let is_free = !self.sessions.any(|session| session.node == Some(*name));
                let was_there = is_free && self.nodes.remove(name).is_some();
                if was_there {
                    self.policers.forget_node(*name);
                }
                was_there
            }
            _ => false,
        }
    }

    /// A session is another one: where its profile or its node is another one, its policers begin
    /// anew, and its queues with nothing to spend and what they owed; what waits goes on waiting.
    fn renew(&mut self, session: Session, now: Duration) {
        let number = session.number;
        let before = self.sessions.get(number);
        self.sessions.set(number, Some(session));
        let Some(before) = before else { return };
        let profiles = [before.profile, session.profile].map(|name| self.profiles.get(&name));
        let [Some(earlier), Some(profile)] = profiles else { return };
        if (before.profile, before.node) != (session.profile, session.node) {
            let node = session.node.and_then(|name| self.nodes.get(&name));
            self.policers.renew(number);
            self.queues.renew(number, (earlier, profile, node), now);
        }
    }

    /// Whether a session can be there, beside the one of its own number.
    fn may_be(&self, session: &Session) -> bool {
        is_session(session)
            && self.sessions.is_number(session.number)
            && self.profiles.contains_key(&session.profile)
            && session.list.is_none_or(|name| self.lists.has(name))
            && session.node.is_none_or(|name| self.nodes.contains_key(&name))
            && self.is_vrf(session.vrf)
            && !session.ipv4.is_some_and(|address| self.is_own(address.into()))
            && !session.na.is_some_and(|address| self.is_own(address.into()))
            && self.sessions.has_room(session)
            && !self.sessions.is_full(session.line, session.number)
    }

    fn is_vrf(&self, vrf: Option<Name>) -> bool {
        vrf.is_none_or(|name| self.config.vrfs.iter().any(|vrf| vrf.name == name))
    }

    fn add_route(&mut self, route: Route) -> bool {
        self.is_vrf(route.vrf) && self.routes.add(route)
    }

    fn may_be_profile(&self, profile: &Profile) -> bool {
        let config = &self.config;
        let of_policers: Vec<Name> = profile.policers.iter().map(|one| one.class).collect();
        let of_queues: Vec<Name> = profile.queues.iter().map(|one| one.class).collect();
        let are_sound = |names: &Vec<Name>, most: u32| {
            let differing: BTreeSet<Name> = names.iter().copied().collect();
            let is_class = |name: &Name| config.classes.iter().any(|class| class.name == *name);
            names.len() <= most as usize
                && differing.len() == names.len()
                && names.iter().all(is_class)
        };
        let rates = profile.policers.iter().flat_map(|one| [Some(one.rate), one.peak_rate]);
        let rates = rates.chain(profile.queues.iter().map(|one| one.rate));
        let mut rates = rates.chain([profile.up_rate, profile.down_rate]).flatten();
        let mut marks = profile.policers.iter().flat_map(|one| [one.mark, one.mark_excess]);
        !self.profiles.contains_key(&profile.name)
            && self.profiles.len() < config.profile_capacity as usize
            && are_sound(&of_policers, config.session_policers)
            && are_sound(&of_queues, config.session_queues)
            && rates.all(is_rate)
            && marks.all(|mark| mark.is_none_or(|dscp| dscp <= 63))
            && profile.weight > 0
            && (-256..=256).contains(&profile.overhead_bytes)
            && profile.queues.iter().all(|queue| queue.weight > 0 && queue.level <= 7)
            && profile.list.is_none_or(|name| self.lists.has(name))
    }
}

fn is_node(node: &Node) -> bool {
    node.weight > 0 && [node.up_rate, node.down_rate].into_iter().flatten().all(is_rate)
}

fn is_rate(rate: BytesPerSec) -> bool {
    rate.0 >= 1.0 && rate.0 <= 1e12
}

/// Whether a session is on a line, of a station, with addresses that hosts have.
fn is_session(session: &Session) -> bool {
    let (outer, inner) = (session.line.outer, session.line.inner);
    let is_line = outer <= 4094 && inner <= 4094 && !(outer > 0 && inner == 0);
    let is_pppoe = session
        .pppoe
        .is_none_or(|pppoe| (1..=0xfffe).contains(&pppoe.id) && (576..=9000).contains(&pppoe.mru));
    let mac = session.mac.0;
    let is_station = mac != MacAddr::ZERO && mac.0[0].is_multiple_of(2);
    let is_host = |address: IpAddr| match address {
        IpAddr::V4(address) => {
            let is_all_or_none = [0, u32::MAX].contains(&address.to_bits());
            !is_all_or_none && !matches!(address.octets()[0], 127 | 224..=239)
        }
        address => !stays_here(address),
    };
    let is_prefix = |prefix: Prefixed<Ipv6Addr>, least: u8| {
        let network = model_kit::service::network(prefix.address.into(), prefix.len);
        (least..=64).contains(&prefix.len)
            && network == IpAddr::V6(prefix.address)
            && is_host(network)
    };
    let hosts = [session.ipv4.map(IpAddr::V4), session.na.map(IpAddr::V6)];
    is_line
        && is_pppoe
        && is_station
        && hosts.into_iter().flatten().all(is_host)
        && session.slaac.is_none_or(|prefix| is_prefix(prefix, 64))
        && session.delegated.is_none_or(|prefix| is_prefix(prefix, 32))
}
