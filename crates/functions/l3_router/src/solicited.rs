//! What the router does for the hosts that ask for one: they are heard, and told by [`Advertiser`].
use machine::clock::Ticks;
use packet::{Batch, Slot, Verdict};
use stages::router_discovery::{self as discovery, Solicitation};

use super::advertise::Advertiser;
use super::host::Protocol;
use super::neighbours::Said;
use super::pipeline::Pipeline;
use super::reasons;

impl Pipeline {
    /// What becomes of a frame that is a router solicitation where the router advertises itself;
    /// none of all others.
    pub(super) fn hear_solicitation(
        &mut self,
        batch: &mut Batch,
        (slot, at): (Slot, u16),
        now: Ticks,
    ) -> Option<Verdict> {
        self.advertiser.as_ref().filter(|all| all.speaks_at(at))?;
        let own = self.state.interfaces.get(at).mac.0;
        let said = discovery::solicitation(batch.frame(slot), own)?;
        if let Some(Err(reason)) = self.host.as_mut().map(|host| host.police(Protocol::Nd, now)) {
            return Some(reasons::drop(reason));
        }
        let Ok(said) = said else { return Some(reasons::drop(reasons::ND_IGNORED)) };
        if !self.workers.is_first() {
            return Some(self.workers.hand_over(batch.frame_mut(slot), at));
        }
        self.learn_of(said, at, now);
        self.advertiser.as_mut()?.solicit(at, now);
        Some(reasons::drop(reasons::SOLICITED))
    }

    /// A neighbour that is known already may say another Ethernet address when it asks for routers
    /// (section 6.2.6).
    fn learn_of(&mut self, Solicitation { source, mac }: Solicitation, at: u16, now: Ticks) {
        let (Some(neighbours), Some(made)) = (&mut self.neighbours, &mut self.made) else { return };
        let Some(mac) = mac else { return };
        let said = Said { mac, overrides: true, answers: false };
        neighbours.heard((&mut self.state, made), (at, source.into()), said, now);
    }

    /// Advertisements that are due.
    #[inline]
    pub(super) fn advertise(&mut self, now: Ticks) {
        let Pipeline { advertiser, state, made, tallies, workers, .. } = self;
        if let (Some(advertiser), Some(made)) = (advertiser, made)
            && workers.is_first()
        {
            advertiser.tick((&state.interfaces, made), tallies, now);
        }
    }

    /// Lets hosts know that the router is none from now on; returns how many links are still to be
    /// told.
    pub fn wind_down(&mut self) -> u64 {
        let advertiser = self.advertiser.as_mut().filter(|_| self.workers.is_first());
        advertiser.map_or(0, Advertiser::end)
    }
}
