//! The `traffic` section of a scenario that measures a router.

use function_kit::Invalid;
use function_kit::sections::{Dir, traffic_key};
use model_kit::test_packets::{FRAME_BYTES_MAX, frame_sizes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::{Distribution, Pacing, Sizes};

use crate::unit::Config;

/// What the tester sends to a router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Traffic {
    /// Which way packets go: `uplink` from the downlink port to routes behind the uplink port.
    pub dir: Dir,
    /// Length of an Ethernet frame, check sequence included: a number, `imix`, or a map of sizes to
    /// weights (`{64: 7, 570: 4, 1518: 1}`).
    pub pkt_size: Sizes,
    /// Packets of a trace; 0 means one for each route.
    pub pkt_num: u64,
    /// Everything random follows from this number.
    #[schemars(range(min = 1))]
    pub random_seed: u64,
    /// How routes are drawn. Not in TIPSY.
    pub route_draw: Distribution,
    /// Destinations within the routes like the Internet's, drawn beside the other routes as if each
    /// were one: a random host of a random route. 0 for one in every route. Not in TIPSY.
    #[schemars(range(max = 4_000_000))]
    pub internet_flows: u32,
    /// How UDP ports are drawn, from 1024 to 65535: flows to one route. Not in TIPSY, which has one
    /// flow a route.
    pub port_draw: Distribution,
    /// Share of packets that are IPv6; needs `ipv6: true` in the function. Not in TIPSY.
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
            route_draw: Distribution::Uniform,
            internet_flows: 0,
            port_draw: Distribution::Uniform,
            ipv6_share: 0.0,
            event_pacing: Pacing::Constant,
        }
    }
}

/// Checks the `traffic` section.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn validate(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    if traffic.ipv6_share > 0.0 && !config.ipv6 {
        let what = "the router has no IPv6 routes".to_owned();
        let remedy = "Set 'ipv6: true' in the function section, or 'ipv6-share' to 0";
        return Err(traffic_key("ipv6-share", what, remedy));
    }
    frame_sizes(&traffic.pkt_size, FRAME_BYTES_MAX)
}
