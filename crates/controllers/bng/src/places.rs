//! What the keys mean at the gateway that is controlled: pools with their routers, and what the
//! machines of protocols are made of.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use controller_kit::keys::invalid;
use function_bng::BroadbandGateway;
use function_bng::config::{self as gateway, Name};
use function_kit::Invalid;
use function_kit::erased::{Configured, config_of};
use protocol_dhcp::v6::server::Identity;
use protocol_dhcp::{self as dhcp, Class, Kind, PoolConfig, Pools, Prefix};
use protocol_ppp as ppp;
use protocol_pppoe as pppoe;
use wire::ipv6;

use crate::config::{Authentication, Config, Method, Pool, PoolKind};
use crate::frame::Access;
use crate::session::Version;

/// The gateway, and what of the keys depends on it.
pub(crate) struct Places {
    /// As it is configured.
    pub gateway: gateway::Config,
    pub access: Access,
    /// Most sessions.
    pub capacity: u32,
    /// The router of hosts of no pool, and this side of sessions of PPPoE.
    pub router: Ipv4Addr,
    /// The address of this side on lines.
    pub link_local: Ipv6Addr,
    /// The routers of pools, by their places; none of other kinds.
    routers: Vec<Option<Ipv4Addr>>,
}

impl Places {
    /// Looks at a function, which has to be a bng.
    ///
    /// # Errors
    /// What does not fit.
    pub fn of(function: Option<&dyn Configured>, config: &Config) -> Result<Places, Invalid> {
        let gateway = function.and_then(|function| config_of::<BroadbandGateway>(function));
        let gateway = gateway.ok_or_else(|| {
            let what = "controls a bng alone".to_owned();
            invalid("name", what, "Remove the controller, or choose another function")
        })?;
        let own = gateway.access_addresses.iter().filter_map(|address| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        });
        let own: Vec<Ipv4Addr> = own.collect();
        let mut routers = Vec::with_capacity(config.pools.len());
        for (number, pool) in config.pools.iter().enumerate() {
            let is_v4 = pool.kind == PoolKind::Ipv4;
            let router = pool.gateway.or_else(|| router_of(pool, &own));
            match router.filter(|router| own.contains(router)) {
                _ if !is_v4 => routers.push(None),
                Some(router) => routers.push(Some(router)),
                None => {
                    let key = format!("pools[{number}].gateway");
                    let what = "is no `access-address` of the gateway".to_owned();
                    return Err(invalid(&key, what, "Add it to `access-addresses`"));
                }
            }
        }
        let is_known = |name: Name| gateway.profiles.iter().any(|one| one.name == name);
        if !is_known(config.profile) {
            let what = format!("is `{}`, which the gateway does not have", config.profile);
            return Err(invalid("profile", what, "Name one of the gateway's `profiles`"));
        }
        Ok(Places {
            access: Access { mac: gateway.access_mac, outer_tag: gateway.outer_tag },
            capacity: gateway.session_capacity,
            router: own.first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED),
            link_local: ipv6::link_local(gateway.access_mac),
            routers,
            gateway: gateway.clone(),
        })
    }

    /// Whether sessions at another gateway would be the same ones.
    pub fn is_like(&self, other: &Places) -> bool {
        let of = |places: &Places| {
            let numbers = places.gateway.sessions.iter().map(|session| session.number);
            (places.access, places.capacity, numbers.collect::<Vec<u32>>())
        };
        let [one, its] = [&self.gateway, &other.gateway];
        of(self) == of(other)
            && one.access_addresses == its.access_addresses
            && one.core_addresses == its.core_addresses
            && one.line_sessions == its.line_sessions
    }

    /// The pools, as the keys have them.
    ///
    /// # Errors
    /// What of them cannot be.
    pub fn pools(&self, config: &Config) -> Result<Pools, Invalid> {
        let of = |pool: &Pool| self.pool(pool);
        let configs: Option<Vec<PoolConfig>> = config.pools.iter().map(of).collect();
        let remedy = "Give each pool addresses of its own, with zeros behind its length";
        let not = |what: String| invalid("pools", what, remedy);
        let configs = configs.ok_or_else(|| not("has a prefix that is none".to_owned()))?;
        let spans = [u64::from(config.quarantine_s), DECLINED_S].map(Duration::from_secs);
        Pools::new(configs, spans[0], spans[1]).map_err(|why| not(format!("cannot be: {why}")))
    }

    fn pool(&self, pool: &Pool) -> Option<PoolConfig> {
        let unit = pool.unit_len();
        let network = Prefix::new(pool.prefix.address, pool.prefix.len)?;
        let first = Prefix::new(network.address(), unit)?;
        let count = 1u64.checked_shl(u32::from(unit - pool.prefix.len)).unwrap_or(u64::MAX);
        let count = count.min(UNITS_MAX) as u32;
        let mut reserved = Vec::new();
        // The first address is all routers of the link, or the network; the last one all hosts.
        if matches!(pool.kind, PoolKind::Ipv4 | PoolKind::Na) && count > 2 {
            reserved.push(first);
        }
        if let (PoolKind::Ipv4, IpAddr::V4(network)) = (pool.kind, network.address())
            && count > 2
        {
            let last = Ipv4Addr::from(u32::from(network).wrapping_add(count - 1));
            reserved.push(Prefix::host(last.into()));
        }
        let is_of_kind = matches!(pool.kind, PoolKind::Ipv4 | PoolKind::Na);
        let own = self.gateway.access_addresses.iter().chain(&self.gateway.core_addresses);
        let own = own.filter(|_| is_of_kind).map(|address| Prefix::host(*address));
        let is_within = |address: &Prefix| {
            let distance = match (address.address(), network.address()) {
                (IpAddr::V4(one), IpAddr::V4(of)) => {
                    u128::from(u32::from(one)).checked_sub(u32::from(of).into())
                }
                (IpAddr::V6(one), IpAddr::V6(of)) => u128::from(one).checked_sub(of.into()),
                _ => None,
            };
            distance.is_some_and(|distance| distance < count.into())
        };
        reserved.extend(own.filter(is_within));
        reserved.sort();
        reserved.dedup();
        let kind = match pool.kind {
            PoolKind::Ipv4 | PoolKind::Na => Kind::Address,
            PoolKind::Slaac => Kind::Slaac,
            PoolKind::Delegated => Kind::Delegated,
        };
        let alarm_percent = pool.alarm_percent;
        Some(PoolConfig { kind, first, count, reserved, shares: 1, alarm_percent })
    }

    /// The router of a pool by its place, or of no pool.
    pub fn router_of(&self, pool: Option<u16>) -> Ipv4Addr {
        let of_pool = pool.and_then(|pool| *self.routers.get(usize::from(pool))?);
        of_pool.unwrap_or(self.router)
    }

    /// What servers of DHCP are made of. They have no pools: what a client gets is fixed by whoever
    /// has let it in. A class is a pool, by its place; the last one is for what is of none.
    pub fn dhcp(&self, config: &Config, seed: u64, version: Version) -> dhcp::Config {
        let is_v6 = version == Version::V6;
        let mut made = dhcp::Config::new(seed, self.capacity);
        made.leases_per_line_max = config.line_leases;
        made.trusts_access_nodes = config.trust_access_nodes;
        let valid = Duration::from_secs(config.lease_time_s.into());
        let names = |address: &IpAddr| match address {
            IpAddr::V4(address) => (!is_v6).then(|| address.octets().to_vec()),
            IpAddr::V6(address) => is_v6.then(|| address.octets().to_vec()),
        };
        let dns: Vec<u8> = config.dns.iter().filter_map(names).flatten().collect();
        let class = |pool: Option<(u16, &Pool)>| {
            let mut class = Class::new(valid);
            if !dns.is_empty() {
                class = class.with(if is_v6 { V6_DNS } else { V4_DNS }, &dns);
            }
            if is_v6 {
                return class;
            }
            let router = self.router_of(pool.map(|(place, _)| place));
            let len = pool.map_or(32, |(_, pool)| pool.prefix.len);
            let mask = u32::MAX.checked_shl(32 - u32::from(len.min(32))).unwrap_or(0);
            class.with(V4_MASK, &mask.to_be_bytes()).with(V4_ROUTER, &router.octets())
        };
        made.classes = (0..).zip(&config.pools).map(|pool| class(Some(pool))).collect();
        made.classes.push(class(None));
        made.stateless_class = Some(config.pools.len() as u16);
        made
    }

    /// By what clients of DHCPv6 know this side: by its Ethernet address (RFC 8415 section 11.4).
    pub fn identity(&self) -> Identity {
        let duid = [&[0, 3, 0, 1][..], &self.access.mac.0].concat();
        let address = self.link_local;
        Identity { duid, address, preference: 255, allows_rapid_commit: true }
    }

    /// What the access concentrator is made of.
    pub fn concentrator(&self, config: &Config) -> pppoe::Config {
        let limits = pppoe::Limits {
            total: self.capacity,
            by_mac: config.pppoe.mac_sessions,
            by_vlan: self.capacity,
            by_circuit: config.pppoe.circuit_sessions,
        };
        // The Protocol field of PPP is within what PPPoE carries.
        let mut made = pppoe::Config::new(config.nas_identifier.as_bytes());
        made.services = config.pppoe.services.iter().map(|it| it.clone().into_bytes()).collect();
        made.max_payload = config.pppoe.max_payload;
        made.limits = limits;
        made.trusts_access_nodes = config.trust_access_nodes;
        made
    }

    /// What sessions of PPP have in common.
    pub fn ppp(&self, config: &Config) -> Arc<ppp::Config> {
        let of = |method: &Method| match method {
            Method::Chap => ppp::Method::ChapMd5,
            Method::Pap => ppp::Method::Pap,
        };
        let requires = match config.pppoe.authentication {
            Authentication::None => Vec::new(),
            Authentication::Radius => config.pppoe.methods.iter().map(of).collect(),
        };
        Arc::new(ppp::Config {
            requires,
            name: config.nas_identifier.clone().into_bytes(),
            keepalive: Some(ppp::Keepalive {
                interval: Duration::from_secs(config.pppoe.echo_interval_s.into()),
                failures: config.pppoe.echo_failures,
            }),
            ..ppp::Config::new()
        })
    }
}

/// The router of a pool that says none: an own address that lies in it, or the first one.
fn router_of(pool: &Pool, own: &[Ipv4Addr]) -> Option<Ipv4Addr> {
    let IpAddr::V4(network) = pool.prefix.address else { return None };
    let mask = u32::MAX.checked_shl(32 - u32::from(pool.prefix.len.min(32))).unwrap_or(0);
    let is_in = |address: &&Ipv4Addr| u32::from(**address) & mask == u32::from(network) & mask;
    own.iter().find(is_in).or(own.first()).copied()
}

/// Most units of a pool.
const UNITS_MAX: u64 = 1 << 24;

/// How long an address that somebody else was found to use is given to nobody, in seconds.
const DECLINED_S: u64 = 3600;

const V4_MASK: u16 = 1;
const V4_ROUTER: u16 = 3;
const V4_DNS: u16 = 6;
const V6_DNS: u16 = 23;
