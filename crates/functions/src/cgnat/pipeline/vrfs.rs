//! Frames of VRFs: without their tag on the way through, with that of whom they go to when they leave.

use packet::{Batch, Slot, Verdict};

use super::super::interfaces::INSIDE;
use super::super::parse::{Class, Plain, classify};
use super::super::reasons;
use super::Pipeline;
use crate::stages::vlan;

impl Pipeline {
    /// What a frame is that is not plain as it came in: one of a VRF may be without its tag.
    #[inline(never)]
    pub(super) fn classify(&mut self, batch: &mut Batch, slot: Slot, plain: &Plain) -> Class {
        let port = batch.port(slot);
        let Some(vrfs) = self.interfaces.vrfs.as_ref().filter(|_| port == INSIDE) else {
            return classify(batch.frame(slot), port, &self.interfaces);
        };
        let realm = match vrfs.enter(batch, slot, self.interfaces.mac(port)) {
            Ok(realm) => realm,
            Err(reason) => return Class::Drop(reason),
        };
        self.way.realm[usize::from(slot)] = realm;
        let frame = batch.frame(slot);
        let class = plain.recognise(frame, port);
        class.unwrap_or_else(|| classify(frame, port, &self.interfaces)).of_realm(realm)
    }

    /// Tags of those that leave towards a VRF.
    #[inline(never)]
    pub(super) fn tag(&mut self, batch: &mut Batch) {
        for slot in batch.slots() {
            let realm = self.way.realm[usize::from(slot)];
            let leaves = batch.verdict(slot) == Verdict::Forward(INSIDE);
            // A worker's headroom is larger than all that is put in front of a frame here.
            if realm != 0 && leaves && !vlan::put_on(batch, slot, realm) {
                batch.set_verdict(slot, reasons::drop(reasons::TOO_BIG));
            }
        }
    }
}
