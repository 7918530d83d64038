//! Packets that the link by which they leave does not take whole.
//!
//! ```text
//!  may be cut       --> in pieces, each a packet of its own, before the tunnel
//!  may not be cut   --> dropped, and its sender told what passes (RFC 1191, RFC 8201)
//!  `fragment: tunnel`, and IPv6 where less than 1280 bytes pass (RFC 2473 section 7.1)
//!                   --> the tunnel packet is cut, whatever it bears (TS 29.281 section 13)
//! ```
//! What passes to a base station is what its link takes, less the tunnel's headers. Nothing of it
//! is in the way of packets that are short enough.

use machine::clock::Ticks;
use packet::{Batch, Slot, Verdict};
use stages::fragment;
use stages::icmp_host::{Trouble, is_ipv6};
use wire::bytes::{put_u16, u16_at};
use wire::{checksum, ethernet, ipv4};

use super::config::Fragment;
use super::exit::Exit;
use super::gateway::ACCESS;
use super::parse::{Addresses, Inner};
use super::pipeline::Pipeline;
use super::reasons::{self, Tally};

/// From where a packet for a user comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// From the Internet's side, with a hop to make.
    Internet,
    /// From another user, with the hop made.
    User,
}

/// What becomes of a packet that is too long.
#[derive(Clone, Copy)]
enum Remedy {
    /// It is cut.
    Cut,
    /// The tunnel packet that bears it is cut.
    CutTunnel,
    /// Its sender is told.
    Tell,
}

impl Pipeline {
    /// Packets of users that may be too long for the link by which they leave, out of their
    /// tunnels; those that are not go on.
    #[inline(never)]
    pub(super) fn fit_uplink(&mut self, batch: &mut Batch, now: Ticks) {
        for index in 0..self.way.long.len() {
            let slot = self.way.long.as_slice()[index];
            let inner = self.way.inner[usize::from(slot)];
            let state = &self.state;
            let entry = match inner.addresses {
                Addresses::V4 { destination, .. } => state.routes.lookup(destination),
                Addresses::V6 { destination, .. } => state.routes_ipv6.lookup(destination),
            };
            let port = entry.and_then(|entry| state.port_of(entry));
            let most = port.map_or(u16::MAX, |port| self.lengths.most(port));
            if inner.len <= most {
                self.take_out(batch, slot);
                continue;
            }
            if most < IPV4_MTU_MIN {
                batch.set_verdict(slot, reasons::drop(reasons::TOO_BIG));
                continue;
            }
            let begin = usize::from(inner.offset);
            if !may_be_cut(batch.frame(slot).get(begin..).unwrap_or_default()) {
                let why = (Trouble::TooBig(most), reasons::TOO_BIG);
                self.refuse_user(batch, slot, why, now);
                continue;
            }
            self.take_out(batch, slot);
            let destination = inner.addresses.ipv4_destination();
            self.cut(batch, slot, most, now, |exit, slot| exit.route(slot, destination));
        }
        self.way.long.clear();
    }

    /// Packets for users that are too long for the links to base stations in their tunnels.
    #[inline(never)]
    pub(super) fn fit_downlink(&mut self, batch: &mut Batch, now: Ticks) {
        for index in 0..self.way.long.len() {
            let slot = self.way.long.as_slice()[index];
            let len = usize::from(self.way.inner[usize::from(slot)].len);
            batch.truncate(slot, ethernet::HEADER_LEN + len);
            if self.fit(batch, slot, From::Internet, now) {
                self.way.routed.push(slot);
            }
        }
        self.way.long.clear();
    }

    /// One of these, without padding; whether it leaves.
    pub(super) fn fit(&mut self, batch: &mut Batch, slot: Slot, from: From, now: Ticks) -> bool {
        let inner = self.way.inner[usize::from(slot)];
        let bearer = self.way.bearer[usize::from(slot)];
        let most = self.lengths.tunnelled();
        if most < IPV4_MTU_MIN {
            batch.set_verdict(slot, reasons::drop(reasons::TOO_BIG));
            return false;
        }
        let packet = batch.frame(slot).get(ethernet::HEADER_LEN..).unwrap_or_default();
        let remedy = self.remedy(packet, &inner, most);
        let why = (Trouble::TooBig(most), reasons::TOO_BIG);
        match (remedy, from) {
            (Remedy::Tell, From::Internet) => {
                self.refuse(batch, slot, why, now);
                return false;
            }
            (Remedy::Tell, From::User) => {
                self.refuse_user(batch, slot, why, now);
                return false;
            }
            (_, From::Internet) => self.make_hop(batch, slot),
            (_, From::User) => {}
        }
        if let Remedy::Cut = remedy {
            self.cut(batch, slot, most, now, |exit, slot| exit.enter_tunnel(slot, bearer, false));
            return self.put_into_tunnel(batch, slot);
        }
        let is_in = self.put_into_tunnel(batch, slot);
        if is_in {
            self.cut_tunnel(batch, slot, now);
        }
        is_in
    }

