//! The `traffic` section of a scenario that measures a broadband network gateway.

use function_kit::Invalid;
use function_kit::sections::{Dir, traffic_key};
use model_kit::test_packets::frame_sizes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::{Distribution, Pacing, Sizes};

use crate::section::{Kind, Section, Stack};

/// What the tester sends to a gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Traffic {
    /// Which way packets go: `uplink` from subscribers to servers.
    pub dir: Dir,
    /// Length of a frame towards the Internet, check sequence included: a number, `imix`, or a map
    /// of sizes to weights (`{64: 7, 570: 4, 1518: 1}`). On lines frames are longer by their tags
    /// and by PPPoE. IPv6 frames have 86 bytes at least.
    pub pkt_size: Sizes,
    /// Everything random follows from this number.
    #[schemars(range(min = 1))]
    pub random_seed: u64,
    /// Subscribers that have traffic: the first ones, all of them by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_000_000))]
    pub subscribers: Option<u32>,
    /// How subscribers are drawn.
    pub subscriber_draw: Distribution,
    /// How servers are drawn.
    pub server_draw: Distribution,
    /// How the subscriber's UDP ports are drawn, from 1024 to 65535.
    pub port_draw: Distribution,
    /// Share of packets that are IPv6; by default half of those of `stack: dual`. Half of them are
    /// of the subscriber's own address, the others of a host in its delegated prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ipv6_share: Option<f64>,
    /// Share of subscribers whose packets are of three classes, at random: expedited and assured
    /// forwarding, and best effort. Those of the others are best effort.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub three_class_share: f64,
    /// How events are spaced.
    pub event_pacing: Pacing,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic {
            dir: Dir::Bidir,
            pkt_size: Sizes::fixed(100),
            random_seed: 1,
            subscribers: None,
            subscriber_draw: Distribution::Uniform,
            server_draw: Distribution::Uniform,
            port_draw: Distribution::Uniform,
            ipv6_share: None,
            three_class_share: 1.0,
            event_pacing: Pacing::Constant,
        }
    }
}

/// Checks the `traffic` section, and fills in what follows from the other one.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn validate(section: &Section, traffic: &mut Traffic) -> Result<(), Invalid> {
    let generated = &section.generated;
    let (share, wrong) = match (generated.stack, traffic.ipv6_share) {
        (Stack::Ipv4, share) => (0.0, share.is_some_and(|share| share > 0.0)),
        (Stack::Ipv6, share) => (1.0, share.is_some_and(|share| share < 1.0)),
        (Stack::Dual, share) => (share.unwrap_or(0.5), false),
    };
    if wrong {
        return Err(traffic_key(
            "ipv6-share",
            "subscribers have one version of IP".into(),
            "Set `stack: dual` in the function section, or leave it out",
        ));
    }
    traffic.ipv6_share = Some(share);
    if traffic.subscribers.is_some_and(|some| some > generated.subscribers) {
        let what = format!("{} subscribers are all there are", generated.subscribers);
        let remedy = "Give no more, or raise `subscribers` in the function section";
        return Err(traffic_key("subscribers", what, remedy));
    }
    let most = match generated.kind {
        Kind::Ipoe => FRAME_BYTES_MAX,
        Kind::Pppoe | Kind::Mixed => FRAME_BYTES_MAX.min(generated.mru + FRAME_BYTES),
    };
    frame_sizes(&traffic.pkt_size, most)?;
    for (key, draw) in [
        ("subscriber-draw", traffic.subscriber_draw),
        ("server-draw", traffic.server_draw),
        ("port-draw", traffic.port_draw),
    ] {
        if let Err(what) = draw.check() {
            let remedy = "Give 'uniform', or {zipf: 1.0} with an exponent above 0";
            return Err(traffic_key(key, what, remedy));
        }
    }
    Ok(())
}

/// The longest frame, check sequence included: a jumbo frame with 9,000 bytes of payload.
const FRAME_BYTES_MAX: u16 = 9018;

/// What a frame has beside its packet: Ethernet header and check sequence.
const FRAME_BYTES: u16 = 18;
