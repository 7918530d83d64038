//! Which of several workers has a user: a keyed hash of the user's IPv4 address.
//!
//! Both directions show that address: a packet for the user in its own header, a packet of the user
//! in the header inside the tunnel. The tunnel endpoint identifier is not looked at, so that
//! nothing has to be kept for steering. A packet of a user under another's address reaches the
//! worker of that other user, which has no bearer of this identifier.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock};

use engine::steering::Steering;
use function_kit::FrameSteering;
use stages::reassembly::Part;

use super::config::Config;
use super::control::Update;
use super::gateway::Gateway;
use super::parse::{Addresses, Class, classify};
use super::plain::{Plain, PlainFrames};

/// The hash under the configuration's secret, or under that of this process.
pub fn of_config(config: &Config) -> Steering {
    static SECRET: OnceLock<u64> = OnceLock::new();
    let drawn = || *SECRET.get_or_init(|| RandomState::new().build_hasher().finish());
    let secret = config.secret.unwrap_or_else(drawn);
    Steering::new([secret, KEY])
}

/// The bits of a user.
#[inline(always)]
pub fn of_user(steering: &Steering, ipv4: Ipv4Addr) -> u32 {
    steering.bits(u64::from(ipv4.to_bits()), 0)
}

/// The bits by which a change finds its worker; none where all workers must know of it.
pub(super) fn of_update(config: &Config, update: &Update) -> Option<u32> {
    let ipv4 = match update {
        Update::AddUser(user) => user.ipv4,
        Update::RemoveUser { ipv4 } | Update::Handover { ipv4, .. } => *ipv4,
        Update::AddBaseStation(_)
        | Update::RemoveBaseStation { .. }
        | Update::AddNextHop(_)
        | Update::RemoveNextHop { .. }
        | Update::AddRoute(_)
        | Update::RemoveRoute { .. } => return None,
    };
    Some(of_user(&of_config(config), ipv4))
}

/// How a frame finds the worker that has its user: none where users may have IPv6 prefixes.
pub(super) fn of_frames(config: &Config) -> Option<FrameSteering> {
    if config.ipv6 {
        return None;
    }
    let (steering, gateway) = (of_config(config), Gateway::new(config));
    let plain = PlainFrames::new(&gateway);
    Some(Arc::new(move || {
        let steering = steering.clone();
        Box::new(move |_, frame| of_frame(frame, &steering, (&plain, &gateway)))
    }))
}

/// The bits of a frame; none of one that is of no user.
fn of_frame(
    frame: &[u8],
    steering: &Steering,
    (plain, gateway): (&PlainFrames, &Gateway),
) -> Option<u32> {
    let class = match plain.recognise(frame) {
        Plain::Uplink { teid, inner } => Class::Uplink { teid, inner },
        Plain::Downlink(inner) => Class::Downlink(inner),
        Plain::Not => classify(frame, gateway),
    };
    let user = match class {
        Class::Uplink { inner, .. } | Class::Spent { teid: Some(_), inner } => {
            match inner.addresses {
                Addresses::V4 { source, .. } => source,
                Addresses::V6 { .. } => return None,
            }
        }
        Class::Downlink(inner) | Class::Spent { teid: None, inner } => {
            inner.addresses.ipv4_destination()
        }
        // All of a packet meet where they are reassembled.
        Class::Fragment(Part { key, .. }) => {
            let [_, source] = key.source;
            return Some(steering.bits(source << 16 | u64::from(key.identification), FRAGMENT));
        }
        Class::Icmp | Class::Unsupported { .. } | Class::Answer(_) | Class::Drop(_) => {
            return None;
        }
    };
    Some(of_user(steering, Ipv4Addr::from_bits(user)))
}

/// Keeps fragments apart from users.
const FRAGMENT: u64 = 1;

/// Keeps this hash apart from others under the same secret.
const KEY: u64 = 0x6d67_775f_7573_6572;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_repeats_and_the_process_has_one_of_its_own() {
        let bits = |secret| {
            let config = Config { secret, ..Config::default() };
            [1u32, 2, 3].map(|user| of_user(&of_config(&config), Ipv4Addr::from_bits(user)))
        };
        assert_eq!(bits(Some(7)), bits(Some(7)));
        assert_ne!(bits(Some(7)), bits(Some(8)));
        assert_eq!(bits(None), bits(None));
        assert_ne!(bits(None), bits(Some(7)));
    }

    #[test]
    fn what_is_of_no_user_may_go_to_any_worker() {
        let config = Config { core: 2, ..Config::default() };
        let mut steer = of_frames(&config).expect("users have IPv4 addresses")();
        assert_eq!(steer(super::super::gateway::ACCESS, &[0xff; 60]), None);
        assert!(of_frames(&Config { ipv6: true, ..config }).is_none());
    }
}
