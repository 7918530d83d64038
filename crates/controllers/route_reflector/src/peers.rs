//! The peers with their sessions, and what each is to the reflector.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use function_kit::sections::Prefixed;
use protocol_bgp::config::{self as bgp, Restart};
use protocol_bgp::families::FamilySet;
use protocol_bgp::negotiated::PeerRestart;
use protocol_bgp::peer::Peer;
use protocol_kit::{Random, Secret, Socket, StreamOptions, Time};

use crate::bounds::Bounds;
use crate::config::{Config, PathsMax, PeerKeys, bounds, paths_max, several};
use crate::lines::Told;
use crate::own::Kind;

/// A peer.
#[derive(Debug)]
pub(crate) struct Entry {
    pub peer: Peer,
    pub kind: Kind,
    pub next_hop_self: bool,
    /// The place of the network by which it may connect; `None` for one that is named.
    pub network: Option<usize>,
    /// Until when its routes are kept, and of which families, after its session has ended.
    pub kept: Option<(Time, FamilySet)>,
    /// What it has said of a restart, while its session stands.
    pub restart: Option<PeerRestart>,
    /// When it is told by the route targets that it has told, even if those are not all yet, while
    /// its session stands.
    pub constrained_at: Option<Time>,
    /// The families of which it has told all in its session.
    pub ended: FamilySet,
    /// How much it may tell.
    pub bounds: Bounds,
    /// Most paths of a route that it is told, if it agrees on that.
    pub paths_max: PathsMax,
    /// Of which families there is an alarm.
    pub alarmed: FamilySet,
    /// Until when it stays away, after it has told more.
    pub away: Option<Time>,
    /// The own address of its session, or of the connection that becomes that.
    pub local: Option<IpAddr>,
    /// The ports of that, the own one first; 0 where it is not known.
    pub ports: [u16; 2],
    /// UPDATEs of it with errors.
    pub malformed: u64,
    /// What was told of its last connections.
    pub told: Told,
    /// Whether an operator has shut it.
    pub is_shut: bool,
    /// Whether an operator has drained it.
    pub is_drained: bool,
    /// Whether it is configured no more, and goes as soon as nothing of it is left.
    pub is_removed: bool,
    /// When it is to be looked at, as [`Peers::due`] has it.
    due: Option<Time>,
}

/// All peers.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// By number; numbers of peers that are gone are used again.
    pub entries: Vec<Option<Entry>>,
    by_address: BTreeMap<IpAddr, u16>,
    /// Whose the connections are that peers have begun.
    accepted: BTreeMap<Socket, u16>,
    /// The own addresses of connections, and the ports of both ends.
    locals: BTreeMap<Socket, (IpAddr, [u16; 2])>,
    due: BTreeSet<(Time, u16)>,
    /// Peers by network.
    pub of_network: Vec<u32>,
    /// Whether an operator has drained all of them.
    pub are_drained: bool,
    /// Whether the own restart was so long ago that nobody has to know of it.
    has_restarted: bool,
}

impl Peers {
    /// The peers that the configuration names, which are looked for from now on.
    pub fn new(config: &Config, random: &mut Random) -> Peers {
        let of_network = vec![0; config.dynamic.len()];
        let mut peers = Peers { of_network, ..Peers::default() };
        for keys in &config.peers {
            peers.add(config, keys, None, random);
        }
        peers
    }

