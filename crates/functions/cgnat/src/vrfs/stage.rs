//! Frames of VRFs, and the ways in and out of all that is not plain there: without their tag on the
//! way through, with that of whom they go to when they leave.
use machine::clock::Ticks;
use packet::{Batch, Slot, Verdict};
use stages::vlan;

use crate::ds_lite::stage::is_ipv6;
use crate::parse::{Plain, classify};
use crate::pipeline::Pipeline;
use crate::reasons;
use crate::types::class::Class;
use crate::types::flow::SOFTWIRES;
use crate::types::sides::{INSIDE, NOWHERE, is_inside};

impl Pipeline {
    /// What a frame is that is not plain as it came in: one of a VRF may be without its tag, and
    /// the packet of a softwire without what it came in.
    #[inline(never)]
    pub(crate) fn classify(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (plain, now): (&Plain, Ticks),
    ) -> Class {
        let port = batch.port(slot);
        if port == NOWHERE {
            return Class::Drop(reasons::UNKNOWN_VLAN);
        }
        self.accept_virtual(batch, slot);
        // While a side has a virtual MAC address, plain are frames to that.
        let plain = &match self.interfaces.virtuals().is_empty() {
            true => *plain,
            false => Plain::own(&self.interfaces),
        };
        let (vrfs, ds_lite) = (self.interfaces.vrfs.as_ref(), self.interfaces.ds_lite.as_ref());
        if !is_inside(port) || vrfs.is_none() && ds_lite.is_none() {
            if let Some(class) = self.meet(batch, (slot, 0), now) {
                return class;
            }
            let frame = batch.frame(slot);
            let class = Plain::recognise_further(frame, port, &self.interfaces);
            return class.unwrap_or_else(|| classify(frame, port, &self.interfaces));
        }
        // VLANs of further interfaces are no VRFs'.
        let entered = vrfs.filter(|_| port == INSIDE);
        let entered = entered.map_or(Ok(0), |it| it.enter(batch, slot, self.interfaces.mac(port)));
        let realm = match entered {
            Ok(realm) => realm,
            Err(reason) => return Class::Drop(reason),
        };
        if let Some(class) = self.meet(batch, (slot, realm), now) {
            return class;
        }
        if self.interfaces.ds_lite.is_some() && is_ipv6(batch.frame(slot)) {
            return self.classify_ipv6(batch, slot, (plain, now));
        }
        self.scratch.realm[usize::from(slot)] = realm;
        let frame = batch.frame(slot);
        let class = plain.recognise(frame, port);
        class.unwrap_or_else(|| classify(frame, port, &self.interfaces)).of_realm(realm)
    }

    /// Tags of those that leave towards a VRF, and outer headers of those that leave through a
    /// softwire.
    #[inline(never)]
    pub(crate) fn tag(&mut self, batch: &mut Batch) {
        for slot in batch.slots() {
            let realm = self.scratch.realm[usize::from(slot)];
            let leaves = matches!(batch.verdict(slot), Verdict::Forward(to) if is_inside(to));
            if realm >= SOFTWIRES && leaves {
                self.through_softwire(batch, slot);
                continue;
            }
            // A worker's headroom is larger than all that is put in front of a frame here.
            if realm != 0 && leaves && !vlan::put_on(batch, slot, realm) {
                batch.set_verdict(slot, reasons::drop(reasons::TOO_BIG));
            }
        }
    }
}
