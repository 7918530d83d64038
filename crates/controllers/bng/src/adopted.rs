//! What an earlier life of the controller has left at the gateway.
//!
//! Sessions of IPoE go on, with their addresses and volumes: a client that renews is told that its
//! lease is not known, begins anew and gets the same address; one that does not within a lease's
//! time is gone. Sessions of PPPoE cannot: what was negotiated is not known. Their hosts are told,
//! and dial again; their volumes are accounted.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_bng::Update;
use function_bng::config as gateway;
use function_kit::Invalid;
use function_kit::sections::Prefixed;
use protocol_dhcp::{Prefix, Return};
use protocol_kit::Time;
use protocol_pppoe::packet::{Packet, code};
use protocol_radius::backlog::Restored;

use crate::account::Change;
use crate::core::Core;
use crate::frame::Place;
use crate::granted::Granted;
use crate::session::{Link, Session, State, Why};

impl Core {
    /// Takes over what there is.
    pub fn adopt(&mut self, all: Vec<gateway::Session>, now: Time) {
        for old in all {
            let number = old.number;
            let is_adopted = self.adopt_one(&old, now);
            if !is_adopted {
                let update = Update::RemoveSession { number };
                self.account.add(Change { session: number, generation: 0, before: None, update });
            }
            if let Some(link) = old.pppoe {
                self.end(number, Why::Lost, now);
                let place = Place { line: old.line, mac: old.mac.0, pppoe: None };
                let packet = Packet { code: code::PADT, session_id: link.id, payload: &[] };
                self.notes.inject(self.places.access.discovery(place, &packet.emit()));
            }
        }
    }

    /// Takes over the records that wait in a file.
    ///
    /// # Errors
    /// It is none of records.
    pub fn restore(&mut self, kept: &[u8]) -> Result<(), Invalid> {
        let Some(aaa) = &mut self.aaa else { return Ok(()) };
        let restored = aaa.restore(kept)?;
        if restored != Restored::default() {
            let Restored { records, torn_bytes, lost } = restored;
            self.notes.log(Time::ZERO, || {
                format!(
                    "{records} records of an earlier life wait; {lost} had no room, {torn_bytes} \
                     bytes at the end of the file were damaged"
                )
            });
        }
        Ok(())
    }

    /// Takes a session over; false if it cannot be.
    fn adopt_one(&mut self, old: &gateway::Session, now: Time) -> bool {
        let of = |network: Prefixed<Ipv6Addr>| Prefix::new(network.address.into(), network.len);
        let given = [
            old.ipv4.map(|address| Prefix::host(address.into())),
            old.na.map(|address| Prefix::host(IpAddr::V6(address))),
            old.slaac.and_then(of),
            old.delegated.and_then(of),
        ];
        // What has no address has no volumes.
        if given == [None; 4] {
            return false;
        }
        let link = old.pppoe.map(|pppoe| Link {
            number: NO_LINK,
            id: pppoe.id,
            mru: pppoe.mru,
            is_closed: true,
        });
        let mut session = Session::new(old.line, old.mac.0, link, now);
        session.granted = Some(Granted {
            profile: old.profile,
            list: old.list,
            vrf: old.vrf,
            ..Granted::usual(&self.config)
        });
        session.user = old.user.map(String::from).unwrap_or_default();
        session.circuit = old.circuit.map(String::from).unwrap_or_default().into_bytes();
        (session.given, session.active) = (given, given.map(|given| given.is_some()));
        (session.set, session.is_adopted) = (Some(*old), true);
        // What the gateway would have otherwise is not this controller's.
        let number = old.number;
        let is_its_own = session.wanted(number, self.config.profile) == Some(*old);
        let mut all = given.into_iter().flatten();
        let is_free = is_its_own && all.all(|prefix| self.pools.claim(prefix, number).is_ok());
        if !is_free || !self.sessions.insert(number, session) {
            for prefix in given.into_iter().flatten() {
                self.pools.give_back(prefix, number, Return::Released, now);
            }
            return false;
        }
        self.sessions.enter(number, State::Granted, now);
        self.up(number, now);
        let lease = Duration::from_secs(self.config.lease_time_s.into());
        self.timers.set(number, now.after(lease).0);
        true
    }
}

/// A number that no session of PPPoE has.
const NO_LINK: u32 = u32::MAX;
