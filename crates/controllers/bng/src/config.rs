//! The keys.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use controller_kit::keys::invalid;
use function_bng::config::Name;
use function_kit::Invalid;
use function_kit::sections::Prefixed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The control plane of a bng.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// How this gateway calls itself: NAS-Identifier of RADIUS, and the name of the access
    /// concentrator that hosts of PPPoE see.
    #[schemars(length(min = 1, max = 64))]
    pub nas_identifier: String,
    /// The profile of sessions that are told none; one of the gateway's.
    pub profile: Name,
    /// Servers of names that subscribers are told; two of IPv4 at most are told by PPPoE.
    #[schemars(length(max = 8))]
    pub dns: Vec<IpAddr>,
    /// Addresses and prefixes that sessions are given; the first of a kind is for those that are
    /// told no pool.
    #[schemars(length(max = 256))]
    pub pools: Vec<Pool>,
    /// For how long a lease of DHCP is valid; it is renewed after half of it.
    #[schemars(range(min = 60, max = 31_536_000))]
    pub lease_time_s: u32,
    /// For how long an address that was released is given to nobody.
    #[schemars(range(max = 86_400))]
    pub quarantine_s: u32,
    /// Most leases of DHCP on a line.
    #[schemars(range(min = 1, max = 65_535))]
    pub line_leases: u16,
    /// Whether access nodes add option 82, or are relay agents of a line (DHCPv6): what they say of
    /// a line is taken. Otherwise messages with such things are dropped.
    pub trust_access_nodes: bool,
    /// A session ends after this time unless RADIUS says another one; 0 for never.
    pub session_timeout_s: u32,
    /// A session ends when nothing has come from it for this time, to the minute, unless RADIUS
    /// says another one; 0 for never.
    pub idle_timeout_s: u32,
    /// Whether a subscriber that was let in on another line ends its session on the old one: the
    /// same station, or the same fixed address.
    pub moves: bool,
    /// Sessions of IPoE.
    pub ipoe: Ipoe,
    /// Sessions of PPPoE.
    pub pppoe: Pppoe,
    /// External servers of DHCP, to which messages of clients are relayed; without them the
    /// controller has servers of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay: Option<Relay>,
    /// Servers of RADIUS; without them nobody is asked, and nothing is accounted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<Radius>,
}

/// Addresses or prefixes of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pool {
    /// Name of the pool, by which RADIUS chooses it.
    pub name: Name,
    /// What the units of the pool are.
    pub kind: PoolKind,
    /// The whole range: `10.1.0.0/16`, `2001:db8::/40`. Of more than 16,777,216 units the first
    /// ones are given.
    pub prefix: Prefixed<IpAddr>,
    /// Length of a unit of `delegated`, /32 to /64.
    #[serde(default = "delegated_length")]
    #[schemars(range(min = 32, max = 64))]
    pub length: u8,
    /// The router that hosts of an `ipv4` pool are told; by default the first of the gateway's
    /// `access-addresses` that is in the pool, or the first one at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Ipv4Addr>,
    /// From this share on of units in use, in percent, there is an alarm; 0 for never.
    #[serde(default = "ninety")]
    #[schemars(range(max = 100))]
    pub alarm_percent: u8,
}

/// What the units of a pool are.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PoolKind {
    /// Addresses of IPv4.
    Ipv4,
    /// Addresses of IPv6 by DHCPv6 (IA_NA).
    Na,
    /// Prefixes of 64 bits of which hosts make their addresses.
    Slaac,
    /// Prefixes delegated by DHCPv6 (IA_PD).
    Delegated,
}

/// Sessions of IPoE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Ipoe {
    /// Whether a server decides who is let in.
    pub authentication: Authentication,
    /// What stands for User-Name.
    pub user_name: UserName,
    /// The password with it; User-Name itself if it is empty.
    #[schemars(length(max = 128))]
    pub password: String,
}

/// Sessions of PPPoE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Pppoe {
    /// Whether a server decides who is let in. With `none` peers are not asked who they are.
    pub authentication: Authentication,
    /// How peers prove who they are, the preferred way first.
    #[schemars(length(min = 1, max = 2))]
    pub methods: Vec<Method>,
    /// Services that hosts may ask for by name, beside any.
    #[schemars(length(max = 16))]
    pub services: Vec<String>,
    /// Most bytes of IP that lines carry; above 1492 hosts may ask for more than that (RFC 4638).
    #[schemars(range(min = 1492, max = 9000))]
    pub max_payload: u16,
    /// Time between two echo requests.
    #[schemars(range(min = 1, max = 3600))]
    pub echo_interval_s: u32,
    /// A session ends after so many of them without an answer.
    #[schemars(range(min = 1, max = 255))]
    pub echo_failures: u8,
    /// Most sessions of a station, on whatever line.
    #[schemars(range(min = 1))]
    pub mac_sessions: u32,
    /// Most sessions of a circuit.
    #[schemars(range(min = 1))]
    pub circuit_sessions: u32,
}

