//! The two sections of a scenario that describe a bridge and its traffic.
//!
//! Keys and meaning are TIPSY's where TIPSY has them (`l2fwd`, `portfwd`); the others say so. A list in
//! place of a single value is a sweep and is expanded before these types are read, but for `stations`,
//! which is a list.

pub mod acl;
pub mod features;
pub mod port;

mod checked;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::{Distribution, Pacing, Sizes};
use wire::MacAddr;

use self::acl::Rule;
pub(super) use self::checked::{SESSION_MAX, is_possible};
use self::features::{Attachment, Domain, Mirror, MoveLimit, Storm};
pub use self::port::{PORT_NAMES, Port};
use super::catalogue;
use crate::passing::Passing;
pub use crate::sections::{Dir, Mac};
use crate::sections::{function_key, in_range, is_event_rate, traffic_key};
use crate::test_packets::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
use crate::unit::Invalid;

/// A bridge with two ports: stations that it knows, and those that it learns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Workers, each on a core of its own; each has the whole table, and learns by itself.
    #[schemars(range(min = 1, max = 64))]
    pub core: u32,
    /// `bridge` looks at the destination; `patch` sends every frame out of the other port, as TIPSY's
    /// `portfwd` does. Not in TIPSY, where the pipeline's name says it.
    pub mode: Mode,
    /// TIPSY's word for `unknown`: true for `flood`, false for `drop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fakedrop: Option<bool>,
    /// Stations behind the uplink port.
    #[schemars(range(max = 1_000_000))]
    pub upstream_table_size: u32,
    /// Stations behind the downlink port.
    #[schemars(range(max = 1_000_000))]
    pub downstream_table_size: u32,
    /// Stations added a second, and as many removed.
    pub fluct_table: f64,
    /// With `mode: patch`: what frames from the downlink to the uplink port bear as their source
    /// address; none for their own.
    pub mac_swap_upstream: Option<Mac>,
    /// The same for frames from the uplink to the downlink port.
    pub mac_swap_downstream: Option<Mac>,
    /// Whether the bridge knows the generated stations from the start; else it has to learn them.
    /// Not in TIPSY.
    pub preload: bool,
    /// Whether the bridge learns from source addresses; by TIPSY's name `l2fwd`, it does not. Not in
    /// TIPSY.
    pub learning: bool,
    /// After how many seconds without a frame a learned station is forgotten. Not in TIPSY.
    pub ageing_s: f64,
    /// Most learned stations. Not in TIPSY.
    #[schemars(range(min = 1, max = 4_000_000))]
    pub station_limit: u32,
    /// How often a learned station may move; none for any number of times. Not in TIPSY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub move_limit: Option<MoveLimit>,
    /// What becomes of a frame whose source there is no room to learn: `forward`, or `drop`. Not in
    /// TIPSY.
    pub when_full: WhenFull,
    /// What becomes of a frame for a station that the bridge does not know: `flood`, or `drop`. Not
    /// in TIPSY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Unknown>,
    /// Stations beside the generated ones, which the bridge knows from the start. Not in TIPSY.
    #[schemars(length(max = 1_000_000))]
    pub stations: Vec<Station>,
    /// Ports of the switch. Not in TIPSY, as all that follows.
    #[schemars(range(min = 2, max = 8))]
    pub ports: u8,
    /// Bridge domains about which there is something to say.
    pub domains: Vec<Domain>,
    /// Which frames of which port belong to which domain; none for all of all ports to domain 0, but
    /// for ports where copies of mirrors leave.
    pub attachments: Vec<Attachment>,
    /// How much of what is sent to many a port lets in.
    pub storm_control: Vec<Storm>,
    /// Copies of what ports receive or send.
    pub mirrors: Vec<Mirror>,
    /// Which frames ports take.
    pub acl: Vec<Rule>,
    /// Which frames leave by ports, as they leave.
    pub egress_acl: Vec<Rule>,
}

/// What decides where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Its destination address (IEEE 802.1D).
    Bridge,
    /// The port at which it came in: out of the other one.
    Patch,
}

/// What becomes of a frame whose source there is no room to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// It goes on, and is counted.
    Forward,
    /// It is dropped.
    Drop,
}

