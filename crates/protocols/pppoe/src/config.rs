//! What an access concentrator is configured with.

use std::time::Duration;

/// An access concentrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Its name (AC-Name), 1 to 64 bytes.
    pub name: Vec<u8>,
    /// Names of services that hosts may ask for, at most 16 of at most 64 bytes. A host may always
    /// ask for any service.
    pub services: Vec<Vec<u8>>,
    /// Most bytes that PPP may carry on the way to hosts, 1,492 to 9,192; above 1,492 it is offered
    /// to hosts that ask for more (RFC 4638).
    pub max_payload: u16,
    /// For how long a cookie is valid, 1 to 3,600 s.
    pub cookie_time: Duration,
    /// Limits of sessions.
    pub limits: Limits,
    /// Whether the eldest session of a MAC address of a line gives way to one that is asked for
    /// there when the address or its circuit has as many as it may have: the host has come back
    /// without ending it.
    pub replaces: bool,
    /// Whether the tag of TR-101, by which an access node says which circuit a host is at, is
    /// believed. That is right only where access nodes take this tag off what hosts send: a host
    /// could give itself any circuit otherwise. Without it the tag is ignored.
    pub trusts_access_nodes: bool,
}

/// Most sessions. Requests beyond them are refused and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// In all.
    pub total: u32,
    /// Of a MAC address, on all lines together. A host with a copied address can keep the owner of
    /// that address out, also from another line: where hosts are not trusted, `by_circuit` is the
    /// better limit.
    pub by_mac: u32,
    /// Of a port and outer VLAN.
    pub by_vlan: u32,
    /// Of a circuit: those with the same Agent Circuit ID at the same port and outer VLAN, which is
    /// where an access node is. Of a line, where no access node is trusted or says anything.
    pub by_circuit: u32,
}

/// Why a configuration or a command cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// A name that is absent or too long, or too many services.
    #[error("a name has 1 to 64 bytes, and there are at most 16 services")]
    Name,
    /// A payload that PPPoE cannot carry, or that is below what it always carries.
    #[error("a payload is 1,492 to 9,192 bytes")]
    Payload,
    /// A time of cookies that is too short or too long.
    #[error("a cookie is valid for 1 to 3,600 s")]
    Cookie,
    /// A limit of zero.
    #[error("limits are 1 at least")]
    Limit,
    /// No session has this number.
    #[error("the session does not exist")]
    Session,
}

impl Config {
    /// A configuration with a name, one session for each MAC address, no trust in access nodes,
    /// and usual values of all else.
    pub fn new(name: &[u8]) -> Config {
        let limits = Limits { total: 65_536, by_mac: 1, by_vlan: 65_536, by_circuit: 8 };
        Config {
            name: name.to_vec(),
            services: Vec::new(),
            max_payload: 1492,
            cookie_time: Duration::from_secs(30),
            limits,
            replaces: true,
            trusts_access_nodes: false,
        }
    }

    /// Checks it.
    pub(crate) fn check(&self) -> Result<(), Unusable> {
        let is_name = |name: &Vec<u8>| (1..=64).contains(&name.len());
        if !is_name(&self.name) || self.services.len() > 16 || !self.services.iter().all(is_name) {
            return Err(Unusable::Name);
        }
        if !(1492..=9192).contains(&self.max_payload) {
            return Err(Unusable::Payload);
        }
        if !(1..=3600).contains(&self.cookie_time.as_secs()) {
            return Err(Unusable::Cookie);
        }
        let Limits { total, by_mac, by_vlan, by_circuit } = self.limits;
        match [total, by_mac, by_vlan, by_circuit].contains(&0) {
            true => Err(Unusable::Limit),
            false => Ok(()),
        }
    }
}
