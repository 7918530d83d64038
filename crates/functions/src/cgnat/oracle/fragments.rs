//! Fragments: of every datagram a list of all bytes, seen or not, and how its first fragment left.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use packet::PortId;

use super::packets::{Packet, address, mend_ip, word};
use super::{Config, Expected, INSIDE, Judgement, Left, Model};

/// Datagrams of which fragments are followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Datagrams {
    all: Vec<Datagram>,
    /// Fragments that leave after they waited.
    pub made: Vec<Expected>,
}

#[derive(Clone, Debug)]
struct Datagram {
    key: Key,
    seen: BTreeSet<usize>,
    end: Option<usize>,
    is_broken: bool,
    first: Option<First>,
    waiting: Vec<Vec<u8>>,
    until: Duration,
}

/// Where its fragments come in, from whom to whom, protocol, identification.
type Key = (PortId, Ipv4Addr, Ipv4Addr, u8, u16);

/// How the first fragment left.
#[derive(Clone, Debug)]
struct First {
    port: PortId,
    /// The addresses.
    ends: Vec<u8>,
    identification: u16,
    hops: u8,
}

/// A fragment as its header tells it.
struct Part {
    key: Key,
    start: usize,
    len: usize,
    more: bool,
}

impl Datagrams {
    /// Forgets those whose time is over.
    pub fn pass(&mut self, now: Duration) {
        self.all.retain(|one| now < one.until);
    }

    /// Whether a sender may have one more datagram, and one more fragment that waits.
    fn check(&self, part: &Part, config: &Config, begins: bool) -> Result<(), &'static str> {
        let limits = config.fragments;
        let of_side = || self.all.iter().filter(|one| one.key.0 == part.key.0);
        let of_sender = || of_side().filter(|one| one.key.1 == part.key.1);
        let waits = part.start > 0;
        if begins && of_sender().count() >= limits.datagrams_per_sender as usize {
            return Err("fragment-limit");
        }
        if begins && of_side().count() >= limits.datagrams as usize {
            return Err("fragments-full");
        }
        let waiting: usize = of_sender().map(|one| one.waiting.len()).sum();
        if waits && waiting >= limits.waiting_per_sender as usize {
            return Err("fragment-limit");
        }
        let waiting: usize = of_side().map(|one| one.waiting.len()).sum();
        match waits && waiting >= limits.waiting as usize {
            true => Err("fragments-full"),
            false => Ok(()),
        }
    }
}

impl Datagram {
    fn new(key: Key, until: Duration) -> Datagram {
        let (seen, waiting) = (BTreeSet::new(), Vec::new());
        Datagram { key, seen, end: None, is_broken: false, first: None, waiting, until }
    }

    fn take(&mut self, part: &Part) -> Result<(), &'static str> {
        let end = part.start + part.len;
        let bytes: BTreeSet<usize> = (part.start..end).collect();
        let again = bytes.intersection(&self.seen).count();
        if self.is_broken || again == bytes.len() {
            return Err("fragment-overlap");
        }
        let ends_elsewhere = match self.end {
            Some(last) => !part.more || end > last,
            None => !part.more && self.seen.last().is_some_and(|&last| last >= end),
        };
        if again > 0 || ends_elsewhere {
            self.is_broken = true;
            self.waiting.clear();
            return Err("fragment-overlap");
        }
        let all: BTreeSet<usize> = self.seen.union(&bytes).copied().collect();
        let begins = all.iter().filter(|&&byte| byte == 0 || !all.contains(&(byte - 1)));
        if begins.count() > 8 {
            return Err("fragment-scattered");
        }
        self.seen = all;
        if !part.more {
            self.end = Some(end);
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.end == Some(self.seen.len())
    }
}

impl Model {
    /// RFC 4787 REQ-14: a sound fragment goes as the first one of its datagram does.
    pub(super) fn judge_fragment(
        &mut self,
        port: PortId,
        packet: &[u8],
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        if self.config.fragments.datagrams == 0 {
            return Err("fragment");
        }
        let part = self.sound(port, packet)?;
        let at = self.datagrams.all.iter().position(|one| one.key == part.key);
        let waits = part.start > 0;
        let Some(at) = at else {
            self.datagrams.check(&part, &self.config, true)?;
            let until = now + Duration::from_secs_f64(self.config.fragments.timeout_s);
            let mut one = Datagram::new(part.key, until);
            one.take(&part)?;
            if waits {
                one.waiting.push(packet.to_vec());
                self.datagrams.all.push(one);
                return Err("awaiting-first-fragment");
            }
            let (first, frame) = self.first(port, packet, now, left)?;
            one.first = Some(first);
            self.datagrams.all.push(one);
            return Ok(frame);
        };
        let is_broken = self.datagrams.all[at].is_broken;
        let first = self.datagrams.all[at].first.clone();
        if !is_broken && first.is_none() {
            self.datagrams.check(&part, &self.config, false)?;
        }
        self.datagrams.all[at].take(&part)?;
        let Some(first) = first else {
            if waits {
                self.datagrams.all[at].waiting.push(packet.to_vec());
                return Err("awaiting-first-fragment");
            }
            let mut one = self.datagrams.all.remove(at);
            let (first, frame) = self.first(port, packet, now, left)?;
            for waited in std::mem::take(&mut one.waiting) {
                self.datagrams.made.extend(self.follow(&first, &waited));
            }
            one.first = Some(first);
            if !one.is_whole() {
                self.datagrams.all.push(one);
            }
            return Ok(frame);
        };
        if self.datagrams.all[at].is_whole() {
            self.datagrams.all.remove(at);
        }
        self.follow(&first, packet).ok_or("ttl-expired")
    }

