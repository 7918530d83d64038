//! The stations that the bench generates for a switch by a few numbers: TIPSY's, as changes before
//! traffic comes.

use function_kit::sections::function_key;
use function_kit::{Invalid, NetworkFunction};
use function_l2_switch::config::features::Attachment;
use function_l2_switch::config::{Config, Mac, Mode, Port, Station, Unknown};
use function_l2_switch::control::Update;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::passing::Passing;

use crate::catalogue;
use crate::unit;

/// The `function` section: what is generated, and what an operator writes.
pub type Section = model_kit::Section<Generated, Config>;

/// What the bench generates. Keys and meaning are TIPSY's where TIPSY has them (`l2fwd`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Generated {
    /// Generated stations behind the uplink port.
    #[schemars(range(max = 1_000_000))]
    pub upstream_table_size: u32,
    /// Generated stations behind the downlink port.
    #[schemars(range(max = 1_000_000))]
    pub downstream_table_size: u32,
    /// Stations added a second, and as many removed.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub fluct_table: f64,
    /// Whether the switch knows the generated stations from the start; else it has to learn them.
    /// Not in TIPSY.
    pub preload: bool,
}

impl Default for Generated {
    fn default() -> Generated {
        Generated {
            upstream_table_size: 2,
            downstream_table_size: 2,
            fluct_table: 0.0,
            preload: true,
        }
    }
}

impl Generated {
    /// Generated stations behind a port.
    pub fn table_size(&self, behind: Port) -> u32 {
        match behind {
            Port::DOWNLINK => self.downstream_table_size,
            Port::UPLINK => self.upstream_table_size,
            _ => 0,
        }
    }

    /// Generated stations behind both ports.
    pub fn count(&self) -> u32 {
        self.upstream_table_size + self.downstream_table_size
    }

    /// Stations for which there must be room beside those of the list: those that are known from
    /// the start, and those that come and go.
    fn room(&self) -> u32 {
        let known = if self.preload { self.count() } else { 0 };
        known + Passing::new(self.fluct_table).count()
    }
}

/// The domains that have both the downlink and the uplink port, in their order: generated stations
/// are spread over them.
pub fn pairs(config: &Config) -> Vec<u16> {
    let circuits = config.circuits();
    let of = |port: Port| circuits.iter().filter(move |one| one.port == port);
    let has_other = |one: &&Attachment| of(Port::UPLINK).any(|two| two.domain == one.domain);
    of(Port::DOWNLINK).filter(has_other).map(|one| one.domain).collect()
}

/// All stations that the switch knows from the start.
pub fn known_stations(section: &Section) -> impl Iterator<Item = Station> + '_ {
    preloaded(section).chain(section.config.all_stations())
}

fn preloaded(Section { generated, config }: &Section) -> impl Iterator<Item = Station> + '_ {
    let pairs = pairs(config);
    Port::ALL.into_iter().flat_map(move |port| {
        let is_known = generated.preload && !pairs.is_empty();
        let (count, pairs) = (generated.table_size(port), pairs.clone());
        (0..if is_known { count } else { 0 }).map(move |number| {
            let domain = pairs[number as usize % pairs.len()];
            Station { mac: Mac(catalogue::station(port, number)), port, domain }
        })
    })
}

/// The configuration that a section means: there is room for what is generated.
pub(crate) fn config(Section { generated, config }: &Section) -> Config {
    let mut config = config.clone();
    if config.station_capacity == 0 && generated.room() > 0 {
        config.station_capacity = generated.room() + config.static_limit() as u32;
    }
    config
}

/// The changes by which the switch gets to know the generated stations.
pub(crate) fn initial(section: &Section) -> impl Iterator<Item = Update> + '_ {
    preloaded(section).map(|Station { mac, port, domain }| Update::SetStation { mac, port, domain })
}

/// Checks the `function` section.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn validate(section: &mut Section) -> Result<(), Invalid> {
    unit::L2Switch::validate(&mut section.config)?;
    let Section { generated, config } = section;
    if config.mode == Mode::Patch && generated.fluct_table > 0.0 {
        let what = "nothing of a patch can change".to_owned();
        return Err(function_key("fluct-table", what, "Set it to 0, or `mode: bridge`"));
    }
    if let Some(station) = config.all_stations().find(|one| catalogue::is_generated(one.mac.0)) {
        let what = format!("{} is among the generated stations", station.mac.0);
        return Err(function_key("stations", what, "Choose another one"));
    }
    let is_bridge = config.mode == Mode::Bridge;
    if is_bridge && pairs(config).is_empty() {
        let what = "no domain has both the downlink and the uplink port".to_owned();
        return Err(function_key("attachments", what, "Attach both to one domain"));
    }
    let drops = config.unknown() == Unknown::Drop;
    if is_bridge && !generated.preload && !config.learning && drops {
        let what = "the bridge would never know a station".to_owned();
        return Err(function_key("preload", what, "Set it to true, or `learning: true`"));
    }
    let needed = generated.room() as usize + config.station_count();
    if config.station_capacity > 0 && needed > config.static_limit() {
        let what = format!("is less than the {needed} stations that the bench needs");
        return Err(function_key("station-capacity", what, "Give more, or remove the key"));
    }
    Ok(())
}