/// Who decides whether somebody is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Authentication {
    /// Nobody: all are.
    None,
    /// RADIUS.
    Radius,
}

/// What stands for the name of a user of IPoE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UserName {
    /// The station's address, as `02:00:00:00:00:01`.
    Mac,
    /// What the access node says of the circuit; who is on none is not let in.
    Circuit,
    /// The VLANs of the line, as `100.7`.
    Line,
}

/// How a peer of PPP proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By the hash of a challenge (RFC 1994).
    Chap,
    /// By its password, which everybody on the way can read (RFC 1334).
    Pap,
}

/// External servers of DHCP; without those of a version the controller has a server of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Relay {
    /// Of DHCPv4, for sessions of IPoE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<RelayV4>,
    /// Of DHCPv6, for all sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<RelayV6>,
}

/// External servers of DHCPv4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RelayV4 {
    /// The servers, all of which are asked.
    #[schemars(length(min = 1, max = 64))]
    pub servers: Vec<Ipv4Addr>,
    /// Own address from which they are asked, and to which they answer (`giaddr`).
    pub local: Ipv4Addr,
    /// Whom clients know as their server.
    #[serde(default)]
    pub mode: RelayMode,
}

/// External servers of DHCPv6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RelayV6 {
    /// The servers, all of which are asked.
    #[schemars(length(min = 1, max = 64))]
    pub servers: Vec<Ipv6Addr>,
    /// Own address from which they are asked, and to which they answer.
    pub local: Ipv6Addr,
}

/// Whom clients of a relay know as their server. By either way they renew by the gateway, which
/// has to know for how long their leases live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RelayMode {
    /// The gateway, which writes itself into what servers send.
    #[default]
    Proxy,
    /// The gateway, because servers are told to name it (RFC 5107).
    Relay,
}

/// Servers of RADIUS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Radius {
    /// The servers, the preferred one first.
    #[schemars(length(min = 1, max = 32))]
    pub servers: Vec<Server>,
    /// Whether sessions are accounted.
    #[serde(default = "yes")]
    pub accounting: bool,
    /// Time between two interim records of a session unless RADIUS says another one, 60 s at least;
    /// 0 for none.
    #[serde(default = "ten_minutes")]
    pub interim_interval_s: u32,
    /// Time until a request is repeated; it doubles each time.
    #[serde(default = "second_ms")]
    #[schemars(range(min = 10, max = 60_000))]
    pub timeout_ms: u32,
    /// How often a request is sent to a server.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 10))]
    pub tries: u8,
    /// How long nothing is sent to a server that has not answered.
    #[serde(default = "half_minute")]
    #[schemars(range(min = 1, max = 3600))]
    pub dead_time_s: u32,
    /// Most requests of access that wait or are on their way, and as many of accounting.
    #[serde(default = "requests")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests_max: u32,
    /// Most records that wait for a server of accounting; further ones are lost and counted.
    #[serde(default = "requests")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub records_max: u32,
    /// The file in which records wait over a restart, by its whole path; in memory alone without
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records_file: Option<PathBuf>,
    /// What attributes give a session, each by a pattern with targets; the usual table of the
    /// protocol if there are none.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub attributes: Vec<Row>,
    /// Where servers ask for changes and ends of sessions (RFC 5176): addresses and ports.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub dynamic: Vec<SocketAddr>,
}

/// A server of RADIUS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Server {
    /// Address of the server.
    pub address: IpAddr,
    /// Own address from which the server is asked.
    pub local: IpAddr,
    /// Secret that the server shares with this gateway.
    #[schemars(length(min = 1, max = 253))]
    pub secret: String,
    /// Port of access.
    #[serde(default = "access_port")]
    #[schemars(range(min = 1))]
    pub port: u16,
    /// Port of accounting.
    #[serde(default = "accounting_port")]
    #[schemars(range(min = 1))]
    pub accounting_port: u16,
}

/// What an attribute gives a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Row {
    /// Name of the attribute: `Filter-Id`.
    pub attribute: String,
    /// Value of the attribute, with targets in braces: `{profile}`.
    pub pattern: String,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            nas_identifier: "plumbline".to_owned(),
            profile: Name::new("default"),
            dns: Vec::new(),
            pools: Vec::new(),
            lease_time_s: 3600,
            quarantine_s: 60,
            line_leases: 16,
            trust_access_nodes: false,
            session_timeout_s: 0,
            idle_timeout_s: 0,
            moves: true,
            ipoe: Ipoe::default(),
            pppoe: Pppoe::default(),
            relay: None,
            radius: None,
        }
    }
}

impl Default for Ipoe {
    fn default() -> Ipoe {
        let (authentication, user_name) = (Authentication::None, UserName::Mac);
        Ipoe { authentication, user_name, password: String::new() }
    }
}