/// What becomes of a frame for an unknown station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// It goes out of every other port.
    Flood,
    /// It is dropped.
    Drop,
}

/// A station that the bridge knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Station {
    /// Its Ethernet address.
    pub mac: Mac,
    /// Behind which port it is.
    pub port: Port,
    /// In which domain.
    #[serde(default, skip_serializing_if = "is_first_domain")]
    pub domain: u16,
}

/// What the tester sends to a bridge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Traffic {
    /// Which way frames go: `uplink` from the downlink port to stations behind the uplink port.
    pub dir: Dir,
    /// Length of an Ethernet frame, check sequence included: a number, `imix`, or a map of sizes to
    /// weights (`{64: 7, 570: 4, 1518: 1}`).
    pub pkt_size: Sizes,
    /// Packets of a trace; 0 means one for each station.
    pub pkt_num: u64,
    /// Everything random follows from this number.
    #[schemars(range(min = 1))]
    pub random_seed: u64,
    /// How the stations that frames go to are drawn. Not in TIPSY.
    pub station_draw: Distribution,
    /// How the stations that frames come from are drawn. Not in TIPSY.
    pub source_draw: Distribution,
    /// How UDP ports are drawn, from 1024 to 65535. Not in TIPSY.
    pub port_draw: Distribution,
    /// Share of frames that hold IPv6, from 0 to 1. Not in TIPSY.
    pub ipv6_share: f64,
    /// How events are spaced. Not in TIPSY, which fires them all at once a second.
    pub event_pacing: Pacing,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            core: 1,
            mode: Mode::Bridge,
            fakedrop: None,
            upstream_table_size: 2,
            downstream_table_size: 2,
            fluct_table: 0.0,
            mac_swap_upstream: None,
            mac_swap_downstream: None,
            preload: true,
            learning: true,
            ageing_s: 300.0,
            station_limit: 16_384,
            move_limit: None,
            when_full: WhenFull::Forward,
            unknown: None,
            stations: Vec::new(),
            ports: 2,
            domains: Vec::new(),
            attachments: Vec::new(),
            storm_control: Vec::new(),
            mirrors: Vec::new(),
            acl: Vec::new(),
            egress_acl: Vec::new(),
        }
    }
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic {
            dir: Dir::Uplink,
            pkt_size: Sizes::fixed(64),
            pkt_num: 10,
            random_seed: 1,
            station_draw: Distribution::Uniform,
            source_draw: Distribution::Uniform,
            port_draw: Distribution::Uniform,
            ipv6_share: 0.0,
            event_pacing: Pacing::Constant,
        }
    }
}

impl Config {
    /// What becomes of frames for unknown stations.
    pub fn unknown(&self) -> Unknown {
        self.unknown.unwrap_or(Unknown::Flood)
    }

    /// Generated stations behind a port.
    pub fn table_size(&self, behind: Port) -> u32 {
        match behind {
            Port::Downlink => self.downstream_table_size,
            Port::Uplink => self.upstream_table_size,
            _ => 0,
        }
    }

    /// What the source address of a frame that came in at a port becomes when it is patched.
    pub fn source_from(&self, port: Port) -> Option<MacAddr> {
        let swap = match port {
            Port::Downlink => self.mac_swap_upstream,
            _ => self.mac_swap_downstream,
        };
        swap.map(|mac| mac.0)
    }

