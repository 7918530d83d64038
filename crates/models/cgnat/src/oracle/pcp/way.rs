//! The server of the Port Control Protocol, from RFC 6887 byte by byte.
//!
//! Of an answer the device chooses the outside end of a new mapping, which must be one that a
//! packet could have got, and a second more or less where it tells times.
use std::net::Ipv4Addr;
use std::time::Duration;

use function_cgnat::types::sides::INSIDE;
use packet::PortId;

use super::super::gateway::script::Wish;
use super::super::networks::{first, holds, is_host, share};
use super::super::packets::{address, mend_ip, sum, word};
use super::super::state::{Left, Model};
use super::super::tables::{End, Granted, Own, Who};
use super::Told;

/// A success: lifetime, and what follows the header.
type Success = (u32, Vec<u8>);

/// An error: result code and lifetime.
type Failure = (u8, u32);

/// What MAP asks for (section 11.1).
struct Map<'a> {
    lifetime: u32,
    nonce: [u8; 12],
    own: Own,
    port: u16,
    /// Outer none for an address of another family, inner none for any.
    address: Option<Option<Ipv4Addr>>,
    prefers_failure: bool,
    data: &'a [u8],
}

impl Model {
    /// Takes note of what the device answered, in frames without tag or outer header.
    pub(in crate::oracle) fn note_answer(&mut self, left: &[(PortId, Vec<u8>)]) {
        let is_answer = |(port, frame): &&(PortId, Vec<u8>)| {
            let is_long = *port == INSIDE && frame.len() >= 42;
            is_long && self.is_own(INSIDE, frame) && frame[23] == 17 && word(frame, 34) == 5351
        };
        let found = left.iter().find(is_answer);
        self.pcp = Told { answer: found.map(|(_, frame)| frame[42..].to_vec()), want: None };
    }

