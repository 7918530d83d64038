//! What the model says of packets that the router does not forward: errors, answers, policers.
//!
//! Headers are read and built byte by byte from the texts of the standards.
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_l3_router::config::{Config, Resolved};
use model_kit::check::Expected;
use model_kit::host::{Cause, Upper, word};
use model_kit::slow::Bucket;

use super::frames::{Judgement, leave};
use super::resets;

/// The buckets of a router as a host.
pub(super) struct Buckets {
    errors: Bucket,
    icmp: Bucket,
    pub arp: Bucket,
    pub nd: Bucket,
    fragments: Bucket,
    ttl_expired: Bucket,
    pub local: Bucket,
}

impl Buckets {
    pub fn new(config: &Config) -> Buckets {
        let rates = config.punt_rates;
        let policer = |rate| Bucket::new(rate, rates.burst);
        Buckets {
            errors: Bucket::new(config.icmp_errors_per_s, config.icmp_error_burst),
            icmp: policer(rates.icmp),
            arp: policer(rates.arp),
            nd: policer(rates.nd),
            fragments: policer(rates.fragments),
            ttl_expired: policer(rates.ttl_expired),
            local: policer(rates.local),
        }
    }
}

/// A packet that the router does not forward: who sent its frame, by which interface, and itself.
#[derive(Clone, Copy)]
pub(super) struct Held<'a> {
    pub at: &'a Resolved,
    pub header: &'a [u8],
    pub packet: &'a [u8],
}

pub(super) const NOBODY: Cause = Cause { reason: "no-next-hop", v4: (3, 1, 0), v6: (1, 3, 0) };

impl Buckets {
    /// The reason for which a packet is dropped, and the error about it, if there is one.
    pub fn refuse(
        &mut self,
        config: &Config,
        held: Held,
        cause: Cause,
        now: Duration,
    ) -> (&'static str, Option<Expected>) {
        if cause.reason == "ttl-expired" && config.is_host() && !self.ttl_expired.takes(now) {
            return ("policed-ttl-expired", None);
        }
        let error = match held.packet[0] >> 4 {
            4 => held.at.ip.and_then(|own| error_ipv4(held, own.address, cause.v4)),
            _ => held.at.ipv6.and_then(|own| error_ipv6(held, own.address, cause.v6)),
        };
        (cause.reason, self.within_limit(config, held, error, now))
    }

    fn within_limit(
        &mut self,
        config: &Config,
        held: Held,
        error: Option<Vec<u8>>,
        now: Duration,
    ) -> Option<Expected> {
        let error = error.filter(|_| config.icmp_errors_per_s > 0)?;
        self.errors.takes(now).then(|| leave(held.at, error))
    }

    /// RFC 1122 sections 3.2.2.1 and 4.2.3.10; RFC 4443 sections 3.1 and 3.4: what one hears of a
    /// packet for the router itself for which nobody listens, from the address that was asked.
    pub fn nobody_listens(
        &mut self,
        config: &Config,
        held: Held,
        now: Duration,
    ) -> Option<Expected> {
        let packet = held.packet;
        let said = if packet[0] >> 4 == 4 {
            let own = Ipv4Addr::new(packet[16], packet[17], packet[18], packet[19]);
            let is_whole = word(packet, 6) & 0x3fff == 0;
            match packet[9] {
                _ if !is_whole => None,
                1 | 58 | 59 => None,
                6 => error_ipv4(held, own, (0, 0, 0))
                    .and_then(|_| resets::answer(held.header, held.packet)),
                17 | 136 => error_ipv4(held, own, (3, 3, 0)),
                _ => error_ipv4(held, own, (3, 2, 0)),
            }
        } else {
            let mut own = [0; 16];
            own.copy_from_slice(&packet[24..40]);
            let carried = Upper::of(packet).filter(|carried| carried.fragment.is_none())?;
            match carried.protocol {
                1 | 58 | 59 => None,
                6 => error_ipv6(held, own.into(), (0, 0, 0))
                    .and_then(|_| resets::answer(held.header, held.packet)),
                17 | 136 => error_ipv6(held, own.into(), (1, 4, 0)),
                other if other == packet[6] => error_ipv6(held, own.into(), (4, 1, 6)),
                _ => None,
            }
        };
        self.within_limit(config, held, said, now)
    }

