//! The key `logging`: what is told, in which form, to whom, and how much of it at most.
use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use function_kit::Invalid;
use function_kit::sections::{Mac, function_key};
use machine::clock::{Clock, Ticks};
use packet::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::{MacAddr, ethernet};

use crate::collector::Collector;
use crate::epoch::Epoch;
use crate::record::Class;

/// Logs of blocks, and of sessions when asked, to a collector. Limits are each worker's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Logging {
    /// `ipfix` (RFC 7011, RFC 8158) or `syslog` (RFC 5424).
    pub format: Format,
    /// The collector's address.
    pub collector: IpAddr,
    /// UDP port of the collector; 0 for 4739 (IPFIX) or 514 (syslog).
    #[serde(default)]
    pub port: u16,
    /// The address that messages come from, of the same version of IP.
    pub source: IpAddr,
    /// The UDP port that they come from.
    #[serde(default = "source_port")]
    #[schemars(range(min = 1))]
    pub source_port: u16,
    /// To whom they go by Ethernet.
    pub next_hop_mac: Mac,
    /// The port by which they leave.
    #[serde(default)]
    pub leaves_by: Side,
    /// Whether sessions are told; blocks and what goes wrong are in any case.
    #[serde(default)]
    pub sessions: bool,
    /// Whether mappings are told (binding information base).
    #[serde(default)]
    pub mappings: bool,
    /// Whether a session's other end is told, too, which RFC 6888 REQ-12 advises against.
    #[serde(default)]
    pub destinations: bool,
    /// Records that wait at most; a power of two, rounded up. Sessions and mappings may take seven
    /// eighths.
    #[serde(default = "queue")]
    #[schemars(range(min = 8, max = 16_777_216))]
    pub queue: u32,
    /// Messages per second at most; 0 for no limit.
    #[serde(default)]
    #[schemars(range(max = 100_000_000))]
    pub rate: u32,
    /// For how long a record waits for others to fill its message, in milliseconds.
    #[serde(default = "delay_ms")]
    #[schemars(range(max = 60_000))]
    pub delay_ms: u32,
    /// Interval in seconds after which templates are sent again (RFC 7011 section 8.4).
    #[serde(default = "template_interval_s")]
    #[schemars(range(min = 1, max = 86_400))]
    pub template_interval_s: u32,
    /// Number of messages after which templates are sent again; 0 for never.
    #[serde(default = "template_messages")]
    pub template_messages: u32,
    /// Of exhaustion, limits and thresholds a second at most, of each kind (RFC 8158 section 5.2).
    #[serde(default = "alarms_per_s")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub alarms_per_s: u32,
    /// The longest packet to the collector in bytes.
    #[serde(default = "mtu")]
    #[schemars(range(min = 576, max = 9_000))]
    pub mtu: u16,
    /// The observation domain of the first worker; others have the numbers behind it.
    #[serde(default)]
    pub domain: u32,
    /// HOSTNAME of syslog messages (RFC 5424 section 6.2.4); empty for the source address.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub hostname: String,
    /// The facility of messages of syslog: 16 is `local0`.
    #[serde(default = "facility")]
    #[schemars(range(max = 23))]
    pub facility: u8,
    /// The private enterprise number that names the parameters of syslog (RFC 5424 section 7.2.2);
    /// 32473 is for examples (RFC 5612).
    #[serde(default = "enterprise")]
    #[schemars(range(min = 1))]
    pub enterprise: u32,
    /// The time of day at the start, in seconds since 1970; none for the system's, which is read
    /// once. A number makes runs repeatable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_at_s: Option<u64>,
}

/// One of the two sides of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The side of subscribers.
    Inside,
    /// The side of the Internet.
    #[default]
    Outside,
}

/// The form of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// RFC 7011 with the records of RFC 8158.
    Ipfix,
    /// RFC 5424 over UDP (RFC 5426).
    Syslog,
}

