//! The slow, obviously right NAT: what must become of each frame, by the standards.
//!
//! It reads a frame byte by byte in the order of its headers, and the first thing wrong names the
//! drop reason. Which outside address and port a new mapping gets is the device's choice: the
//! oracle looks at what left, takes the choice over if it was allowed (of a pool, free, not
//! resting, of the subscriber's address and blocks), and builds the frame anew, checksums
//! recomputed. It shares with the pipeline the configuration, the hash by which frames are steered
//! and the constants of the standards; no code of the function. So it holds for devices of any
//! making. Deliberately absent: speed.
//!
//! The files stand in the order in which a reader wants them: formats and tables, what each part
//! keeps, the [`Model`] that has it all, sessions, and what becomes of packets beside that. Where a
//! part keeps something, the file `way.rs` in its folder has what becomes of packets by it.
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use function_cgnat::config::{Family, Filtering, PortForwarding, StaticRule};
use function_cgnat::control::Update;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::check::{Expected, Oracle, left};
use packet::PortId;

mod networks;
mod packets;
mod tables;

mod reading;

pub mod deterministic;
mod ds_lite;
mod fragments;
mod interfaces;
mod neighbours;
mod pcp;
mod reports;

mod state;

mod sessions;

mod allowed;
mod choice;
mod pools;
mod port_forwarding;
mod rules;
mod workers;

mod bypass;
mod calls;
mod errors;
mod gateway;
mod hairpins;
mod host;
mod lengths;
mod links;
mod nat64;
mod resets;
mod siit;
mod vrfs;

use ds_lite::Opened;
pub use gateway::sequences;
use neighbours::is_question;
use networks::same;
use packets::{Packet, address, sum, word};
use reading::Reading;
pub use state::Model;
use state::{Judgement, Left};

impl Oracle for Model {
    type Update = Update;

    fn expect(&mut self, port: PortId, frame: &[u8], now: Duration) -> Expected {
        self.expect_of(port, frame, now, &[])
    }

    fn expect_of(
        &mut self,
        port: PortId,
        frame: &[u8],
        now: Duration,
        became: &[Expected],
    ) -> Expected {
        self.tables.pass(&self.config, now);
        self.datagrams.pass(now);
        // What it says in its own name goes back, is no choice, and lets nothing through.
        let came = self.come_in(port, frame);
        let mut left: Vec<_> = left(became).into_iter().map(|one| self.as_of_side(one)).collect();
        left.retain(|(_, frame)| !is_question(frame));
        let left: Vec<_> = left.iter().map(|(port, frame)| (*port, &frame[..])).collect();
        let (port, frame) = match came {
            Ok(came) => came,
            Err(reason) => {
                self.take_note(None, now);
                return Expected::Drop(reason);
            }
        };
        let frame = &frame[..];
        self.note_left(&left);
        let towards = left.iter().map(|(port, frame)| self.realm_of(*port, frame));
        self.towards = towards.max().unwrap_or(0);
        let bare = |(port, frame): &(PortId, &[u8])| (*port, self.bare(*port, frame, &left));
        let bare: Vec<_> = left.iter().map(bare).filter(|(_, frame)| !frame.is_empty()).collect();
        self.note_answer(&bare);
        let mut passed: Vec<_> = bare.iter().map(|(port, frame)| (*port, &frame[..])).collect();
        passed.retain(|(to, left)| *to != port || !self.is_own(*to, left));
        // Whether what is over still takes room where nothing passed is the device's affair, and so
        // is with which address a packet met the filter of another subscriber.
        let may_meet_filter = port == INSIDE
            && self.config.hairpinning
            && self.config.filtering != Filtering::EndpointIndependent;
        let may_differ =
            passed.is_empty() && (may_meet_filter || !self.tables.lingering.is_empty());
        let before = may_differ.then(|| self.clone());
        let expected = self.become_of(port, frame, now, &passed);
        match before {
            Some(before) => self.reconsider(&before, expected, became, |other| {
                other.become_of(port, frame, now, &passed)
            }),
            None => expected,
        }
    }