    /// Adds a peer and returns its number; `None` where there are no more.
    pub fn add(
        &mut self,
        config: &Config,
        keys: &PeerKeys,
        network: Option<usize>,
        random: &mut Random,
    ) -> Option<u16> {
        let free = self.entries.iter().position(Option::is_none);
        let at = free.unwrap_or(self.entries.len());
        let number = u16::try_from(at).ok().filter(|number| *number < PEERS_MAX)?;
        if free.is_none() {
            self.entries.push(None);
        }
        let mut peer =
            Peer::new(session(config, keys, !self.has_restarted), outgoing(number), random.bits());
        peer.start(Time::ZERO);
        self.entries[at] = Some(Entry {
            peer,
            kind: config.kind_of(keys.asn, keys.client),
            next_hop_self: keys.next_hop_self,
            network,
            kept: None,
            restart: None,
            constrained_at: None,
            ended: FamilySet::NONE,
            bounds: bounds(&keys.prefixes_max),
            paths_max: paths_max(&keys.paths_to_peer),
            alarmed: FamilySet::NONE,
            away: None,
            local: None,
            ports: [0; 2],
            malformed: 0,
            told: Told::default(),
            is_shut: false,
            is_drained: false,
            is_removed: false,
            due: None,
        });
        self.by_address.insert(keys.address.to_canonical(), number);
        if let Some(network) = network {
            self.of_network[network] += 1;
        }
        self.look_at(number);
        Some(number)
    }

    /// From now on nobody is told of the own restart.
    pub fn forget_restart(&mut self) {
        self.has_restarted = true;
        for entry in self.entries.iter_mut().flatten() {
            entry.peer.config_mut().restart.iter_mut().for_each(|it| it.is_restarting = false);
        }
    }

    /// Forgets a peer.
    pub fn remove(&mut self, number: u16) {
        let Some(entry) = self.entries[usize::from(number)].take() else { return };
        let address = entry.peer.config().peer.to_canonical();
        // It may be that of another one, where this one was removed before.
        if self.by_address.get(&address) == Some(&number) {
            self.by_address.remove(&address);
        }
        if let Some(due) = entry.due {
            self.due.remove(&(due, number));
        }
        if let Some(network) = entry.network {
            self.of_network[network] -= 1;
        }
    }

    /// A peer is configured no more: its address is nobody's from now on.
    pub fn unname(&mut self, number: u16) {
        let Some(entry) = self.get_mut(number) else { return };
        (entry.is_removed, entry.away) = (true, None);
        (entry.is_shut, entry.is_drained) = (false, false);
        let address = entry.peer.config().peer.to_canonical();
        self.by_address.remove(&address);
    }

    /// Returns a peer by its number.
    pub fn get_mut(&mut self, number: u16) -> Option<&mut Entry> {
        self.entries.get_mut(usize::from(number))?.as_mut()
    }

    /// Returns the same to be looked at.
    pub fn get(&self, number: u16) -> Option<&Entry> {
        self.entries.get(usize::from(number))?.as_ref()
    }

    /// Returns how many peers there are.
    pub fn count(&self) -> usize {
        self.by_address.len()
    }

    /// Returns the number of the peer of an address.
    pub fn of_address(&self, address: IpAddr) -> Option<u16> {
        self.by_address.get(&address.to_canonical()).copied()
    }

    /// Returns the number of the peer whose connection this is.
    pub fn of_socket(&self, socket: Socket) -> Option<u16> {
        let outgoing = u16::try_from(socket.0.checked_sub(OUTGOING)?).ok();
        let known =
            |number: &u16| self.entries.get(usize::from(*number)).is_some_and(Option::is_some);
        outgoing.filter(known).or_else(|| self.accepted.get(&socket).copied())
    }

    /// Notes whose a connection is that a peer has begun.
    pub fn accept(&mut self, socket: Socket, number: u16) {
        self.accepted.insert(socket, number);
    }

    /// Notes the ends of a connection, if they are known.
    pub fn note_ends(
        &mut self,
        socket: Socket,
        (local, peer): (Option<SocketAddr>, Option<SocketAddr>),
    ) {
        if let Some(local) = local {
            let ports = [local.port(), peer.map_or(0, |peer| peer.port())];
            self.locals.insert(socket, (local.ip().to_canonical(), ports));
        }
    }

    /// Something has arrived of a peer at a connection that may become its session.
    pub fn meet(&mut self, number: u16, socket: Socket) {
        if let Some(Some(entry)) = self.entries.get_mut(usize::from(number))
            && entry.peer.session_socket().is_none()
        {
            let ends = self.locals.get(&socket).copied();
            entry.local = ends.map(|(local, _)| local);
            entry.ports = ends.map(|(_, ports)| ports).unwrap_or_default();
        }
    }