impl Logging {
    /// Logs of a format to a collector, by the defaults.
    pub fn to(format: Format, collector: IpAddr, source: IpAddr, next_hop_mac: MacAddr) -> Logging {
        Logging {
            format,
            collector,
            port: 0,
            source,
            source_port: source_port(),
            next_hop_mac: Mac(next_hop_mac),
            leaves_by: Side::default(),
            sessions: false,
            mappings: false,
            destinations: false,
            queue: queue(),
            rate: 0,
            delay_ms: delay_ms(),
            template_interval_s: template_interval_s(),
            template_messages: template_messages(),
            alarms_per_s: alarms_per_s(),
            mtu: mtu(),
            domain: 0,
            hostname: String::new(),
            facility: facility(),
            enterprise: enterprise(),
            begins_at_s: None,
        }
    }

    /// The way to the collector out of a port with an address of its own.
    pub fn collector(&self, source_mac: MacAddr, leaves_by: PortId) -> Collector {
        let port = match (self.port, self.format) {
            (0, Format::Ipfix) => PORT_IPFIX,
            (0, Format::Syslog) => PORT_SYSLOG,
            (port, _) => port,
        };
        Collector {
            next_hop_mac: self.next_hop_mac.0,
            source_mac,
            leaves_by,
            source: self.source,
            address: self.collector,
            source_port: self.source_port,
            port,
        }
    }

    /// Whether events of a class are told.
    pub fn tells(&self, class: Class) -> bool {
        match class {
            Class::Sessions => self.sessions,
            Class::Mappings => self.mappings,
            Class::Blocks | Class::Alarms => true,
        }
    }

    /// The time of day of ticks, when it is `now`. The system's time is read here and never again,
    /// unless the configuration says what it is.
    pub fn epoch(&self, now: Ticks, clock: Clock) -> Epoch {
        let unix_ns = match self.begins_at_s {
            Some(seconds) => i128::from(seconds) * 1_000_000_000,
            None => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(0)),
        };
        Epoch::at(unix_ns, now, clock)
    }

    /// The longest frame to the collector in bytes, without check sequence.
    pub(super) fn frame_max(&self) -> usize {
        ethernet::HEADER_LEN + usize::from(self.mtu)
    }

    /// Checks what the schema of the key does not state.
    ///
    /// # Errors
    /// The first key below it that cannot be used.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.addresses()?;
        if self.collector.is_ipv6() && self.mtu < MTU_MIN_IPV6 {
            let what = format!("must be at least {MTU_MIN_IPV6} for IPv6, not {}", self.mtu);
            return Err(function_key("logging.mtu", what, "Give a number in this range"));
        }
        if self.sessions && self.mappings && !self.destinations {
            let what = "sessions tell the same without destinations (RFC 8158 section 4.6.1)";
            let remedy = "Remove 'mappings' or 'sessions', or set 'destinations: true'";
            return Err(function_key("logging.mappings", what.to_owned(), remedy));
        }
        if !self.hostname.bytes().all(|byte| byte.is_ascii_graphic()) {
            let what = format!("`{}` is none (RFC 5424 section 6.2.4)", self.hostname);
            let remedy = "Give printable ASCII characters without spaces";
            return Err(function_key("logging.hostname", what, remedy));
        }
        Ok(())
    }

    /// Messages come from one host and go to one.
    fn addresses(&self) -> Result<(), Invalid> {
        let remedy = "Give the address of a host";
        let is_host = |address: IpAddr| {
            let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
            !address.is_unspecified() && !address.is_multicast() && !is_broadcast
        };
        for (key, address) in
            [("logging.collector", self.collector), ("logging.source", self.source)]
        {
            if !is_host(address) {
                return Err(function_key(key, format!("{address} is no host's"), remedy));
            }
        }
        if self.collector.is_ipv4() != self.source.is_ipv4() {
            let what = format!("{} is not of the collector's version of IP", self.source);
            let remedy = "Give an address of the same version as 'collector'";
            return Err(function_key("logging.source", what, remedy));
        }
        if self.next_hop_mac.0.is_multicast() || self.next_hop_mac.0 == MacAddr::ZERO {
            let what = format!("{} is no station's", self.next_hop_mac.0);
            let remedy = "Give the Ethernet address of the collector or of the router before it";
            return Err(function_key("logging.next-hop-mac", what, remedy));
        }
        Ok(())
    }
}