    /// The message of a packet for the server, or what is wrong with it; none of one that is not
    /// for it.
    pub(in crate::oracle) fn request<'a>(
        &self,
        port: PortId,
        packet: &'a [u8],
    ) -> Option<Result<&'a [u8], &'static str>> {
        let datagram = &packet[usize::from(packet[0] % 16) * 4..];
        let is_whole = word(packet, 6) & 0x3fff == 0;
        let (from, to) = (address(packet, 12), address(packet, 16));
        let is_udp = packet[9] == 17 && is_whole && is_host(from) && from != to;
        let is_asked = self.config.pcp.is_some() && port == INSIDE && is_udp;
        if !is_asked || datagram.len() < 4 || word(datagram, 2) != 5351 {
            return None;
        }
        if datagram.len() < 8 || usize::from(word(datagram, 4)) != datagram.len() {
            return Some(Err("transport-malformed"));
        }
        let pseudo = [&packet[12..20], &[0, 17], &datagram[4..6], datagram].concat();
        if word(datagram, 6) != 0 && sum(&pseudo) != 0xffff {
            return Some(Err("transport-malformed"));
        }
        Some(match self.has_inside(self.realm, from) {
            true => Ok(&datagram[8..]),
            false => Err("not-inside"),
        })
    }

    /// The packet of the answer to a message (section 8.2).
    pub(in crate::oracle) fn judge_request(
        &mut self,
        packet: &[u8],
        message: &[u8],
        now: Duration,
    ) -> Result<Vec<u8>, &'static str> {
        let is_request = message.len() >= 2 && message[1] < 128;
        if !is_request || message[0] == 2 && message.len() < 24 {
            return Err("pcp-ignored");
        }
        let from = address(packet, 12);
        let done = match message[0] {
            2 => self.fulfil(from, message, now),
            _ => Err((1, LONG)),
        };
        let (result, lifetime, behind) = match done {
            Ok((lifetime, behind)) => (0, lifetime, behind),
            Err((code, lifetime)) => {
                // The payload as it came, filled up to words, and to a header.
                let mut copied = message[..message.len().min(1100)].to_vec();
                copied.resize(copied.len().next_multiple_of(4).max(24), 0);
                (code, lifetime, copied.split_off(24))
            }
        };
        let near = |told: u32, right: u32| told.abs_diff(right) <= 1;
        let told = |at: usize| {
            let bytes = self.pcp.answer.as_ref()?.get(at..at + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        let epoch = now.as_secs() as u32;
        let epoch = told(8).filter(|told| near(*told, epoch)).unwrap_or(epoch);
        let is_left = result == 2;
        let lifetime = told(4).filter(|told| is_left && near(*told, lifetime)).unwrap_or(lifetime);
        // Who could not be understood gets the end of its address back.
        let mut reserved = [0; 12];
        if [1, 3].contains(&result) {
            let come = message.len().clamp(12, 24) - 12;
            reserved[..come].copy_from_slice(&message[message.len().min(12)..][..come]);
        }
        let header = [2, message[1] | 128, 0, result];
        let head = [&header[..], &lifetime.to_be_bytes(), &epoch.to_be_bytes(), &reserved];
        Ok(self.datagram(packet, &[&head.concat()[..], &behind].concat()))
    }

    /// A datagram of the server's, back to where a packet came from.
    fn datagram(&self, packet: &[u8], message: &[u8]) -> Vec<u8> {
        let asker = usize::from(packet[0] % 16) * 4;
        let len = ((8 + message.len()) as u16).to_be_bytes();
        let total = ((28 + message.len()) as u16).to_be_bytes();
        let fixed = [0x45, 0xc0, total[0], total[1], 0, 0, 0x40, 0, 64, 17, 0, 0];
        let mut ip = [&fixed[..], &packet[16..20], &packet[12..16]].concat();
        mend_ip(&mut ip);
        let ports = [0x14, 0xe7, packet[asker], packet[asker + 1]];
        let bare = [&ports[..], &len, &[0, 0], message].concat();
        let right = match !sum(&[&ip[12..20], &[0, 17], &len, &bare].concat()) {
            0 => 0xffff,
            right => right,
        };
        [&ip, &bare[..6], &right.to_be_bytes(), message].concat()
    }

    /// What comes of a request of this version.
    fn fulfil(
        &mut self,
        from: Ipv4Addr,
        message: &[u8],
        now: Duration,
    ) -> Result<Success, Failure> {
        let behind = match message[1] {
            _ if message.len() > 1100 || !message.len().is_multiple_of(4) => return Err((3, LONG)),
            0 => &message[24..],
            1 => message.get(60..).ok_or((3, LONG))?,
            _ => return Err((4, LONG)),
        };
        if message[8..24] != from.to_ipv6_mapped().octets() {
            return Err((12, LONG));
        }
        let prefers_failure = options(behind).map_err(|code| (code, LONG))?;
        if message[1] == 0 {
            // PREFER_FAILURE is an option of MAP alone (section 13.2).
            return if prefers_failure { Err((6, LONG)) } else { Ok((0, Vec::new())) };
        }
        let mapped: [u8; 16] = message[44..60].try_into().map_err(|_| (3, LONG))?;
        let address = match mapped {
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d] => Some([a, b, c, d]),
            [0, ..] if mapped == [0; 16] => Some([0; 4]),
            _ => None,
        };
        let known = |octets: [u8; 4]| (octets != [0; 4]).then_some(Ipv4Addr::from(octets));
        self.map(
            &Map {
                lifetime: u32::from_be_bytes([message[4], message[5], message[6], message[7]]),
                nonce: message[24..36].try_into().map_err(|_| (3, LONG))?,
                own: (message[36], (self.who(from), word(message, 40))),
                port: word(message, 42),
                address: address.map(known),
                prefers_failure,
                data: &message[24..60],
            },
            now,
        )
    }

    /// Sections 11.3 and 15.
    fn map(&mut self, map: &Map<'_>, now: Duration) -> Result<Success, Failure> {
        if map.prefers_failure && map.lifetime > 0 && map.port == 0 && map.address == Some(None) {
            return Err((6, LONG));
        }
        let is_one = [6, 17].contains(&map.own.0) && map.own.1.1 != 0;
        let known = self.tables.mappings.get(&map.own).filter(|_| is_one);
        let granted = known.and_then(|mapping| mapping.granted);
        let foreign = |granted: &Granted| (granted.nonce != map.nonce).then_some(granted.ends);
        let foreign = granted.as_ref().and_then(foreign);
        let foreign = foreign.map(|ends| (2, (ends - now).as_secs() as u32));
        if map.lifetime == 0 {
            foreign.map_or(Ok(()), Err)?;
            if granted.is_some() {
                let rests = Duration::from_secs_f64(self.config.quarantine_s);
                self.tables.revoke(map.own, now + rests);
            }
            return Ok((0, map.answer(None)));
        }
        let Some(limits) = self.config.pcp.filter(|_| is_one) else { return Err((9, LONG)) };
        if map.prefers_failure && map.address.is_none() {
            return Err((11, SHORT));
        }
        foreign.map_or(Ok(()), Err)?;
        let outside = known.map(|mapping| mapping.outside);
        if map.prefers_failure && outside.is_some_and(|outside| !map.suggests(outside)) {
            return Err((11, SHORT));
        }
        let lifetime = map.lifetime.clamp(limits.lifetime_min_s, limits.lifetime_max_s);
        let outside = match outside.filter(|_| granted.is_some()) {
            Some(outside) => outside,
            None => self.grant(map, outside, now)?,
        };
        let ends = now + Duration::from_secs(lifetime.into());
        self.tables.grant(map.own, Granted { nonce: map.nonce, ends });
        self.note_b4(self.realm);
        Ok((lifetime, map.answer(Some(outside))))
    }

    /// The outside end of a mapping that was not asked for before.
    fn grant(&mut self, map: &Map<'_>, known: Option<End>, now: Duration) -> Result<End, Failure> {
        let who = map.own.1.0;
        let told = self.pcp.answer.clone().unwrap_or_default();
        let is_granted = told.get(3) == Some(&0) && told.len() >= 60;
        if known.is_none() && map.prefers_failure && !self.may_have_address(map, &told) {
            return Err((11, SHORT));
        }
        // Where it granted nothing, it may count what is over.
        let answer = (INSIDE, &told[..]);
        let left: Left<'_> = if is_granted { std::slice::from_ref(&answer) } else { &[] };
        let limits = self.config.pcp.unwrap_or_default();
        let mappings = share(limits.mappings, self.shard.count);
        let most = (mappings as usize, limits.mappings_per_subscriber as usize);
        let [least, with_over] = [false, true].map(|over| self.tables.granted(who, over));
        match told.get(3) {
            _ if least.1 >= most.1 => return Err((10, SHORT)),
            Some(10) if with_over.1 >= most.1 => return Err((10, SHORT)),
            Some(8) if with_over.0 >= most.0 => return Err((8, SHORT)),
            _ if least.0 >= most.0 => return Err((8, SHORT)),
            _ => {}
        }
        self.concerned = who;
        if let Err(reason) = self.check_limits(who, known.is_none(), left) {
            self.pcp.want = Some(reason);
            return Err((if reason == "session-limit" { 10 } else { 8 }, SHORT));
        }
        if let Some(outside) = known {
            return Ok(outside);
        }
        let chosen = is_granted.then(|| (address(&told, 56), word(&told, 42)));
        let wish = match (map.prefers_failure, map.port) {
            (true, 1..) => Wish::Port(map.port),
            _ => Wish::Any,
        };
        let is_at_large = self.tables.ends_of(who).is_empty() && self.ruled_address(who).is_none();
        let may_differ = is_at_large || !self.tables.lingering.is_empty();
        if wish != Wish::Any && may_differ && told.get(3) == Some(&11) {
            // Of many addresses it need not look at all, and the port, or its block, may be that of
            // what is over.
            return Err((11, SHORT));
        }
        match self.choose_wished(map.own, now, (wish, chosen), left) {
            Ok(outside) => {
                self.tables.begin(map.own, outside);
                Ok(outside)
            }
            Err(_) if map.prefers_failure && map.port != 0 => Err((11, SHORT)),
            Err(reason) => {
                self.pcp.want = Some(reason);
                Err((if reason == "block-limit" { 10 } else { 8 }, SHORT))
            }
        }
    }

    /// Whether the subscriber of a new mapping has, or may get, the address that it must have.
    fn may_have_address(&self, map: &Map<'_>, told: &[u8]) -> bool {
        let Some(Some(wanted)) = map.address else { return true };
        let who = map.own.1.0;
        let has = self.tables.ends_of(who).first().map(|end| end.0);
        match has.or_else(|| self.ruled_address(who)) {
            Some(has) => has == wanted,
            // It may keep the one that it had a little before.
            None => {
                let had = self.tables.lingering_ends_of(who);
                let is_denied = told.get(3) == Some(&11);
                had.iter().any(|end| end.0 == wanted) && !is_denied
            }
        }
    }

    /// The outside address that a rule gives to a subscriber.
    fn ruled_address(&self, who: Who) -> Option<Ipv4Addr> {
        let std::net::IpAddr::V4(inside) = who.address else { return None };
        if who.realm != 0 {
            return self.plan.forward(who.realm, inside).map(|block| block.outside);
        }
        let rule = self.config.static_rules.iter().find(|rule| holds(rule.inside, inside));
        let one = rule.map(|rule| {
            Ipv4Addr::from_bits(first(rule.outside) + (inside.to_bits() - first(rule.inside)))
        });
        one.or_else(|| self.host_of(inside).map(|(_, outside)| outside))
            .or_else(|| self.plan.forward(0, inside).map(|block| block.outside))
    }
}