    /// All stations that the bridge knows from the start.
    pub fn known_stations(&self) -> impl Iterator<Item = Station> + '_ {
        let pairs = self.pairs();
        let generated = Port::ALL.into_iter().flat_map(move |port| {
            let count = if self.preload && !pairs.is_empty() { self.table_size(port) } else { 0 };
            let pairs = pairs.clone();
            (0..count).map(move |number| {
                let domain = pairs[number as usize % pairs.len()];
                Station { mac: Mac(catalogue::station(port, number)), port, domain }
            })
        });
        generated.chain(self.stations.iter().copied())
    }

    /// Whether anything is asked for that a bridge of two ports without VLANs cannot do.
    pub fn is_switch(&self) -> bool {
        self.ports != 2
            || !self.domains.is_empty()
            || !self.attachments.is_empty()
            || !self.storm_control.is_empty()
            || !self.mirrors.is_empty()
            || !self.acl.is_empty()
            || !self.egress_acl.is_empty()
    }

    /// All attachment circuits, in their order: those of the file, or each whole port to domain 0.
    pub fn circuits(&self) -> Vec<Attachment> {
        if !self.attachments.is_empty() {
            return self.attachments.clone();
        }
        let whole = |port| Attachment {
            port,
            domain: 0,
            vlan: None,
            inner_vlan: None,
            tpid: features::Tpid::default(),
            untagged: false,
        };
        let is_of_copies = |port: &Port| self.mirrors.iter().any(|mirror| mirror.to == *port);
        let ports = Port::EVERY.into_iter().take(self.ports.into());
        ports.filter(|port| !is_of_copies(port)).map(whole).collect()
    }

    /// The circuit by which a port belongs to a domain, as an index into [`Config::circuits`].
    pub fn circuit_at(&self, port: Port, domain: u16) -> Option<usize> {
        self.circuits().iter().position(|one| one.port == port && one.domain == domain)
    }

    /// The domains that have both the downlink and the uplink port, in their order: generated stations
    /// are spread over them.
    pub fn pairs(&self) -> Vec<u16> {
        let circuits = self.circuits();
        let of = |port: Port| circuits.iter().filter(move |one| one.port == port);
        let has_other = |one: &&Attachment| of(Port::Uplink).any(|two| two.domain == one.domain);
        of(Port::Downlink).filter(has_other).map(|one| one.domain).collect()
    }

    /// What is said of a domain.
    pub fn domain(&self, id: u16) -> Domain {
        let said = self.domains.iter().find(|domain| domain.id == id);
        let nothing = Domain { id, station_limit: None, flood_pps: None, unknown: None };
        said.copied().unwrap_or(nothing)
    }

    /// How many stations come and go.
    pub fn passing_stations(&self) -> u32 {
        Passing::new(self.fluct_table).count()
    }

    /// Most stations that are known without being learned.
    pub fn static_limit(&self) -> usize {
        let generated = match self.preload {
            true => self.upstream_table_size + self.downstream_table_size,
            false => 0,
        };
        (generated + self.passing_stations()) as usize + self.stations.len() + STATIONS_SPARE
    }
}

/// Checks both sections and settles what becomes of frames for unknown stations.
///
/// # Errors
/// The first key that cannot be used.
pub(super) fn validate(config: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
    settle_unknown(config)?;
    in_range("core", config.core, 1..=64)?;
    in_range("upstream-table-size", config.upstream_table_size, 0..=catalogue::STATIONS_MAX)?;
    in_range("downstream-table-size", config.downstream_table_size, 0..=catalogue::STATIONS_MAX)?;
    in_range("station-limit", config.station_limit, 1..=LEARNED_MAX)?;
    in_range("ports", config.ports.into(), 2..=PORT_NAMES.len() as u32)?;
    is_event_rate("fluct-table", config.fluct_table)?;
    if !(AGEING_S_MIN..=AGEING_S_MAX).contains(&config.ageing_s) {
        let what = format!(
            "must be from {AGEING_S_MIN} to {AGEING_S_MAX} seconds, not {}",
            config.ageing_s
        );
        return Err(function_key("ageing-s", what, "Remove the key for 300 s"));
    }
    of_mode(config)?;
    of_stations(config)?;
    checked::of_moves(config)?;
    checked::of_switch(config)?;
    of_learning(config)?;
    of_traffic(traffic)
}

fn settle_unknown(config: &mut Config) -> Result<(), Invalid> {
    let meant = config.fakedrop.map(|flood| if flood { Unknown::Flood } else { Unknown::Drop });
    if let (Some(meant), Some(said)) = (meant, config.unknown)
        && meant != said
    {
        let what = "differs from `unknown`".to_owned();
        return Err(function_key("fakedrop", what, "Remove it: `unknown` says the same"));
    }
    config.unknown = Some(meant.unwrap_or(config.unknown()));
    config.fakedrop = None;
    Ok(())
}