impl Default for Pppoe {
    fn default() -> Pppoe {
        Pppoe {
            authentication: Authentication::None,
            methods: vec![Method::Chap, Method::Pap],
            services: Vec::new(),
            max_payload: 1492,
            echo_interval_s: 30,
            echo_failures: 3,
            mac_sessions: 8,
            circuit_sessions: 8,
        }
    }
}

impl Config {
    /// The external servers of DHCPv4.
    pub fn relay_v4(&self) -> Option<&RelayV4> {
        self.relay.as_ref().and_then(|relay| relay.ipv4.as_ref())
    }

    /// The external servers of DHCPv6.
    pub fn relay_v6(&self) -> Option<&RelayV6> {
        self.relay.as_ref().and_then(|relay| relay.ipv6.as_ref())
    }

    /// Checks what one key alone cannot tell.
    ///
    /// # Errors
    /// The first key that cannot be used.
    pub fn validate(&self) -> Result<(), Invalid> {
        let asks = [self.ipoe.authentication, self.pppoe.authentication];
        for (key, authentication) in ["ipoe", "pppoe"].into_iter().zip(asks) {
            if authentication == Authentication::Radius && self.radius.is_none() {
                let key = format!("{key}.authentication");
                let remedy = "Add `radius` with its servers, or choose `none`";
                return Err(invalid(&key, "has no server to ask".to_owned(), remedy));
            }
        }
        if self.ipoe.user_name == UserName::Circuit && !self.trust_access_nodes {
            let what = "has what access nodes say, which are not trusted".to_owned();
            return Err(invalid("ipoe.user-name", what, "Set `trust-access-nodes` to true"));
        }
        let services = self.pppoe.services.iter();
        if let Some(service) = services.into_iter().find(|it| !(1..=64).contains(&it.len())) {
            let what = format!("has `{service}`, which is empty or too long");
            return Err(invalid("pppoe.services", what, "Write 1 to 64 bytes"));
        }
        self.pools.iter().enumerate().try_for_each(|(number, pool)| {
            let is_twice = self.pools.iter().take(number).any(|other| other.name == pool.name);
            match pool.fault(is_twice) {
                None => Ok(()),
                Some((key, what)) => {
                    let remedy = "Give each pool a name of its own, and a prefix of its kind";
                    Err(invalid(&format!("pools[{number}].{key}"), what.to_owned(), remedy))
                }
            }
        })?;
        self.radius.as_ref().map_or(Ok(()), Radius::validate)
    }
}

impl Pool {
    /// The length of its units.
    pub fn unit_len(&self) -> u8 {
        match self.kind {
            PoolKind::Ipv4 => 32,
            PoolKind::Na => 128,
            PoolKind::Slaac => 64,
            PoolKind::Delegated => self.length,
        }
    }

    /// The key that cannot be used, and why.
    fn fault(&self, is_twice: bool) -> Option<(&'static str, &'static str)> {
        let is_v4 = self.kind == PoolKind::Ipv4;
        if is_twice {
            return Some(("name", "is another pool's, too"));
        }
        if self.prefix.address.is_ipv4() != is_v4 {
            return Some(("prefix", "is of another version of IP than its kind"));
        }
        if self.prefix.len > self.unit_len() || self.prefix.len == 0 {
            return Some(("prefix", "has no unit, or no length"));
        }
        if self.gateway.is_some() && !is_v4 {
            return Some(("gateway", "goes with `ipv4` alone"));
        }
        (!(32..=64).contains(&self.length)).then_some(("length", "is not 32 to 64"))
    }
}

impl Radius {
    fn validate(&self) -> Result<(), Invalid> {
        for (number, server) in self.servers.iter().enumerate() {
            if server.address.is_ipv4() != server.local.is_ipv4() {
                let what = "is of another version of IP than the server".to_owned();
                let remedy = "Give an own address of the server's version";
                return Err(invalid(&format!("radius.servers[{number}].local"), what, remedy));
            }
        }
        if (1..60).contains(&self.interim_interval_s) {
            let what = format!("is {}", self.interim_interval_s);
            return Err(invalid("radius.interim-interval-s", what, "Give 0, or 60 and more"));
        }
        let is_whole = |file: &&PathBuf| file.is_absolute() && file.file_name().is_some();
        if let Some(file) = self.records_file.as_ref().filter(|file| !is_whole(file)) {
            let what = format!("is `{}`, which is no whole path of a file", file.display());
            let remedy = "Write it from the root on: `/var/lib/plumbline/records`";
            return Err(invalid("radius.records-file", what, remedy));
        }
        Ok(())
    }
}

fn delegated_length() -> u8 {
    56
}

fn ninety() -> u8 {
    90
}

fn yes() -> bool {
    true
}

fn ten_minutes() -> u32 {
    600
}

fn second_ms() -> u32 {
    1000
}

fn three() -> u8 {
    3
}

fn half_minute() -> u32 {
    30
}

fn requests() -> u32 {
    65_536
}

fn access_port() -> u16 {
    1812
}

fn accounting_port() -> u16 {
    1813
}