    /// What stands in the headers, in their order.
    fn sound(&self, port: PortId, packet: &[u8]) -> Result<Part, &'static str> {
        let header = usize::from(packet[0] % 16) * 4;
        let transport = &packet[header..];
        let [from, to] = [12, 16].map(|at| address(packet, at));
        let part = Part {
            key: (port, from, to, packet[9], word(packet, 4)),
            start: usize::from(word(packet, 6) & 0x1fff) * 8,
            len: transport.len(),
            more: word(packet, 6) & 0x2000 != 0,
        };
        let is_cut = part.more && !part.len.is_multiple_of(8);
        if part.len == 0 || is_cut || part.start + part.len > 65_535 {
            return Err("fragment-malformed");
        }
        let needed = match packet[9] {
            6 if part.start == 0 && part.len >= 20 => (usize::from(transport[12] / 16) * 4).max(20),
            6 => 20,
            1 | 17 => 8,
            _ => return Err("protocol-unsupported"),
        };
        let is_short_header =
            packet[9] == 6 && part.start == 0 && part.len >= 20 && transport[12] / 16 < 5;
        let is_tiny = if part.start == 0 { part.len < needed } else { part.start < needed };
        if is_short_header || is_tiny && (part.start == 0 || packet[9] == 6) {
            return Err("fragment-tiny");
        }
        if packet[9] == 1 && part.start == 0 {
            let queries: [u8; 2] = if port == INSIDE { [8, 13] } else { [0, 14] };
            if !queries.contains(&transport[0]) {
                return Err("protocol-unsupported");
            }
        }
        if packet[8] <= 1 {
            return Err("ttl-expired");
        }
        if port == INSIDE && !self.is_inside(from) {
            return Err("not-inside");
        }
        if port != INSIDE && !self.is_outside(to) {
            return Err("no-address");
        }
        Ok(part)
    }

    /// The first fragment, with ports, as a packet of its own.
    fn first(
        &mut self,
        port: PortId,
        packet: &[u8],
        now: Duration,
        left: Left<'_>,
    ) -> Result<(First, Expected), &'static str> {
        let at = usize::from(packet[0] % 16) * 4;
        let [from, to] = [12, 16].map(|field| address(packet, field));
        let ports = match packet[9] {
            1 if port == INSIDE => [word(packet, at + 4), 0],
            1 => [0, word(packet, at + 4)],
            _ => [word(packet, at), word(packet, at + 2)],
        };
        let one = Packet {
            bytes: packet.to_vec(),
            protocol: packet[9],
            source: (from, ports[0]),
            destination: (to, ports[1]),
            transport: at,
        };
        let leaves = match port == INSIDE {
            true => self.leaving(&one, now, left)?,
            false => self.arriving(&one, now, left)?,
        };
        let Expected::Forward { port: to, mut frame } = leaves else { return Err("unhandled") };
        let mut identification = word(packet, 4);
        if port == INSIDE {
            identification = self.identification(&frame[14..], left);
            frame[18..20].copy_from_slice(&identification.to_be_bytes());
            mend_ip(&mut frame[14..]);
        }
        let first = First {
            port: to,
            ends: frame[26..34].to_vec(),
            identification,
            hops: packet[8] - frame[22],
        };
        Ok((first, Expected::Forward { port: to, frame }))
    }

    /// RFC 6864 section 5.3: what the device chose, if no other datagram between the same two has it.
    fn identification(&self, packet: &[u8], left: Left<'_>) -> u16 {
        let is_free = |wanted: u16| {
            let others = self.datagrams.all.iter().filter(|one| one.key.3 == packet[9]);
            let mut firsts = others.filter_map(|one| one.first.as_ref());
            !firsts.any(|one| one.ends == packet[12..20] && one.identification == wanted)
        };
        let chosen = left.iter().find_map(|(_, frame)| {
            let is_it = frame.len() >= 34 && word(frame, 20) & 0x3fff == 0x2000;
            (is_it && frame[26..34] == packet[12..20]).then(|| word(frame, 18))
        });
        chosen
            .filter(|chosen| is_free(*chosen))
            .or_else(|| (0..=u16::MAX).find(|id| is_free(*id)))
            .unwrap_or(0)
    }

    /// A fragment translated as the first one was; none where its time to live ends.
    fn follow(&self, first: &First, packet: &[u8]) -> Option<Expected> {
        let mut bytes = packet.to_vec();
        if bytes[8] <= first.hops {
            return None;
        }
        bytes[8] -= first.hops;
        bytes[4..6].copy_from_slice(&first.identification.to_be_bytes());
        bytes[12..20].copy_from_slice(&first.ends);
        mend_ip(&mut bytes);
        Some(self.frame(first.port, &bytes))
    }
}