impl Map<'_> {
    /// Whether an outside end is what was suggested.
    fn suggests(&self, outside: End) -> bool {
        let is_port = [0, outside.1].contains(&self.port);
        is_port && self.address.is_some_and(|one| one.is_none_or(|one| one == outside.0))
    }

    /// What follows the header of a success: the data with what was assigned, and the option that
    /// was followed.
    fn answer(&self, outside: Option<End>) -> Vec<u8> {
        let mut data = self.data.to_vec();
        data[13..16].fill(0);
        if let Some((address, port)) = outside {
            data[18..20].copy_from_slice(&port.to_be_bytes());
            data[20..].copy_from_slice(&address.to_ipv6_mapped().octets());
        }
        if self.prefers_failure {
            data.extend([2, 0, 0, 0]);
        }
        data
    }
}

/// Whether options have PREFER_FAILURE, or a result code (section 7.3).
fn options(mut rest: &[u8]) -> Result<bool, u8> {
    let mut prefers = false;
    while !rest.is_empty() {
        if rest.len() < 4 {
            return Err(6);
        }
        let len = usize::from(word(rest, 2));
        let end = 4 + len.div_ceil(4) * 4;
        if rest.len() < end {
            return Err(6);
        }
        match rest[0] {
            2 if len > 0 || prefers => return Err(6),
            2 => prefers = true,
            0..=127 => return Err(5),
            _ => {}
        }
        rest = &rest[end..];
    }
    Ok(prefers)
}

/// Lifetimes of errors in seconds (section 7.4): half an hour, half a minute.
const LONG: u32 = 1800;
const SHORT: u32 = 30;
