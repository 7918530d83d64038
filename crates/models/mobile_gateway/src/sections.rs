//! The `traffic` section of a scenario that measures a mobile gateway.
//!
//! Keys, defaults and meaning are TIPSY's where TIPSY has them (`mgw`); the others say so.

use function_kit::Invalid;
use function_kit::sections::Dir;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::{Distribution, Pacing, Sizes};

use crate::section::Section;
use crate::unit::config::Tunnel;

/// What the tester sends to a mobile gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Traffic {
    /// Which way packets go.
    pub dir: Dir,
    /// Length of the user's packet as an Ethernet frame without tunnel, check sequence included: a
    /// number, `imix`, or a map of sizes to weights (`{64: 7, 570: 4, 1518: 1}`). Tunnelled frames
    /// are longer by the tunnel's headers.
    pub pkt_size: Sizes,
    /// Packets of a trace; 0 means one for each user.
    pub pkt_num: u64,
    /// Everything random follows from this number.
    #[schemars(range(min = 1))]
    pub random_seed: u64,
    /// How users are drawn. Not in TIPSY.
    pub user_draw: Distribution,
    /// How servers are drawn. Not in TIPSY.
    pub server_draw: Distribution,
    /// How the user's UDP ports are drawn, from 1024 to 65535. Not in TIPSY.
    pub port_draw: Distribution,
    /// Share of packets that are IPv6; needs `ipv6: true` in the function. Not in TIPSY.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ipv6_share: f64,
    /// How events are spaced. Not in TIPSY, which fires them all at once a second.
    pub event_pacing: Pacing,
    /// The tunnel, as TIPSY's traffic section names it; the function's `tunnel` is preferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunneling_method: Option<Tunnel>,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic {
            dir: Dir::Uplink,
            pkt_size: Sizes::fixed(64),
            pkt_num: 10,
            random_seed: 1,
            user_draw: Distribution::Uniform,
            server_draw: Distribution::Uniform,
            port_draw: Distribution::Uniform,
            ipv6_share: 0.0,
            event_pacing: Pacing::Constant,
            tunneling_method: None,
        }
    }
}

/// Checks the `traffic` section.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn validate(config: &Section, traffic: &Traffic) -> Result<(), Invalid> {
    let refuse = |key: &str, what, remedy: &str| {
        Err(Invalid { section: "traffic", key: key.into(), what, remedy: remedy.into() })
    };
    if traffic.ipv6_share > 0.0 && !config.ipv6 {
        return refuse(
            "ipv6-share",
            "users have no IPv6 prefix".into(),
            "Set 'ipv6: true' in the function section, or 'ipv6-share' to 0",
        );
    }
    for &(size, _) in traffic.pkt_size.weights() {
        if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&size) {
            return refuse(
                "pkt-size",
                format!("must be from {FRAME_BYTES_MIN} to {FRAME_BYTES_MAX} bytes, not {size}"),
                "Give a size in this range; it counts the 4 bytes of the frame check sequence",
            );
        }
    }
    for (key, draw) in [
        ("user-draw", traffic.user_draw),
        ("server-draw", traffic.server_draw),
        ("port-draw", traffic.port_draw),
    ] {
        if let Err(what) = draw.check() {
            return refuse(key, what, "Give 'uniform', or {zipf: 1.0} with an exponent above 0");
        }
    }
    Ok(())
}

/// Settles the tunnel, which either section may name.
///
/// # Errors
/// When they name different ones.
pub(crate) fn settle_tunnel(config: &mut Section, traffic: &mut Traffic) -> Result<(), Invalid> {
    if let (Some(function), Some(traffic)) = (config.tunnel, traffic.tunneling_method)
        && function != traffic
    {
        return Err(Invalid {
            section: "traffic",
            key: "tunneling-method".into(),
            what: "differs from the function's tunnel".into(),
            remedy: "Remove it: 'tunnel' in the function section says it for both".into(),
        });
    }
    let tunnel = config.tunnel.or(traffic.tunneling_method).unwrap_or(Tunnel::GtpU);
    config.tunnel = Some(tunnel);
    traffic.tunneling_method = None;
    Ok(())
}

/// The shortest Ethernet frame, check sequence included (IEEE 802.3 section 4.4.2).
const FRAME_BYTES_MIN: u16 = 64;

/// The longest packet whose tunnelled frame fits into a batch's room.
const FRAME_BYTES_MAX: u16 = 1900;
