//! Where the packets of a batch are on their way through, and what becomes of those that match
//! nothing.

use packet::{Batch, PortId, Reason, Slot, Slots, Verdict};
use tables::index::Place;
use wire::ethernet;

use super::gateway::CORE;
use super::parse::{Addresses, Inner};
use super::reasons::{self, Tallies, Tally};

/// Where the packets of the current batch are, and what is known of each, by slot.
pub(super) struct Way {
    /// On their way to the Internet.
    pub uplink: Slots,
    /// On their way to a user by its IPv4 address; behind the second stage, to any user.
    pub downlink: Slots,
    /// On their way to a user by its IPv6 prefix.
    pub downlink_ipv6: Slots,
    /// With an IPv4 destination to be routed.
    pub routed: Slots,
    /// With an IPv6 destination to be routed.
    pub routed_ipv6: Slots,
    /// Out of their tunnels, to a network of users.
    pub crossing: Slots,
    /// That may be too long for the link by which they leave.
    pub long: Slots,
    /// That match nothing, whose senders may be told.
    pub refused: Slots,
    pub teid: [u32; 256],
    pub inner: [Inner; 256],
    pub place: [Place; 256],
    pub bearer: [u32; 256],
    pub destination: [u32; 256],
    pub hop: [u32; 256],
}

impl Way {
    pub fn new() -> Way {
        Way {
            uplink: Slots::new(),
            downlink: Slots::new(),
            downlink_ipv6: Slots::new(),
            routed: Slots::new(),
            routed_ipv6: Slots::new(),
            crossing: Slots::new(),
            long: Slots::new(),
            refused: Slots::new(),
            teid: [0; 256],
            inner: [Inner::NONE; 256],
            place: [Place::default(); 256],
            bearer: [0; 256],
            destination: [0; 256],
            hop: [0; 256],
        }
    }

    pub fn clear(&mut self) {
        self.uplink.clear();
        self.downlink.clear();
        self.downlink_ipv6.clear();
        self.routed.clear();
        self.routed_ipv6.clear();
    }

    #[inline(always)]
    pub fn enter_uplink(&mut self, slot: Slot, teid: u32, inner: Inner) {
        self.teid[usize::from(slot)] = teid;
        self.inner[usize::from(slot)] = inner;
        self.uplink.push(slot);
    }

    #[inline(always)]
    pub fn enter_downlink(&mut self, slot: Slot, inner: Inner) {
        self.inner[usize::from(slot)] = inner;
        match inner.addresses {
            Addresses::V4 { .. } => self.downlink.push(slot),
            Addresses::V6 { .. } => self.downlink_ipv6.push(slot),
        }
    }
}

/// What becomes of packets that match nothing.
pub(super) struct Unmatched<'a> {
    fakedrop: bool,
    refused: &'a mut Slots,
    tallies: &'a mut Tallies,
}

impl<'a> Unmatched<'a> {
    pub fn new(fakedrop: bool, refused: &'a mut Slots, tallies: &'a mut Tallies) -> Unmatched<'a> {
        Unmatched { fakedrop, refused, tallies }
    }

    /// Drops the packet, or sends it out of `port` as it is; false, because it leaves the way.
    #[cold]
    pub fn leaves(&mut self, batch: &mut Batch, slot: Slot, reason: Reason, port: PortId) -> bool {
        self.tallies[Tally::Fakedropped as usize] += u64::from(self.fakedrop);
        let verdict = if self.fakedrop { Verdict::Forward(port) } else { reasons::drop(reason) };
        batch.set_verdict(slot, verdict);
        self.refused.push_if(!self.fakedrop, slot);
        false
    }

    /// The same for a packet that is out of its tunnel and has no route: the frame keeps the
    /// Ethernet addresses with which it came, instead of what stood in the tunnel's headers. What
    /// is in its tunnel by now belongs to a user whose base station disappeared: it is dropped.
    #[cold]
    pub fn leaves_unrouted(&mut self, batch: &mut Batch, slot: Slot, inner: &Inner) -> bool {
        let tunnel_len = usize::from(inner.offset) - ethernet::HEADER_LEN;
        if tunnel_len == 0 {
            batch.set_verdict(slot, reasons::drop(reasons::NO_ROUTE));
            return false;
        }
        if let Some(frame) = batch.push_front(slot, tunnel_len) {
            frame.copy_within(..2 * MAC_LEN, tunnel_len);
            batch.pull_front(slot, tunnel_len);
        }
        self.leaves(batch, slot, reasons::NO_ROUTE, CORE)
    }
}

/// Length of an Ethernet address in bytes.
const MAC_LEN: usize = 6;
