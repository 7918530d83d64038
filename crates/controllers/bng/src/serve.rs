//! What becomes of those who wait for something of a session, by protocol.

use std::net::IpAddr;

use protocol_dhcp::{Command, Grant, LeaseId, Prefix, Source};
use protocol_kit::{Input, Machine, Time};
use protocol_ppp as ppp;
use protocol_radius::asking::ErrorCause;

use crate::config::PoolKind;
use crate::core::Core;
use crate::session::{Version, Waiter};

impl Core {
    /// What a waiter has waited for is there, and packets of the session pass.
    pub fn release(&mut self, number: u32, waiter: Waiter, now: Time) {
        match waiter {
            Waiter::Lease(version, lease) => {
                self.dhcp(version, Command::Acknowledged(lease), now);
            }
            Waiter::Solicitation => {
                self.advertise(number);
                self.advertise_again(number, now);
            }
            Waiter::Question(question) => self.welcome(number, question, now),
            Waiter::Confirmation => self.confirm(number, now),
            Waiter::Request(request) => {
                if let Some(aaa) = &mut self.aaa {
                    aaa.answer(request, Ok(()), now);
                }
            }
        }
    }

    /// It will not be there.
    pub fn turn_away(&mut self, number: u32, waiter: Waiter, now: Time) {
        match waiter {
            Waiter::Lease(version, lease) => self.dhcp(version, Command::Reject(lease), now),
            Waiter::Question(question) => {
                let link = self.sessions.get(number).and_then(|session| session.pppoe);
                let Some(link) = link else { return };
                let answer = ppp::Answer::Reject { message: b"no access".to_vec() };
                let command = ppp::Command::Answer { session: link.number, question, answer };
                self.ppp.input(now, Input::Command(command));
            }
            Waiter::Request(request) => self.refuse_request(request, now),
            Waiter::Solicitation | Waiter::Confirmation => {}
        }
    }

    /// What a server has asked for cannot be.
    pub fn refuse_request(&mut self, request: u64, now: Time) {
        if let Some(aaa) = &mut self.aaa {
            aaa.answer(request, Err(ErrorCause::InvalidAttributeValue), now);
        }
    }

    /// Tells a server of DHCP something.
    pub fn dhcp(&mut self, version: Version, command: Command, now: Time) {
        match version {
            Version::V4 => self.v4.input(now, Input::Command(command)),
            Version::V6 => self.v6.input(now, Input::Command(command)),
        }
    }

    /// A client of DHCP is granted what its session has.
    pub fn accept(&mut self, number: u32, version: Version, lease: LeaseId, now: Time) {
        let Some(key) = self.sessions.key(number) else { return };
        let Some(session) = self.sessions.get(number) else { return };
        let has = |kind: PoolKind| session.given[kind as usize].map(Source::Fixed);
        let [address, delegated] = match version {
            Version::V4 => [has(PoolKind::Ipv4), None],
            Version::V6 => [has(PoolKind::Na), has(PoolKind::Delegated)],
        };
        let first = [PoolKind::Ipv4, PoolKind::Na][version as usize];
        let class = session.given[first as usize].and_then(|prefix| self.pool_of(prefix));
        let class = class.unwrap_or(self.config.pools.len() as u16);
        let grant = Grant { session: key, class, address, delegated };
        self.dhcp(version, Command::Accept(lease, grant), now);
    }

    /// The pool in which something lies.
    pub fn pool_of(&self, prefix: Prefix) -> Option<u16> {
        self.pools.share_of(prefix).map(|(pool, _)| pool)
    }

    /// A peer of PPP is told its addresses.
    fn welcome(&mut self, number: u32, question: u32, now: Time) {
        let Some(session) = self.sessions.get(number) else { return };
        let Some(link) = session.pppoe else { return };
        let own = session.granted.as_ref().map(|granted| &granted.dns);
        let dns = own.filter(|own| !own.is_empty()).unwrap_or(&self.config.dns);
        let mut dns = dns.iter().filter_map(|address| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        });
        let address = session.used(PoolKind::Ipv4);
        let v4 = address.and_then(|prefix| match prefix.address() {
            IpAddr::V4(remote) => Some(ppp::V4 {
                local: self.places.router_of(self.pool_of(prefix)),
                remote,
                dns: [dns.next(), dns.next()],
                asks_dns: false,
            }),
            IpAddr::V6(_) => None,
        });
        // Its router advertisements come from the gateway's own link-local address.
        let local = u128::from(self.places.link_local) as u64;
        let has_v6 = [PoolKind::Slaac, PoolKind::Na, PoolKind::Delegated];
        let has_v6 = has_v6.iter().any(|kind| self.may_have(number, *kind));
        let v6 = has_v6.then_some(ppp::V6 { local, remote: 0 });
        let answer = ppp::Answer::Accept(ppp::Network { v4, v6 });
        let command = ppp::Command::Answer { session: link.number, question, answer };
        self.ppp.input(now, Input::Command(command));
    }

    /// Whether a session has something of a kind, or would be given it.
    pub fn may_have(&self, number: u32, kind: PoolKind) -> bool {
        let Some(session) = self.sessions.get(number) else { return false };
        let Some(granted) = &session.granted else { return false };
        let is_granted =
            granted.fixed[kind as usize].is_some() || granted.pools[kind as usize].is_some();
        let is_relayed =
            self.is_relayed(Version::V6) && matches!(kind, PoolKind::Na | PoolKind::Delegated);
        is_granted || is_relayed || self.config.pools.iter().any(|pool| pool.kind == kind)
    }
}
