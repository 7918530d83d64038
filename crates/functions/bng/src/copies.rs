//! When packets are copied for a collector, and who says so.

use engine::Refusal;
use packet::Batch;

use super::pipeline::Pipeline;
use super::reasons::Tally;
use super::way::Way;

impl Pipeline {
    /// Copies the packets of those who are mirrored, once their sessions are found: also those that
    /// go no further than to the gateway.
    #[cold]
    pub(super) fn copy_mirrored(&mut self, batch: &Batch) {
        let Pipeline { state, mirror, made, way, tallies, .. } = self;
        let Some(made) = made else { return };
        let Way { up, down, local, spent, .. } = way;
        for &slot in [up, down, local, spent].into_iter().flat_map(|slots| slots.as_slice()) {
            let number = way.session[usize::from(slot)];
            let copied = mirror.copy((&state.hops, made), (batch, slot), number);
            tallies[Tally::MirrorLost as usize] += u64::from(copied == Some(false));
        }
    }

    /// A session is mirrored from now on, or, without a session of ERSPAN, no longer.
    ///
    /// # Errors
    /// When it cannot be.
    pub(super) fn set_mirror(&mut self, number: u32, session: Option<u16>) -> Result<(), Refusal> {
        self.state.sessions.get(number).ok_or(Refusal::NotFound)?;
        match session {
            Some(session) => self.mirror.set(number, session),
            None if self.mirror.clear(number) => Ok(()),
            None => Err(Refusal::NotFound),
        }
    }
}
