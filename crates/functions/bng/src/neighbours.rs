//! Next hops without a MAC address: they are asked for it by ARP or Neighbor Discovery, in the VLAN
//! of their VRF, and packets to them wait for the answer.
//!
//! The gateway asks from its first core address; by Neighbor Discovery from the link-local address
//! that follows from `core-mac` (RFC 4291 appendix A). A packet waits as it is to leave, and leaves
//! as a made frame; where nobody answers it is dropped. What is known of a neighbour stands in its
//! entry of next hops, so that a packet to one that is known takes no other way than to one with a
//! configured address. A link is a VRF here.

use machine::clock::{Clock, Ticks};
use packet::{Made, PortId, Verdict};
use stages::hearsay::Heard;
use stages::nd;
use stages::neighbours::{Asking, Entry, Limits, Neighbours as Table, Question, Wanted};
use stages::vlan;

use super::config::Config;
use super::gateway::{CORE, Gateway};
use super::hops::Hops;
use super::reasons;

/// The next hops that were asked for.
pub(super) struct Neighbours {
    table: Table,
    asking: Asking,
}

impl Neighbours {
    /// An empty table.
    pub fn new(config: &Config, gateway: &Gateway, clock: Clock) -> Neighbours {
        let limits = Limits {
            capacity: config.next_hop_capacity as usize,
            pending: PENDING,
            lifetime_s: LIFETIME_S,
        };
        let core = &gateway.core;
        Neighbours {
            table: Table::new(limits, clock),
            asking: Asking {
                mac: core.mac,
                ipv4: core.ipv4.first().copied(),
                ipv6: core.ipv6.last().copied(),
            },
        }
    }

    /// The neighbours, to look at them.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> + '_ {
        self.table.entries()
    }

    /// Lets a packet wait for its next hop, by the entry of that, as it is to leave.
    pub fn wait(
        &mut self,
        (hops, made): (&Hops, &mut Made),
        (came, frame): (PortId, &[u8]),
        entry: u32,
        now: Ticks,
    ) -> Verdict {
        let Neighbours { table, asking } = self;
        let Some((vrf, address)) = hops.neighbour(entry) else {
            return reasons::drop(reasons::UNRESOLVED);
        };
        let wanted = Wanted { link: vrf.into(), address, listed: Some(entry) };
        let packet = (came, vrf.into(), frame);
        let waits = table.wait(packet, wanted, now, |question| ask(made, *asking, hops, question));
        // Each next hop has one place at most, so that there is always one more.
        reasons::drop(if waits.is_ok() { reasons::AWAITING } else { reasons::PENDING_FULL })
    }

    /// Takes note of what a neighbour says of itself in a VRF; whether that was of any use. What
    /// waited for it leaves.
    pub fn hear(
        &mut self,
        (hops, made): (&mut Hops, &mut Made),
        vrf: u8,
        heard: Heard,
        now: Ticks,
    ) -> bool {
        let table = &mut self.table;
        let Heard { address, said, .. } = heard;
        let Some(number) = table.heard(vrf.into(), address, said, now) else { return false };
        let Some(entry) = table.get(number).and_then(|one| one.listed) else { return false };
        hops.resolve(entry, Some(said.mac));
        let Some(to) = hops.get(entry) else { return false };
        table.release(made, to.macs, to.verdict);
        true
    }

    /// Asks again, and forgets who does not answer: whatever is due.
    pub fn tick(&mut self, (hops, made): (&mut Hops, &mut Made), now: Ticks) {
        let Neighbours { table, asking } = self;
        while let Some((_, entry)) = table.tick(now, |question| ask(made, *asking, hops, question))
        {
            if let Some(listed) = entry.listed {
                hops.resolve(listed, None);
            }
            table.drop_leaving(made, reasons::drop(reasons::UNRESOLVED));
        }
    }

    /// Forgets a next hop that was removed, by its entry.
    pub fn forget(&mut self, made: &mut Made, entry: u32) {
        self.table.forget(entry);
        self.table.drop_leaving(made, reasons::drop(reasons::UNRESOLVED));
    }
}

fn ask(made: &mut Made, asking: Asking, hops: &Hops, question: Question) {
    let mut frame = [0; nd::FRAME_LEN];
    let Some(len) = question.write(asking, &mut frame) else { return };
    let Some(slot) = made.push(CORE, &frame[..len], Verdict::Forward(CORE)) else { return };
    // Links are numbered as VRFs are.
    let vlan = hops.vlan(question.link as u8);
    if vlan != 0 && !vlan::put_on(made.batch_mut(), slot, vlan) {
        made.batch_mut().set_verdict(slot, reasons::drop(reasons::TOO_LONG));
    }
}

/// Packets that wait for neighbours in all.
const PENDING: usize = 64;

/// Seconds after which a neighbour that has answered is asked again.
const LIFETIME_S: u32 = 1200;
