//! What a session is granted: by the keys, and by the attributes of RADIUS.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_bng::config::Name;
use protocol_dhcp::Prefix;
use protocol_radius::attributes::kind;
use protocol_radius::mapping::{Mapped, PoolKind as Pools, Way};
use protocol_radius::{Attributes, Grant, List};
use serde_json::Value;

use crate::config::{Config, PoolKind};

/// What a session is granted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Granted {
    pub profile: Name,
    pub list: Option<Name>,
    pub vrf: Option<Name>,
    /// Fixed addresses, in the order of [`PoolKind`].
    pub fixed: [Option<Prefix>; 4],
    /// Pools by name, in the same order.
    pub pools: [Option<String>; 4],
    /// Servers of names of its own.
    pub dns: Vec<IpAddr>,
    /// Zero for never, as the next one.
    pub session_timeout: Duration,
    pub idle_timeout: Duration,
    /// Zero for no interim records.
    pub interim: Duration,
    /// What accounting is to have of the answer: Class.
    pub class: List,
    /// What the server has granted and this gateway does not have.
    pub ignored: u32,
}

impl Granted {
    /// What everybody is granted.
    pub fn usual(config: &Config) -> Granted {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let interim = config.radius.as_ref().map_or(0, |radius| radius.interim_interval_s);
        Granted {
            profile: config.profile,
            list: None,
            vrf: None,
            fixed: [None; 4],
            pools: Default::default(),
            dns: Vec::new(),
            session_timeout: seconds(config.session_timeout_s),
            idle_timeout: seconds(config.idle_timeout_s),
            interim: seconds(interim),
            class: List::new(),
            ignored: 0,
        }
    }

    /// Takes over what an answer or a change grants; `None` if a name of it is none.
    pub fn with(mut self, mapped: &Mapped, attributes: Attributes<'_>) -> Option<Granted> {
        self.ignored += mapped.unfit.len() as u32;
        // Those that it names are all.
        if mapped.grants.iter().any(|grant| matches!(grant, Grant::Dns(_))) {
            self.dns.clear();
        }
        for grant in &mapped.grants {
            self.take(grant)?;
        }
        let mut class = List::new();
        // Servers that send more than a packet can have get none of it back.
        let _ = class.extend(attributes, |it| it == kind::CLASS);
        if !class.is_empty() {
            self.class = class;
        }
        Some(self)
    }

    fn take(&mut self, grant: &Grant) -> Option<()> {
        let fixed = |kind: PoolKind, address: IpAddr, len: u8| {
            let prefix = Prefix::new(address, len);
            prefix.map(|prefix| (kind as usize, prefix))
        };
        match grant {
            Grant::Address(address) => {
                let (at, prefix) = fixed(PoolKind::Ipv4, (*address).into(), 32)?;
                self.fixed[at] = Some(prefix);
            }
            Grant::Ipv6Address(address) => {
                let (at, prefix) = fixed(PoolKind::Na, (*address).into(), 128)?;
                self.fixed[at] = Some(prefix);
            }
            Grant::Prefix(prefix, 64) => {
                let (at, prefix) = fixed(PoolKind::Slaac, (*prefix).into(), 64)?;
                self.fixed[at] = Some(prefix);
            }
            Grant::DelegatedPrefix(prefix, len) if (32..=64).contains(len) => {
                let (at, prefix) = fixed(PoolKind::Delegated, (*prefix).into(), *len)?;
                self.fixed[at] = Some(prefix);
            }
            Grant::Prefix(..) | Grant::DelegatedPrefix(..) => return None,
            Grant::Pool(kind, name) => {
                let kind = match kind {
                    Pools::Ipv4 => PoolKind::Ipv4,
                    Pools::Ipv6 => PoolKind::Na,
                    Pools::Prefix => PoolKind::Slaac,
                    Pools::Delegated => PoolKind::Delegated,
                };
                self.pools[kind as usize] = Some(name.clone());
            }
            Grant::Profile(_, name) => self.profile = name_of(name)?,
            Grant::List(Way::Both | Way::Up, name) => self.list = Some(name_of(name)?),
            Grant::Vrf(name) => self.vrf = Some(name_of(name)?),
            Grant::Dns(address) => self.dns.push(*address),
            Grant::SessionTimeout(time) => self.session_timeout = *time,
            Grant::IdleTimeout(time) => self.idle_timeout = *time,
            Grant::InterimInterval(time) => self.interim = *time,
            Grant::List(Way::Down, _)
            | Grant::Rate { .. }
            | Grant::Burst { .. }
            | Grant::FilterRule(_)
            | Grant::Mirror(_)
            | Grant::Route(_)
            | Grant::RedirectUrl(_)
            | Grant::Mtu(_) => self.ignored += 1,
        }
        Some(())
    }
}

/// A name of the gateway's configuration; none if a text cannot be one.
pub(crate) fn name_of(text: &str) -> Option<Name> {
    serde_json::from_value(Value::String(text.to_owned())).ok()
}

/// The address of IPv6 that a prefix begins with.
pub(crate) fn v6_of(prefix: Prefix) -> Option<Ipv6Addr> {
    match prefix.address() {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => Some(address),
    }
}
