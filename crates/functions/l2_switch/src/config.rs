//! The configuration of a switch, as an operator writes it.
//!
//! Keys and meaning are TIPSY's where TIPSY has them (`l2fwd`, `portfwd`); the others say so.

pub mod acl;
mod bulk;
pub mod features;
mod from_files;
pub mod port;
mod station;

use rows::Files;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::MacAddr;

use self::acl::Rule;
pub use self::features::Unknown;
use self::features::{Attachment, Domain, Mirror, MoveLimit, Storm};
pub use self::from_files::FromFiles;
pub use self::port::{PORTS_MAX, Port};
pub use self::station::Station;
pub use function_kit::sections::{Dir, Mac};

/// A bridge with two ports: stations that it knows, and those that it learns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Workers, each on a core of its own; each has the whole table, and learns by itself.
    #[schemars(range(min = 1, max = 64))]
    pub core: u32,
    /// `bridge` looks at the destination; `patch` sends every frame out of the other port, as
    /// TIPSY's `portfwd` does. Not in TIPSY, where the pipeline's name says it.
    pub mode: Mode,
    /// TIPSY's word for `unknown`: true for `flood`, false for `drop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fakedrop: Option<bool>,
    /// With `mode: patch`: source address of frames from the downlink to the uplink port; none
    /// keeps it.
    pub mac_swap_upstream: Option<Mac>,
    /// With `mode: patch`: source address of frames from the uplink to the downlink port; none
    /// keeps it.
    pub mac_swap_downstream: Option<Mac>,
    /// Whether the bridge learns from source addresses; by TIPSY's name `l2fwd`, it does not. Not
    /// in TIPSY.
    pub learning: bool,
    /// After how many seconds without a frame a learned station is forgotten. Not in TIPSY.
    #[schemars(range(min = 0.1, max = 1_000_000))]
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
    /// Stations that the bridge knows from the start. Not in TIPSY.
    #[schemars(length(max = 1_000_000))]
    pub stations: Vec<Station>,
    /// Files of further stations, or directories of such: text or CSV. Not in TIPSY.
    #[serde(skip_serializing_if = "Files::is_empty")]
    pub station_files: Files,
    /// Stations for which there is room without learning them: those of the list, and those that
    /// changes at run time add. 0 for 4,096 more than are listed. Not in TIPSY.
    #[schemars(range(max = 4_000_000))]
    pub station_capacity: u32,
    /// Ports of the switch. Not in TIPSY, as all that follows.
    #[schemars(range(min = 2, max = 128))]
    pub ports: u8,
    /// Bridge domains that differ from the defaults.
    pub domains: Vec<Domain>,
    /// Which frames of which port belong to which domain; none for all of all ports to domain 0,
    /// but for ports where copies of mirrors leave.
    #[schemars(length(max = 4096))]
    pub attachments: Vec<Attachment>,
    /// How much of what is sent to many a port lets in.
    pub storm_control: Vec<Storm>,
    /// Copies of what ports receive or send.
    pub mirrors: Vec<Mirror>,
    /// Which frames ports take.
    #[schemars(length(max = 4096))]
    pub acl: Vec<Rule>,
    /// Which frames leave by ports, as they leave.
    #[schemars(length(max = 4096))]
    pub egress_acl: Vec<Rule>,
    /// Files of further rules of `acl`: text or CSV.
    #[serde(skip_serializing_if = "Files::is_empty")]
    pub acl_files: Files,
    /// Files of further rules of `egress-acl`.
    #[serde(skip_serializing_if = "Files::is_empty")]
    pub egress_acl_files: Files,
    /// What those files hold; checking the configuration reads them.
    #[serde(skip)]
    pub from_files: FromFiles,
}

/// What decides where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Destination address of the frame (IEEE 802.1D).
    Bridge,
    /// The port at which it came in: out of the other one.
    Patch,
}

/// What becomes of a frame whose source there is no room to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// The frame is forwarded, and counted.
    Forward,
    /// The frame is dropped.
    Drop,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            core: 1,
            mode: Mode::Bridge,
            fakedrop: None,
            mac_swap_upstream: None,
            mac_swap_downstream: None,
            learning: true,
            ageing_s: 300.0,
            station_limit: 16_384,
            move_limit: None,
            when_full: WhenFull::Forward,
            unknown: None,
            stations: Vec::new(),
            station_files: Files::default(),
            station_capacity: 0,
            ports: 2,
            domains: Vec::new(),
            attachments: Vec::new(),
            storm_control: Vec::new(),
            mirrors: Vec::new(),
            acl: Vec::new(),
            egress_acl: Vec::new(),
            acl_files: Files::default(),
            egress_acl_files: Files::default(),
            from_files: FromFiles::default(),
        }
    }
}

impl Config {
    /// What becomes of frames for unknown stations.
    pub fn unknown(&self) -> Unknown {
        self.unknown.unwrap_or(Unknown::Flood)
    }

    /// What the source address of a frame that came in at a port becomes when it is patched.
    pub fn source_from(&self, port: Port) -> Option<MacAddr> {
        let swap = match port {
            Port::DOWNLINK => self.mac_swap_upstream,
            _ => self.mac_swap_downstream,
        };
        swap.map(|mac| mac.0)
    }

    /// Whether anything is asked for that a bridge of two ports without VLANs cannot do.
    pub fn is_switch(&self) -> bool {
        self.ports != 2
            || !self.domains.is_empty()
            || !self.attachments.is_empty()
            || !self.storm_control.is_empty()
            || !self.mirrors.is_empty()
            || !self.all_acl().is_empty()
            || !self.all_egress_acl().is_empty()
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
        let ports = Port::first(self.ports);
        ports.filter(|port| !is_of_copies(port)).map(whole).collect()
    }

    /// The circuit by which a port belongs to a domain, as an index into [`Config::circuits`].
    pub fn circuit_at(&self, port: Port, domain: u16) -> Option<usize> {
        self.circuits().iter().position(|one| one.port == port && one.domain == domain)
    }

    /// What is said of a domain.
    pub fn domain(&self, id: u16) -> Domain {
        let said = self.domains.iter().find(|domain| domain.id == id);
        let nothing = Domain { id, station_limit: None, flood_pps: None, unknown: None };
        said.copied().unwrap_or(nothing)
    }

    /// Most stations that are known without being learned.
    pub fn static_limit(&self) -> usize {
        match self.station_capacity {
            0 => self.station_count() + STATIONS_SPARE,
            capacity => capacity as usize,
        }
    }
}

/// Stations for which there is room beyond the listed ones.
const STATIONS_SPARE: usize = 4096;
