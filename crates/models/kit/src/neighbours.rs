//! What oracles have in common on neighbours: a list with holes and a queue, read from front to
//! back, and frames put together byte by byte from RFC 826 and RFC 4861.
//!
//! A neighbour whose answer is old is asked alone, and kept until three such questions had no
//! answer; all questions together are 1,000 a second, 256 at once. No pipeline uses this.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::host::{internet_sum, word};
use crate::slow::Bucket;

/// Who was asked, who answered, and what waits, of type `W`; a key `K` tells the link, and whatever
/// an oracle keeps of a neighbour.
#[derive(Clone)]
pub struct Neighbours<K, W> {
    entries: Vec<Option<Entry<K>>>,
    waiting: Vec<(usize, W)>,
    lifetime: Duration,
    pending: usize,
    questions: Bucket,
    /// Neighbours so far.
    count: u64,
}

/// One who was asked for.
#[derive(Clone)]
pub struct Entry<K> {
    /// What the oracle keeps.
    pub key: K,
    /// The neighbour's address.
    pub address: IpAddr,
    /// Its Ethernet address, once it is known.
    pub mac: Option<[u8; 6]>,
    /// Questions since its last answer.
    tries: u32,
    at: Duration,
    /// Its place among all that were added, and when it was.
    born: (u64, Duration),
}

/// What time brings about.
pub enum Due<K, W> {
    /// A question, to a station alone where there is one.
    Ask(K, IpAddr, Option<[u8; 6]>),
    /// A neighbour is forgotten, and what waited for it is free.
    Gone(Vec<W>),
}

impl<K: Clone, W> Neighbours<K, W> {
    /// An empty list with room for so many neighbours and packets.
    pub fn new(capacity: u32, pending: u32, lifetime_s: u32) -> Neighbours<K, W> {
        Neighbours {
            entries: (0..capacity).map(|_| None).collect(),
            waiting: Vec::new(),
            lifetime: Duration::from_secs(lifetime_s.into()),
            pending: pending as usize,
            questions: Bucket::new(1000, 256),
            count: 0,
        }
    }

    /// The number of the first neighbour of which something holds.
    pub fn find(&self, is_it: impl Fn(&Entry<K>) -> bool) -> Option<usize> {
        self.entries.iter().position(|entry| entry.as_ref().is_some_and(&is_it))
    }

    /// A neighbour by its number.
    pub fn get(&self, number: usize) -> Option<&Entry<K>> {
        self.entries.get(number)?.as_ref()
    }

    /// The same, to keep something else of it.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut Entry<K>> {
        self.entries.get_mut(number)?.as_mut()
    }

    /// Adds a neighbour; its number, and whether it is asked for at once.
    ///
    /// # Errors
    /// The reason for dropping the packet for it.
    pub fn add(
        &mut self,
        key: K,
        address: IpAddr,
        now: Duration,
    ) -> Result<(usize, bool), &'static str> {
        let free = self.entries.iter().position(Option::is_none);
        let number = free.ok_or("neighbours-full")?;
        let asks = self.questions.takes(now);
        self.put(number, (key, address), asks, now);
        Ok((number, asks))
    }

    /// The same where, without room, the oldest gives way that has not answered for 100 ms, is not
    /// to be kept, and if the new one may be asked for at once: what waited for the former.
    ///
    /// # Errors
    /// The reason for dropping the packet.
    pub fn add_or_replace(
        &mut self,
        key: K,
        address: IpAddr,
        is_kept: impl Fn(&K) -> bool,
        now: Duration,
    ) -> Result<(usize, bool, Vec<W>), &'static str> {
        if self.entries.iter().any(Option::is_none) {
            return self.add(key, address, now).map(|(number, asks)| (number, asks, Vec::new()));
        }
        let all = self.entries.iter().enumerate();
        let all = all.filter_map(|(number, one)| Some((number, one.as_ref()?)));
        let silent = all.filter(|(_, one)| one.mac.is_none() && !is_kept(&one.key));
        let oldest =
            silent.min_by_key(|(_, one)| one.born.0).map(|(number, one)| (number, one.born.1));
        let Some((number, since)) = oldest else { return Err("neighbours-full") };
        if now - since < LATER || !self.questions.takes(now) {
            return Err("neighbours-full");
        }
        let free = self.forget(number);
        self.put(number, (key, address), true, now);
        Ok((number, true, free))
    }

    fn put(&mut self, number: usize, (key, address): (K, IpAddr), asks: bool, now: Duration) {
        let at = now + if asks { SECOND } else { LATER };
        let (tries, born) = (u32::from(asks), (self.count, now));
        self.count += 1;
        self.entries[number] = Some(Entry { key, address, mac: None, tries, at, born });
    }

    /// Lets a packet wait; the reason that it has meanwhile.
    pub fn wait(&mut self, number: usize, packet: W) -> &'static str {
        let of_it = self.waiting.iter().filter(|waiting| waiting.0 == number).count();
        if of_it >= 8 || self.waiting.len() >= self.pending {
            return "pending-full";
        }
        self.waiting.push((number, packet));
        "awaiting-neighbour"
    }

    /// Hears a neighbour say its Ethernet address, whether that overrides another one, and whether
    /// it is an answer. What waited for it, if it is of use.
    pub fn heard(
        &mut self,
        number: usize,
        (mac, overrides, answers): (&[u8], bool, bool),
        now: Duration,
    ) -> Option<Vec<W>> {
        let entry = self.entries[number].as_mut()?;
        let is_station = mac[0] % 2 == 0 && mac != [0; 6];
        let is_kept = entry.mac.is_some_and(|known| known != mac) && !overrides;
        if !is_station || is_kept {
            return None;
        }
        let mac = [mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]];
        // RFC 4861 section 7.2.3: a question that says nothing new proves nothing.
        if answers || entry.mac != Some(mac) {
            entry.tries = 0;
            entry.at = if answers { now + self.lifetime } else { now };
        }
        entry.mac = Some(mac);
        Some(self.take(number))
    }

    /// Forgets a neighbour; what waited for it.
    pub fn forget(&mut self, number: usize) -> Vec<W> {
        self.entries[number] = None;
        self.take(number)
    }

    /// Three questions, a second apart, to all or to one that has answered before; then it is given
    /// up.
    pub fn tick(&mut self, now: Duration) -> Vec<Due<K, W>> {
        let mut due = Vec::new();
        for number in 0..self.entries.len() {
            let Some(entry) = &mut self.entries[number] else { continue };
            if entry.at > now {
                continue;
            }
            if entry.tries >= 3 {
                due.push(Due::Gone(self.forget(number)));
            } else if self.questions.takes(now) {
                entry.tries += 1;
                entry.at = now + SECOND;
                due.push(Due::Ask(entry.key.clone(), entry.address, entry.mac));
            } else {
                entry.at = now + LATER;
            }
        }
        due
    }

    fn take(&mut self, number: usize) -> Vec<W> {
        let all = std::mem::take(&mut self.waiting);
        let (gone, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.0 == number);
        self.waiting = kept;
        gone.into_iter().map(|(_, packet)| packet).collect()
    }
}