    /// A connection is there no more.
    pub fn closed(&mut self, socket: Socket) {
        self.accepted.remove(&socket);
        self.locals.remove(&socket);
    }

    /// Notes when a peer has something to do, after something has happened with it.
    pub fn look_at(&mut self, number: u16) {
        let Some(entry) = self.entries[usize::from(number)].as_mut() else { return };
        let kept = entry.kept.map(|(until, _)| until);
        let waits = entry.peer.deadline().into_iter().chain(kept).chain(entry.constrained_at);
        let due = waits.chain(entry.away).min();
        if due == entry.due {
            return;
        }
        if let Some(before) = std::mem::replace(&mut entry.due, due) {
            self.due.remove(&(before, number));
        }
        if let Some(due) = due {
            self.due.insert((due, number));
        }
    }

    /// Returns the first time at which a peer has something to do, and which.
    pub fn due(&self) -> Option<(Time, u16)> {
        self.due.first().copied()
    }

    /// Returns all peers with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &Entry)> {
        self.from(0)
    }

    /// Returns the peers from a number on, in the order of their numbers.
    pub fn from(&self, first: u16) -> impl Iterator<Item = (u16, &Entry)> {
        let all = self.entries.iter().enumerate().skip(usize::from(first));
        all.filter_map(|(number, entry)| Some((number as u16, entry.as_ref()?)))
    }
}

/// What is said to a peer.
fn session(config: &Config, keys: &PeerKeys, is_restarting: bool) -> bgp::Config {
    let asn = keys.asn.unwrap_or(config.asn);
    let families = config.families_of(&keys.families);
    let md5 = keys.md5.as_ref().map(|key| (keys.address, Secret(key.clone().into_bytes())));
    let options = StreamOptions {
        ttl: (keys.ttl_min > 0).then_some(u8::MAX),
        ttl_min: keys.ttl_min,
        md5: md5.into_iter().collect(),
        ..StreamOptions::default()
    };
    bgp::Config {
        port: keys.port,
        local: keys.local,
        is_passive: keys.passive,
        hold_time_s: config.hold_time_s,
        connect_retry: CONNECT_RETRY,
        families,
        role: keys.role.map(Into::into),
        is_role_strict: keys.role_strict,
        receives_paths: families,
        sends_paths: several(&paths_max(&keys.paths_to_peer)),
        restart: Some(restart(config, families, is_restarting)),
        options,
        ..bgp::Config::new(config.asn, config.identifier.to_bits(), keys.address, asn)
    }
}

/// What is said of the own restart. Nothing is forwarded, so that what others forward by is the
/// same all the time.
fn restart(config: &Config, families: FamilySet, is_restarting: bool) -> Restart {
    let has_notification = true;
    match config.graceful_restart {
        Some(keys) => Restart {
            time_s: keys.time_s,
            is_restarting,
            has_notification,
            families,
            preserved: families,
        },
        None => Restart { has_notification, ..Restart::default() },
    }
}

/// Returns whether an address is in a network.
pub(crate) fn holds(network: Prefixed<IpAddr>, address: IpAddr) -> bool {
    let (own, bits, len) = match (network.address, address.to_canonical()) {
        (IpAddr::V4(own), IpAddr::V4(other)) => {
            (u128::from(own.to_bits()) << 96, u128::from(other.to_bits()) << 96, network.len)
        }
        (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), network.len),
        _ => return false,
    };
    let behind = u32::from(len);
    behind == 0 || (own ^ bits) >> (128 - behind) == 0
}

/// The number of the connection that the reflector begins with a peer.
fn outgoing(number: u16) -> Socket {
    Socket(OUTGOING + u32::from(number))
}

/// Numbers below are those of listeners.
pub(crate) const OUTGOING: u32 = 1 << 8;

/// From here on connections are those that peers begin.
pub(crate) const ACCEPTED: u32 = OUTGOING + (1 << 16);

/// Numbers of peers.
pub(crate) const PEERS_MAX: u16 = 16_384;

/// The longest time until a connection is tried again.
const CONNECT_RETRY: Duration = Duration::from_secs(30);
