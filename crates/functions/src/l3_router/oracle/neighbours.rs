//! The model's neighbours: who was asked, who answered, what waits.
//!
//! A list with holes and a queue, read from front to back; frames are put together byte by byte from
//! RFC 826 and RFC 4861.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use super::host::{Buckets, Cause, Held};
use super::{internet_sum, leave, word};
use crate::check::Expected;
use crate::l3_router::config::{Config, Resolved};

/// The cache and the queue.
pub(super) struct Neighbours {
    entries: Vec<Option<Entry>>,
    waiting: Vec<Waiting>,
    lifetime: Duration,
    pending: usize,
    /// What was made and not told yet.
    pub made: Vec<Expected>,
}

/// One who was asked for.
struct Entry {
    out: Resolved,
    address: IpAddr,
    /// The next hop's number, if he is one.
    hop: Option<u32>,
    /// The source address of frames to him.
    source: [u8; 6],
    mac: Option<[u8; 6]>,
    tries: u32,
    at: Duration,
}

/// A packet for him: as it came in by an interface, and as it is to leave.
struct Waiting {
    number: usize,
    at: Resolved,
    header: Vec<u8>,
    came: Vec<u8>,
    sent: Vec<u8>,
}

/// Whom a packet is to reach.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub out: Resolved,
    pub address: IpAddr,
    pub hop: Option<u32>,
    pub source: [u8; 6],
}

impl Neighbours {
    pub fn new(config: &Config) -> Neighbours {
        let capacity = if config.resolve { config.neighbour_capacity } else { 0 };
        Neighbours {
            entries: (0..capacity).map(|_| None).collect(),
            waiting: Vec::new(),
            lifetime: Duration::from_secs(config.neighbour_lifetime_s.into()),
            pending: config.pending_capacity as usize,
            made: Vec::new(),
        }
    }

    fn find(&self, out: &Resolved, address: IpAddr) -> Option<usize> {
        self.entries.iter().position(|entry| {
            entry.as_ref().is_some_and(|entry| entry.out == *out && entry.address == address)
        })
    }

    /// The Ethernet address of one who is known.
    pub fn station(&self, out: &Resolved, address: IpAddr) -> Option<[u8; 6]> {
        self.entries[self.find(out, address)?].as_ref()?.mac
    }

    /// The packet leaves, or waits.
    pub fn send(
        &mut self,
        wanted: Wanted,
        held: Held,
        sent: &[u8],
        now: Duration,
    ) -> Result<Expected, &'static str> {
        let Wanted { out, address, hop, source } = wanted;
        let number = match self.find(&out, address) {
            Some(number) => number,
            None => {
                let free = self.entries.iter().position(Option::is_none);
                let number = free.ok_or("neighbours-full")?;
                let at = now + Duration::from_secs(1);
                self.entries[number] =
                    Some(Entry { out, address, hop, source, mac: None, tries: 1, at });
                self.made.extend(question(&out, address));
                number
            }
        };
        if let Some(Entry { mac: Some(mac), source, .. }) = &self.entries[number] {
            let frame = [&mac[..], source, &held.header[12..14], sent].concat();
            return Ok(leave(&out, frame));
        }
        let of_it = self.waiting.iter().filter(|waiting| waiting.number == number).count();
        if of_it >= 8 || self.waiting.len() >= self.pending {
            return Err("pending-full");
        }
        self.waiting.push(Waiting {
            number,
            at: *held.at,
            header: held.header.to_vec(),
            came: held.packet.to_vec(),
            sent: sent.to_vec(),
        });
        Err("awaiting-neighbour")
    }

    /// Whether what was said is of use.
    pub fn heard(
        &mut self,
        at: &Resolved,
        address: IpAddr,
        (mac, overrides): (&[u8], bool),
        now: Duration,
    ) -> bool {
        let Some(number) = self.find(at, address) else { return false };
        let Some(entry) = &mut self.entries[number] else { return false };
        let is_station = mac[0] % 2 == 0 && mac != [0; 6];
        let is_kept = entry.mac.is_some_and(|known| known != mac) && !overrides;
        if !is_station || is_kept {
            return false;
        }
        let mac = [mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]];
        entry.mac = Some(mac);
        entry.at = now + self.lifetime;
        let (out, source) = (entry.out, entry.source);
        for waiting in self.take(number) {
            let frame = [&mac, &source, &waiting.header[12..14], &waiting.sent].concat();
            self.made.push(leave(&out, frame));
        }
        true
    }

    fn take(&mut self, number: usize) -> Vec<Waiting> {
        let all = std::mem::take(&mut self.waiting);
        let (gone, kept) = all.into_iter().partition(|waiting| waiting.number == number);
        self.waiting = kept;
        gone
    }

    /// A next hop is another now.
    pub fn forget(&mut self, hop: u32) {
        let is_its = |entry: &Option<Entry>| entry.as_ref().is_some_and(|e| e.hop == Some(hop));
        let Some(number) = self.entries.iter().position(is_its) else { return };
        self.entries[number] = None;
        let dropped = self.take(number).len();
        self.made.extend((0..dropped).map(|_| Expected::Drop("unresolved")));
    }

    /// Three questions, a second apart; then it is given up.
    pub fn tick(&mut self, config: &Config, buckets: &mut Buckets, now: Duration) {
        for number in 0..self.entries.len() {
            let Some(entry) = &mut self.entries[number] else { continue };
            if entry.at > now {
                continue;
            }
            if entry.mac.is_none() && entry.tries < 3 {
                entry.tries += 1;
                entry.at = now + Duration::from_secs(1);
                let asked = question(&entry.out, entry.address);
                self.made.extend(asked);
                continue;
            }
            self.entries[number] = None;
            for waiting in self.take(number) {
                let held = Held { at: &waiting.at, header: &waiting.header, packet: &waiting.came };
                let cause = Cause { reason: "unresolved", v4: (3, 1, 0), v6: (1, 3, 0) };
                let told = buckets.refuse(config, held, cause, now);
                self.made.push(told.unwrap_or_else(Expected::Drop));
            }
        }
    }
}

