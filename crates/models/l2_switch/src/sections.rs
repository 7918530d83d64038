//! The `traffic` section of a scenario that measures a bridge.

use function_kit::Invalid;
use function_kit::sections::{Dir, traffic_key};
use model_kit::test_packets::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};
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
    /// Share of frames that hold IPv6, from 0 to 1. Not in TIPSY.
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

/// Checks the `traffic` section.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn validate(traffic: &Traffic) -> Result<(), Invalid> {
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
