//! What an operator says of the reflector.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use controller_kit::keys::invalid;
use function_kit::Invalid;
use function_kit::sections::Prefixed;
use protocol_bgp::families::{Family, FamilySet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dumps::keys::MrtKeys;
use crate::monitors::keys::BmpKeys;
use crate::own::Kind;

mod bounds;

mod family;

mod paths;

mod role;

mod restart;

mod policy;

mod ranges;

pub(crate) use bounds::bounds;
pub use bounds::{Beyond, PrefixesMax};
pub use family::FamilyName;
pub use paths::PathsToPeer;
pub(crate) use paths::{PathsMax, paths_max, several};
pub(crate) use policy::ACCEPT;
use policy::Policed;
pub use policy::{PolicyKeys, PrefixKeys, PrependKeys, RuleKeys, SetKeys, Then, Verdict};
pub(crate) use ranges::Kind as CommunityKind;
pub use ranges::{Ases, Communities};
pub use restart::{AtStop, RestartKeys};
pub use role::RoleName;

/// A route reflector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// The own AS.
    #[serde(rename = "as")]
    #[schemars(range(min = 1))]
    pub asn: u32,
    /// The own BGP identifier.
    pub identifier: Ipv4Addr,
    /// The number of the cluster, which all reflectors of the same clients may share; none for the
    /// identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Ipv4Addr>,
    /// Whether routes of clients go to other clients.
    #[serde(default = "yes")]
    pub client_to_client: bool,
    /// Where connections of peers are accepted; nowhere if the list is empty.
    #[serde(default = "loopback")]
    #[schemars(length(max = 16))]
    pub listen: Vec<SocketAddr>,
    /// The families of routes that peers without `families` are offered.
    #[serde(default = "unicast")]
    #[schemars(length(min = 1, max = 13))]
    pub families: Vec<FamilyName>,
    /// For how long nothing may be heard of a peer, in seconds: 0 for ever, else 3 or more. The
    /// lower one of both sides counts.
    #[serde(default = "hold_time_s")]
    pub hold_time_s: u16,
    /// Whether MED counts between paths of different neighbouring AS, too.
    #[serde(default)]
    pub always_compare_med: bool,
    /// Whether routes of other ASes with the community GRACEFUL_SHUTDOWN (RFC 8326), whose sessions
    /// are about to end, have the lowest preference: LOCAL_PREF 0.
    #[serde(default = "yes")]
    pub graceful_shutdown: bool,
    /// Whether clients with the family `route-target` are asked for all routes, by the default
    /// route target; else for those alone that somebody asks for who has that family, too.
    #[serde(default = "yes")]
    pub default_target: bool,
    /// Bytes of UPDATEs of a group that are kept for peers which lag; one that lags more is told
    /// the present state as soon as it takes bytes again.
    #[serde(default = "stream_bytes")]
    #[schemars(range(min = 1_048_576, max = 1_073_741_824))]
    pub stream_bytes: u32,
    /// Most bytes of memory that routes and attributes use, with all that belongs to them; none for
    /// no bound. An UPDATE that would use more is refused, and the session with its peer ends for a
    /// minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 16_777_216))]
    pub memory_max: Option<u64>,
    /// The own restart, over which peers that do graceful restart keep their routes (RFC 4724);
    /// none if they lose them with the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graceful_restart: Option<RestartKeys>,
    /// The peers.
    #[serde(default)]
    #[schemars(length(max = 16_384))]
    pub peers: Vec<PeerKeys>,
    /// Networks whose hosts may connect without being named.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub dynamic: Vec<DynamicKeys>,
    /// Policies, which say what is taken of peers and told to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    pub policies: Vec<PolicyKeys>,
    /// Files of MRT (RFC 6396) with what peers have told; none without a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mrt: Option<MrtKeys>,
    /// Collectors of BMP (RFC 7854), which are told the best path of each route, or what peers
    /// tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub bmp: Vec<BmpKeys>,
}

