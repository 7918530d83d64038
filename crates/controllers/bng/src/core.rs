//! All that the controller has: the table of sessions, the machines of the protocols, the pools,
//! and what is on its way to the gateway. What it does with them stands in the files that follow.

use std::collections::BTreeSet;
use std::sync::Arc;

use controller_kit::keys::invalid;
use function_kit::Invalid;
use protocol_dhcp::Pools;
use protocol_kit::{Departure, Random, Time};
use protocol_ppp::{self as ppp, Ppp};
use protocol_pppoe::AccessConcentrator;
use protocol_radius::interims::Interims;
use tables::wheel::Wheel;

use crate::aaa::{Aaa, key};
use crate::account::Account;
use crate::config::Config;
use crate::leasing::{V4, V6};
use crate::notes::Notes;
use crate::places::Places;
use crate::session::Why;
use crate::sessions::Sessions;

/// All of it.
pub(crate) struct Core {
    pub config: Config,
    pub places: Places,
    pub sessions: Sessions,
    /// Changes of the gateway.
    pub account: Account,
    pub pools: Pools,
    pub aaa: Option<Aaa>,
    pub v4: V4,
    pub v6: V6,
    pub pppoe: AccessConcentrator,
    pub ppp: Ppp,
    /// What sessions of PPP have in common.
    pub ppp_config: Arc<ppp::Config>,
    /// When a session's time is over.
    pub timers: Wheel,
    /// When the volumes of a session are asked for.
    pub counting: Interims,
    /// When a session's prefix is advertised again.
    pub advertising: Interims,
    /// Sessions that wait for another one to be gone, by its number, with their keys.
    pub blocked: BTreeSet<(u32, u64)>,
    pub notes: Notes,
    /// What a relay of DHCP wants of the network.
    pub departure: Option<Departure>,
    pub counters: Counters,
}

/// What has happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Sessions that have come up.
    pub up: u64,
    /// Sessions that have ended, also before they were up, in the order of [`Why::ALL`].
    pub ended: [u64; Why::ALL.len()],
    /// What was asked for and found no room for one more session, in all or on its line.
    pub full: u64,
    /// Punted frames by what they are, and those that nobody can use.
    pub punted: u64,
    pub unused: u64,
    /// What RADIUS has granted and this gateway does not have.
    pub ignored: u64,
    /// Volumes that were asked for and not told in time.
    pub uncounted: u64,
    /// What workers have told and did not reach the controller.
    pub missed: u64,
}

impl Core {
    /// Nothing yet.
    ///
    /// # Errors
    /// What of the keys cannot be.
    pub fn new(config: &Config, places: Places, seed: u64) -> Result<Core, Invalid> {
        let mut random = Random::new(seed);
        let capacity = places.capacity;
        let seeds = [random.bits(), random.bits()];
        let v4 = V4::new(config, &places, seeds[0])?;
        let v6 = V6::new(config, &places, seeds[1])?;
        let pppoe = AccessConcentrator::new(places.concentrator(config), key(&mut random));
        let pppoe = pppoe.map_err(|why| {
            invalid("pppoe", format!("cannot be: {why}"), "Look at the README of pppoe")
        })?;
        let ppp = Ppp::new(capacity, key(&mut random));
        let aaa = match &config.radius {
            Some(keys) => Some(Aaa::new(config, keys, random.bits())?),
            None => None,
        };
        let reserved = places.gateway.sessions.iter().map(|session| session.number).collect();
        Ok(Core {
            pools: places.pools(config)?,
            sessions: Sessions::new([capacity, places.gateway.line_sessions], reserved),
            account: Account::default(),
            aaa,
            v4,
            v6,
            pppoe,
            ppp,
            ppp_config: places.ppp(config),
            timers: Wheel::new(capacity as usize + 1, TIMER_BITS),
            counting: Interims::new(capacity + 1, random.bits()),
            advertising: Interims::new(capacity + 1, random.bits()),
            blocked: BTreeSet::new(),
            notes: Notes::default(),
            departure: None,
            counters: Counters::default(),
            places,
            config: config.clone(),
        })
    }

    /// When there is something to do.
    pub fn deadline(&self) -> Option<Time> {
        use protocol_kit::Machine;
        if self.notes.is_waiting() || self.account.is_waiting() {
            return Some(Time::ZERO);
        }
        let of_protocols = [self.v4.deadline(), self.v6.deadline(), self.pppoe.deadline()];
        let own = [self.timers.deadline().map(Time), self.counting.deadline()];
        let aaa = self.aaa.as_ref().and_then(Aaa::deadline);
        let rest = [aaa, self.ppp.deadline(), self.pools.deadline(), self.advertising.deadline()];
        of_protocols.into_iter().chain(own).chain(rest).flatten().min()
    }
}

/// Timers are exact to 2^26 ns, 67 ms.
const TIMER_BITS: u32 = 26;
