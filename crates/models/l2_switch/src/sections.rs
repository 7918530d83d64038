//! The `traffic` section of a scenario that measures a bridge.

use function_kit::sections::Dir;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::{Distribution, Pacing, Sizes};

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
    /// Share of frames that hold IPv6. Not in TIPSY.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ipv6_share: f64,
    /// How events are spaced. Not in TIPSY, which fires them all at once a second.
    pub event_pacing: Pacing,
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