    fn foresee(&self, port: PortId, frame: &[u8], now: Duration) -> Option<usize> {
        let mut model = self.clone();
        let expected = model.expect(port, frame, now);
        let made = model.made(now);
        Some(
            made.iter()
                .chain([&expected])
                .filter(|one| matches!(one, Expected::Forward { .. }))
                .count(),
        )
    }

    fn made(&mut self, now: Duration) -> Vec<Expected> {
        self.nothing_in_hand();
        let made = std::mem::take(&mut self.datagrams.made);
        let mut made: Vec<_> = made.into_iter().map(|one| self.addressed(one, now)).collect();
        made.append(&mut self.made_of_neighbours(now));
        made.into_iter().map(|one| self.go_out(one)).collect()
    }

    fn apply(&mut self, update: &Update, now: Duration) -> bool {
        self.tables.pass(&self.config, now);
        self.take_note(None, now);
        let is_possible = match *update {
            Update::AddPool { pool } => self.add_pool(pool, now),
            Update::AddStatic { inside, outside } => {
                self.add_static(StaticRule { inside, outside }, now)
            }
            Update::RemoveStatic { inside, outside } => {
                self.remove_static(StaticRule { inside, outside }, now)
            }
            Update::SetPortForwarding { outside, ref hosts } => {
                let rule = PortForwarding { outside, hosts: hosts.clone() };
                self.set_forwarding(&rule, now)
            }
            Update::RemovePortForwarding { outside } => self.remove_forwarding(outside, now),
            Update::DrainPool { pool } => {
                let known = self.pools.iter_mut().find(|(known, _)| same(*known, pool));
                known.map(|(_, open)| *open = false).is_some()
            }
            Update::SetSessionLimit { sessions } => {
                self.session_limit = sessions as usize;
                true
            }
            Update::SetTimeouts { timeouts } => {
                let before = self.config.clone();
                self.config.timeouts = timeouts;
                self.tables.change_timeouts(&before, &self.config, now);
                true
            }
            Update::SetCollector { collector, port, next_hop_mac } => {
                let reports = self.reports.as_mut();
                reports.is_some_and(|it| it.redirect(collector, port, next_hop_mac))
            }
            Update::ClearSubscriber { address, vlan } => {
                let who = self.who_in(vlan, address);
                let softwire = match address {
                    IpAddr::V6(b4) if vlan == 0 => self.realm_of_b4(b4),
                    _ => None,
                };
                let behind = softwire.map(|realm| self.who_in(realm, Ipv4Addr::UNSPECIFIED));
                let is_cleared = |who| self.tables.clear(who, &self.config, now);
                behind.into_iter().chain([who]).any(is_cleared)
            }
            // It knows one NAT alone, which is the active one, whoever says what.
            Update::SetVirtual { .. } | Update::RemoveVirtual { .. } => false,
            Update::SetActive { .. } => true,
        };
        self.take_note(None, now);
        is_possible
    }

    fn is_report(&self, port: PortId, frame: &[u8]) -> bool {
        self.reports.as_ref().is_some_and(|reports| reports.is_one(port, frame))
    }

    fn report(&mut self, frame: &[u8], now: Duration) -> Result<(), String> {
        self.tables.pass(&self.config, now);
        self.take_note(None, now);
        self.reports.as_mut().map_or(Ok(()), |reports| reports.read(frame, now))
    }

    fn unreported(&mut self, now: Duration) -> Vec<String> {
        self.tables.pass(&self.config, now);
        self.take_note(None, now);
        self.reports.as_mut().map_or(Vec::new(), |reports| reports.overdue(now))
    }
}

