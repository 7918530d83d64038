//! What the model says of packets that the router does not forward: errors, answers, policers.
//!
//! Headers are read and built byte by byte from the texts of the standards.
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_l3_router::config::{Config, Resolved};
use model_kit::check::Expected;
use model_kit::slow::Bucket;

use super::frames::{Judgement, internet_sum, leave, word};
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

/// Why it does not: the reason by which it is dropped, and what an error about it says.
#[derive(Clone, Copy)]
pub(super) struct Cause {
    pub reason: &'static str,
    /// Type, code and the rest of the header, for IPv4 and for IPv6.
    pub v4: (u8, u8, u32),
    pub v6: (u8, u8, u32),
}

pub(super) const EXPIRED: Cause = Cause { reason: "ttl-expired", v4: (11, 0, 0), v6: (3, 0, 0) };
pub(super) const NO_ROUTE: Cause = Cause { reason: "no-route", v4: (3, 0, 0), v6: (1, 0, 0) };
pub(super) const NOBODY: Cause = Cause { reason: "no-next-hop", v4: (3, 1, 0), v6: (1, 3, 0) };

pub(super) fn too_big(mtu: u16) -> Cause {
    let mtu = mtu.into();
    Cause { reason: "too-big", v4: (3, 4, mtu), v6: (2, 0, mtu) }
}

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
            let carried = upper(packet).filter(|carried| carried.fragment.is_none())?;
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
    match upper(packet) {
        Some(Upper { fragment: Some(_), .. }) => Kind::Fragment,
        Some(Upper { protocol: 58, message, .. }) => match message.first() {
            Some(133..=137) => Kind::Nd,
            _ => Kind::Icmp,
        },
        _ => Kind::Other,
    }
}

/// RFC 792; RFC 1812 sections 4.3.2.3 (how much is quoted), 4.3.2.5 (precedence), 4.3.2.7 (about
/// what none is sent).
fn error_ipv4(held: Held, own: Ipv4Addr, (kind, code, rest): (u8, u8, u32)) -> Option<Vec<u8>> {
    let Held { at, header, packet } = held;
    let options = usize::from(packet[0] % 16) * 4;
    let is_first = word(packet, 6) & 0x1fff == 0;
    let is_error = packet[9] == 1
        && !packet
            .get(options)
            .is_some_and(|kind| [0, 8, 9, 10].contains(kind) || (13..19).contains(kind));
    if !is_first || is_error || header[6] % 2 == 1 {
        return None;
    }
    let quoted = &packet[..packet.len().min(548)];
    let mut message = [&[kind, code, 0, 0], &rest.to_be_bytes()[..], quoted].concat();
    let sum = !internet_sum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let sender = Ipv4Addr::new(packet[12], packet[13], packet[14], packet[15]);
    let ip = header_ipv4(0xc0, 20 + message.len(), own, sender);
    Some([&header[6..12], &at.mac.0.0, &header[12..14], &ip, &message].concat())
}

fn header_ipv4(service: u8, len: usize, from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let len = (len as u16).to_be_bytes();
    let fixed = [&[0x45, service], &len[..], &[0, 0, 0x40, 0, 64, 1, 0, 0]].concat();
    let mut ip = [&fixed[..], &from.octets(), &to.octets()].concat();
    let sum = !internet_sum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip
}

