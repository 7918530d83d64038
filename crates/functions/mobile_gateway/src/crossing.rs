//! Packets from one user to another: out of the one tunnel and into the other, without the way by
//! the Internet's side.
//!
//! ```text
//!  out of its tunnel, checked, a hop made --> to a network of users?
//!    `drop`  --> dropped, and the user told
//!    `tunnel` --> the worker that has the other user --> within its rate --> its tunnel
//! ```
//! A packet makes one hop, whoever has the other user. What another worker hands over it has
//! checked.

use engine::steering::worker_of;
use machine::clock::Ticks;
use packet::{Batch, Slot, Verdict};
use stages::icmp_host::Trouble;
use wire::ethernet;

use super::config::UserToUser;
use super::gateway::towards_worker;
use super::handed::PACKET;
use super::lengths::From;
use super::parse::{Addresses, Inner, parse_packet};
use super::pipeline::Pipeline;
use super::reasons::{self, Tally};
use super::steering::of_user;

impl Pipeline {
    /// Packets to networks of users, which are out of their tunnels.
    #[inline(never)]
    pub(super) fn cross(&mut self, batch: &mut Batch, now: Ticks) {
        for index in 0..self.way.crossing.len() {
            let slot = self.way.crossing.as_slice()[index];
            // It is out of its tunnel.
            self.way.inner[usize::from(slot)].offset = ethernet::HEADER_LEN as u16;
            if self.user_to_user == UserToUser::Drop {
                let why = (Trouble::Prohibited, reasons::USER_TO_USER);
                self.refuse_user(batch, slot, why, now);
                continue;
            }
            match self.worker_towards(&self.way.inner[usize::from(slot)]) {
                Some(worker) => {
                    let (frame, own) = (batch.frame_mut(slot), self.state.gateway.mac);
                    if let Some(source) = frame.get_mut(ethernet::offset::SOURCE..) {
                        source.iter_mut().zip(own.0).for_each(|(place, byte)| *place = byte);
                    }
                    PACKET.mark(frame);
                    batch.set_verdict(slot, Verdict::Forward(towards_worker(worker)));
                }
                None if self.deliver(batch, slot, now) => self.route_one(batch, slot),
                None => {}
            }
        }
        self.way.crossing.clear();
    }

    /// A packet that another worker hands over, because its user is here.
    #[cold]
    pub(super) fn take_packet(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) {
        let packet = batch.frame(slot).get(ethernet::HEADER_LEN..).unwrap_or_default();
        let Some(inner) = parse_packet(packet, ethernet::HEADER_LEN) else {
            return batch.set_verdict(slot, reasons::drop(reasons::NEIGHBOUR_HEARD));
        };
        self.way.inner[usize::from(slot)] = inner;
        if self.deliver(batch, slot, now) {
            self.way.routed.push(slot);
        }
    }

    /// A packet without a tunnel goes into that of the user who has its destination; whether it
    /// leaves.
    fn deliver(&mut self, batch: &mut Batch, slot: Slot, now: Ticks) -> bool {
        let index = usize::from(slot);
        let inner = self.way.inner[index];
        let Some(bearer) = self.bearer_towards(&inner) else {
            let why = (Trouble::NoHost, reasons::UNKNOWN_USER);
            self.refuse_user(batch, slot, why, now);
            return false;
        };
        if !self.meter_downlink(bearer, inner.len, now) {
            batch.set_verdict(slot, reasons::drop(reasons::RATE_EXCEEDED));
            return false;
        }
        self.way.bearer[index] = bearer;
        self.tallies[Tally::UserToUser as usize] += 1;
        match inner.len > self.lengths.tunnelled() {
            true => self.fit(batch, slot, From::User, now),
            false => self.put_into_tunnel(batch, slot),
        }
    }

    /// A tunnel packet finds its next hop behind all others.
    fn route_one(&mut self, batch: &mut Batch, slot: Slot) {
        let index = usize::from(slot);
        let entry = self.state.routes.lookup(self.way.destination[index]);
        match entry.filter(|entry| !self.state.is_users(*entry)) {
            Some(entry) => {
                self.way.hop[index] = entry;
                self.way.routed.push(slot);
            }
            None => batch.set_verdict(slot, reasons::drop(reasons::NO_ROUTE)),
        }
    }

    /// The bearer of the user who has the destination of a packet, if that is here.
    pub(super) fn bearer_towards(&self, inner: &Inner) -> Option<u32> {
        match inner.addresses {
            Addresses::V4 { destination, .. } => self.state.by_ipv4.get(destination),
            Addresses::V6 { .. } => self.state.by_ipv6.get(inner.addresses.ipv6_prefix_to()),
        }
    }

    /// The worker that has the user of a destination, if that is another one.
    pub(super) fn worker_towards(&self, inner: &Inner) -> Option<u32> {
        let Addresses::V4 { destination, .. } = inner.addresses else { return None };
        let worker = worker_of(of_user(&self.steering, destination.into()), self.shard.count);
        (worker != self.shard.index).then_some(worker)
    }
}
