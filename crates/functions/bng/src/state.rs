//! The state of a worker: sessions and all that they refer to, and how it changes.

mod present;

use std::net::IpAddr;

use engine::Refusal;
use function_kit::SetupError;
use function_kit::sections::Prefixed;
use machine::clock::{Clock, Ticks};
use subscribers::{Record, Refused, Subscribers};

use super::config::{
    self, Config, Label, Name, Node, Profile, Session, class_of_code_points, is_session,
};
use super::control::{self, Update};
use super::gateway::Gateway;
use super::hops::Hops;
use super::lists::{Lists, NO_LIST};
use super::profiles::{Nodes, Profiles};
use super::services::Services;
use super::usage::Usage;

/// Everything a worker knows.
pub(super) struct State {
    /// The gateway itself.
    pub gateway: Gateway,
    /// The class of each code point.
    pub class_of: [u8; 64],
    pub sessions: Subscribers,
    pub lists: Lists,
    pub profiles: Profiles,
    pub nodes: Nodes,
    pub services: Services,
    pub hops: Hops,
    /// What is to be told of sessions' volumes.
    pub usage: Usage,
    /// What no packet needs of each session.
    cold: Vec<Cold>,
    /// What is checked of profiles depends on it; without what it lists.
    config: Config,
}

/// What no packet needs of a session.
#[derive(Clone, Copy, Default)]
struct Cold {
    list: Option<Name>,
    user: Option<Label>,
    circuit: Option<Label>,
}

/// What a session refers to, by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Referred {
    profile: u16,
    node: u16,
}

