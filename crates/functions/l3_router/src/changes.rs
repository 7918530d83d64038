//! A change at run time on its way to the part of the router that it is for.

use engine::Refusal;
use machine::clock::Ticks;

use super::control::{self, Update};
use super::pipeline::Pipeline;

impl Pipeline {
    /// Applies a change that is said by numbers alone.
    ///
    /// # Errors
    /// When it is impossible; nothing has changed then.
    pub(crate) fn change(&mut self, update: Update, now: Ticks) -> Result<(), Refusal> {
        if let Some(done) = self.services.apply(&update, now) {
            return done;
        }
        if let Some(done) = self.watched.apply(&self.state, &update, now) {
            return done;
        }
        if let Some(done) = self.apply_own(&update, now) {
            self.watched.follow(&self.state, &update, now);
            return done;
        }
        if let Some(done) = self.apply_bfd(&update, now) {
            return done;
        }
        self.may_watch(&update)?;
        control::apply(&mut self.state, &update)?;
        self.watched.follow(&self.state, &update, now);
        self.forget(&update);
        self.watch(&update, now);
        self.state.reach_tunnels();
        Ok(())
    }
}
