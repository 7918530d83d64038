//! From ports and VLANs to interfaces where frames come in, and back where they leave.

use packet::{Batch, PortId, Verdict};
use stages::vlan;

use crate::further::Further;
use crate::reasons;
use crate::types::sides::{NOWHERE, is_further};

impl Further {
    /// Gives each of the first frames the number of its interface and removes its VLAN tag; writes
    /// to `ports` the port at which each frame came in.
    pub fn come_in(&self, batch: &mut Batch, count: usize, ports: &mut [PortId; 256]) {
        for slot in batch.slots().take(count) {
            let came = batch.port(slot);
            ports[usize::from(slot)] = came;
            let Ok(tag) = vlan::read(batch.frame(slot)) else {
                batch.set_port(slot, self.of_cut_off(came));
                continue;
            };
            let port = self.entry(came, tag);
            if is_further(port) && port != NOWHERE && tag.is_some() {
                vlan::take_off(batch, slot);
            }
            batch.set_port(slot, port);
        }
    }

    /// Gives each frame the port back at which it came in, and one that leaves the port of its
    /// interface, and its tag.
    pub fn go_out(&self, batch: &mut Batch, ports: &[PortId; 256]) {
        for slot in batch.slots() {
            batch.set_port(slot, ports[usize::from(slot)]);
        }
        self.leave(batch);
    }

    /// The same of frames that were made, which came in where what they were made of did.
    pub fn go_out_made(&self, batch: &mut Batch) {
        for slot in batch.slots() {
            let (port, _) = self.exit(batch.port(slot));
            batch.set_port(slot, port);
        }
        self.leave(batch);
    }

    fn leave(&self, batch: &mut Batch) {
        for slot in batch.slots() {
            let Verdict::Forward(port) = batch.verdict(slot) else { continue };
            let (port, vlan) = self.exit(port);
            // A worker's headroom is larger than a tag.
            let verdict = match vlan == 0 || vlan::put_on(batch, slot, vlan) {
                true => Verdict::Forward(port),
                false => reasons::drop(reasons::TOO_BIG),
            };
            batch.set_verdict(slot, verdict);
        }
    }

    /// The same of a frame that ends within its tag: the first two ports know what to do with it.
    fn of_cut_off(&self, came: PortId) -> PortId {
        let port = self.entry(came, None);
        if is_further(port) { NOWHERE } else { port }
    }
}