/// A peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PeerKeys {
    /// Its address.
    pub address: IpAddr,
    /// The port on which it listens.
    #[serde(default = "port")]
    #[schemars(range(min = 1))]
    pub port: u16,
    /// Its AS; none for the own one.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub asn: Option<u32>,
    /// Whether it is a client; one of another AS is not.
    #[serde(default = "yes")]
    pub client: bool,
    /// Whether it is waited for, and never connected to.
    #[serde(default)]
    pub passive: bool,
    /// The own address towards it; none for that of the route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<IpAddr>,
    /// The families of routes that it is offered; none for those of the reflector.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 13))]
    pub families: Vec<FamilyName>,
    /// The least Time To Live or Hop Limit of its packets (RFC 5082); 0 for any. Where connections
    /// are accepted, all peers have the same, and there are no networks beside another one than 0.
    #[serde(default)]
    pub ttl_min: u8,
    /// The key by which segments are signed (RFC 2385); none for no signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 80))]
    pub md5: Option<String>,
    /// Whether the reflector's own address, `local`, is the next hop of routes that a peer of
    /// another AS is told; else next hops stay.
    #[serde(default)]
    pub next_hop_self: bool,
    /// Most routes that it may tell, by family.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 13))]
    pub prefixes_max: Vec<PrefixesMax>,
    /// The families of which it is offered several paths of a route (RFC 7911), and how many; none
    /// for the best path alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 13))]
    pub paths_to_peer: Vec<PathsToPeer>,
    /// The own part in the relation with it (RFC 9234), if it is of another AS: what is told to
    /// whom follows from that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// Whether there is a session only if it has said its own part in the relation.
    #[serde(default)]
    pub role_strict: bool,
    /// The policy by which routes that it has told are taken; none for all of them, and of another
    /// AS for none (RFC 8212).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// The policy by which it is told routes; none as for `import`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<String>,
    /// The name of a group to which it belongs, for rules of policies that ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub group: Option<String>,
}

/// A network whose hosts may connect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DynamicKeys {
    /// The network.
    pub network: Prefixed<IpAddr>,
    /// The AS of its hosts; none for the own one.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub asn: Option<u32>,
    /// Whether they are clients.
    #[serde(default = "yes")]
    pub client: bool,
    /// Most of them at once.
    #[serde(default = "dynamic_max")]
    #[schemars(range(min = 1, max = 16_384))]
    pub peers_max: u32,
    /// Most routes that each of them may tell, by family.
    #[serde(default = "PrefixesMax::of_networks")]
    #[schemars(length(max = 13))]
    pub prefixes_max: Vec<PrefixesMax>,
    /// The families of which each of them is offered several paths of a route (RFC 7911), and how
    /// many; none for the best path alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 13))]
    pub paths_to_peer: Vec<PathsToPeer>,
    /// The own part in the relation with its hosts (RFC 9234), if they are of another AS: what is
    /// told to whom follows from that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// Whether there is a session only with hosts that have said their own part.
    #[serde(default)]
    pub role_strict: bool,
    /// The policy by which routes that they have told are taken; none for all of them, and of
    /// another AS for none (RFC 8212).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// The policy by which they are told routes; none as for `import`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<String>,
    /// The name of a group to which they belong, for rules of policies that ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub group: Option<String>,
}