    /// A packet for the router itself; `accepts` is what a virtual address does with pings.
    pub fn receive(
        &mut self,
        config: &Config,
        held: Held,
        accepts: Option<bool>,
        now: Duration,
    ) -> Judgement {
        let packet = held.packet;
        let is_v4 = packet[0] >> 4 == 4;
        let class = self.police_host(packet, now)?;
        if accepts == Some(false) {
            return Err("local-address");
        }
        if held.at.is_hosted && accepts.is_none() {
            return Ok(Expected::Punt);
        }
        if config.ping && matches!(class, Kind::Icmp) {
            let answer = if is_v4 { echo_ipv4(held)? } else { echo_ipv6(held)? };
            if let Some(frame) = answer {
                return Ok(leave(held.at, frame));
            }
        }
        match config.punt && accepts.is_none() {
            true => Ok(Expected::Punt),
            false => Err("local-address"),
        }
    }

    /// What a packet for the router or its host counts as, within the rate of that.
    pub fn police_host(&mut self, packet: &[u8], now: Duration) -> Result<Kind, &'static str> {
        let kind = if packet[0] >> 4 == 4 { kind_ipv4(packet) } else { kind_ipv6(packet) };
        let (class, bucket) = match kind {
            Kind::Icmp => ("policed-icmp", &mut self.icmp),
            Kind::Nd => ("policed-nd", &mut self.nd),
            Kind::Fragment => ("policed-fragments", &mut self.fragments),
            Kind::Other => ("policed-local", &mut self.local),
        };
        if bucket.takes(now) { Ok(kind) } else { Err(class) }
    }
}

pub(super) enum Kind {
    Icmp,
    Nd,
    Fragment,
    Other,
}

fn kind_ipv4(packet: &[u8]) -> Kind {
    match (word(packet, 6) & 0x3fff, packet[9]) {
        (0, 1) => Kind::Icmp,
        (0, _) => Kind::Other,
        _ => Kind::Fragment,
    }
}

fn kind_ipv6(packet: &[u8]) -> Kind {
    match Upper::of(packet) {
        Some(Upper { fragment: Some(_), .. }) => Kind::Fragment,
        Some(Upper { protocol: 58, message, .. }) => match message.first() {
            Some(133..=137) => Kind::Nd,
            _ => Kind::Icmp,
        },
        _ => Kind::Other,
    }
}

/// The frame with an error about a packet, back to who sent it; none to a group of stations.
fn error_ipv4(held: Held, own: Ipv4Addr, said: (u8, u8, u32)) -> Option<Vec<u8>> {
    back(held, &model_kit::host::error_ipv4(held.packet, own, said)?)
}

/// The same of IPv6.
fn error_ipv6(held: Held, own: Ipv6Addr, said: (u8, u8, u32)) -> Option<Vec<u8>> {
    back(held, &model_kit::host::error_ipv6(held.packet, own, said)?)
}

fn back(Held { at, header, .. }: Held, packet: &[u8]) -> Option<Vec<u8>> {
    let is_group = header[6] % 2 == 1;
    (!is_group).then(|| [&header[6..12], &at.mac.0.0, &header[12..14], packet].concat())
}

fn echo_ipv4(Held { header, packet, .. }: Held) -> Result<Option<Vec<u8>>, &'static str> {
    let reply = model_kit::host::echo_ipv4(packet)?;
    Ok(reply.map(|reply| [&header[6..12], &header[..6], &header[12..14], &reply].concat()))
}

fn echo_ipv6(Held { header, packet, .. }: Held) -> Result<Option<Vec<u8>>, &'static str> {
    let reply = model_kit::host::echo_ipv6(packet)?;
    Ok(reply.map(|reply| [&header[6..12], &header[..6], &header[12..14], &reply].concat()))
}