/// A device on a link.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}

/// A question to all, or to the group of those whose addresses end alike; or to a station alone.
/// RFC 826 and RFC 4861 section 7.2.2. None where the device has no address to ask with.
pub fn question(own: &Own, address: IpAddr, station: Option<[u8; 6]>) -> Option<Vec<u8>> {
    let mac = own.mac;
    Some(match address {
        IpAddr::V4(target) => {
            let own = own.ipv4?.octets();
            let head = station.unwrap_or([0xff; 6]);
            let fixed = [8, 6, 0, 1, 8, 0, 6, 4, 0, 1];
            [&head[..], &mac, &fixed, &mac, &own, &[0; 6], &target.octets()].concat()
        }
        IpAddr::V6(target) => {
            let own = own.ipv6?;
            let last = &target.octets()[13..];
            let (to, group) = match station {
                Some(station) => (station.to_vec(), target.octets().to_vec()),
                None => ([&[0x33, 0x33, 0xff], last].concat(), group_of(last)),
            };
            message(&to, &mac, &own.octets(), &group, (135, 0), target, (1, &mac))
        }
    })
}

/// The group of those whose addresses end like this (RFC 4291 section 2.7.1).
fn group_of(last: &[u8]) -> Vec<u8> {
    [&[0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff], last].concat()
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
pub enum Said<'a> {
    /// A question for the device's address.
    Solicitation {
        /// What it is answered with.
        answer: Vec<u8>,
        /// Who asks.
        from: IpAddr,
        /// The Ethernet address of who asks, if it says one.
        mac: Option<&'a [u8]>,
    },
    /// An address and its Ethernet address.
    Advertisement {
        /// The address.
        target: IpAddr,
        /// The Ethernet address.
        mac: &'a [u8],
        /// Whether it takes the place of another one.
        overrides: bool,
    },
}

/// RFC 4861 sections 7.1.1, 7.1.2 and 7.2.4: none for what is no such frame, an error for one that
/// is to be ignored.
pub fn read<'a>(frame: &'a [u8], own: &Own) -> Option<Result<Said<'a>, ()>> {
    if frame.len() < 55 || word(frame, 12) != 0x86dd || frame[14] >> 4 != 6 || frame[20] != 58 {
        return None;
    }
    let packet = frame[14..].get(..40 + usize::from(word(frame, 18)))?;
    let message = &packet[40..];
    matches!(message.first()?, 135 | 136).then(|| understand(frame, packet, own).ok_or(()))
}

fn understand<'a>(frame: &'a [u8], packet: &'a [u8], own: &Own) -> Option<Said<'a>> {
    let address = own.ipv6?;
    let message = &packet[40..];
    let (source, destination) = (&packet[8..24], &packet[24..40]);
    let len = (message.len() as u32).to_be_bytes();
    let pseudo = [source, destination, &len, &[0, 0, 0, 58], message].concat();
    let last = &address.octets()[13..];
    let station = &frame[..6];
    let is_mine = station == own.mac
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
    let is_nobody = source == [0; 16];
    let is_well = !is_nobody || mac.is_none() && destination == group_of(&target[13..]);
    if target != address.octets() || !is_well {
        return None;
    }
    let all = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let (station, to, flags) = match is_nobody {
        true => (&[0x33, 0x33, 0, 0, 0, 1][..], &all[..], 0xa0),
        false => (&frame[6..12], source, 0xe0),
    };
    let own_ip = address.octets();
    let answer = message_of(station, &own.mac, &own_ip, to, flags, address);
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

const SECOND: Duration = Duration::from_secs(1);
/// When a question is asked that was one too many.
const LATER: Duration = Duration::from_millis(100);