impl Model {
    /// What becomes of a frame of which this passed.
    fn become_of(
        &mut self,
        port: PortId,
        frame: &[u8],
        now: Duration,
        passed: Left<'_>,
    ) -> Expected {
        let (realm, frame) = match self.enter(port, frame) {
            Ok(entered) => entered,
            Err(reason) => {
                self.take_note(None, now);
                return Expected::Drop(reason);
            }
        };
        if self.hears((port, realm), &frame, now) {
            self.take_note(None, now);
            return Expected::Drop("neighbour-heard");
        }
        self.realm = realm;
        let (judged, frame) = match self.open_tunnel(port, &frame, now) {
            Ok(Opened::Inner(realm, inner)) => {
                self.realm = realm;
                (self.judge(port, &inner, now, passed), inner)
            }
            Ok(Opened::Bare) => (self.judge(port, &frame, now, passed), frame),
            Ok(Opened::Answered(answer)) => (Ok(answer), frame),
            Err(reason) => (Err(reason), frame),
        };
        let want = judged.as_ref().err().copied().or(self.pcp.want.take());
        self.take_note(want, now);
        let whole = self.concluded((port, &frame), judged, now, passed);
        let whole = self.cut_tunnelled(whole);
        let whole = self.addressed(self.in_place(whole), now);
        self.go_out(whole)
    }

    /// Ethernet: a frame for this station of a type it knows.
    fn judge(&mut self, port: PortId, frame: &[u8], now: Duration, left: Left<'_>) -> Judgement {
        if frame.len() < 14 {
            return Err("truncated");
        }
        if word(frame, 12) == 0x86dd && port == INSIDE && self.config.nat64.is_some() {
            return self.judge_ipv6(frame, now, left);
        }
        if word(frame, 12) == 0x86dd && self.is_port_of(port, Family::Ipv6) {
            return self.judge_siit_ipv6(port, frame, left);
        }
        let is_arp = word(frame, 12) == 0x0806;
        let for_all = is_arp && frame[..6] == [0xff; 6];
        if frame[..6] != self.mac(port) && !for_all {
            return Err("other-station");
        }
        match word(frame, 12) {
            0x0806 => self.judge_arp(port, frame),
            0x0800 => match self.judge_ipv4(port, &frame[14..], now, left) {
                Err("local") => self.judge_local(port, frame, now),
                judged => judged,
            },
            _ => Err("unknown-ethertype"),
        }
    }

    /// RFC 791 and RFC 1812 section 5.2.2: a sound packet that goes somewhere else.
    fn judge_ipv4(
        &mut self,
        port: PortId,
        packet: &[u8],
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        if packet.len() < 20 || packet[0] >> 4 != 4 {
            return Err("ip-malformed");
        }
        let (header, total) = (usize::from(packet[0] & 0x0f) * 4, usize::from(word(packet, 2)));
        if header < 20 || total < header || total > packet.len() {
            return Err("ip-malformed");
        }
        if sum(&packet[..header]) != 0xffff {
            return Err("ip-checksum");
        }
        let to = address(packet, 16);
        let packet = &packet[..total];
        if self.is_itself(port, to) {
            let is_shared = port == OUTSIDE && to == self.config.outside_ip && self.is_outside(to);
            return match is_shared && !is_query(packet) {
                true => self.judge_shared((port, packet), header, now, left),
                false => Err("local"),
            };
        }
        if self.is_siit(port, packet) {
            return self.judge_siit_ipv4(port, packet);
        }
        if self.is_bypassed(port, packet) {
            return self.judge_bypassed(port, packet);
        }
        self.judge_transit((port, packet), header, now, left)
    }

    /// A packet for the address that subscribers share with the port: what no mapping takes is for
    /// the port, and so is what has no hop left.
    fn judge_shared(
        &mut self,
        (port, packet): (PortId, &[u8]),
        header: usize,
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        let is_whole = word(packet, 6) & 0x3fff == 0;
        match self.judge_transit((port, packet), header, now, left) {
            Err("no-mapping" | "protocol-unsupported" | "ttl-expired" | "icmp-no-session")
                if is_whole =>
            {
                Err("local")
            }
            other => other,
        }
    }

