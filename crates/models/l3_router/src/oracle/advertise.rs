//! What the model says of router advertisements: their bytes, from RFC 4861 section 4.2, RFC 4191
//! and RFC 8106, and when they come, from RFC 4861 section 6.2. The moment is the router's choice
//! within bounds.
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_l3_router::config::{Advertise, AdvertisedPrefix, Config, Preference, Resolved};
use model_kit::host::{internet_sum, word};
use packet::PortId;

use super::neighbours::own;
use crate::catalogue;
use crate::ports::Numbered;

/// The links on which the router advertises itself.
pub(super) struct Advertisers(Vec<Advertiser>);

struct Advertiser {
    at: usize,
    own: Resolved,
    frame: Vec<u8>,
    interval: Duration,
    sent: Option<Duration>,
    /// When the next one is there at the latest.
    by: Option<Duration>,
}

impl Advertisers {
    pub fn new(config: &Config, interfaces: &[Resolved]) -> Advertisers {
        let all = config.advertise.iter().filter_map(|one| {
            let (port, vlan) = (config.number_of(one.port), one.vlan.unwrap_or(0));
            let at = interfaces.iter().position(|own| (own.port, own.vlan) == (port, vlan))?;
            let own = interfaces[at];
            let frame = frame_of(one, &own);
            let interval = Duration::from_secs(one.interval_s.into());
            Some(Advertiser { at, own, frame, interval, sent: None, by: None })
        });
        Advertisers(all.collect())
    }

    /// Whether a frame that left is an advertisement.
    pub fn is_one(&self, port: PortId, frame: &[u8]) -> bool {
        !self.0.is_empty() && self.0.iter().any(|one| one.own.port == port) && {
            let rest = untagged(frame).1;
            rest.len() > 54 && word(&rest, 12) == 0x86dd && rest[20] == 58 && rest[54] == 134
        }
    }

    /// Judges one.
    pub fn judge(&mut self, frame: &[u8], now: Duration) -> Result<(), String> {
        let (vlan, rest) = untagged(frame);
        let is_its = |one: &&mut Advertiser| rest[6..12] == one.own.mac.0.0 && vlan == one.own.vlan;
        let Some(one) = self.0.iter_mut().find(is_its) else {
            return Err("an advertisement by an interface that has none".into());
        };
        if one.sent.is_some_and(|sent| now < sent + APART) {
            return Err("an advertisement less than 3 s after another".into());
        }
        (one.sent, one.by) = (Some(now), Some(now + one.interval));
        match rest == one.frame {
            true => Ok(()),
            false => Err(format!("an advertisement is {rest:02x?}, expected {:02x?}", one.frame)),
        }
    }

    /// Links that have waited for one for too long.
    pub fn late(&mut self, now: Duration) -> Vec<String> {
        let late = self.0.iter_mut().filter(|one| one.by.is_some_and(|by| now > by + SLACK));
        late.map(|one| {
            one.by = None;
            format!("no advertisement by interface {} in time", one.at)
        })
        .collect()
    }

    /// Whether the router advertises itself at an interface.
    pub fn speaks_at(&self, at: usize) -> bool {
        self.0.iter().any(|one| one.at == at)
    }

    /// A host has asked at an interface: within half a second, or three seconds after the last one.
    pub fn ask(&mut self, at: usize, now: Duration) {
        for one in self.0.iter_mut().filter(|one| one.at == at) {
            let earliest = one.sent.map_or(now, |sent| now.max(sent + APART));
            let by = earliest + Duration::from_millis(500);
            one.by = Some(one.by.map_or(by, |before| before.min(by)));
        }
    }
}

/// The link-local address of an interface.
pub(super) fn link_local(one: &Resolved) -> Ipv6Addr {
    let hosted = Resolved { is_hosted: true, ipv6: None, ..*one };
    own(&hosted).ipv6.unwrap_or(Ipv6Addr::UNSPECIFIED)
}

/// The advertisement of an interface, without a tag.
fn frame_of(one: &Advertise, own: &Resolved) -> Vec<u8> {
    let mac = own.mac.0.0;
    let preference = |preference| match preference {
        Preference::High => 0x08,
        Preference::Medium => 0,
        Preference::Low => 0x18,
    };
    let flags = u8::from(one.managed) << 7 | u8::from(one.other_config) << 6;
    let [high, low] = one.lifetime_s.to_be_bytes();
    let mut message = vec![134, 0, 0, 0, one.hop_limit, flags | preference(one.preference)];
    message.extend([high, low, 0, 0, 0, 0, 0, 0, 0, 0]);
    message.extend([&[1, 1][..], &mac].concat());
    if one.mtu > 0 {
        message.extend([&[5, 1, 0, 0, 0, 0][..], &one.mtu.to_be_bytes()].concat());
    }
    let of_link = own.ipv6.map(|prefix| AdvertisedPrefix {
        prefix,
        on_link: true,
        autonomous: prefix.len == 64,
        valid_s: 30 * 86_400,
        preferred_s: 7 * 86_400,
    });
    let of_link = of_link.into_iter().filter(|_| one.prefixes.is_empty());
    for prefix in one.prefixes.iter().copied().chain(of_link) {
        let flags = u8::from(prefix.on_link) << 7 | u8::from(prefix.autonomous) << 6;
        message.extend([3, 4, prefix.prefix.len, flags]);
        message.extend([prefix.valid_s.to_be_bytes(), prefix.preferred_s.to_be_bytes()].concat());
        message.extend([0; 4]);
        message.extend(network(prefix.prefix.address, prefix.prefix.len));
    }
    for route in &one.routes {
        message.extend([24, 3, route.prefix.len, preference(route.preference)]);
        message.extend(route.lifetime_s.to_be_bytes());
        message.extend(network(route.prefix.address, route.prefix.len));
    }
    if !one.rdnss.is_empty() {
        message.extend([25, 1 + 2 * one.rdnss.len() as u8, 0, 0]);
        message.extend((u32::from(one.interval_s) * 3).to_be_bytes());
        one.rdnss.iter().for_each(|server| message.extend(server.octets()));
    }
    let (from, all) = (link_local(own), Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1));
    let ends = [from.octets(), all.octets()].concat();
    let len = (message.len() as u16).to_be_bytes();
    let pseudo = [&ends[..], &[0, 0], &len, &[0, 0, 0, 58], &message].concat();
    let sum = !internet_sum(&pseudo);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let ip = [&[0x60, 0, 0, 0][..], &len, &[58, 255], &ends].concat();
    [&[0x33, 0x33, 0, 0, 0, 1][..], &mac, &[0x86, 0xdd], &ip, &message].concat()
}

fn network(address: Ipv6Addr, len: u8) -> [u8; 16] {
    match catalogue::network(address.into(), len) {
        IpAddr::V6(address) => address.octets(),
        IpAddr::V4(_) => [0; 16],
    }
}

/// The VLAN of a frame that left, and the frame without the tag.
fn untagged(frame: &[u8]) -> (u16, Vec<u8>) {
    match frame.len() >= 18 && word(frame, 12) == 0x8100 {
        true => (word(frame, 14) % 4096, [&frame[..12], &frame[16..]].concat()),
        false => (0, frame.to_vec()),
    }
}

/// Least time between two advertisements.
const APART: Duration = Duration::from_secs(3);

/// A device in real time is later than one in simulated time.
const SLACK: Duration = Duration::from_secs(1);
