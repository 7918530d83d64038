//! The model's users: who has which bearer, and how that changes.
//!
//! Configured users are computed when somebody asks for them; what changed is remembered.

use std::net::Ipv4Addr;
use std::time::Duration;

use function_mobile_gateway::config::{Tunnel, User as Added};
use units::BytesPerSec;
use wire::vxlan;

use super::policer::Policer;
use super::{Bearer, Model, prefix_of};
use crate::catalogue::{self, User};
use crate::section::Section;

impl Model {
    pub(super) fn add_user(&mut self, added: &Added, now: Duration) -> bool {
        let prefix = added.ipv6.filter(|_| self.section.ipv6);
        let is_prefix = prefix.is_none_or(|prefix| {
            let bits = prefix.address.to_bits();
            prefix.len == 64 && bits != 0 && bits << 64 == 0
        });
        let ipv6_prefix = prefix.map_or(0, |prefix| prefix_of(prefix.address));
        let Added { ipv4, teid, base_station, .. } = *added;
        let is_taken = self.bearer(teid).is_some()
            || self.teid_by_ipv4(ipv4).is_some()
            || self.teid_by_ipv6(ipv6_prefix).is_some();
        let is_rate = |rate: &BytesPerSec| rate.0 >= 1.0 && rate.0 <= 1e12;
        let mut rates = [added.uplink_rate, added.downlink_rate].into_iter().flatten();
        let is_possible = self.routes.has_station(base_station)
            && teid != 0
            && is_prefix
            && rates.all(|rate| is_rate(&rate))
            && (teid <= vxlan::VNI_MAX || self.section.tunnel() == Tunnel::GtpU)
            && !is_taken
            && self.users < self.users_max;
        if is_possible {
            let bearer = Bearer {
                ipv4,
                ipv6_prefix,
                base_station,
                uplink: self.policer(added.uplink_rate, now),
                downlink: self.policer(added.downlink_rate, now),
            };
            self.changed.insert(teid, Some(bearer));
            self.users += 1;
        }
        is_possible
    }

    pub(super) fn remove_user(&mut self, ipv4: Ipv4Addr) -> bool {
        let Some(teid) = self.teid_by_ipv4(ipv4) else { return false };
        self.changed.insert(teid, None);
        self.users -= 1;
        true
    }

    pub(super) fn hand_over(&mut self, ipv4: Ipv4Addr, base_station: Ipv4Addr) -> bool {
        if !self.routes.has_station(base_station) {
            return false;
        }
        let teid = self.teid_by_ipv4(ipv4);
        let Some((teid, mut bearer)) = teid.and_then(|teid| Some((teid, self.bearer(teid)?)))
        else {
            return false;
        };
        bearer.base_station = base_station;
        self.changed.insert(teid, Some(bearer));
        true
    }

    /// Other base stations that disappeared and have users behind them.
    pub(super) fn lingering(&self, returning: Ipv4Addr) -> usize {
        let gone = self.removed.iter().filter(|&&address| {
            address != returning && !self.routes.has_station(address) && self.has_users(address)
        });
        gone.count()
    }

    pub(super) fn has_users(&self, station: Ipv4Addr) -> bool {
        let identifiers = (1..=self.section.user).chain(self.changed.keys().copied());
        let mut bearers = identifiers.filter_map(|teid| self.bearer(teid));
        bearers.any(|bearer| bearer.base_station == station)
    }

    /// The bearer of an identifier, if there is one now.
    pub(super) fn bearer(&self, teid: u32) -> Option<Bearer> {
        match self.changed.get(&teid) {
            Some(bearer) => *bearer,
            None => {
                let number = teid.checked_sub(1)?;
                let is_configured = number < self.section.user && self.is_mine(number);
                is_configured.then(|| self.fresh(number))
            }
        }
    }

    pub(super) fn teid_by_ipv4(&self, address: Ipv4Addr) -> Option<u32> {
        let of_changed = self.find_changed(|bearer| bearer.ipv4 == address);
        of_changed.or_else(|| {
            // The catalogue counts 254 addresses in the last octet and 254 in the one before.
            let [_, high, middle, low] = address.octets().map(u32::from);
            let number = (high.checked_sub(3)? * 254 + middle) * 254 + low.checked_sub(1)?;
            self.if_as_configured(number, |user| user.ipv4 == address)
        })
    }

    pub(super) fn teid_by_ipv6(&self, prefix: u64) -> Option<u32> {
        if !self.section.ipv6 || prefix == 0 {
            return None;
        }
        let of_changed = self.find_changed(|bearer| bearer.ipv6_prefix == prefix);
        of_changed
            .or_else(|| self.if_as_configured(prefix as u32, |user| user.ipv6_prefix == prefix))
    }

    pub(super) fn find_changed(&self, is_meant: impl Fn(&Bearer) -> bool) -> Option<u32> {
        let is_it = |bearer: &Option<Bearer>| bearer.as_ref().is_some_and(&is_meant);
        self.changed.iter().find(|(_, bearer)| is_it(bearer)).map(|(teid, _)| *teid)
    }

    /// The identifier of a configured user whom nothing changed, if it is the one who is meant.
    pub(super) fn if_as_configured(
        &self,
        number: u32,
        is_meant: impl Fn(&User) -> bool,
    ) -> Option<u32> {
        if number >= self.section.user || !self.is_mine(number) {
            return None;
        }
        let user = catalogue::user(number, self.section.bst);
        (is_meant(&user) && !self.changed.contains_key(&user.teid)).then_some(user.teid)
    }

    /// The bearer of a configured user.
    pub(super) fn fresh(&self, number: u32) -> Bearer {
        let user = catalogue::user(number, self.section.bst);
        let policer = self.policer(None, Duration::ZERO);
        Bearer {
            ipv4: user.ipv4,
            ipv6_prefix: if self.section.ipv6 { user.ipv6_prefix } else { 0 },
            base_station: catalogue::base_station_ipv4(user.base_station),
            uplink: policer,
            downlink: policer,
        }
    }

    /// One that was set up at `now`, at a rate of its own or the gateway's.
    pub(super) fn policer(&self, own: Option<BytesPerSec>, now: Duration) -> Policer {
        let rate = own.unwrap_or(self.section.rate_limit);
        let section = Section { rate_limit: rate, ..self.section.clone() };
        Policer::new(rate.0, section.burst_bytes(), now)
    }

    pub(super) fn is_mine(&self, number: u32) -> bool {
        self.workers.has(catalogue::user_ipv4(number))
    }
}