/// RFC 4443 section 2.4.
fn error_ipv6(held: Held, own: Ipv6Addr, (kind, code, rest): (u8, u8, u32)) -> Option<Vec<u8>> {
    let Held { at, header, packet } = held;
    let carried = upper(packet)?;
    let is_error = carried.protocol == 58
        && carried.message.first().is_none_or(|&kind| kind < 128 || kind == 137);
    if is_error || carried.fragment.is_some_and(|offset| offset > 0) || header[6] % 2 == 1 {
        return None;
    }
    let quoted = &packet[..packet.len().min(1232)];
    let mut message = [&[kind, code, 0, 0], &rest.to_be_bytes()[..], quoted].concat();
    let to = &packet[8..24];
    let len = message.len() as u16;
    let pseudo =
        [&own.octets(), to, &[0, 0], &len.to_be_bytes(), &[0, 0, 0, 58], &message].concat();
    let sum = !internet_sum(&pseudo);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let fixed = [&[0x6c, 0, 0, 0], &len.to_be_bytes()[..], &[58, 64]].concat();
    let ip = [&fixed[..], &own.octets(), to].concat();
    Some([&header[6..12], &at.mac.0.0, &header[12..14], &ip, &message].concat())
}

/// RFC 792: the reply to an echo request, with the same data; none to anything else.
fn echo_ipv4(held: Held) -> Result<Option<Vec<u8>>, &'static str> {
    let Held { header, packet, .. } = held;
    let options = usize::from(packet[0] % 16) * 4;
    let message = &packet[options..];
    if message.len() < 8 || internet_sum(message) != 0xffff {
        return Err("icmp-malformed");
    }
    if options > 20 || message[..2] != [8, 0] {
        return Ok(None);
    }
    let mut message = [&[0, 0, 0, 0], &message[4..]].concat();
    let sum = !internet_sum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut ip = packet[..20].to_vec();
    // Flags are kept but for the reserved one.
    ip[6] &= 0x7f;
    ip[8] = 64;
    ip[10..12].fill(0);
    ip[12..16].copy_from_slice(&packet[16..20]);
    ip[16..20].copy_from_slice(&packet[12..16]);
    let sum = !internet_sum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    Ok(Some([&header[6..12], &header[..6], &header[12..14], &ip, &message].concat()))
}

/// RFC 4443 section 4.2.
fn echo_ipv6(held: Held) -> Result<Option<Vec<u8>>, &'static str> {
    let Held { header, packet, .. } = held;
    if packet[6] != 58 {
        return Ok(None);
    }
    let message = &packet[40..];
    let len = (message.len() as u32).to_be_bytes();
    let pseudo = [&packet[8..40], &len, &[0, 0, 0, 58], message].concat();
    if message.len() < 8 || internet_sum(&pseudo) != 0xffff {
        return Err("icmp-malformed");
    }
    if message[..2] != [128, 0] {
        return Ok(None);
    }
    let (from, to) = (&packet[8..24], &packet[24..40]);
    let mut message = [&[129, 0, 0, 0], &message[4..]].concat();
    let pseudo = [to, from, &len, &[0, 0, 0, 58], &message].concat();
    let sum = !internet_sum(&pseudo);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let ip = [&packet[..7], &[64], to, from].concat();
    Ok(Some([&header[6..12], &header[..6], &header[12..14], &ip, &message].concat()))
}

/// What stands behind the extension headers.
struct Upper<'a> {
    protocol: u8,
    message: &'a [u8],
    /// The offset of a fragment, in units of 8 bytes.
    fragment: Option<u16>,
}

/// RFC 8200 section 4: at most eight extension headers; none where one reaches beyond the packet.
fn upper(packet: &[u8]) -> Option<Upper<'_>> {
    let mut upper = Upper { protocol: packet[6], message: &packet[40..], fragment: None };
    for _ in 0..9 {
        let is_middle = upper.fragment.is_some_and(|offset| offset > 0);
        if is_middle || ![0, 43, 44, 51, 60].contains(&upper.protocol) {
            return Some(upper);
        }
        let start = upper.message.get(..8)?;
        let len = match upper.protocol {
            44 => {
                upper.fragment = Some(word(start, 2) / 8);
                8
            }
            51 => (usize::from(start[1]) + 2) * 4,
            _ => (usize::from(start[1]) + 1) * 8,
        };
        upper.message = upper.message.get(len..)?;
        upper.protocol = start[0];
    }
    None
}
