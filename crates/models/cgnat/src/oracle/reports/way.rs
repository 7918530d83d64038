//! How the reports learn what came and went in the model.
use std::net::IpAddr;
use std::time::Duration;

use super::super::state::Model;
use super::Reports;

impl Model {
    /// Hands on to the reports what came and went, and why a packet was refused.
    pub(in crate::oracle) fn take_note(&mut self, refused: Option<&'static str>, now: Duration) {
        let happened = std::mem::take(&mut self.tables.happened);
        let most = refused.and_then(|reason| self.most(reason));
        let Some(reports) = &mut self.reports else { return };
        reports.note_pools(self.pools.iter().map(|(pool, _)| *pool));
        happened.iter().for_each(|one| reports.follow(one, now));
        reports.alarms.begin();
        if let Some(reason) = refused {
            reports.alarms.refused(reason, (self.concerned.subscriber(), most), now);
        }
    }

    /// The device ends in good order: all that lives is over, and its logs have to tell so.
    pub fn wind_down(&mut self, now: Duration) {
        self.tables.pass(&self.config, now);
        for subscriber in self.tables.subscribers() {
            self.tables.clear(subscriber, &self.config, now);
        }
        self.take_note(None, now);
    }

    /// Whether the log was told to end.
    pub fn has_ended(&self) -> bool {
        self.reports.as_ref().is_some_and(Reports::has_ended)
    }

    /// The limit that a packet met.
    fn most(&self, reason: &str) -> Option<usize> {
        let blocks = &self.config.port_block;
        Some(match reason {
            "session-limit" => self.session_limit,
            "sessions-full" => self.room[0],
            "mappings-full" => self.room[1],
            "subscribers-full" => self.room[2],
            "block-limit" => {
                let own = match self.concerned.address {
                    IpAddr::V4(inside) => self.plan.forward(self.concerned.realm, inside),
                    IpAddr::V6(_) => None,
                };
                let of_blocks = usize::from(blocks.size) * usize::from(blocks.per_subscriber);
                own.map_or(of_blocks, |own| own.ports.len())
            }
            _ => return None,
        })
    }

    /// What was told to be there, and not yet to be gone.
    pub fn told_live(&self) -> usize {
        self.reports.as_ref().map_or(0, |reports| reports.lives.told_live())
    }

    /// By how much the times of what was told differ from one another when compared with those at
    /// which it happened, in milliseconds; none where nothing was told.
    pub fn told_times_spread_ms(&self) -> Option<u64> {
        let (least, most) = self.reports.as_ref()?.offset_ms?;
        u64::try_from(most - least).ok()
    }
}