    fn remedy(&self, packet: &[u8], inner: &Inner, most: u16) -> Remedy {
        let is_ipv6 = matches!(inner.addresses, Addresses::V6 { .. });
        match self.lengths.fragment {
            Fragment::Tunnel => Remedy::CutTunnel,
            Fragment::Packet if is_ipv6 && most < IPV6_MTU_MIN => Remedy::CutTunnel,
            Fragment::Packet if !is_ipv6 && may_be_cut(packet) => Remedy::Cut,
            Fragment::Packet => Remedy::Tell,
        }
    }

    /// Cuts an answer of the gateway that is too long for the link by which it leaves: its question
    /// came in fragments. One of IPv6 is dropped, because its question can have come over no such
    /// link; whether it leaves.
    pub(super) fn fit_answer(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) -> bool {
        let port = batch.port(slot);
        let most = self.lengths.most(port);
        if batch.frame_len(slot) <= ethernet::HEADER_LEN + usize::from(most) {
            return true;
        }
        if is_ipv6(batch.frame(slot)) {
            batch.set_verdict(slot, reasons::drop(reasons::TOO_BIG));
            return false;
        }
        self.cut(batch, slot, most, now, |exit, slot| {
            exit.made.batch_mut().set_verdict(slot, Verdict::Forward(port));
        });
        true
    }

    /// Cuts the tunnel packet that a frame is about to leave as.
    fn cut_tunnel(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) {
        let number = self.lengths.draw_identification();
        let frame = batch.frame_mut(slot);
        let Some(header) = frame.get_mut(ethernet::HEADER_LEN..HEAD) else { return };
        put_u16(header, ipv4::offset::IDENTIFICATION, number);
        put_u16(header, ipv4::offset::FLAGS_FRAGMENT, 0);
        put_u16(header, ipv4::offset::CHECKSUM, 0);
        let sum = checksum::checksum(header);
        put_u16(header, ipv4::offset::CHECKSUM, sum);
        let destination = self.way.destination[usize::from(slot)];
        let most = self.lengths.most(ACCESS);
        self.cut(batch, slot, most, now, |exit, slot| exit.route(slot, destination));
    }

    /// Cuts the packet of a frame: the first piece stays in its place, the others are frames made
    /// that leave as `leave` has it.
    fn cut(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        most: u16,
        now: Ticks,
        leave: impl Fn(&mut Exit<'_>, Slot),
    ) {
        let mut uncut = std::mem::take(&mut self.uncut);
        let mut piece = std::mem::take(&mut self.cut);
        uncut.clear();
        uncut.extend_from_slice(batch.frame(slot));
        let from = batch.port(slot);
        let mut exit = self.exit(now);
        let was_cut = fragment::pieces(&uncut, most, &mut piece, |number, piece| match number {
            0 => {
                // A piece is shorter than the whole.
                batch.truncate(slot, piece.len());
                batch.frame_mut(slot).copy_from_slice(piece);
            }
            _ => {
                let Some(exit) = exit.as_mut() else { return };
                if let Some(slot) = exit.made.push(from, piece, Verdict::UNHANDLED) {
                    leave(exit, slot);
                }
            }
        });
        (self.uncut, self.cut) = (uncut, piece);
        if was_cut {
            self.tallies[Tally::PacketsCut as usize] += 1;
        }
    }
}

/// Whether a packet may be cut by whoever forwards it.
fn may_be_cut(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == ipv4::VERSION)
        && packet.len() >= ipv4::HEADER_LEN
        && u16_at(packet, ipv4::offset::FLAGS_FRAGMENT) & ipv4::FLAG_DONT_FRAGMENT == 0
}

/// Where the payload of a packet without options begins in a frame.
const HEAD: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;

/// What every link of IPv4 takes, in bytes (RFC 791 section 3.2).
const IPV4_MTU_MIN: u16 = 68;

/// What every link of IPv6 takes, in bytes (RFC 8200 section 5).
const IPV6_MTU_MIN: u16 = 1280;