fn source_port() -> u16 {
    PORT_IPFIX
}

fn queue() -> u32 {
    65_536
}

fn delay_ms() -> u32 {
    100
}

/// The default of RFC 6728 section 4.4.2 for templates over UDP.
fn template_interval_s() -> u32 {
    600
}

fn template_messages() -> u32 {
    10_000
}

fn alarms_per_s() -> u32 {
    10
}

fn mtu() -> u16 {
    1500
}

fn facility() -> u8 {
    16
}

fn enterprise() -> u32 {
    32_473
}

/// The registered port of IPFIX over UDP (RFC 7011 section 10.3.4).
const PORT_IPFIX: u16 = 4739;
/// That of syslog (RFC 5426 section 3.3).
const PORT_SYSLOG: u16 = 514;
/// The shortest MTU of a link (RFC 8200 section 5).
const MTU_MIN_IPV6: u16 = 1280;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_cannot_be_used_is_named() {
        let v4 = |last| IpAddr::from([192, 0, 2, last]);
        let mac = MacAddr([2, 0, 0, 0, 0, 1]);
        let logging = Logging::to(Format::Ipfix, v4(1), v4(2), mac);
        assert_eq!(logging.validate(), Ok(()));
        type Change = fn(&mut Logging);
        let changes: &[(&str, Change)] = &[
            ("collector", |one| one.collector = IpAddr::from([0, 0, 0, 0])),
            ("collector", |one| one.collector = IpAddr::from([224, 0, 0, 1])),
            ("source", |one| one.source = IpAddr::from([255, 255, 255, 255])),
            ("source", |one| one.source = "2001:db8::1".parse().expect("an address")),
            ("next-hop-mac", |one| one.next_hop_mac = Mac(MacAddr::BROADCAST)),
            ("next-hop-mac", |one| one.next_hop_mac = Mac(MacAddr::ZERO)),
            ("source-port", |one| one.source_port = 0),
            ("queue", |one| one.queue = 7),
            ("rate", |one| one.rate = u32::MAX),
            ("delay-ms", |one| one.delay_ms = u32::MAX),
            ("template-interval-s", |one| one.template_interval_s = 0),
            ("alarms-per-s", |one| one.alarms_per_s = 0),
            ("mtu", |one| one.mtu = 575),
            ("facility", |one| one.facility = 24),
            ("enterprise", |one| one.enterprise = 0),
            ("mappings", |one| (one.sessions, one.mappings) = (true, true)),
            ("hostname", |one| one.hostname = "a b".to_owned()),
        ];
        for (key, change) in changes {
            let mut changed = logging.clone();
            change(&mut changed);
            let checked = keys::check("function", &changed).map_err(|bad| bad.under("logging"));
            let invalid = checked.and_then(|()| changed.validate()).expect_err(key);
            assert_eq!(invalid.key, format!("logging.{key}"));
        }
        let all = Logging { sessions: true, mappings: true, destinations: true, ..logging };
        assert_eq!(all.validate(), Ok(()));
    }

    #[test]
    fn a_file_needs_say_only_where_logs_go() {
        let text = "{format: syslog, collector: '2001:db8::1', source: '2001:db8::2', \
                    next-hop-mac: '02:00:00:00:00:01'}";
        let logging: Logging = serde_saphyr::from_str(text).expect("it is enough");
        assert_eq!(logging.validate(), Ok(()));
        let mac = MacAddr([2, 0, 0, 0, 0, 2]);
        assert_eq!(logging.collector(mac, PortId(1)).port, 514);
        let other = text.replace("syslog", "ipfix");
        let other: Logging = serde_saphyr::from_str(&other).expect("it is enough");
        assert_eq!(other.collector(mac, PortId(1)).port, 4739);
        let unknown = text.replace("format", "sorts: 1, format");
        assert!(serde_saphyr::from_str::<Logging>(&unknown).is_err());
    }
}