/// RFC 826 and RFC 4861 section 7.2.2.
fn question(out: &Resolved, address: IpAddr) -> Option<Expected> {
    let mac = out.mac.0.0;
    let frame = match address {
        IpAddr::V4(target) => {
            let own = out.ip?.address.octets();
            let head = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
            let fixed = [8, 6, 0, 1, 8, 0, 6, 4, 0, 1];
            [&head[..], &mac, &fixed, &mac, &own, &[0; 6], &target.octets()].concat()
        }
        IpAddr::V6(target) => {
            let own = out.ipv6?.address;
            let last = &target.octets()[13..];
            let to = [&[0x33, 0x33, 0xff], last].concat();
            let group = [&[0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff], last].concat();
            message(&to, &mac, &own.octets(), &group, (135, 0), target, (1, &mac))
        }
    };
    Some(leave(out, frame))
}

/// A message of Neighbor Discovery with one option.
fn message(
    to: &[u8],
    from: &[u8],
    source: &[u8],
    destination: &[u8],
    (kind, flags): (u8, u8),
    target: Ipv6Addr,
    (option, mac): (u8, &[u8]),
) -> Vec<u8> {
    let target = target.octets();
    let mut message = [&[kind, 0, 0, 0, flags, 0, 0, 0][..], &target, &[option, 1], mac].concat();
    let pseudo = [source, destination, &[0, 0, 0, 32, 0, 0, 0, 58], &message].concat();
    let sum = !internet_sum(&pseudo);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let ip = [&[0x60, 0, 0, 0, 0, 32, 58, 255][..], source, destination].concat();
    [to, from, &[0x86, 0xdd], &ip, &message].concat()
}

/// What a frame of Neighbor Discovery says.
pub(super) enum Said<'a> {
    Solicitation { answer: Vec<u8>, from: IpAddr, mac: Option<&'a [u8]> },
    Advertisement { target: IpAddr, mac: &'a [u8], overrides: bool },
}

/// RFC 4861 sections 7.1.1, 7.1.2 and 7.2.4: none for what is no such frame, an error for one that is
/// to be ignored.
pub(super) fn read<'a>(frame: &'a [u8], own: &Resolved) -> Option<Result<Said<'a>, ()>> {
    if frame.len() < 55 || word(frame, 12) != 0x86dd || frame[14] >> 4 != 6 || frame[20] != 58 {
        return None;
    }
    let packet = frame[14..].get(..40 + usize::from(word(frame, 18)))?;
    let message = &packet[40..];
    matches!(message.first()?, 135 | 136).then(|| understand(frame, packet, own).ok_or(()))
}

fn understand<'a>(frame: &'a [u8], packet: &'a [u8], own: &Resolved) -> Option<Said<'a>> {
    let address = own.ipv6?.address;
    let message = &packet[40..];
    let (source, destination) = (&packet[8..24], &packet[24..40]);
    let len = (message.len() as u32).to_be_bytes();
    let pseudo = [source, destination, &len, &[0, 0, 0, 58], message].concat();
    let last = &address.octets()[13..];
    let station = &frame[..6];
    let is_mine = station == own.mac.0.0
        || station == [0x33, 0x33, 0, 0, 0, 1]
        || station[..3] == [0x33, 0x33, 0xff] && station[3..] == *last;
    let is_sound = packet[7] == 255
        && message.len() >= 24
        && message[1] == 0
        && internet_sum(&pseudo) == 0xffff;
    if !is_mine || !is_sound || message[8] == 0xff || source[0] == 0xff {
        return None;
    }
    let wanted = if message[0] == 135 { 1 } else { 2 };
    let (mut rest, mut mac) = (&message[24..], None);
    while !rest.is_empty() {
        let len = usize::from(*rest.get(1)?) * 8;
        let option = rest.get(..len).filter(|option| !option.is_empty())?;
        if mac.is_none() && option[0] == wanted && len == 8 {
            mac = Some(&option[2..8]);
        }
        rest = &rest[len..];
    }
    let target = &message[8..24];
    if message[0] == 136 {
        let to_many_as_answer = destination[0] == 0xff && message[4] & 0x40 != 0;
        let mac = mac.filter(|_| !to_many_as_answer)?;
        let overrides = message[4] & 0x20 != 0;
        return Some(Said::Advertisement { target: ipv6(target), mac, overrides });
    }
    let group = [&[0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff], &target[13..]].concat();
    let is_nobody = source == [0; 16];
    if target != address.octets() || is_nobody && (mac.is_some() || destination != group) {
        return None;
    }
    let (own_mac, own_ip) = (own.mac.0.0, address.octets());
    let all = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let (station, to, flags) = match is_nobody {
        true => (&[0x33, 0x33, 0, 0, 0, 1][..], &all[..], 0xa0),
        false => (&frame[6..12], source, 0xe0),
    };
    let answer = message_of(station, &own_mac, &own_ip, to, flags, address);
    Some(Said::Solicitation { answer, from: ipv6(source), mac })
}

fn message_of(
    to: &[u8],
    mac: &[u8],
    own: &[u8],
    destination: &[u8],
    flags: u8,
    address: Ipv6Addr,
) -> Vec<u8> {
    message(to, mac, own, destination, (136, flags), address, (2, mac))
}

fn ipv6(bytes: &[u8]) -> IpAddr {
    let mut octets = [0; 16];
    octets.copy_from_slice(bytes);
    Ipv6Addr::from(octets).into()
}