    /// A sound packet that goes through.
    fn judge_transit(
        &mut self,
        (port, packet): (PortId, &[u8]),
        header: usize,
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        if word(packet, 6) & 0x3fff != 0 {
            return self.judge_fragment(port, packet, now, left);
        }
        let transport = &packet[header..];
        let (protocol, [from, to]) = (packet[9], [12, 16].map(|at| address(packet, at)));
        let malformed = Err("transport-malformed");
        let ports = match protocol {
            17 if transport.len() < 8 || usize::from(word(transport, 4)) != transport.len() => {
                return malformed;
            }
            6 if transport.len() < 20 => return malformed,
            6 if !(20..=transport.len()).contains(&(usize::from(transport[12] >> 4) * 4)) => {
                return malformed;
            }
            6 | 17 => [word(transport, 0), word(transport, 2)],
            1 if transport.len() < 8 || sum(transport) != 0xffff => return malformed,
            1 => match (transport[0], port == INSIDE) {
                (0 | 8 | 13 | 14, true) => [word(transport, 4), 0],
                (0 | 8 | 13 | 14, false) => [0, word(transport, 4)],
                (3 | 11 | 12, _) => return self.judge_error(port, packet, now),
                _ => return Err("protocol-unsupported"),
            },
            47 if self.config.alg.pptp => return self.judge_call(port, packet, now, left),
            _ => return Err("protocol-unsupported"),
        };
        let packet = Packet {
            bytes: packet.to_vec(),
            protocol,
            source: (from, ports[0]),
            destination: (to, ports[1]),
            transport: header,
        };
        if packet.ttl() <= 1 {
            return Err("ttl-expired");
        }
        match port == INSIDE {
            true => self.leaving(&packet, now, left),
            false => self.coming(port, &packet, now, left),
        }
    }

    /// A packet for an outside address that came in there.
    fn coming(
        &mut self,
        port: PortId,
        packet: &Packet,
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        match self.is_bogon(port, packet.source.0) {
            true => Err("bogon"),
            false => self.arriving(packet, now, left),
        }
    }

    /// RFC 2827: whether a packet has come in outside from an address that no host there has.
    fn is_bogon(&self, port: PortId, from: Ipv4Addr) -> bool {
        let is_known = self.is_outside(from) || self.has_inside(0, from);
        port == OUTSIDE && (is_known || !networks::is_host(from))
    }

    /// What becomes of a packet by the first way in which it becomes what it did; `expected` is
    /// what it becomes by the usual one, `before` the model that has not seen it. Where ways with
    /// different reasons lead to the same ICMP error, any of them may be told.
    fn reconsider(
        &mut self,
        before: &Model,
        expected: Expected,
        became: &[Expected],
        become_of: impl Fn(&mut Model) -> Expected,
    ) -> Expected {
        let is_refused = matches!(expected, Expected::Forward { .. });
        if became.contains(&expected) && !(is_refused && self.reports.is_some()) {
            return expected;
        }
        let mut others = Reading::all().map(|reading| {
            let mut other = Model { reading, ..before.clone() };
            let instead = become_of(&mut other);
            (Model { reading: Reading::default(), ..other }, instead)
        });
        let found = match became.contains(&expected) {
            true => expected,
            false => match others.find(|(_, instead)| became.contains(instead)) {
                Some((other, instead)) => {
                    *self = other;
                    instead
                }
                None => return expected,
            },
        };
        if let Some(reports) = &mut self.reports {
            let same = others.filter(|(_, instead)| *instead == found);
            same.for_each(|(other, _)| reports.or_as_in(other.reports.as_ref()));
        }
        found
    }
}

/// Whether a whole and sound packet is a query of ICMP.
fn is_query(packet: &[u8]) -> bool {
    let message = &packet[usize::from(packet[0] % 16) * 4..];
    let is_whole = word(packet, 6) & 0x3fff == 0 && packet[9] == 1;
    is_whole && message.len() >= 8 && sum(message) == 0xffff && [8, 13].contains(&message[0])
}