fn of_mode(config: &Config) -> Result<(), Invalid> {
    for (key, swap) in [
        ("mac-swap-upstream", config.mac_swap_upstream),
        ("mac-swap-downstream", config.mac_swap_downstream),
    ] {
        let Some(Mac(mac)) = swap else { continue };
        if config.mode == Mode::Bridge {
            let what = "a bridge leaves addresses as they are".to_owned();
            return Err(function_key(key, what, "Remove it, or set `mode: patch`"));
        }
        if mac.is_multicast() {
            let what = format!("{mac} is a group address");
            return Err(function_key(key, what, "Give a MAC address whose first octet is even"));
        }
    }
    if config.mode == Mode::Patch && config.fluct_table > 0.0 {
        let what = "nothing of a patch can change".to_owned();
        return Err(function_key("fluct-table", what, "Set it to 0, or `mode: bridge`"));
    }
    Ok(())
}

fn of_stations(config: &Config) -> Result<(), Invalid> {
    let refuse = |mac: MacAddr, what: &str, remedy| {
        Err(function_key("stations", format!("{mac} {what}"), remedy))
    };
    let mut seen = HashSet::new();
    for station in &config.stations {
        let mac = station.mac.0;
        if mac.is_multicast() || mac == MacAddr::ZERO {
            return refuse(mac, "is no station's address", "Give the address of one station");
        }
        if catalogue::is_generated(mac) {
            return refuse(mac, "is among the generated stations", "Choose another one");
        }
        if !seen.insert((station.domain, mac)) {
            return refuse(mac, "is listed twice", "Keep one of them");
        }
    }
    Ok(())
}

fn of_learning(config: &Config) -> Result<(), Invalid> {
    if config.mode == Mode::Patch {
        return Ok(());
    }
    let drops = config.unknown() == Unknown::Drop;
    if !config.preload && !config.learning && drops {
        let what = "the bridge would never know a station".to_owned();
        return Err(function_key("preload", what, "Set it to true, or `learning: true`"));
    }
    if config.learning && drops && config.core > 1 {
        let what = "workers learn by themselves, and one would drop what another has learned";
        let remedy = "Set it to `flood`, `learning: false`, or `core: 1`";
        return Err(function_key("unknown", what.to_owned(), remedy));
    }
    Ok(())
}

fn of_traffic(traffic: &Traffic) -> Result<(), Invalid> {
    if traffic.random_seed == 0 {
        let what = "must be at least 1, not 0".to_owned();
        return Err(traffic_key("random-seed", what, "Give any other number"));
    }
    if !(0.0..=1.0).contains(&traffic.ipv6_share) {
        let what = format!("must be from 0 to 1, not {}", traffic.ipv6_share);
        return Err(traffic_key("ipv6-share", what, "Give a fraction, like 0.2 for a fifth"));
    }
    for &(size, _) in traffic.pkt_size.weights() {
        if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&size) {
            let what =
                format!("must be from {FRAME_BYTES_MIN} to {FRAME_BYTES_MAX} bytes, not {size}");
            let remedy = "Give a size in this range; it counts the 4 bytes of the frame check \
                          sequence";
            return Err(traffic_key("pkt-size", what, remedy));
        }
    }
    for (key, draw) in [
        ("station-draw", traffic.station_draw),
        ("source-draw", traffic.source_draw),
        ("port-draw", traffic.port_draw),
    ] {
        if let Err(what) = draw.check() {
            let remedy = "Give 'uniform', or {zipf: 1.0} with an exponent above 0";
            return Err(traffic_key(key, what, remedy));
        }
    }
    Ok(())
}

fn is_first_domain(domain: &u16) -> bool {
    *domain == 0
}

/// Stations for which there is room beyond the configured ones and those that come and go.
const STATIONS_SPARE: usize = 4096;

/// Most stations that may be learned.
const LEARNED_MAX: u32 = 4_000_000;

const AGEING_S_MIN: f64 = 0.1;
/// What IEEE 802.1D-2004 table 7-5 allows.
const AGEING_S_MAX: f64 = 1_000_000.0;