impl Config {
    /// Checks what one key says of another.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.identifier.is_unspecified() {
            let what = "is 0.0.0.0, which is nobody's".to_owned();
            return Err(invalid("identifier", what, "Give an address of this host"));
        }
        if matches!(self.hold_time_s, 1 | 2) {
            let what = format!("is {}, which no peer accepts", self.hold_time_s);
            return Err(invalid("hold-time-s", what, "Give 0 for ever, or 3 or more"));
        }
        let mut addresses: Vec<IpAddr> = self.peers.iter().map(|peer| peer.address).collect();
        addresses.sort_unstable();
        if let Some(two) = addresses.windows(2).find(|two| two[0] == two[1]) {
            let what = format!("has {} twice", two[0]);
            return Err(invalid("peers", what, "Name each address once"));
        }
        self.mrt.as_ref().map_or(Ok(()), MrtKeys::check)?;
        self.check_ttl_min()?;
        self.check_roles()?;
        self.check_policies()?;
        let networks = self.dynamic.iter().map(|network| &network.prefixes_max);
        let peers = self.peers.iter().map(|peer| &peer.prefixes_max);
        networks.chain(peers).try_for_each(|all| bounds::check(all))?;
        let networks = self.dynamic.iter().map(|network| &network.paths_to_peer);
        let peers = self.peers.iter().map(|peer| &peer.paths_to_peer);
        networks.chain(peers).try_for_each(|list| paths::check(list))?;
        for peer in &self.peers {
            let is_external = self.kind_of(peer.asn, peer.client) == Kind::External;
            if peer.next_hop_self && !(is_external && peer.local.is_some()) {
                let what = format!("of {} has no address to tell", peer.address);
                let remedy = "Give `local` and the `as` of a peer of another AS, or leave it out";
                return Err(invalid("next-hop-self", what, remedy));
            }
            let is_mixed = |local: &IpAddr| local.is_ipv4() != peer.address.is_ipv4();
            if peer.local.as_ref().is_some_and(is_mixed) {
                let what = format!("of {} is of the other version of IP", peer.address);
                return Err(invalid("local", what, "Give an address of the peer's version"));
            }
            if peer.md5.is_some() && self.listen.is_empty() && peer.passive {
                let what = format!("has {}, which nothing listens for", peer.address);
                return Err(invalid("peers", what, "Set `listen`, or leave `passive` out"));
            }
        }
        Ok(())
    }

    /// Checks that parts are those towards other ASes.
    fn check_roles(&self) -> Result<(), Invalid> {
        let peers = self.peers.iter().map(|peer| (peer.asn, peer.role, peer.role_strict));
        let networks = self.dynamic.iter().map(|one| (one.asn, one.role, one.role_strict));
        for (asn, role, is_strict) in peers.chain(networks) {
            let is_external = self.kind_of(asn, false) == Kind::External;
            if role.is_some() && !is_external || is_strict && role.is_none() {
                let what = "is said of a peer that has no part in a relation".to_owned();
                let remedy = "Give the `as` of another AS and a `role`, or leave it out";
                return Err(invalid(if is_strict { "role-strict" } else { "role" }, what, remedy));
            }
        }
        Ok(())
    }

    /// Checks policies, and that peers have some that there are.
    fn check_policies(&self) -> Result<(), Invalid> {
        let peers = self.peers.iter().map(|one| Policed {
            name: &one.address,
            group: one.group.as_ref(),
            import: one.import.as_ref(),
            export: one.export.as_ref(),
        });
        let networks = self.dynamic.iter().map(|one| Policed {
            name: &one.network.address,
            group: one.group.as_ref(),
            import: one.import.as_ref(),
            export: one.export.as_ref(),
        });
        policy::check(&self.policies, self.asn, peers.chain(networks))
    }

    /// Checks that one listener can do what is said of each peer.
    fn check_ttl_min(&self) -> Result<(), Invalid> {
        if self.listen.is_empty() {
            return Ok(());
        }
        let networks = self.dynamic.iter().map(|_| 0);
        let mut all = self.peers.iter().map(|peer| peer.ttl_min).chain(networks);
        let first = all.next();
        match all.find(|other| Some(*other) != first) {
            Some(other) => {
                let what = format!("is {} and {other}, and a listener has one", first.unwrap_or(0));
                let remedy = "Give all peers the same, with 0 where there is `dynamic`, or leave \
                              `listen` empty";
                Err(invalid("ttl-min", what, remedy))
            }
            None => Ok(()),
        }
    }

    /// Returns the number of the cluster.
    pub fn cluster_id(&self) -> u32 {
        self.cluster.unwrap_or(self.identifier).to_bits()
    }

    /// Returns the families of a list, or the reflector's own where that is empty.
    pub fn families_of(&self, list: &[FamilyName]) -> FamilySet {
        let list = if list.is_empty() { &self.families } else { list };
        list.iter().map(|name| name.0).collect()
    }

    /// Returns what a peer of an AS is to the reflector.
    pub fn kind_of(&self, asn: Option<u32>, is_client: bool) -> Kind {
        match (asn.is_none_or(|asn| asn == self.asn), is_client) {
            (false, _) => Kind::External,
            (true, true) => Kind::Client,
            (true, false) => Kind::Internal,
        }
    }
}

fn yes() -> bool {
    true
}

fn port() -> u16 {
    protocol_bgp::config::PORT
}

fn loopback() -> Vec<SocketAddr> {
    vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port()))]
}

fn unicast() -> Vec<FamilyName> {
    vec![FamilyName(Family::Ipv4Unicast), FamilyName(Family::Ipv6Unicast)]
}

fn hold_time_s() -> u16 {
    90
}

fn stream_bytes() -> u32 {
    64 << 20
}

fn dynamic_max() -> u32 {
    1024
}
