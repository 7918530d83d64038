//! Packets of which rules say that the log is to tell: some of those that they decide.
//!
//! A rule with `log-one-in` picks the first packet that it decides on a worker and then every n-th.
//! Of those, all workers together keep `rule-log-per-s`, each at most [`KEPT_MAX`] until somebody
//! takes them; what is beyond that is counted. A packet is kept by its first bytes, and put into
//! words when it is taken, which no packet waits for.
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use machine::clock::{Clock, Ticks};
use packet::{Batch, Slot};
use stages::transport;
use tables::meter::{Meter, TeamMeter};
use wire::{ethernet, ipv4, ipv6, protocol};

use super::super::config::{Config, PortName};

/// The samples of a worker.
pub(in super::super) struct Samples {
    kept: Vec<Sample>,
    rate: TeamMeter,
    headers_max: u8,
    now: Ticks,
    /// Those that were kept so far, and those that were not.
    counts: [u64; 2],
}

/// A packet that a rule has decided on.
#[derive(Clone, Copy)]
struct Sample {
    decision: Decision,
    head: [u8; HEAD_LEN],
    head_len: u8,
    /// Length of the packet.
    len: u16,
}

/// What a rule has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Decision {
    /// The name of its list.
    pub list: &'static str,
    /// Its number.
    pub rule: u32,
    /// Of so many it tells one.
    pub one_in: u32,
    /// Whether the packet passes.
    pub permits: bool,
    /// The number of the port and the VLAN by which it came in or leaves.
    pub place: (u8, u16),
}

impl Samples {
    /// None so far.
    pub fn new(config: &Config, clock: Clock) -> Samples {
        let rate = config.rule_log_per_s;
        let meter = Meter::of_packets(rate.max(1), rate.max(1), clock.ticks_per_second());
        Samples {
            kept: Vec::with_capacity(KEPT_MAX),
            rate: TeamMeter::new(meter),
            headers_max: config.extension_headers_max,
            now: 0,
            counts: [0; 2],
        }
    }

    /// Has the rate of the first of some workers for its own.
    pub fn join(&mut self, first: &mut Samples) {
        self.rate.join(&mut first.rate);
    }

    /// A batch begins.
    pub fn begin(&mut self, now: Ticks) {
        self.now = now;
    }

    /// Keeps a packet, if the rate and the room allow it.
    #[cold]
    pub fn keep(&mut self, batch: &Batch, slot: Slot, decision: Decision) {
        if self.kept.len() >= KEPT_MAX || !self.rate.conforms(self.now, 1) {
            self.counts[1] += 1;
            return;
        }
        self.counts[0] += 1;
        let packet = batch.frame(slot).get(ethernet::HEADER_LEN..).unwrap_or_default();
        let (mut head, head_len) = ([0; HEAD_LEN], packet.len().min(HEAD_LEN));
        head[..head_len].copy_from_slice(&packet[..head_len]);
        let len = batch.frame_len(slot).saturating_sub(ethernet::HEADER_LEN) as u16;
        self.kept.push(Sample { decision, head, head_len: head_len as u8, len });
    }

    /// How many were kept so far, and how many were not.
    pub fn counts(&self) -> [u64; 2] {
        self.counts
    }

    /// Memory that they hold.
    pub fn bytes(&self) -> usize {
        self.kept.capacity() * size_of::<Sample>()
    }

    /// Takes those that are kept, in words.
    pub fn take(&mut self, ports: &[PortName]) -> Vec<String> {
        let headers_max = self.headers_max;
        self.kept.drain(..).map(|one| one.text(ports, headers_max)).collect()
    }
}

impl Sample {
    /// `ingress rule 10 denies UDP 10.0.0.2:4000 > 10.1.0.2:80, 60 bytes, by downlink (1 of 100)`.
    fn text(&self, ports: &[PortName], headers_max: u8) -> String {
        let Decision { list, rule, one_in, permits, place: (port, vlan) } = self.decision;
        let verb = if permits { "permits" } else { "denies" };
        let mut text = format!("{list} rule {rule} {verb} ");
        let packet = &self.head[..usize::from(self.head_len)];
        let upper = match is_ipv6_packet(packet) {
            false => transport::of_ipv4(packet),
            true => packet
                .get(ipv6::offset::NEXT_HEADER)
                .map(|&first| transport::behind(packet, first, headers_max)),
        };
        let ends = ends_of(packet);
        if let (Some(upper), Some(ends)) = (upper, ends) {
            let ports = upper.ports.map(|[a, b, c, d]| [[a, b], [c, d]].map(u16::from_be_bytes));
            let [from, to] = match ports {
                None => ends.map(|end| end.to_string()),
                Some([from, to]) => {
                    [(ends[0], from), (ends[1], to)].map(|end| SocketAddr::from(end).to_string())
                }
            };
            // Writing to a string cannot fail.
            let _ = match upper.protocol {
                protocol::TCP => write!(text, "TCP {from} > {to}"),
                protocol::UDP => write!(text, "UDP {from} > {to}"),
                protocol::ICMP => write!(text, "ICMP {from} > {to}"),
                protocol::ICMPV6 => write!(text, "ICMPv6 {from} > {to}"),
                other => write!(text, "protocol {other} {from} > {to}"),
            };
            if upper.fragment.is_some() {
                text.push_str(", a fragment");
            }
        } else {
            text.push_str("a packet that cannot be read");
        }
        let name = ports.get(usize::from(port)).map_or_else(String::new, ToString::to_string);
        let _ = write!(text, ", {} bytes, by {name}", self.len);
        if vlan > 0 {
            let _ = write!(text, " vlan {vlan}");
        }
        let _ = write!(text, " (1 of {one_in})");
        text
    }
}