impl State {
    /// The state that the configuration describes at `now`.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn new(config: &Config, clock: Clock, now: Ticks) -> Result<State, SetupError> {
        let capacity = config.session_capacity as usize + 1;
        let memory = |what| move |source| SetupError::Memory { what, source };
        let mut state = State {
            gateway: Gateway::new(config),
            class_of: class_of_code_points(&config.classes),
            sessions: Subscribers::new(capacity, secret_of(config)).map_err(memory("sessions"))?,
            lists: Lists::new(config),
            profiles: Profiles::new(config.profile_capacity, &config.classes),
            nodes: Nodes::new(config.node_capacity),
            services: Services::new(config, clock, now)?,
            hops: Hops::new(config)?,
            usage: Usage::new(),
            cold: vec![Cold::default(); capacity],
            config: without_lists(config),
        };
        for update in control::listed(config) {
            let refused = |why: Refusal| SetupError::Table {
                what: "what the configuration lists",
                why: format!("{update:?}: {why}"),
            };
            state.apply(&update, now).map_err(refused)?;
        }
        Ok(state)
    }

    /// Applies a change; what is to be told of next hops that are gone, the caller does.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub fn apply(&mut self, update: &Update, now: Ticks) -> Result<(), Refusal> {
        match update {
            Update::AddSession(session) => self.add_session(session, now),
            Update::ChangeSession(session) => self.change_session(session, now),
            Update::RemoveSession { number } => self.remove_session(*number, now),
            Update::TellUsage { number } => self.tell_usage(*number, now),
            Update::SetProfile { number, profile } => {
                let session = self.session(*number).ok_or(Refusal::NotFound)?;
                self.change_session(&Session { profile: *profile, ..session }, now)
            }
            // The pipeline's, because no state tells of it.
            Update::SetMirror { .. } | Update::ClearMirror { .. } => Err(Refusal::Invalid),
            Update::AddProfile(profile) => self.add_profile(profile),
            Update::RemoveProfile { name } => self.remove_profile(*name),
            Update::AddList(list) => self.lists.add(list),
            Update::RemoveList { name } => self.remove_list(*name),
            Update::AddNode(node) => self.add_node(node, now),
            Update::RemoveNode { name } => {
                let (number, _) = self.nodes.remove(*name)?;
                self.services.clear_node(number);
                Ok(())
            }
            Update::AddNextHop(hop) => self.hops.add(*hop),
            Update::RemoveNextHop { address, vrf } => self.hops.remove(*address, *vrf).map(drop),
            Update::AddRoute(route) => self.hops.add_route(route),
            Update::RemoveRoute { prefix, vrf } => self.hops.remove_route(*prefix, *vrf),
        }
    }

    fn add_session(&mut self, session: &Session, now: Ticks) -> Result<(), Refusal> {
        let (record, referred) = self.record_of(session)?;
        if self.sessions.get(session.number).is_some() {
            return Err(Refusal::Exists);
        }
        if self.sessions.on_line(record.line) >= self.config.line_sessions {
            return Err(Refusal::Exceeds("line-sessions"));
        }
        self.sessions.add(session.number, &record).map_err(refusal)?;
        if let Err(refused) = self.serve(session.number, referred, now) {
            self.services.clear(session.number);
            self.sessions.remove(session.number);
            return Err(refused);
        }
        self.refer(referred, session.list, 1);
        self.note(session);
        Ok(())
    }

    fn change_session(&mut self, session: &Session, now: Ticks) -> Result<(), Refusal> {
        let number = session.number;
        let before = *self.sessions.get(number).ok_or(Refusal::NotFound)?;
        let (record, referred) = self.record_of(session)?;
        let is_other_line = before.line != record.line;
        if is_other_line && self.sessions.on_line(record.line) >= self.config.line_sessions {
            return Err(Refusal::Exceeds("line-sessions"));
        }
        self.sessions.change(number, &record).map_err(refusal)?;
        let earlier = Referred { profile: before.profile, node: before.node };
        if earlier != referred
            && let Err(refused) = self.serve(number, referred, now)
        {
            self.sessions.change(number, &before).map_err(refusal)?;
            self.serve(number, earlier, now)?;
            return Err(refused);
        }
        let list = self.cold.get(number as usize).and_then(|cold| cold.list);
        self.refer(earlier, list, -1);
        self.refer(referred, session.list, 1);
        self.note(session);
        Ok(())
    }

    fn tell_usage(&mut self, number: u32, now: Ticks) -> Result<(), Refusal> {
        self.sessions.get(number).ok_or(Refusal::NotFound)?;
        if !self.usage.has_room() {
            return Err(Refusal::Full);
        }
        self.usage.tell(number, &self.sessions.volumes(number), now);
        Ok(())
    }

    fn remove_session(&mut self, number: u32, now: Ticks) -> Result<(), Refusal> {
        let (record, volumes) = self.sessions.remove(number).ok_or(Refusal::NotFound)?;
        self.usage.tell(number, &volumes, now);
        self.services.clear(number);
        let list = self.cold.get(number as usize).and_then(|cold| cold.list);
        self.refer(Referred { profile: record.profile, node: record.node }, list, -1);
        if let Some(cold) = self.cold.get_mut(number as usize) {
            *cold = Cold::default();
        }
        Ok(())
    }

    fn add_profile(&mut self, profile: &Profile) -> Result<(), Refusal> {
        let is_sound = config::fault_of(&self.config, profile).is_none()
            && config::rates_of(profile).all(config::is_rate);
        let list = profile.list.map(|name| self.lists.number(name));
        if !is_sound || list == Some(None) {
            return Err(Refusal::Invalid);
        }
        self.profiles.add(profile)
    }

    fn remove_profile(&mut self, name: Name) -> Result<(), Refusal> {
        self.profiles.named.remove(name).map(drop)
    }

    fn remove_list(&mut self, name: Name) -> Result<(), Refusal> {
        let is_of_profile = self.profiles.named.all().any(|one| one.list == Some(name));
        if is_of_profile || self.lists.is_referred(name) {
            return Err(Refusal::Invalid);
        }
        self.lists.remove(name)
    }

    fn add_node(&mut self, node: &Node, now: Ticks) -> Result<(), Refusal> {
        if !config::is_node(node) {
            return Err(Refusal::Invalid);
        }
        let number = self.nodes.add(node.name, *node)?;
        let set = self.services.set_node(number, node, now);
        if set.is_err() {
            self.nodes.remove(node.name)?;
        }
        set
    }

    /// What a session is to packets, and what it refers to.
    fn record_of(&self, session: &Session) -> Result<(Record, Referred), Refusal> {
        let number = session.number as usize;
        if !is_session(session) || number >= self.sessions.capacity() || self.is_own(session) {
            return Err(Refusal::Invalid);
        }
        let number = |number: Option<u16>| number.ok_or(Refusal::Invalid);
        let profile = number(self.profiles.named.number(session.profile))?;
        let node = session.node.map_or(Ok(0), |name| number(self.nodes.number(name)))?;
        let of_profile = self.profiles.named.get(profile).and_then(|profile| profile.list);
        let list = session.list.or(of_profile);
        let list = list.map_or(Ok(NO_LIST), |name| number(self.lists.number(name)))?;
        let vrf = self.hops.vrf(session.vrf).ok_or(Refusal::Invalid)?;
        let upper = |prefix: Option<Prefixed<std::net::Ipv6Addr>>| {
            prefix.map_or(0, |prefix| (prefix.address.to_bits() >> 64) as u64)
        };
        let record = Record {
            address: session.na.map_or(0, std::net::Ipv6Addr::to_bits),
            slaac: upper(session.slaac),
            delegated: upper(session.delegated),
            ipv4: session.ipv4.map_or(0, std::net::Ipv4Addr::to_bits),
            line: u32::from(session.line.outer) << 16 | u32::from(session.line.inner),
            mac: session.mac.0.0,
            pppoe: session.pppoe.map_or(0, |pppoe| pppoe.id),
            mru: session.pppoe.map_or(0, |pppoe| pppoe.mru),
            profile,
            list,
            node,
            vrf,
            delegated_len: session.delegated.map_or(0, |prefix| prefix.len),
            ..Record::default()
        };
        Ok((record, Referred { profile, node }))
    }

    /// Whether a session would have an address of the gateway's.
    fn is_own(&self, session: &Session) -> bool {
        let ipv4 = session.ipv4.map(|one| (u128::from(one.to_bits()), false));
        let ipv6 = session.na.map(|one| (one.to_bits(), true));
        let mut all = ipv4.into_iter().chain(ipv6);
        all.any(|(address, is_ipv6)| self.gateway.is_own(address, is_ipv6))
    }

    /// Gives a session the policers and queues of its profile.
    fn serve(&mut self, session: u32, referred: Referred, now: Ticks) -> Result<(), Refusal> {
        let State { profiles, services, .. } = self;
        let profile = profiles.named.get(referred.profile).ok_or(Refusal::Invalid)?;
        services.set(session, (profile, referred.node), now)
    }

    fn refer(&mut self, referred: Referred, list: Option<Name>, more: i32) {
        self.profiles.named.refer(referred.profile, more);
        self.nodes.refer(referred.node, more);
        if let Some(name) = list {
            self.lists.refer(name, more);
        }
    }

    fn note(&mut self, session: &Session) {
        let Session { number, list, user, circuit, .. } = *session;
        if let Some(cold) = self.cold.get_mut(number as usize) {
            *cold = Cold { list, user, circuit };
        }
    }

    /// The session that has an address in a VRF.
    pub fn having(&self, vrf: u8, address: IpAddr) -> Option<u32> {
        match address {
            IpAddr::V4(address) => {
                self.sessions.find(&subscribers::Key::Ipv4 { vrf, address: address.to_bits() })
            }
            IpAddr::V6(address) => self.sessions.find_ipv6(vrf, address.to_bits()),
        }
    }

    /// Memory it holds.
    pub fn bytes(&self) -> usize {
        self.sessions.bytes()
            + self.lists.bytes()
            + self.services.bytes()
            + self.hops.bytes()
            + self.cold.len() * size_of::<Cold>()
    }
}

/// What keys the index of sessions.
fn secret_of(config: &Config) -> [u64; 2] {
    use std::hash::{BuildHasher, Hasher, RandomState};
    use std::sync::OnceLock;
    static SECRET: OnceLock<u64> = OnceLock::new();
    let drawn = || *SECRET.get_or_init(|| RandomState::new().build_hasher().finish());
    [config.secret.unwrap_or_else(drawn), 0x626e_675f_6b65_7973]
}

/// The configuration without what it lists.
pub(super) fn without_lists(config: &Config) -> Config {
    Config {
        nodes: Vec::new(),
        lists: Vec::new(),
        profiles: Vec::new(),
        next_hops: Vec::new(),
        routes: Vec::new(),
        sessions: Vec::new(),
        ..config.clone()
    }
}

fn refusal(refused: Refused) -> Refusal {
    match refused {
        Refused::Number => Refusal::Invalid,
        Refused::Exists | Refused::Taken(_) => Refusal::Exists,
        Refused::NotFound => Refusal::NotFound,
        Refused::Full => Refusal::Full,
    }
}