fn is_ipv6_packet(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == ipv6::VERSION)
}

/// The source and the destination of a packet.
fn ends_of(packet: &[u8]) -> Option<[IpAddr; 2]> {
    fn at<const LEN: usize>(packet: &[u8], from: usize) -> Option<IpAddr>
    where
        IpAddr: From<[u8; LEN]>,
    {
        Some(IpAddr::from(*packet.get(from..)?.first_chunk::<LEN>()?))
    }
    match is_ipv6_packet(packet) {
        false => Some([
            at::<4>(packet, ipv4::offset::SOURCE)?,
            at::<4>(packet, ipv4::offset::DESTINATION)?,
        ]),
        true => Some([
            at::<16>(packet, ipv6::offset::SOURCE)?,
            at::<16>(packet, ipv6::offset::DESTINATION)?,
        ]),
    }
}

/// Most samples that a worker keeps until they are taken.
pub const KEPT_MAX: usize = 256;

/// Bytes of a packet that are kept: IPv6 with some extension headers and ports.
const HEAD_LEN: usize = 120;

#[cfg(test)]
mod tests {
    use function_kit::Shard;

    use super::super::super::config::{DOWNLINK, UPLINK};
    use super::*;

    fn samples(rate: u32) -> Samples {
        let config = Config { rule_log_per_s: rate, ..Config::default() };
        Samples::new(&config, Clock::with_rate(1e9))
    }

    const DENIED: Decision =
        Decision { list: "ingress", rule: 10, one_in: 100, permits: false, place: (0, 7) };

    fn batch(packet: &[u8]) -> Batch {
        let mut batch = Batch::new(1, packet::Room::default()).expect("memory");
        let frame = [&[0; ethernet::HEADER_LEN][..], packet].concat();
        batch.append(packet_port(), frame.len()).expect("room").copy_from_slice(&frame);
        batch
    }

    fn packet_port() -> packet::PortId {
        packet::PortId(Shard::WHOLE.index as u8)
    }

    fn told(packet: &[u8]) -> String {
        let mut samples = samples(10);
        samples.keep(&batch(packet), 0, DENIED);
        samples.take(&[DOWNLINK, UPLINK]).remove(0)
    }

    #[test]
    fn a_packet_is_told_by_its_ends_or_as_one_that_cannot_be_read() {
        let from = [10, 0, 0, 2].into();
        let to = [10, 1, 0, 2].into();
        let datagram = [&[0x0f, 0xa0, 0, 80, 0, 12, 0, 0][..], b"text"].concat();
        let whole = model_kit::build::packet(from, to, protocol::UDP, &datagram);
        assert_eq!(
            told(&whole),
            "ingress rule 10 denies UDP 10.0.0.2:4000 > 10.1.0.2:80, 32 bytes, \
             by downlink vlan 7 (1 of 100)"
        );
        let ping = model_kit::build::packet(from, to, protocol::ICMP, &[8, 0, 0, 0, 0, 0, 0, 0]);
        assert!(told(&ping).contains(" ICMP 10.0.0.2 > 10.1.0.2, 28 bytes"), "{}", told(&ping));
        let host = |last| std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
        let ipv6 = model_kit::build::packet_ipv6(host(1), host(2), 300);
        let expected = "UDP [2001:db8::1]:40000 > [2001:db8::2]:9, 300 bytes";
        assert!(told(&ipv6).contains(expected), "{}", told(&ipv6));
        for len in 0..whole.len() {
            let text = told(&whole[..len]);
            assert!(text.contains("denies"), "{text}");
        }
    }

    #[test]
    fn all_workers_together_keep_as_many_as_the_rate_allows() {
        let (mut first, mut second) = (samples(10), samples(10));
        second.join(&mut first);
        let batch = batch(&[0x45; 20]);
        for ms in 0..3000 {
            for one in [&mut first, &mut second] {
                one.begin(ms * 1_000_000);
                one.keep(&batch, 0, DENIED);
            }
        }
        let [kept, lost] = [0, 1].map(|which| first.counts()[which] + second.counts()[which]);
        assert!((38..=42).contains(&kept), "{kept} in three seconds and the burst");
        assert_eq!(kept + lost, 6000);
        assert_eq!(first.take(&[]).len() + second.take(&[]).len(), kept as usize);
        // Who is not asked for them keeps no more than there is room for.
        let mut many = samples(1000);
        for second in 0..3 {
            many.begin(second * 1_000_000_000);
            (0..1000).for_each(|_| many.keep(&batch, 0, DENIED));
        }
        assert_eq!(many.take(&[]).len(), KEPT_MAX);
    }
}
